package store

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Old returns the entries of a list, oldest first, that were saved before a time and are
// not among the newest. The zero time is no bound, and then all but the newest are old.
func Old(list []Entry, before time.Time, newest int) []Entry {
	var old []Entry
	for _, e := range list[:max(0, len(list)-newest)] {
		if before.IsZero() || e.Saved.Before(before) {
			old = append(old, e)
		}
	}
	return old
}

// ParseAge reads a number of days or weeks, "30d" and "2w", or a duration, "36h".
func ParseAge(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	age, err := time.ParseDuration(text)
	for unit, of := range map[string]time.Duration{"d": day, "w": 7 * day} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			var n int
			if n, err = strconv.Atoi(digits); int64(n) > int64(1<<62/of) {
				n = -1
			}
			age = time.Duration(n) * of
		}
	}
	if err != nil || age <= 0 {
		return 0, fmt.Errorf("%q is no age: give 30d, 2w or 36h", text)
	}
	return age, nil
}
