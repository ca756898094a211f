// Package dumptest compares what `dump -o json --show-secrets` prints with
// what Kafka's own DumpLogSegments prints of the same files.
package dumptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/recordgen/vectors"
)

// line is one record that kraftside printed.
type line struct {
	Offset    *int64          `json:"offset"`
	Timestamp *int64          `json:"timestamp"`
	Control   string          `json:"control"`
	Data      json.RawMessage `json:"data"`
	Key       json.RawMessage `json:"key"`
	Value     json.RawMessage `json:"value"`
	Payload   json.RawMessage `json:"payload"`
	Error     string          `json:"error"`
}

// toolLine is a record as DumpLogSegments prints it: what it says of it in
// general, and what its decoder says.
var toolLine = regexp.MustCompile(`^\| offset: (\d+) \w+Time: (-?\d+) keySize: .*? headerKeys: \[.*?\] ?(.*)$`)

// RequireSame fails the test unless both hold the same records: each payload,
// key and value the same JSON, field for field and in the same order, each
// control record the same. What Kafka's tool cannot decode must be an error
// here. It returns the number of records.
func RequireSame(tb testing.TB, kafka []string, ours []byte) (records int) {
	tb.Helper()
	var lines [][]byte
	if len(ours) > 0 {
		lines = bytes.Split(bytes.TrimSuffix(ours, []byte("\n")), []byte("\n"))
	}
	for _, text := range kafka {
		m := toolLine.FindStringSubmatch(text)
		if m == nil {
			continue // about a batch, or a file
		}
		require.Greater(tb, len(lines), records, "only Kafka has %s", text)
		var l line
		require.NoError(tb, json.Unmarshal(lines[records], &l), "%s", lines[records])
		if l.Offset != nil {
			require.Equal(tb, m[1], fmt.Sprint(*l.Offset), "offset of %s", text)
		}
		if l.Timestamp != nil {
			require.Equal(tb, m[2], fmt.Sprint(*l.Timestamp), "timestamp of %s", text)
		}
		l.requireSame(tb, m[3])
		records++
	}
	require.Len(tb, lines, records, "records that only we have")
	return records
}

// requireSame compares with what Kafka's decoder says.
func (l *line) requireSame(tb testing.TB, says string) {
	tb.Helper()
	payload, hasPayload := strings.CutPrefix(says, "payload: ")
	key, hasKey := strings.CutPrefix(says, "key: ")
	switch {
	case hasPayload && strings.HasPrefix(payload, "{"):
		vectors.RequireSameJSON(tb, []byte(payload), l.Payload, says)
	case hasKey && strings.HasPrefix(key, "{"):
		l.requireSameKey(tb, key)
	case hasPayload, hasKey, says == "":
		require.NotEmpty(tb, l.Error, "Kafka says: %s", says)
	default:
		l.requireSameControl(tb, says)
	}
}

func (l *line) requireSameKey(tb testing.TB, says string) {
	tb.Helper()
	var key json.RawMessage
	d := json.NewDecoder(strings.NewReader(says))
	require.NoError(tb, d.Decode(&key), says)
	vectors.RequireSameJSON(tb, key, l.Key, says)
	value := strings.TrimPrefix(says[d.InputOffset():], " payload: ")
	if value == "<DELETE>" {
		value = "null"
	}
	vectors.RequireSameJSON(tb, []byte(value), l.Value, says)
}

// controlNames are the words that Kafka's tool has for control records.
var controlNames = map[string]string{
	"LeaderChange":   "LEADER_CHANGE",
	"SnapshotHeader": "SNAPSHOT_HEADER",
	"SnapshotFooter": "SNAPSHOT_FOOTER",
	"KRaftVersion":   "KRAFT_VERSION",
	"KRaftVoters":    "KRAFT_VOTERS",
}

func (l *line) requireSameControl(tb testing.TB, says string) {
	tb.Helper()
	if marker, ok := strings.CutPrefix(says, "endTxnMarker: "); ok {
		var data struct{ CoordinatorEpoch int }
		require.NoError(tb, json.Unmarshal(l.Data, &data))
		require.Equal(tb, marker, fmt.Sprintf("%s coordinatorEpoch: %d", l.Control, data.CoordinatorEpoch))
		return
	}
	if control, ok := strings.CutPrefix(says, "controlType: "); ok { // 4.0 says no more of most
		name, _, _ := strings.Cut(control, "(")
		require.Equal(tb, name, l.Control, says)
		return
	}
	word, data, _ := strings.Cut(says, " ")
	name, known := controlNames[strings.TrimSuffix(word, ":")]
	require.True(tb, known, "Kafka says: %s", says)
	require.Equal(tb, name, l.Control, says)
	vectors.RequireSameJSON(tb, []byte(data), l.Data, says)
}
