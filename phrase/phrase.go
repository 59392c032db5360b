// Package phrase writes the small parts of which messages consist: numbers, plurals,
// durations, command lines, and the nearest of some names to a mistyped one. Prompts,
// reports and messages write them alike by writing them here.
package phrase

import (
	"strconv"
	"time"
)

// Number writes 87950 as "87,950".
func Number[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural writes "1 call" or "2,000 calls".
func Plural[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Duration writes how long something took, to about three digits.
func Duration(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
