// Package offline answers from the files of a cluster what a sidecar would
// answer: it replays both logs through the pipeline that sidecars have, in
// memory, and lets the HTTP server answer without a network.
//
// Nothing tells which of the last records are committed. The time is that of
// the newest record, as if the question had been asked then.
package offline

import (
	"context"

	"github.com/kraftside/kraftside/internal/ask"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web"
	"github.com/kraftside/kraftside/web/api"
)

// Dirs are folders of brokers and controllers, or copies of them.
type Dirs struct {
	// Metadata is a __cluster_metadata-0 folder, another folder of segments and
	// snapshots of it, or a log directory that holds it.
	Metadata string
	// Offsets are __consumer_offsets-N folders, and log directories that hold
	// some. Of several copies of a partition the longest one is read.
	Offsets []string
}

// Files answers from files, as an ask.Client does from sidecars. Its methods
// may be called from any goroutine.
type Files struct {
	// Notes are worth knowing about the files. Damage is what of them could not
	// be read, with exit codes; the answers are those of the rest.
	Notes  []string
	Damage error

	client *ask.Client
	view   *pipeline.View
	lacks  []api.Missing
}

// Open reads the files. The output shows how far it is. The error is that there
// is nothing to answer from.
func Open(ctx context.Context, d Dirs, version string, out *cli.Output) (*Files, error) {
	found, err := find(d)
	if err != nil {
		return nil, err
	}
	// Without a store there is nothing to be lost.
	p, _ := pipeline.New(pipeline.Options{NodeID: kafka.NoNode, Scope: pipeline.All, ClusterID: found.clusterID})
	r := &replay{Pipeline: p, progress: out.NewProgress(found.bytes)}
	unread, err := r.run(ctx, found)
	r.progress.Clear()
	if err != nil {
		return nil, err
	}
	server, err := web.New(web.Options{
		View:           r.View,
		Version:        version,
		ClusterID:      func() string { return found.clusterID },
		MetadataSource: func() string { return "dir" },
		GroupsSource:   "dir",
		Access:         web.Access{AllowAnonymous: true},
		Now:            r.now,
	})
	if err != nil {
		return nil, err
	}
	f := &Files{view: r.View()}
	f.Notes, f.Damage = sortOut(unread)
	if len(d.Offsets) == 0 {
		f.Notes = append(f.Notes, "which groups there are is not known without --offsets-dir")
	} else {
		f.lacks = lacking(f.view)
	}
	f.client, err = ask.New(ask.Config{Servers: []string{"http://files"}, Transport: inProcess{server}})
	return f, err
}
