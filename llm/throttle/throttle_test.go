package throttle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// jobs makes n jobs, each of which takes a second and is done by do.
func jobs(n int, do func(i int) (float64, error)) []Job {
	var js []Job
	for i := range n {
		js = append(js, Job{Name: fmt.Sprint("question ", i), Model: "m", Tokens: 100, Most: 1, Ask: func(ctx context.Context) (float64, error) {
			select {
			case <-time.After(time.Second):
				return do(i)
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}})
	}
	return js
}

func answered(int) (float64, error) { return 0.25, nil }

func TestRunAsksAllInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []int
		o := Run(t.Context(), jobs(5, func(i int) (float64, error) { order = append(order, i); return 0.25, nil }), Limits{}, nil, nil)
		if o.Answered != 5 || o.Failed+o.Left != 0 || o.Spent != 1.25 || !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
			t.Errorf("%+v in the order %v", o, order)
		}
	})
}

// TestParallel: as many as may be are under way, and no more.
func TestParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var now, most atomic.Int32
		js := jobs(7, nil)
		for i := range js {
			js[i].Ask = func(context.Context) (float64, error) {
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(time.Second)
				now.Add(-1)
				return 0, nil
			}
		}
		Run(t.Context(), js, Limits{Parallel: 3}, nil, nil)
		if most.Load() != 3 || time.Since(start) != 3*time.Second {
			t.Errorf("%d at a time, %s in all, want 3 and 3s", most.Load(), time.Since(start))
		}
	})
}

// TestRate: in no minute pass more questions, or tokens, than are allowed (but for
// the very first question, which does not wait).
func TestRate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits Limits
		want   time.Duration // of 31 questions of 100 tokens
	}{
		{"questions", Limits{Parallel: 99, PerMinute: 30}, time.Minute},
		{"tokens", Limits{Parallel: 99, TokensPerMinute: 3000}, time.Minute},
		{"a prompt larger than a minute's tokens", Limits{Parallel: 99, TokensPerMinute: 60}, 51*time.Minute + 39*time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var last time.Time
				Run(t.Context(), jobs(31, func(i int) (float64, error) { last = time.Now(); return 0, nil }), tt.limits, nil, nil)
				if took := last.Sub(start) - time.Second; took < tt.want-2*time.Second || took > tt.want+3*time.Second {
					t.Errorf("the last was asked after %s, want %s", took, tt.want)
				}
			})
		})
	}
}

// TestCeiling: what is spent never passes the ceiling, and no question is kept back
// that fits below it.
func TestCeiling(t *testing.T) {
	for _, parallel := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			// Each may cost 1 and costs 0.25; 2 are spent already of 4: eight fit by
			// what they cost, but the fifth to eighth only if nothing is held back.
			o := Run(t.Context(), jobs(20, answered), Limits{Parallel: parallel, MaxCost: 4, Spent: 2}, nil, nil)
			if o.Answered != 5 || o.Spent != 3.25 || o.Left != 15 {
				t.Errorf("%d at a time: %+v", parallel, o)
			}
			if len(o.Stopped) != 1 || !errors.Is(o.Stopped[0], ErrCeiling) || !strings.Contains(o.Stopped[0].Error(), "question 5 may cost up to $1.0000") {
				t.Errorf("%d at a time: stopped by %v", parallel, o.Stopped)
			}
		})
	}
}

// TestCeilingIsOfEachQuestion: what does not fit below the ceiling is passed over
// without waiting its turn, and what costs less, or nothing, is asked at the rate.
func TestCeilingIsOfEachQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		js := jobs(40, func(int) (float64, error) { return 0, nil })
		for i := range js {
			if i >= 30 {
				js[i].Most = 0
			}
		}
		o := Run(t.Context(), js, Limits{MaxCost: 1, Spent: 0.5, PerMinute: 1}, nil, nil)
		if o.Answered != 10 || o.Left != 30 || len(o.Stopped) != 1 || !errors.Is(o.Stopped[0], ErrCeiling) {
			t.Errorf("%+v", o)
		}
		if took := time.Since(start); took < 9*time.Minute || took > 10*time.Minute {
			t.Errorf("ten questions, one a minute, took %s", took)
		}
	})
}

// TestStopWhileMoneyIsHeld: a question that waits for what another one leaves of the
// money is not begun after stop either.
func TestStopWhileMoneyIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		time.AfterFunc(500*time.Millisecond, func() { close(stop) })
		o := Run(t.Context(), jobs(9, answered), Limits{Parallel: 2, MaxCost: 1.5}, stop, nil)
		if o.Answered != 1 || o.Failed != 0 || len(o.Stopped) != 1 || !errors.Is(o.Stopped[0], ErrInterrupted) {
			t.Errorf("%+v", o)
		}
	})
}

