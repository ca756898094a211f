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
KRAFTSIDE_STORE_DIR. Flags win over the environment, the environment over the file. It ends with SIGTERM or SIGINT.`,
		Example: `  kraftside run --kafka.bootstrap localhost:9092 --metadata.controllers localhost:9093 --store.dir /var/lib/kraftside
  kraftside run --config /etc/kraftside.yaml`,
		Args: takes(0, 0, "no argument"),
	}
	c.Flags().SortFlags = false
	settings := config.NewLoader(c.Flags())
	c.RunE = func(*cobra.Command, []string) error {
		cfg, err := settings.Load(os.Environ())
		if err != nil {
			return cli.Errorf(cli.BadUsage, "run: %w", err)
		}
		log := newLog(out.Err, &cfg.Log)
		if err := logConfig(log, cfg); err != nil {
			return cli.Errorf(cli.Failed, "run: %w", err)
		}
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		defer stop()
		if err := sidecar.Run(ctx, cfg, programVersion(), log); err != nil {
			return cli.Errorf(cli.Failed, "run: %w", err)
		}
		return nil
	}
	return c
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

// logConfig logs the effective configuration once, without secrets.
func logConfig(log *slog.Logger, cfg *config.Config) error {
	effective, err := cfg.Effective()
	if err != nil {
		return err
	}
	log.Info("kraftside starts", "version", programVersion(), "configuration", effective)
	return nil
}
