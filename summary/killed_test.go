package summary

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"tracerag/knowledge"
	"tracerag/llm/throttle"
)

// TestKilled ends the process after each question, at each of three points: before the answer
// comes, when it is kept, and when the summaries are. No answered question is asked again, and
// what comes of it is the same.
func TestKilled(t *testing.T) {
	texts := small()
	texts["copy.go"] = "package table\n\nfunc pad(w int) { if w < 0 { panic(\"the width is negative\") } }\n" // the same as another
	whole := newWorld(t)
	flaky := func(n int, q string) string { // the first of a file lacks something
		if !strings.Contains(q, "An earlier reply") && strings.Contains(q, "func Draw:") {
			return strings.Replace(right(q), "func Draw:", "func Drew:", 1)
		}
		return right(q)
	}
	whole.reply = flaky
	questions, _ := whole.must(texts)
	want := whole.shown(texts)
	died := errors.New("killed")
	for at := 1; at <= questions; at++ {
		for _, when := range []string{"before", "answered", "kept"} {
			w := newWorld(t)
			w.reply = flaky
			switch when {
			case "before":
				w.fail = func(n int) error {
					if n == at {
						return &throttle.StopError{Err: died}
					}
					return nil
				}
			case "answered":
				k := &killer{overlay: w.kept, at: at, err: died}
				w.runKilled(texts, k)
			case "kept":
				k := &killer{overlay: w.kept, at: at, after: true, err: died}
				w.runKilled(texts, k)
			}
			if when == "before" {
				w.run(texts)
				w.fail = nil
			}
			if _, _, err := w.run(texts); err != nil {
				t.Fatal(err)
			}
			sent := map[string]int{}
			for i, q := range w.asked {
				if when != "before" || i != at-1 {
					sent[q]++
				}
			}
			for q, n := range sent {
				if n > 1 {
					t.Errorf("%s %d: asked %d times:\n%s", when, at, n, q)
				}
			}
			if len(sent) != questions {
				t.Errorf("%s %d: asked %d questions, not %d", when, at, len(sent), questions)
			}
			if got := w.shown(texts); got != want {
				t.Errorf("%s %d: has\n%s\nwant\n%s", when, at, got, want)
			}
		}
	}
}

// killer fails at a number of sets, and at all after it.
type killer struct {
	*overlay
	mu    sync.Mutex
	n, at int
	after bool
	err   error
}

func (k *killer) SetSummaries(ctx context.Context, model string, list []knowledge.Summary) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.n++
	if k.n >= k.at && !k.after || k.n > k.at {
		return k.err
	}
	return k.overlay.SetSummaries(ctx, model, list)
}

func (w *world) runKilled(texts map[string]string, to knowledge.Summaries) {
	k, files, r := w.maker(texts)
	k.Book.Kept = to
	if k.Files(w.t.Context(), files) == nil {
		_ = k.Above(w.t.Context(), r)
	}
}

// TestInterrupted: a question that fails ends the making with the file's name; what was made is
// kept.
func TestInterrupted(t *testing.T) {
	w := newWorld(t)
	down := errors.New("no server")
	w.fail = func(n int) error {
		if n == 2 {
			return down
		}
		return nil
	}
	n, _, err := w.run(map[string]string{"a.go": "package a\nfunc A() {}\n", "b.go": "package a\nfunc B() {}\n", "c.go": "package a\nfunc C() {}\n", "d.go": "package a\nfunc D() {}\n"})
	if !errors.Is(err, down) || !strings.Contains(err.Error(), ".go: ") || n > 3 {
		t.Errorf("asked %d: %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k, files, _ := w.maker(small())
	if err := k.Files(ctx, files); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
