package site

import "time"

// SetTimes changes how long clients may take with a body, and with an answer.
func SetTimes(body, write time.Duration) (back func()) {
	b, w := bodyTime, writeTime
	bodyTime, writeTime = body, write
	return func() { bodyTime, writeTime = b, w }
}
