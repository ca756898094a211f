package api

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/topichash"
)

func TestHashIsADecimalString(t *testing.T) {
	for _, h := range []Hash{0, 1, -1, 992369244151262311, math.MaxInt64, math.MinInt64} {
		b, err := json.Marshal(h)
		require.NoError(t, err)
		require.Equal(t, byte('"'), b[0])
		var again Hash
		require.NoError(t, json.Unmarshal(b, &again))
		require.Equal(t, h, again)
	}
	for _, bad := range []string{`1`, `"x"`, `""`, `"9223372036854775808"`, `"1.0"`, `{}`} {
		require.Error(t, json.Unmarshal([]byte(bad), new(Hash)), bad)
	}
}

func TestTimeIsRFC3339(t *testing.T) {
	for ms, want := range map[Time]string{
		0:             `"1970-01-01T00:00:00.000Z"`,
		1700000000123: `"2023-11-14T22:13:20.123Z"`,
		-1:            `"1969-12-31T23:59:59.999Z"`,
		math.MaxInt64: `"9999-12-31T23:59:59.999Z"`, // what no calendar has
		math.MinInt64: `"0000-01-01T00:00:00.000Z"`,
	} {
		b, err := json.Marshal(ms)
		require.NoError(t, err)
		require.Equal(t, want, string(b))
		var again Time
		require.NoError(t, json.Unmarshal(b, &again))
		_, err = time.Parse(time.RFC3339, want[1:len(want)-1])
		require.NoError(t, err)
		require.Equal(t, min(max(ms, firstTime), lastTime), again)
	}
	require.Error(t, json.Unmarshal([]byte(`"yesterday"`), new(Time)))
}

func TestWhatIsNotKnownIsNull(t *testing.T) {
	require.Nil(t, Offset(kafka.UnknownOffset))
	require.Nil(t, Node(kafka.NoNode))
	require.Nil(t, timeOf(0))
	require.Nil(t, text(""))
	require.Equal(t, kafka.Offset(0), *Offset(0))
	require.Equal(t, kafka.NodeID(0), *Node(0), "0 is a broker")
}

// Everything but match and none needs a look.
func TestDisagreeing(t *testing.T) {
	require.Equal(t, []topichash.Verdict{topichash.Pending, topichash.Stale, topichash.Unknown, topichash.Drift}, Disagreeing().Verdicts)
}

func TestCompletenessIsJoined(t *testing.T) {
	c := Completeness{Missing: []Missing{{Broker: 5}}, OffsetsPartitions: []int32{0, 4}}
	c.Add(Completeness{Missing: []Missing{{Broker: 2}}, Loading: []Loading{{Partition: 4}}, OffsetsPartitions: []int32{2, 4}})
	require.Equal(t, Completeness{
		Missing: []Missing{{Broker: 2}, {Broker: 5}}, Loading: []Loading{{Partition: 4}}, OffsetsPartitions: []int32{0, 2, 4},
	}, c)
	var empty Completeness
	empty.Add(Completeness{})
	b, err := json.Marshal(empty)
	require.NoError(t, err)
	require.JSONEq(t, `{"missing":[],"offsetsPartitions":[]}`, string(b))
}

func TestSubscriptionsAreJoined(t *testing.T) {
	s := Subscriptions{"orders": {"b", "d"}, "own": {"x"}}
	s.Add(Subscriptions{"orders": {"a", "d"}, "other": {"y"}})
	require.Equal(t, Subscriptions{"orders": {"a", "b", "d"}, "own": {"x"}, "other": {"y"}}, s)
}
