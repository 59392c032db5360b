package store

import (
	"slices"
	"testing"
	"time"
)

func TestOld(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC) }
	list := []Entry{{ID: "a", Saved: at(1)}, {ID: "b", Saved: at(2)}, {ID: "c", Saved: at(3)}}
	for _, tt := range []struct {
		before time.Time
		newest int
		want   []string
	}{
		{time.Time{}, 0, []string{"a", "b", "c"}},
		{time.Time{}, 2, []string{"a"}},
		{time.Time{}, 3, nil},
		{time.Time{}, 9, nil},
		{at(3), 0, []string{"a", "b"}}, // what was saved at that moment is not older
		{at(3), 2, []string{"a"}},
		{at(1), 0, nil},
	} {
		var got []string
		for _, e := range Old(list, tt.before, tt.newest) {
			got = append(got, e.ID)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("before %v, but for %d: %v, want %v", tt.before, tt.newest, got, tt.want)
		}
	}
}

func TestParseAge(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30d": 720 * time.Hour, "1w": 168 * time.Hour, "36h": 36 * time.Hour, "90m": 90 * time.Minute, "1h30m": 90 * time.Minute,
		"": 0, "d": 0, "0d": 0, "-1d": 0, "7": 0, "1.5d": 0, "999999999999d": 0, "9223372036854775807w": 0, "soon": 0,
	} {
		got, err := ParseAge(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
}
