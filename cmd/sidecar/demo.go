package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/admin"
	"github.com/kraftside/kraftside/demo"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/web"
)

// readingPause is how long a line of the story stands on a terminal before the
// next one comes.
const readingPause = 350 * time.Millisecond

const (
	defaultListen      = "127.0.0.1:9464"
	defaultAdminListen = "127.0.0.1:9192"
)

type demoFlags struct {
	once          bool
	speed         float64
	listen, admin string
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
can be tried on it. Kafka's own tools and clients can, too, on --admin.listen. With -o json or yaml only the counts at the end are printed.`,
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
	f.StringVar(&flags.admin, "admin.listen", defaultAdminListen, "where it answers Kafka's protocol, as `HOST:PORT`; empty is nowhere")
	return c
}

// demoListeners are where the recording answers. Either may be nil.
type demoListeners struct{ http, admin net.Listener }

func listenForDemo(ctx context.Context, flags demoFlags) (l demoListeners, err error) {
	if flags.once {
		return l, nil
	}
	if l.http, err = new(net.ListenConfig).Listen(ctx, "tcp", flags.listen); err != nil {
		return l, cli.Errorf(cli.Failed, "demo: %w; --http.listen takes another address, and --once needs none", err)
	}
	if flags.admin == "" {
		return l, nil
	}
	if l.admin, err = new(net.ListenConfig).Listen(ctx, "tcp", flags.admin); err != nil {
		l.close()
		return l, cli.Errorf(cli.Failed, "demo: %w; --admin.listen takes another address, or none", err)
	}
	return l, nil
}

func (l demoListeners) close() {
	for _, one := range []net.Listener{l.http, l.admin} {
		if one != nil {
			_ = one.Close() // nobody has used it, or the server has closed it
		}
	}
}

func runDemo(ctx context.Context, out *cli.Output, flags demoFlags) (err error) {
	listeners, err := listenForDemo(ctx, flags)
	if err != nil {
		return err
	}
	defer listeners.close()
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
	stop, err := serveDemo(ctx, recording, player, listeners)
	if err == nil {
		err = errors.Join(playDemo(ctx, out, player, listeners), stop())
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
func playDemo(ctx context.Context, out *cli.Output, player *demo.Player, l demoListeners) error {
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
	if l.http != nil {
		fmt.Fprint(out.Err, standing(l))
		<-ctx.Done()
	}
	if summary.Mismatches > 0 {
		return cli.Errorf(cli.Failed, "demo: %d stored hashes are of no image of the metadata", summary.Mismatches)
	}
	return nil
}

// serveDemo answers what is asked about the recording as far as it is played,
// until stop is called, which waits for the end of it.
func serveDemo(ctx context.Context, recording *demo.Recording, player *demo.Player, l demoListeners) (stop func() error, err error) {
	if l.http == nil {
		return func() error { return nil }, nil
	}
	const source = "recording"
	clusterID := func() string { return recording.ClusterID }
	server, err := web.New(web.Options{
		View:           player.View,
		Version:        programVersion(),
		ClusterName:    "demo",
		ClusterID:      clusterID,
		MetadataSource: func() string { return source },
		GroupsSource:   source,
		Store:          player.StoreStatus,
		Now:            player.Now,
	})
	if err != nil {
		return nil, demoFailed(err)
	}
	endpoint, err := admin.New(admin.Options{
		View: player.View, Offsets: player.Offsets, ClusterID: clusterID, Now: player.Now,
		MaxStaleness: forever, SyntheticConfigs: true,
	})
	if err != nil {
		return nil, demoFailed(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	served, serving := make(chan error, 2), 1
	go func() { served <- server.Serve(ctx, l.http) }()
	if l.admin != nil {
		serving++
		go func() { served <- endpoint.Serve(ctx, l.admin) }()
	}
	return func() (err error) {
		cancel()
		for range serving {
			err = errors.Join(err, <-served)
		}
		return demoFailed(err)
	}, nil
}

// forever: a recording does not get older.
const forever = math.MaxInt64

// standing says what can be done with a recording that is left standing.
func standing(l demoListeners) string {
	address, server := l.http.Addr().String(), ""
	if address != defaultListen {
		server = " --server http://" + address
	}
	text := fmt.Sprintf("\nThe recording is left standing on http://%s. In another terminal:\n\n", address)
	for _, command := range []string{"status", "groups", "groups mailer", "topics orders", "verify"} {
		text += fmt.Sprintf("  kraftside %s%s\n", command, server)
	}
	if l.admin != nil {
		text += fmt.Sprintf("\nKafka's own tools and clients find it at the bootstrap server %s.\n", l.admin.Addr())
	}
	return text + "\nCtrl-C ends it.\n"
}
