package cli

import "fmt"

// Nearest is the choice that s was most likely meant to be, or "" if none is
// like it.
func Nearest(s string, choices []string) string {
	best, least := "", max(2, len(s)/3)+1
	for _, c := range choices {
		if d := distance(s, c); d < least {
			best, least = c, d
		}
	}
	return best
}

// DidYouMean is the end of an error message about s; "" if no choice is like
// it.
func DidYouMean(s string, choices []string) string {
	if c := Nearest(s, choices); c != "" {
		return fmt.Sprintf("; did you mean %s?", c)
	}
	return ""
}

// distance is the number of characters to insert, remove, replace or swap
// with the next one (optimal string alignment) that makes b of a.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := [3][]int{make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(x); i++ {
		before, last, row := rows[0], rows[1], rows[2]
		row[0] = i
		for j := 1; j <= len(y); j++ {
			replace := last[j-1]
			if x[i-1] != y[j-1] {
				replace++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		rows = [3][]int{last, row, before}
	}
	return rows[1][len(y)]
}
