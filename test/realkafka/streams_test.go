//go:build e2e && unix

package realkafka_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kraftside/kraftside/test/jvm"
	"github.com/kraftside/kraftside/test/realkafka"
)

// A streams group stores the hash that the release's own classes compute of its source and internal topics.
func TestStreamsMember(t *testing.T) {
	for _, version := range jvm.Versions() {
		if !strings.HasPrefix(version, "4.0.") { // which has no streams groups
			t.Run(version, func(t *testing.T) { streamsStory(t, version) })
		}
	}
}

func streamsStory(t *testing.T, version string) {
	ctx := testContext(t)
	c := realkafka.Start(t, realkafka.Config{Version: version, Controllers: 1, Brokers: 1})
	created, err := c.Admin().CreateTopics(ctx, 2, 1, nil, "in", "out")
	require.NoError(t, err)
	require.NoError(t, created.Error())
	m, err := c.NewStreamsMember(ctx, "app", "one")
	require.NoError(t, err)
	require.NoError(t, m.Start(realkafka.Count, "out", "in"))
	require.Eventually(t, func() bool {
		state, err := m.State()
		return err == nil && state == "RUNNING"
	}, time.Minute, 100*time.Millisecond)

	hasher, err := jvm.NewHasher(ctx, version)
	require.NoError(t, err)
	defer hasher.Close()
	topics, err := c.Admin().ListTopics(ctx, "in", "app-by-value-repartition", "app-count-changelog")
	require.NoError(t, err)
	hashes := map[string]int64{}
	rack := "rack-1"
	for name, topic := range topics {
		require.NoError(t, topic.Err, name)
		racks := make([][]*string, len(topic.Partitions))
		for i := range racks {
			racks[i] = []*string{&rack}
		}
		hashes[name], err = hasher.Topic(name, topicID(topic), racks)
		require.NoError(t, err)
	}
	want, err := hasher.Group(hashes)
	require.NoError(t, err)
	// The member may run a moment before a heartbeat of it stores the hash of
	// all topics.
	var stored []int64
	if !assert.Eventually(t, func() bool {
		stored = storedHashes(t, c, "app")
		return len(stored) > 0 && stored[len(stored)-1] == want
	}, time.Minute, 100*time.Millisecond) {
		require.FailNow(t, "the hash is not stored", "want %d at the end of %d", want, stored)
	}

	require.NoError(t, m.Stop())
	require.Eventually(t, func() bool { return len(storedHashes(t, c, "app")) > len(stored) }, time.Minute, 100*time.Millisecond)
}

func topicID(d kadm.TopicDetail) [16]byte { return d.ID }

// storedHashes returns the MetadataHash of each StreamsGroupMetadata record of a group, in their order.
func storedHashes(t *testing.T, c *realkafka.Cluster, group string) []int64 {
	segments, err := filepath.Glob(filepath.Join(c.LogDir(1), "__consumer_offsets-*", "*.log"))
	require.NoError(t, err)
	lines, err := c.Dump(testContext(t), segments...)
	require.NoError(t, err)
	var hashes []int64
	for _, line := range lines {
		_, record, ok := strings.Cut(line, ` key: {"type":"17","data":{"groupId":"`+group+`"}} payload: `)
		if !ok || record == "<null>" {
			continue
		}
		var value struct {
			Data struct {
				MetadataHash int64 `json:"metadataHash"`
			} `json:"data"`
		}
		require.NoError(t, json.Unmarshal([]byte(record), &value), record)
		hashes = append(hashes, value.Data.MetadataHash)
	}
	return hashes
}
