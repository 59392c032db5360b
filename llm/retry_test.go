package llm

import (
	"math"
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		header, value, date string
		want                wait
	}{
		{"Retry-After", "3", "", wait{3 * time.Second, true}},
		{"Retry-After", " 1.5 ", "", wait{1500 * time.Millisecond, true}},
		{"Retry-After", "0", "", wait{0, true}},
		{"Retry-After", "Sat, 21 Nov 2026 12:00:09 GMT", "", wait{9 * time.Second, true}},
		{"Retry-After", "Sat, 21 Nov 2026 11:00:00 GMT", "", wait{0, true}},
		{"Retry-After", "Sat, 21 Nov 2026 15:00:09 GMT", "Sat, 21 Nov 2026 15:00:00 GMT", wait{9 * time.Second, true}}, // the server's clock is 3 h ahead
		{"Retry-After-Ms", "125.5", "", wait{125500 * time.Microsecond, true}},
		{"Retry-After", "-1", "", wait{}},
		{"Retry-After", "NaN", "", wait{}},
		{"Retry-After", "1e300", "", wait{100 * 365 * 24 * time.Hour, true}}, // a century is enough
		{"Retry-After", "Inf", "", wait{}},
		{"Retry-After", "soon", "", wait{}},
		{"X-Other", "1", "", wait{}},
	} {
		h := http.Header{}
		h.Set(test.header, test.value)
		if test.date != "" {
			h.Set("Date", test.date)
		}
		if got := retryAfter(h, now); got != test.want {
			t.Errorf("%s: %q gives %+v, want %+v", test.header, test.value, got, test.want)
		}
	}
}

func TestBackoff(t *testing.T) {
	for attempt := 1; attempt < 200; attempt++ {
		most := backoff(attempt, wait{}, 0)
		least := backoff(attempt, wait{}, math.Nextafter(1, 0))
		if most > maxBackoff || most < firstBackoff || least < most/2 || least >= most {
			t.Fatalf("attempt %d waits %v to %v", attempt, least, most)
		}
		if attempt > 1 && most < backoff(attempt-1, wait{}, 0) {
			t.Fatalf("attempt %d waits less than the one before", attempt)
		}
	}
	if got := backoff(9, wait{time.Hour, true}, 0.5); got != MaxRetryAfter {
		t.Errorf("an hour asked for gives %v", got)
	}
}
