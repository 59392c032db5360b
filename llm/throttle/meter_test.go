package throttle

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestMeterHoldsTheCeiling: what questions under way may cost is held back for them, and
// what they did not cost is there for the next.
func TestMeterHoldsTheCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMeter(Limits{Parallel: 4, MaxCost: 2})
		js := jobs(8, answered) // up to 1, and .25 in truth
		var errs [8]error
		var all sync.WaitGroup
		for i, j := range js {
			all.Go(func() { errs[i] = m.Ask(t.Context(), j) })
		}
		all.Wait()
		refused := 0
		for _, err := range errs {
			if errors.Is(err, ErrCeiling) {
				refused++
			} else if err != nil {
				t.Error(err)
			}
		}
		// after five answers a sixth might cost more than is left
		if m.Spent() != 1.25 || refused != 3 {
			t.Errorf("$%v are spent, %d were refused: %v", m.Spent(), refused, errs)
		}
	})
}

func TestMeterEndsAModel(t *testing.T) {
	m := NewMeter(Limits{})
	wrong := Job{Name: "a", Model: "m", Ask: func(context.Context) (float64, error) { return 0, &FinalError{errors.New("unknown key")} }}
	right := Job{Name: "b", Model: "m", Ask: func(context.Context) (float64, error) { return 1, nil }}
	if err := m.Ask(t.Context(), wrong); err == nil || err.Error() != "unknown key" {
		t.Errorf("the question's own error is %v", err)
	}
	if err := m.Ask(t.Context(), right); err == nil || !strings.Contains(err.Error(), "m is not asked again: unknown key") {
		t.Errorf("the next one's is %v", err)
	}
	right.Model = "other"
	if err := m.Ask(t.Context(), right); err != nil || m.Spent() != 1 {
		t.Errorf("another model: %v, $%v", err, m.Spent())
	}
}

// TestMeterInterrupted: whoever waits for the rate ends with the context.
func TestMeterInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMeter(Limits{PerMinute: 1})
		job := Job{Model: "m", Ask: func(context.Context) (float64, error) { return 1, nil }}
		if err := m.Ask(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.Ask(ctx, job); err == nil || m.Spent() != 1 {
			t.Errorf("error %v, $%v", err, m.Spent())
		}
	})
}
