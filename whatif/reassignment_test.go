package whatif

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseReassignment(t *testing.T) {
	r, err := ParseReassignment([]byte(`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2,1],"log_dirs":["any","/d"]}],"other":7}`))
	require.NoError(t, err)
	require.Len(t, r.Partitions, 1)
	for content, want := range map[string]string{
		``:                                     "line 1, column 1: the plan ends too early",
		"{\"version\":1,\n\"p":                 "line 2, column 3: the plan ends too early",
		"{\"version\":1,\n  \"partitions\":[}": "line 2, column 17: invalid character '}' looking for beginning of value",
		"{\"version\":1,\n\"partitions\":[{\"partition\":\"x\"}]}": "line 2, column 30: partitions.partition cannot be a string",
		`[]`: "line 1, column 1: the plan cannot be a array",
		`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1]}]} x`: "line 1, column 73: there is something after the end of the plan",
		`{"partitions":[]}`:                          `the plan has no version; want "version":1`,
		`{"version":1}`:                              "the plan has no partitions",
		`{"version":1,"partitions":[{}]}`:            "partitions[0]: there is no topic",
		`{"version":1,"partitions":[{"topic":"t"}]}`: `partitions[0]: topic "t": there is no partition`,
		`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1],"log_dirs":["a","b"]}]}`: `partitions[0]: partition 0 of topic "t" has 1 replicas and 2 log_dirs`,
	} {
		_, err := ParseReassignment([]byte(content))
		require.ErrorIs(t, err, ErrInvalid, content)
		require.Equal(t, want, err.Error(), content)
	}
}

// FuzzParseReassignment: whatever is in a file, it is read or refused, and what
// was read can be replayed or refused.
func FuzzParseReassignment(f *testing.F) {
	f.Add([]byte(`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2,1]}]}`))
	f.Add([]byte("{\n\"version\":1,\"partitions\":[{\"replicas\":[1e9]}]}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := ParseReassignment(content)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			return
		}
		require.NotEmpty(t, r.Partitions)
		for i := range r.Partitions {
			require.NotEmpty(t, r.Partitions[i].Replicas)
		}
	})
}
