package metadatalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
)

func TestParseEndpoint(t *testing.T) {
	for in, want := range map[string]endpoint{
		"c:9093":         {kafka.NoNode, "c:9093"},
		"3@c:9093":       {3, "c:9093"},
		"0@[::1]:9093":   {0, "[::1]:9093"},
		"7@10.0.0.1:443": {7, "10.0.0.1:443"},
	} {
		got, err := parseEndpoint(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got)
	}
	for _, in := range []string{"", "c", "c:", ":9093", "c:http", "c:70000", "x@c:9093", "-1@c:9093", "@c:9093", "3@", "9999999999@c:1"} {
		_, err := parseEndpoint(in)
		require.Error(t, err, in)
	}
}

func newTestView(t *testing.T, controllers ...string) *view {
	v, err := newView(controllers)
	require.NoError(t, err)
	return v
}

// round lists whom a whole round asks.
func (v *view) wholeRound() (addresses []string) {
	for {
		addresses = append(addresses, v.target().address)
		if v.pass() {
			return addresses
		}
	}
}

func TestViewNeedsControllers(t *testing.T) {
	_, err := newView(nil)
	require.Error(t, err)
	_, err = newView([]string{"a:1", "nonsense"})
	require.ErrorContains(t, err, "nonsense")
}

func TestViewAsksAllInTurn(t *testing.T) {
	v := newTestView(t, "a:1", "b:1", "c:1")
	require.Equal(t, []string{"a:1", "b:1", "c:1"}, v.wholeRound())
	require.Equal(t, []string{"b:1", "c:1", "a:1"}, v.wholeRound())
	require.Equal(t, []string{"c:1", "a:1", "b:1"}, v.wholeRound())
}

func TestViewFollowsTheLeader(t *testing.T) {
	v := newTestView(t, "a:1", "b:1")
	require.True(t, v.learn(3, 5, "c:1"))
	require.Equal(t, "c:1", v.target().address)
	require.False(t, v.learn(3, 5, "elsewhere:1"), "the same again is no news")
	require.False(t, v.learn(2, 4, "b:1"), "an older epoch is no news")
	require.False(t, v.learn(kafka.NoNode, 6, ""), "no leader yet")
	v.pass()
	require.Equal(t, []string{"a:1", "b:1"}, v.wholeRound(), "the old leader is forgotten")
	require.True(t, v.learn(1, 6, "a:1"))
	require.Equal(t, "a:1", v.target().address)
}

// A leader that fails is asked again, after the others, for as long as these
// name it.
func TestViewKeepsTryingTheLeader(t *testing.T) {
	v := newTestView(t, "a:1", "b:1")
	v.learn(3, 5, "c:1")
	require.Equal(t, []string{"c:1", "a:1", "b:1"}, v.wholeRound())
	require.Equal(t, []string{"b:1", "a:1", "c:1"}, v.wholeRound())
	v.answered(endpoint{3, "c:1"})
	require.Equal(t, "c:1", v.target().address)
}

func TestViewOverridesAdvertisedAddress(t *testing.T) {
	v := newTestView(t, "a:1", "3@tunnel:1")
	require.True(t, v.learn(3, 5, "unreachable:1"))
	require.Equal(t, "tunnel:1", v.target().address)
	require.True(t, v.learn(2, 6, "b:1"))
	require.Equal(t, "b:1", v.target().address)
}

// A leader whose address nobody tells is looked for among those given: it
// answers as the leader.
func TestViewWithoutAnAddress(t *testing.T) {
	v := newTestView(t, "a:1", "b:1")
	require.False(t, v.learn(2, 5, ""))
	require.Equal(t, []string{"a:1", "b:1"}, v.wholeRound())
	v.answered(endpoint{kafka.NoNode, "b:1"})
	require.Equal(t, endpoint{2, "b:1"}, v.target())
}

// A quorum whose every controller knows only older epochs is another one.
func TestViewForgetsAnEpochThatIsGone(t *testing.T) {
	v := newTestView(t, "a:1", "b:1")
	v.learn(1, 9, "a:1")
	v.wholeRound()
	v.target()
	v.learn(2, 3, "b:1")
	v.pass()
	v.target()
	v.learn(1, 9, "a:1")
	require.True(t, v.pass())
	require.Equal(t, kafka.Epoch(9), v.epoch, "one that lags behind is nothing")

	v.target()
	v.learn(2, 3, "b:1")
	v.wholeRound()
	require.Zero(t, v.epoch)
	require.True(t, v.learn(2, 3, "b:1"))
}
