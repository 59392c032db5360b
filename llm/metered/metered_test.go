package metered

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tracerag/llm"
	"tracerag/llm/throttle"
)

// memory keeps answers in memory.
type memory struct {
	mu   sync.Mutex
	kept map[string][]byte
	full bool
}

func (k *memory) Answer(_ context.Context, key string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kept[key], nil
}

func (k *memory) KeepAnswer(_ context.Context, key string, answer []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.full {
		return errors.New("no space left")
	}
	if k.kept == nil {
		k.kept = map[string][]byte{}
	}
	k.kept[key] = answer
	return nil
}

// server answers with what reply says, after a second, and remembers what it was asked.
type server struct {
	mu    sync.Mutex
	asked []string
	reply func(messages []llm.Message) (string, error)
}

func (s *server) ask(ctx context.Context, r llm.Request, _ io.Writer) (llm.Answer, error) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Messages[len(r.Messages)-1].Content)
	s.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return llm.Answer{}, ctx.Err()
	}
	text, err := s.reply(r.Messages)
	return llm.Answer{Text: text}, err
}

func words(s string) int { return len(strings.Fields(s)) }

func options(s *server) Options {
	return Options{Model: "m", Ask: s.ask, Window: 1000, MaxTokens: 100, Count: words, Limits: throttle.Limits{Parallel: 8}}
}

// TestAskedOnce: a question that was answered is not asked again, by another process or by
// another goroutine, and counts nothing.
func TestAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{reply: func([]llm.Message) (string, error) { return "an answer", nil }}
		o := options(s)
		o.Keeper = &memory{}
		m := New(o)
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if got, err := m.Ask(t.Context(), Question{Kind: "k", User: "one two"}); got != "an answer" || err != nil {
					t.Error(got, err)
				}
			})
		}
		all.Wait()
		next := New(o)
		if got, err := next.Ask(t.Context(), Question{Kind: "k", User: "one two"}); got != "an answer" || err != nil {
			t.Error(got, err)
		}
		if len(s.asked) != 1 || m.Totals() != (Totals{Questions: 1, Kept: 4, Prompt: 2, Answered: 2}) || next.Totals() != (Totals{Kept: 1}) {
			t.Errorf("asked %q, %+v, then %+v", s.asked, m.Totals(), next.Totals())
		}
		o.Model = "other"
		if _, err := New(o).Ask(t.Context(), Question{Kind: "k", User: "one two"}); err != nil || len(s.asked) != 2 {
			t.Errorf("another model gives its own answer: %q %v", s.asked, err)
		}
	})
}

// TestForm: what is in no form is asked for once more, with the reason; then it is an error.
func TestForm(t *testing.T) {
	parse := func(reply string) error {
		if reply != "right" {
			return fmt.Errorf("want right, not %q", reply)
		}
		return nil
	}
	for _, tt := range []struct {
		name    string
		replies []string
		wrong   bool
	}{
		{"at once", []string{"right"}, false},
		{"the second time", []string{"left", "right"}, false},
		{"silence at first", []string{"", "right"}, false},
		{"never", []string{"left", "up"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				s.reply = func([]llm.Message) (string, error) {
					text := tt.replies[len(s.asked)-1]
					if text == "" { // some servers give no reason for the end either
						return "", &llm.Error{Kind: llm.KindEmpty}
					}
					return text, nil
				}
				err := New(options(s)).AskInForm(t.Context(), Question{Kind: "k", User: "which way?"}, parse)
				form, wrong := errors.AsType[*FormError](err)
				if wrong != tt.wrong || err != nil && !wrong {
					t.Fatal(err)
				}
				if wrong && form.Reply != "up" {
					t.Errorf("%+v", form)
				}
				if len(s.asked) != len(tt.replies) || len(s.asked) == 2 && !strings.Contains(s.asked[1], fmt.Sprintf("want right, not %q", tt.replies[0])) {
					t.Errorf("asked %q", s.asked)
				}
			})
		})
	}
}

// TestWindow: what does not fit is not sent.
func TestWindow(t *testing.T) {
	s := &server{}
	m := New(options(s))
	room := m.Room("a system prompt")
	if room != 1000-100-overhead-3 {
		t.Errorf("room %d", room)
	}
	_, err := m.Ask(t.Context(), Question{Kind: "k", System: "a system prompt", User: strings.Repeat("word ", room+1)})
	if long, ok := errors.AsType[*TooLongError](err); !ok || long.Tokens != long.Room+1 || len(s.asked) != 0 {
		t.Errorf("%v, asked %d", err, len(s.asked))
	}
}

