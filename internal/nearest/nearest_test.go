package nearest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	topics := []string{"orders", "returns", "пример", "customers-eu"}
	for in, want := range map[string]string{
		"order": "orders", "odrers": "orders", "retrun": "returns", "примр": "пример", "customer-eu": "customers-eu",
		"orders": "orders", "payments": "", "": "",
	} {
		require.Equal(t, want, Of(in, slices.Values(topics)), in)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"ab", "ba", 1}, {"abcd", "badc", 2}, {"kitten", "sitting", 3}, {"ü", "u", 1}} {
		require.Equal(t, c.want, distance(c.a, c.b))
		require.Equal(t, c.want, distance(c.b, c.a))
	}
}
