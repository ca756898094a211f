package cli

import (
	"fmt"
	"slices"

	"github.com/kraftside/kraftside/internal/nearest"
)

// Nearest is the choice that s was most likely meant to be, or "" if none is
// like it.
func Nearest(s string, choices []string) string { return nearest.Of(s, slices.Values(choices)) }

// DidYouMean is the end of an error message about s; "" if no choice is like
// it.
func DidYouMean(s string, choices []string) string {
	if c := Nearest(s, choices); c != "" {
		return fmt.Sprintf("; did you mean %s?", c)
	}
	return ""
}
