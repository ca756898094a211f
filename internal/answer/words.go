package answer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
)

// count is a number of things.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// span is a duration for people: two units at most.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Truncate(100*time.Millisecond).Seconds()), ".0") + " s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// size is a number of bytes for people.
func size(bytes int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(bytes), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// ranges writes ascending numbers as 0-2,5.
func ranges(numbers []int32) string {
	numbers = slices.Sorted(slices.Values(numbers))
	var b strings.Builder
	for i := 0; i < len(numbers); {
		end := i
		for end+1 < len(numbers) && numbers[end+1] == numbers[end]+1 {
			end++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(numbers[i])))
		if end > i {
			fmt.Fprintf(&b, "-%d", numbers[end])
		}
		i = end + 1
	}
	return b.String()
}

// maxNamed is how many names a sentence has before it says how many more.
const maxNamed = 8

// firstNames are as many names as a sentence has.
func firstNames(list []string) []string {
	shown := make([]string, 0, maxNamed+1)
	for _, name := range list[:min(len(list), maxNamed)] {
		shown = append(shown, cli.Name(name))
	}
	if more := len(list) - maxNamed; more > 0 {
		shown = append(shown, fmt.Sprintf("%d others", more))
	}
	return shown
}

// either joins names as one says them: a, b or c.
func either(list []string) string {
	shown := firstNames(list)
	if len(shown) < 2 {
		return strings.Join(shown, "")
	}
	last := len(shown) - 1
	return strings.Join(shown[:last], ", ") + " or " + shown[last]
}

// few is a list of names that is not too long.
func few(list []string) string { return strings.Join(firstNames(list), " ") }

// names is a list of names.
func names(list []string) string {
	shown := make([]string, len(list))
	for i, name := range list {
		shown[i] = cli.Name(name)
	}
	return strings.Join(shown, " ")
}

// nodes is a list of brokers.
func nodes(ids []kafka.NodeID) string {
	shown := make([]string, len(ids))
	for i, id := range ids {
		shown[i] = strconv.Itoa(int(id))
	}
	return strings.Join(shown, ",")
}

// broker names one; "-" for none.
func broker(id *kafka.NodeID) string {
	if id == nil {
		return "-"
	}
	return fmt.Sprintf("broker %d", *id)
}

// number is one that may not be known.
func number[T ~int32 | ~int64](n *T) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(int64(*n), 10)
}

// orDash is a text, or "-" for an empty one.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
