package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"tracerag/code"
	"tracerag/llm/metered"
	"tracerag/llm/throttle"
	"tracerag/phrase"
	"tracerag/repair/patch"
	"tracerag/repair/trial"
)

// Options bound a repair. Zero values are those of Default.
type Options struct {
	Candidates int
	Rounds     int // of second tries; negative: none
	Parallel   int // candidates that are asked for and judged at once
}

// Default are the options that are used where none are given.
var Default = Options{Candidates: 4, Rounds: 1, Parallel: 2}

// Fixer repairs.
type Fixer struct {
	Model *metered.Model
	Options
	// Judge is the trial of a change.
	Judge func(context.Context, *patch.Patch) (trial.Verdict, error)
	// Parts says where the run of the test with a change parts from the run before it; "" if it
	// does not. Nil records nothing.
	Parts func(context.Context, *patch.Patch) (string, error)
	// Learn is called with a whole file before a part of it is sent: a part alone may not show that it
	// holds a secret. It may be nil.
	Learn func(text string)
	// Masks reports whether a text holds what is masked in questions. Nil masks nothing.
	Masks func(text string) bool
	// Tell is called for each candidate when it is judged or dropped, one call at a time. It may be nil.
	Tell func(*Candidate)
}

// Candidate is a change, and what became of it.
type Candidate struct {
	Number      int            `json:"number"` // from 1
	Round       int            `json:"round"`  // 0: at first; 1: the first second try
	Temperature float64        `json:"temperature"`
	Patch       *patch.Patch   `json:"-"`
	Diff        string         `json:"diff,omitempty"`
	Verdict     *trial.Verdict `json:"verdict,omitempty"` // nil: it was not judged
	// Like is the number of an earlier candidate that is the same but for layout and comments; 0: none is.
	Like  int    `json:"like,omitempty"`
	Votes int    `json:"votes,omitempty"` // candidates that are the same, with itself; of one with Like 0
	Wrong string `json:"wrong,omitempty"` // why there is no change
}

func (c *Candidate) accepted() bool { return c.Verdict != nil && c.Verdict.Accepted }

// Result is what became of a task.
type Result struct {
	Candidates []*Candidate   `json:"candidates"`
	Chosen     *Candidate     `json:"-"`
	Number     int            `json:"chosen"`        // of Chosen; 0: none is right
	Why        string         `json:"why,omitempty"` // it was chosen
	Notes      []string       `json:"notes,omitempty"`
	Totals     metered.Totals `json:"model"`
}

// note says something once.
func (r *Result) note(lines ...string) {
	for _, l := range lines {
		if !slices.Contains(r.Notes, l) {
			r.Notes = append(r.Notes, l)
		}
	}
}

// Fix repairs. With an error it also returns what is known until then.
func (f *Fixer) Fix(ctx context.Context, t *Task) (*Result, error) {
	g := *f
	g.Candidates, g.Parallel = cmp.Or(g.Candidates, Default.Candidates), cmp.Or(g.Parallel, Default.Parallel)
	g.Rounds = cmp.Or(g.Rounds, Default.Rounds)
	r := &Result{Candidates: []*Candidate{}}
	err := g.fix(ctx, t, r)
	r.Totals = g.Model.Totals()
	if r.Chosen != nil {
		r.Number = r.Chosen.Number
		err = nil // what ended the asking ends nothing else
	}
	return r, err
}

