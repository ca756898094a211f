//go:build unix

// Command recorddemo records the cluster that `kraftside demo` plays: it starts released Kafka, has it go through a
// story, and packs the metadata log and the groups' log as the servers wrote them.
//
//	go run ./test/recorddemo -o demo/recording.zip
//
// It fails if the story does not go as it is told: each step waits for its effect on the hashes that the coordinators
// store, and makes sure that nothing else happened. It takes about three minutes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/kraftside/kraftside/demo"
	"github.com/kraftside/kraftside/test/realkafka"
)

// limit bounds the whole recording.
const limit = 15 * time.Minute

func main() {
	out := flag.String("o", "recording.zip", "the `FILE` to write")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := run(ctx, *out); err != nil {
		fmt.Fprintln(os.Stderr, "recorddemo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) (err error) {
	dir, err := os.MkdirTemp("", "recorddemo-")
	if err != nil {
		return err
	}
	servers, logs := filepath.Join(dir, "servers"), filepath.Join(dir, "logs")
	if err := errors.Join(os.Mkdir(servers, 0o755), os.Mkdir(logs, 0o755)); err != nil {
		return err
	}
	m, err := play(ctx, servers, logs)
	if err != nil {
		return fmt.Errorf("%w\nthe servers' files are kept in %s", err, servers)
	}
	return errors.Join(pack(out, logs, m), os.RemoveAll(dir))
}

// play plays the story on a cluster whose files are in servers, and copies its logs to logs.
func play(ctx context.Context, servers, logs string) (m *demo.Manifest, err error) {
	start := time.Now()
	cluster, err := realkafka.Run(servers, configuration())
	if err != nil {
		return nil, err
	}
	r, err := newRecorder(start, cluster)
	if err != nil {
		return nil, errors.Join(err, cluster.Close())
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.story(ctx); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, cluster.Tails())
	}
	if m, err = r.capture(ctx, logs); err != nil {
		return nil, fmt.Errorf("record the logs: %w", err)
	}
	return m, nil
}

// configuration is that of the servers. One controller keeps the log small; no snapshot is made, and nothing moves
// leaders but the story.
func configuration() realkafka.Config {
	return realkafka.Config{
		Controllers: 1,
		Brokers:     3,
		Properties: map[string]string{
			"metadata.log.max.record.bytes.between.snapshots": "20971520",
			"auto.leader.rebalance.enable":                    "false",
			"default.replication.factor":                      "3",
		},
	}
}