// TestMasked: secrets leave neither with a question nor with an answer, and the transcript
// has none.
func TestMasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{reply: func([]llm.Message) (string, error) { return "use hunter2", nil }}
		o := options(s)
		o.Mask = func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }
		k := &memory{}
		o.Keeper = k
		var told []Exchange
		o.Tell = func(x Exchange) { told = append(told, x) }
		got, err := New(o).Ask(t.Context(), Question{Kind: "k", System: "hunter2!", User: "is it hunter2?"})
		all := fmt.Sprint(got, s.asked, told)
		for _, data := range k.kept {
			all += string(data)
		}
		if err != nil || got != "use ***" || strings.Contains(all, "hunter2") || len(told) != 1 {
			t.Errorf("%q %v\n%s", got, err, all)
		}
	})
}

// TestNotKept: an answer that cannot be kept ends the asking.
func TestNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{reply: func([]llm.Message) (string, error) { return "an answer", nil }}
		o := options(s)
		o.Keeper = &memory{full: true}
		m := New(o)
		_, first := m.Ask(t.Context(), Question{User: "one"})
		_, second := m.Ask(t.Context(), Question{User: "two"})
		if first == nil || second == nil || len(s.asked) != 1 {
			t.Errorf("%v, %v, asked %q", first, second, s.asked)
		}
	})
}

// TestInterrupted: the answers that came are kept, whatever came of the others.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		s := &server{reply: func([]llm.Message) (string, error) { return "an answer", nil }}
		o := options(s)
		o.Limits.Parallel = 1
		o.Keeper = &memory{}
		m := New(o)
		var errs []error
		for i := range 3 {
			_, err := m.Ask(ctx, Question{User: fmt.Sprint(i)})
			errs = append(errs, err)
		}
		if errs[0] != nil || errs[1] == nil || errs[2] == nil || !slices.Equal(s.asked, []string{"0", "1"}) {
			t.Errorf("%v, asked %q", errs, s.asked)
		}
		for i := range 3 {
			if _, err := New(o).Ask(t.Context(), Question{User: fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
		}
		if !slices.Equal(s.asked, []string{"0", "1", "1", "2"}) {
			t.Errorf("asked %q", s.asked)
		}
	})
}

// TestCeiling: what no price is known for costs nothing; what has one ends at the ceiling.
func TestCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{reply: func([]llm.Message) (string, error) { return "an answer", nil }}
		o := options(s)
		o.Model = "gpt-4o"
		most, priced := llm.EstimateCost(o.Model, llm.Usage{PromptTokens: 1, CompletionTokens: o.MaxTokens})
		if !priced {
			t.Fatal("no price is known")
		}
		o.Limits = throttle.Limits{MaxCost: 2.5 * most}
		m := New(o)
		var err error
		for i := 0; err == nil && i < 10; i++ {
			_, err = m.Ask(t.Context(), Question{User: fmt.Sprint(i)})
		}
		// the server counted nothing: each answer is taken for the dearest
		if !errors.Is(err, throttle.ErrCeiling) || len(s.asked) != 2 || m.Totals().Cost != 2*most {
			t.Errorf("%v after %d, %+v", err, len(s.asked), m.Totals())
		}
	})
}

