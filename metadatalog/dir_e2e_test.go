//go:build e2e && unix

package metadatalog_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/test/jvm"
	"github.com/kraftside/kraftside/test/realkafka"
)

// The log directories of real servers, the oldest and the newest: a reader
// beside a broker and one beside the controller have what is on disk, as far as
// it is committed; the first stands still while its broker is down, and goes on
// when it is back; one that comes later starts from a snapshot.
func TestRealDirectories(t *testing.T) {
	versions := jvm.Versions()
	for _, version := range []string{versions[len(versions)-1], versions[0]} {
		t.Run(version, func(t *testing.T) { directoryStory(t, version) })
	}
}

func directoryStory(t *testing.T, version string) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := realkafka.Start(t, realkafka.Config{Version: version, Controllers: 1, Brokers: 2, Properties: map[string]string{
		"metadata.log.max.record.bytes.between.snapshots": "3000",
	}})
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap()...), kgo.RequestRetries(0), kgo.DialTimeout(2*time.Second))
	require.NoError(t, err)
	defer client.Close()
	const broker = 1
	controller := c.ControllerIDs()[0]
	applied := &metadatalog.AppliedBound{Client: client, Node: broker, ClusterID: c.ID}
	agreed := &metadatalog.QuorumBound{Client: client, Node: kafka.NodeID(controller)}

	besideBroker := observeDir(t, c.LogDir(broker), c.ID, metadatalog.FirstBound{applied, &metadatalog.QuorumBound{Client: client, Node: broker}})
	besideController := observeDir(t, c.LogDir(controller), c.ID, agreed)
	both := func(topic string, observers ...*observer) {
		_, err := c.Admin().CreateTopic(ctx, 3, 1, nil, topic)
		require.NoError(t, err)
		for _, o := range observers {
			o.await(ctx, topic, func() bool { return o.mentions(topic) })
		}
	}
	both("first", besideBroker, besideController)

	require.NoError(t, c.KillBroker(broker))
	both("while-away", besideController)
	require.False(t, besideBroker.mentions("while-away"), "the broker does not have it")
	require.NoError(t, c.StartBroker(broker))
	besideBroker.await(ctx, "what was missed", func() bool { return besideBroker.mentions("while-away") })
	both("back", besideBroker, besideController)
	besideBroker.await(ctx, "all being well", func() bool { return besideBroker.progress().Problem == nil })

	besideBroker.await(ctx, "a snapshot", func() bool { return hasSnapshot(t, c.MetadataDir(broker)) })
	require.NoError(t, metadatalog.CheckDir(c.LogDir(broker)))
	later := observeDir(t, c.MetadataDir(broker), "", applied)
	later.await(ctx, "the log after a snapshot", func() bool { return later.snapshots() > 0 && later.mentions("back") })

	for _, o := range []*observer{besideBroker, besideController, later} {
		o.stop()
	}
	besideBroker.requireSameAs(t, c.MetadataDir(controller))
	besideController.requireSameAs(t, c.MetadataDir(broker))
	later.requireSameAs(t, c.MetadataDir(controller))
}

func observeDir(t *testing.T, dir, cluster string, bound metadatalog.Bound) *observer {
	ctx, cancel := context.WithCancel(t.Context())
	o := newObserver(t, cancel)
	source := metadatalog.NewDir(metadatalog.DirConfig{Dir: dir, ClusterID: cluster, Bound: bound})
	go func() { o.ended <- source.Run(ctx, metadatalog.Position{}, o) }()
	return o
}

func newObserver(t *testing.T, cancel context.CancelFunc) *observer {
	return &observer{t: t, cancel: cancel, ended: make(chan error, 1), batches: map[kafka.Offset][]byte{}}
}