// TestStopAtOnce: nothing is begun when stop is closed before.
func TestStopAtOnce(t *testing.T) {
	stop := make(chan struct{})
	close(stop)
	for range 50 {
		if o := Run(t.Context(), jobs(1, answered), Limits{}, stop, nil); o.Answered != 0 || o.Left != 1 {
			t.Fatalf("%+v", o)
		}
	}
}

// TestStop: what is under way comes to its end and nothing else is begun, be it held
// back by the rate or not.
func TestStop(t *testing.T) {
	for _, l := range []Limits{{Parallel: 2}, {Parallel: 2, PerMinute: 1}} {
		synctest.Test(t, func(t *testing.T) {
			stop := make(chan struct{})
			time.AfterFunc(1500*time.Millisecond, func() { close(stop) })
			start := time.Now()
			o := Run(t.Context(), jobs(9, answered), l, stop, nil)
			want := 4
			if l.PerMinute > 0 {
				want = 1
			}
			if o.Answered != want || o.Failed != 0 || o.Left != 9-want || time.Since(start) > 2*time.Second {
				t.Errorf("%+v after %s", o, time.Since(start))
			}
			if len(o.Stopped) != 1 || !errors.Is(o.Stopped[0], ErrInterrupted) {
				t.Errorf("stopped by %v", o.Stopped)
			}
		})
	}
}

// TestBrokenOff: when the context ends, so does what is under way.
func TestBrokenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		o := Run(ctx, jobs(9, answered), Limits{}, nil, nil)
		if o.Answered != 1 || o.Failed != 1 || o.Left != 7 || !errors.Is(o.Errs[0], context.DeadlineExceeded) {
			t.Errorf("%+v", o)
		}
	})
}

func TestFailures(t *testing.T) {
	refused := errors.New("refused")
	tests := []struct {
		name                   string
		err                    func(i int) error
		answered, failed, left int
		stopped                string
	}{
		{"one is passed over", func(i int) error {
			if i == 2 {
				return refused
			}
			return nil
		}, 9, 1, 0, ""},
		{"now and then", func(i int) error {
			if i%3 != 2 {
				return refused
			}
			return nil
		}, 3, 7, 0, ""},
		{"a server that is down", func(i int) error {
			if i > 3 {
				return refused
			}
			return nil
		}, 4, 3, 3, "3 questions in a row"},
		{"prompts that are too long", func(i int) error {
			if i < 8 {
				return &QuestionError{refused}
			}
			return nil
		}, 2, 8, 0, ""},
		{"answers that cannot be saved", func(i int) error {
			if i == 2 {
				return &StopError{refused}
			}
			return nil
		}, 2, 1, 7, "nothing more is asked: refused"},
		{"a wrong key", func(int) error { return &FinalError{refused} }, 0, 1, 9, "m is not asked again: refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := 0
				o := Run(t.Context(), jobs(10, func(i int) (float64, error) { return 0, tt.err(i) }), Limits{}, nil, func(Job, error) { told++ })
				if o.Answered != tt.answered || o.Failed != tt.failed || o.Left != tt.left || told != tt.answered+tt.failed {
					t.Errorf("%+v, told of %d", o, told)
				}
				if tt.stopped == "" && o.Stopped != nil || tt.stopped != "" && (len(o.Stopped) != 1 || !strings.Contains(o.Stopped[0].Error(), tt.stopped)) {
					t.Errorf("stopped by %v, want %q", o.Stopped, tt.stopped)
				}
			})
		})
	}
}

// TestAnotherModelGoesOn: a model that is missing does not end the others.
func TestAnotherModelGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked := map[string]int{}
		js := jobs(8, nil)
		for i := range js {
			js[i].Model = []string{"m", "n"}[i%2]
			js[i].Ask = func(context.Context) (float64, error) {
				mu.Lock()
				defer mu.Unlock()
				asked[js[i].Model]++
				if js[i].Model == "m" {
					return 0, &FinalError{errors.New("unknown model")}
				}
				return 0, nil
			}
		}
		o := Run(t.Context(), js, Limits{}, nil, nil)
		if asked["m"] != 1 || asked["n"] != 4 || o.Left != 3 {
			t.Errorf("asked %v: %+v", asked, o)
		}
	})
}