// TestCut: a reply that was cut at the limit of tokens ends with its last whole line, is counted,
// and is asked for again with a greater limit, and only then.
func TestCut(t *testing.T) {
	keep := &memory{}
	limits := []int{}
	ask := func(limit int, reply string) (string, Totals) {
		o := Options{Model: "m", Window: 1000, MaxTokens: limit, Count: words, Keeper: keep, Limits: throttle.Limits{Parallel: 1},
			Ask: func(context.Context, llm.Request, io.Writer) (llm.Answer, error) {
				limits = append(limits, limit)
				if limit > 20 {
					return llm.Answer{Text: reply, FinishReason: "stop"}, nil
				}
				return llm.Answer{Text: reply, FinishReason: "length"}, nil
			}}
		m := New(o)
		got, err := m.Ask(t.Context(), Question{Kind: "k", User: "which?"})
		if err != nil {
			t.Fatal(err)
		}
		return got, m.Totals()
	}
	for _, step := range []struct {
		limit       int
		reply, want string
		cut         int
		asked       []int
	}{
		{10, "one: a\ntwo: b\nthr", "one: a\ntwo: b\n", 1, []int{10}},
		{10, "other", "one: a\ntwo: b\n", 1, []int{10}},
		{5, "other", "one: a\ntwo: b\n", 1, []int{10}},
		{20, "one: a\ntwo: b\nthree: c\nfo", "one: a\ntwo: b\nthree: c\n", 1, []int{10, 20}},
		{30, "one: a", "one: a", 0, []int{10, 20, 30}},
		{10, "other", "one: a", 0, []int{10, 20, 30}},
	} {
		got, totals := ask(step.limit, step.reply)
		if got != step.want || totals.Cut != step.cut || !slices.Equal(limits, step.asked) {
			t.Errorf("limit %d: %q, %+v, asked with %v", step.limit, got, totals, limits)
		}
	}
	// In a form: the model hears that it was cut.
	s := &server{}
	o := options(s)
	o.Ask = func(_ context.Context, r llm.Request, _ io.Writer) (llm.Answer, error) {
		s.asked = append(s.asked, r.Messages[len(r.Messages)-1].Content)
		if len(s.asked) == 1 {
			return llm.Answer{Text: "a line without end", FinishReason: "length"}, nil
		}
		return llm.Answer{Text: "right"}, nil
	}
	if err := New(o).AskInForm(t.Context(), Question{Kind: "k", User: "which?"}, func(reply string) error {
		if reply != "right" {
			return errors.New("no line is whole")
		}
		return nil
	}); err != nil || len(s.asked) != 2 || !strings.Contains(s.asked[1], "cut at 100 tokens (no line is whole)") {
		t.Errorf("%v, %q", err, s.asked)
	}
}

// TestSamples: equal questions of several samples, or at other temperatures, have an answer each,
// which is kept; the temperature is sent.
func TestSamples(t *testing.T) {
	var sent []string
	o := Options{Model: "m", Window: 1000, MaxTokens: 10, Count: words, Keeper: &memory{}, Limits: throttle.Limits{Parallel: 1},
		Ask: func(_ context.Context, r llm.Request, _ io.Writer) (llm.Answer, error) {
			said := "own"
			if r.Temperature != nil {
				said = fmt.Sprint(*r.Temperature)
			}
			sent = append(sent, said)
			return llm.Answer{Text: fmt.Sprintf("%s %d", said, len(sent))}, nil
		}}
	cold, warm := 0., .5
	for range 2 { // the second time by a process that finds what is kept
		m := New(o)
		for i, q := range []Question{{User: "x"}, {User: "x", Temperature: &cold}, {User: "x", Temperature: &warm}, {User: "x", Temperature: &warm, Sample: 1}, {User: "x", Sample: 1}} {
			want := []string{"own 1", "0 2", "0.5 3", "0.5 4", "own 5"}[i]
			if got, err := m.Ask(t.Context(), q); got != want || err != nil {
				t.Errorf("%d: %q %v, want %q", i, got, err, want)
			}
		}
	}
	if len(sent) != 5 {
		t.Error(sent)
	}
}

// TestAgain: a reply in no form is asked for again as often as the question says, each time with
// what is wrong with the last one.
func TestAgain(t *testing.T) {
	for _, again := range []int{0, 1, 3} {
		var asked []string
		o := Options{Model: "m", Window: 1000, MaxTokens: 10, Count: words, Limits: throttle.Limits{Parallel: 1},
			Ask: func(_ context.Context, r llm.Request, _ io.Writer) (llm.Answer, error) {
				asked = append(asked, r.Messages[len(r.Messages)-1].Content)
				return llm.Answer{Text: fmt.Sprint("reply ", len(asked))}, nil
			}}
		err := New(o).AskInForm(t.Context(), Question{Kind: "k", User: "x", Again: again}, func(reply string) error { return fmt.Errorf("%s is wrong", reply) })
		form := new(FormError)
		if !errors.As(err, &form) || len(asked) != 1+max(again, 1) || form.Reply != fmt.Sprint("reply ", len(asked)) {
			t.Errorf("again %d: %v, %q", again, err, asked)
		}
		if last := asked[len(asked)-1]; !strings.Contains(last, fmt.Sprintf("reply %d is wrong", len(asked)-1)) {
			t.Errorf("again %d: %q", again, last)
		}
	}
}
