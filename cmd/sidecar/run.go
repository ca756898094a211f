package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/sidecar"
)

func runCommand(out *cli.Output) *cobra.Command {
	c := &cobra.Command{
		Use:     "run",
		GroupID: live,
		Short:   "Run the sidecar",
		Long: `run follows the metadata log and the groups of a cluster, keeps what it learns in a store, and answers over HTTP.

Every flag is also a key of the YAML file that --config names, and an environment variable: --store.dir is
KRAFTSIDE_STORE_DIR. Flags win over the environment, the environment over the file. It ends with SIGTERM or SIGINT.

With --follow-config it also outlives a configuration that is wrong, and takes over one that changes, within seconds: /readyz says what is
wrong with it. That is for a container beside a broker, whose pod is not ready whenever the container ends.`,
		Example: `  kraftside run --kafka.bootstrap localhost:9092 --metadata.controllers localhost:9093 --store.dir /var/lib/kraftside
  kraftside run --config /etc/kraftside.yaml`,
		Args: takes(0, 0, "no argument"),
	}
	c.Flags().SortFlags = false
	settings := config.NewLoader(c.Flags())
	follow := c.Flags().Bool("follow-config", false, "take over changes of the configuration, and wait while it is wrong, instead of ending")
	c.RunE = func(*cobra.Command, []string) error {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		defer stop()
		if *follow {
			sidecar.Follow(ctx, following(settings, out.Err))
			return nil
		}
		cfg, err := settings.Load(os.Environ())
		if err != nil {
			return cli.Errorf(cli.BadUsage, "run: %w", err)
		}
		if err := sidecar.Run(ctx, cfg, programVersion(), newLog(out.Err, &cfg.Log)); err != nil {
			return cli.Errorf(cli.Failed, "run: %w", err)
		}
		return nil
	}
	return c
}

func following(settings *config.Loader, logTo io.Writer) sidecar.Following {
	return sidecar.Following{
		Load:    func() (*config.Config, error) { return settings.Load(os.Environ()) },
		Listen:  settings.HTTPListen(os.Environ()),
		Version: programVersion(),
		Log:     func(c *config.Config) *slog.Logger { return newLog(logTo, &c.Log) },
	}
}

// programVersion is the version of the binary, as far as it knows.
func programVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	return versionOf(info).Version
}

func newLog(w io.Writer, l *config.Log) *slog.Logger {
	var level slog.Level
	// The configuration allows only the names of levels.
	_ = level.UnmarshalText([]byte(l.Level))
	options := &slog.HandlerOptions{Level: level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