func (f *Fixer) fix(ctx context.Context, t *Task, r *Result) error {
	p, err := f.question(t)
	r.note(p.notes...)
	if err != nil {
		return err
	}
	for i := range f.Candidates {
		r.Candidates = append(r.Candidates, &Candidate{Number: i + 1, Temperature: temperature(i, f.Candidates)})
	}
	stopped := f.try(ctx, t, r, p, r.Candidates)
	for round := 1; round <= f.Rounds && stopped == nil && !r.right(); round++ {
		stopped = f.again(ctx, t, r, round)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if stopped != nil {
		r.note(stopped.Error())
	}
	if err := f.choose(ctx, t, r); err != nil {
		r.note(err.Error())
	}
	return stopped
}

// right reports whether a candidate is.
func (r *Result) right() bool {
	return slices.ContainsFunc(r.Candidates, (*Candidate).accepted)
}

// hottest is the highest temperature: over it replies leave their form.
const hottest = .9

// temperature is that of one of n candidates: 0 for the first, rising.
func temperature(i, n int) float64 {
	if i == 0 {
		return 0
	}
	return float64(int(100*hottest*float64(i)/float64(n-1)+.5)) / 100
}

// try asks for candidates and judges them. The error is one that the next question would have, too.
func (f *Fixer) try(ctx context.Context, t *Task, r *Result, p *prompt, list []*Candidate) error {
	for _, c := range list {
		c.Wrong = "not asked for"
	}
	stopped := beside(ctx, len(list), f.Parallel, func(i int) error {
		c := list[i]
		c.Wrong = ""
		err := f.ask(ctx, t, p, c)
		if err != nil {
			c.Wrong = err.Error()
		}
		return final(err)
	})
	f.alike(r)
	var telling sync.Mutex
	unjudged := make([]error, len(list))
	_ = beside(context.WithoutCancel(ctx), len(list), f.Parallel, func(i int) error {
		c := list[i]
		if c.Patch != nil && c.Like == 0 {
			v, err := f.Judge(ctx, c.Patch)
			if err != nil {
				c.Wrong, unjudged[i] = "not judged: "+err.Error(), err
			} else {
				c.Verdict = &v
			}
		}
		f.tell(&telling, c)
		return nil // the others may be judged
	})
	return cmp.Or(stopped, cmp.Or(unjudged...))
}

// beside does n things, at most so many at once, and begins them in their order. It begins none after
// one that returned an error, or when the context is done. The error is that of the first in their order.
func beside(ctx context.Context, n, atOnce int, do func(i int) error) error {
	var all sync.WaitGroup
	var failed atomic.Bool
	errs := make([]error, n)
	turn := make(chan bool, atOnce)
	for i := range n {
		turn <- true
		if failed.Load() || ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-turn }()
			if errs[i] = do(i); errs[i] != nil {
				failed.Store(true)
			}
		})
	}
	all.Wait()
	return cmp.Or(errs...)
}

func (f *Fixer) tell(mu *sync.Mutex, c *Candidate) {
	if f.Tell == nil {
		return
	}
	mu.Lock()
	defer mu.Unlock()
	f.Tell(c)
}

// final returns an error that the next question would have, too, and nil for any other.
func final(err error) error {
	_, refused := errors.AsType[*throttle.FinalError](err)
	_, stop := errors.AsType[*throttle.StopError](err)
	_, long := errors.AsType[*metered.TooLongError](err)
	if refused || stop || long || errors.Is(err, throttle.ErrCeiling) {
		return err
	}
	return nil
}

// retries is how often a reply that is no change is asked for again.
const retries = 2

// ask asks for a candidate.
func (f *Fixer) ask(ctx context.Context, t *Task, p *prompt, c *Candidate) error {
	return f.Model.AskInForm(ctx, metered.Question{Kind: "fix: candidate", System: system, User: p.user, Temperature: &c.Temperature, Sample: c.Number, Again: retries}, func(reply string) error {
		edits, err := patch.ParseReply(t.Dir, reply)
		if err != nil {
			return err
		}
		made, err := patch.Apply(t.Dir, edits)
		if err != nil {
			return err
		}
		if len(made.Files) == 0 {
			return errors.New("it changes nothing")
		}
		if made, err = with(made, t.Also); err != nil {
			return err
		}
		c.Patch, c.Diff = made, string(made.Diff())
		return nil
	})
}

// with adds what is part of each change.
func with(p, also *patch.Patch) (*patch.Patch, error) {
	if also == nil {
		return p, nil
	}
	for _, f := range also.Files {
		if slices.ContainsFunc(p.Files, func(x patch.File) bool { return x.Name == f.Name }) {
			return nil, fmt.Errorf("%s is the test: it can't be changed", f.Name)
		}
	}
	return patch.Of(slices.Concat(p.Files, also.Files)...), nil
}

// alike finds candidates that are the same, and counts votes.
func (f *Fixer) alike(r *Result) {
	first := map[code.Hash]*Candidate{}
	for _, c := range r.Candidates {
		if c.Patch == nil {
			continue
		}
		key := c.Patch.Key()
		if at := first[key]; at != nil {
			c.Like = at.Number
			at.Votes++
			continue
		}
		first[key] = c
		c.Like, c.Votes = 0, 1
	}
}

// Text says what became of a candidate, on a line.
func (c *Candidate) Text() string {
	head := fmt.Sprintf("candidate %d", c.Number)
	if c.Round > 0 {
		head += fmt.Sprintf(" (second try %d)", c.Round)
	}
	switch {
	case c.Like > 0:
		return fmt.Sprintf("%s: as candidate %d", head, c.Like)
	case c.Verdict == nil:
		return fmt.Sprintf("%s: %s", head, c.Wrong)
	case c.Verdict.Accepted:
		text := head + ": accepted"
		if c.Votes > 1 {
			text += ", " + phrase.Plural(c.Votes, "candidate", "candidates") + " agree"
		}
		return text
	}
	return fmt.Sprintf("%s: refused (%s): %s", head, c.Verdict.Stage, c.Verdict.Reason)
}
