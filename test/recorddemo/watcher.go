//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
)

// stored is what a coordinator last stored of a group.
type stored struct {
	epoch int32
	hash  int64
}

// watcher reads __consumer_offsets as any consumer may, which is the only place where Kafka shows a stored hash.
type watcher struct {
	client *kgo.Client
	done   chan struct{}

	mu     sync.Mutex
	groups map[string]stored
	at     time.Time // when the last hash was read
	failed error
}

func (r *recorder) watch() error {
	from := make(map[int32]kgo.Offset)
	for p := range int32(offsetsPartitions) {
		from[p] = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(r.cluster.Bootstrap()...),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{kafka.OffsetsTopic: from}))
	if err != nil {
		return err
	}
	r.watcher = &watcher{client: client, done: make(chan struct{}), groups: make(map[string]stored)}
	go r.watcher.run()
	return nil
}

func (w *watcher) run() {
	defer close(w.done)
	var d record.Decoder
	for {
		fetches := w.client.PollFetches(context.Background())
		if fetches.IsClientClosed() {
			return
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if err := w.read(&d, r); err != nil {
				w.mu.Lock()
				w.failed = errors.Join(w.failed, err)
				w.mu.Unlock()
			}
		})
	}
}

// read takes a record with a hash; others do not concern it.
func (w *watcher) read(d *record.Decoder, r *kgo.Record) error {
	key, err := d.Key(r.Key)
	if err != nil || r.Value == nil {
		return err
	}
	value, _, err := d.Value(key.Type(), r.Value)
	if err != nil {
		return fmt.Errorf("partition %d, offset %d: %w", r.Partition, r.Offset, err)
	}
	var s stored
	switch v := value.(type) {
	case *record.ConsumerGroupMetadataValue:
		s = stored{v.Epoch, v.MetadataHash}
	case *record.ShareGroupMetadataValue:
		s = stored{v.Epoch, v.MetadataHash}
	case *record.StreamsGroupMetadataValue:
		s = stored{v.Epoch, v.MetadataHash}
	default:
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.groups[key.Owner()], w.at = s, time.Now()
	return nil
}

// snapshot returns what is stored of every group.
func (w *watcher) snapshot() map[string]stored {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.groups)
}

// last returns when the last hash was seen.
func (w *watcher) last() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

// err returns what could not be read.
func (w *watcher) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

func (w *watcher) stop() {
	w.client.Close()
	<-w.done
}
