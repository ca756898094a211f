// Package nearest finds the name that a misspelt one was meant to be, so that
// an error can suggest it.
package nearest

import "iter"

// Of is the choice that s was most likely meant to be, the first of several
// that are as near, or "" if none is like it. It looks at as many choices as
// there are, and holds none but the best.
func Of(s string, choices iter.Seq[string]) string {
	best, least := "", max(2, len(s)/3)+1
	for c := range choices {
		if apart := len(s) - len(c); apart >= 4*least || apart <= -4*least {
			continue // a character has at most four bytes
		}
		if d := distance(s, c); d < least {
			best, least = c, d
		}
	}
	return best
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
