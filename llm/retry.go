package llm

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	firstBackoff = time.Second
	maxBackoff   = 30 * time.Second

	// MaxRetryAfter is the longest wait that a server can ask for (Retry-After,
	// retry-after-ms, Gemini's retryDelay). Who asks for a longer one is not
	// asked again: to come back earlier is what it does not want, and the error
	// says what it does.
	MaxRetryAfter = 60 * time.Second
)

// wait is what a server asked for; zero and not told are different things.
type wait struct {
	d    time.Duration
	told bool
}

// retryAfter reads the headers that say when to come back. OpenAI and Azure send
// retry-after-ms, which is the more exact; the standard one holds seconds or a date.
func retryAfter(h http.Header, now time.Time) wait {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return seconds(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return wait{}
	}
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return seconds(s)
	}
	if t, err := http.ParseTime(v); err == nil {
		// By the server's clock when it told it: ours may be off by minutes.
		if date, err := http.ParseTime(h.Get("Date")); err == nil {
			now = date
		}
		return wait{max(0, t.Sub(now)), true}
	}
	return wait{}
}

// seconds refuses what is no time to wait: negative, infinite, and NaN.
func seconds(s float64) wait {
	if !(s >= 0) || math.IsInf(s, 1) {
		return wait{}
	}
	const century = 100 * 365 * 24 * 3600
	s = min(s, century)
	return wait{time.Duration(s * float64(time.Second)), true}
}

// tooLong reports whether the server asks for a wait that is too long.
func (w wait) tooLong() bool { return w.told && w.d > MaxRetryAfter }

// backoff is the wait before the attempt after this one (from 1): the server's
// wish; else 1, 2, 4, ... 30 seconds, of which a random part of up to a
// half is taken off, so that clients that failed together do not return together.
// random is in [0, 1).
func backoff(attempt int, asked wait, random float64) time.Duration {
	if asked.told {
		return min(asked.d, MaxRetryAfter)
	}
	d := maxBackoff
	if attempt < 6 { // 1s<<5 is over the cap already
		d = min(firstBackoff<<(attempt-1), maxBackoff)
	}
	return d - time.Duration(random*float64(d)/2)
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
