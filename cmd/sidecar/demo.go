package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/demo"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/web"
)

// readingPause is how long a line of the story stands on a terminal before the
// next one comes.
const readingPause = 350 * time.Millisecond

const defaultListen = "127.0.0.1:9464"

type demoFlags struct {
	once   bool
	speed  float64
	listen string
}

func demoCommand(out *cli.Output) *cobra.Command {
	var flags demoFlags
	c := &cobra.Command{
		Use:     "demo",
		GroupID: live,
		Short:   "Play a recorded cluster",
		Long: `demo plays a recording of a real Kafka cluster, which is part of the program, through all of kraftside. It needs no
Kafka, no Java and no network. It tells what changed in the metadata, which group rebalanced with which hash, and whether
the hashes that the coordinators stored are those that kraftside computes. The exit code is 1 if one is not.

Then the recording is left standing, and answers on --http.listen until it is interrupted: the commands that ask a sidecar
can be tried on it. With -o json or yaml only the counts at the end are printed.`,
		Example: `  kraftside demo
  kraftside demo --once --speed 10`,
		Args: takes(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			if flags.speed < 0 {
				return cli.Errorf(cli.BadUsage, "demo: --speed %g is negative; 1 is as fast as it happened", flags.speed)
			}
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return runDemo(ctx, out, flags)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.BoolVar(&flags.once, "once", false, "end with the recording")
	f.Float64Var(&flags.speed, "speed", 0, "play `N` times as fast as it happened; 0 is the pace of a reader on a terminal, and at once elsewhere")
	f.StringVar(&flags.listen, "http.listen", defaultListen, "where the recording answers when it is over, as `HOST:PORT`")
	return c
}

func runDemo(ctx context.Context, out *cli.Output, flags demoFlags) (err error) {
	var listener net.Listener
	if !flags.once {
		if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", flags.listen); err != nil {
			return cli.Errorf(cli.Failed, "demo: %w; --http.listen takes another address, and --once needs none", err)
		}
		defer listener.Close()
	}
	recording, err := demo.Open()
	if err != nil {
		return demoFailed(err)
	}
	o := demo.Options{Speed: flags.speed}
	if out.Format == cli.TextFormat || out.Format == cli.WideFormat {
		o.Out = out
	}
	if out.Terminal {
		o.Pause = readingPause
	}
	player, err := demo.New(recording, o)
	if err != nil {
		return demoFailed(err)
	}
	stop, err := serveDemo(ctx, recording, player, listener)
	if err == nil {
		err = errors.Join(playDemo(ctx, out, player, listener), stop())
	}
	return errors.Join(err, demoFailed(player.Close()))
}

func demoFailed(err error) error {
	if err == nil {
		return nil
	}
	return cli.Errorf(cli.Failed, "demo: %w", err)
}

// playDemo plays the recording. With a listener it then waits for ctx to end.
func playDemo(ctx context.Context, out *cli.Output, player *demo.Player, l net.Listener) error {
	summary, err := player.Play(ctx)
	switch {
	case errors.Is(err, context.Canceled):
		return cli.Errorf(cli.Failed, "demo: interrupted before the end of the recording")
	case err != nil:
		return demoFailed(err)
	}
	if err := out.Print(&summary, func(*cli.Text) {}); err != nil { // the text of the story has it
		return err
	}
	if l != nil {
		fmt.Fprint(out.Err, standing(l.Addr().String()))
		<-ctx.Done()
	}
	if summary.Mismatches > 0 {
		return cli.Errorf(cli.Failed, "demo: %d stored hashes are of no image of the metadata", summary.Mismatches)
	}
	return nil
}

// serveDemo answers what is asked about the recording as far as it is played,
// until stop is called, which waits for the end of it.
func serveDemo(ctx context.Context, recording *demo.Recording, player *demo.Player, l net.Listener) (stop func() error, err error) {
	if l == nil {
		return func() error { return nil }, nil
	}
	const source = "recording"
	server, err := web.New(web.Options{
		View:           player.View,
		Version:        programVersion(),
		ClusterName:    "demo",
		ClusterID:      func() string { return recording.ClusterID },
		MetadataSource: func() string { return source },
		GroupsSource:   source,
		Store:          player.StoreStatus,
		Now:            player.Now,
	})
	if err != nil {
		return nil, demoFailed(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()
	return func() error {
		cancel()
		return demoFailed(<-served)
	}, nil
}

// standing says what can be done with a recording that is left standing.
func standing(address string) string {
	server := ""
	if address != defaultListen {
		server = " --server http://" + address
	}
	text := fmt.Sprintf("\nThe recording is left standing on http://%s. In another terminal:\n\n", address)
	for _, command := range []string{"status", "groups", "groups mailer", "topics orders", "verify"} {
		text += fmt.Sprintf("  kraftside %s%s\n", command, server)
	}
	return text + "\nCtrl-C ends it.\n"
}
