// Package throttle sends questions under rate and cost limits: some at a time, at
// most so many a minute, and for at most a sum of money. An interruption loses no
// answer that was paid for.
//
//	o := throttle.Run(ctx, jobs, throttle.Limits{Parallel: 4, MaxCost: 5}, stop, answered)
//
// A [Job] asks one question and saves the answer; the caller knows what a question
// is and which model answers it. [Run] starts a job only while its highest possible
// cost fits under the limit, and stops asking a model after an error that is final
// for it. The [Outcome] counts what was answered, and says why the rest was not.
package throttle

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"golang.org/x/time/rate"
)

// Job is a question that is to be asked.
type Job struct {
	Name   string // for messages
	Model  string // that is asked; after an error that is final for it, it is not asked again
	Tokens int    // of the prompt

	// Most is the most that it can cost, in US dollars; 0 is nothing, or unknown.
	Most float64

	// Ask asks and saves the answer, and returns what it has cost. It may take
	// minutes, and is called from several goroutines. With an error the answer is
	// lost; what it has cost nevertheless is returned beside it.
	Ask func(ctx context.Context) (cost float64, err error)
}

// Limits bound the asking.
type Limits struct {
	Parallel        int     // questions at a time; 1 if 0
	PerMinute       float64 // questions a minute; 0: as many as can be
	TokensPerMinute float64 // tokens of prompts a minute; 0: as many as can be
	MaxCost         float64 // US dollars in all, Spent included; 0: any
	Spent           float64 // by earlier runs
}

// Outcome is what came of it.
type Outcome struct {
	Answered int
	Failed   int     // asked, and no answer came
	Left     int     // not asked
	Spent    float64 // US dollars in all, [Limits.Spent] included

	// Stopped says why questions are left, one error for each reason; Errs the
	// errors of those that failed, in the jobs' order. Both name the question.
	Stopped []error
	Errs    []error
}

// ErrCeiling says that the next question could cost more than is left.
var ErrCeiling = errors.New("the cost ceiling is reached")

// ErrInterrupted says that the caller wanted no more questions asked.
var ErrInterrupted = errors.New("interrupted")

// FinalError marks an error of [Job.Ask] after which the model is not asked again: a
// wrong key, an unknown name.
type FinalError struct{ Err error }

func (e *FinalError) Error() string { return e.Err.Error() }
func (e *FinalError) Unwrap() error { return e.Err }

// StopError marks an error of [Job.Ask] after which nothing is asked any more: answers
// that cannot be saved would be paid for and lost.
type StopError struct{ Err error }

func (e *StopError) Error() string { return e.Err.Error() }
func (e *StopError) Unwrap() error { return e.Err }

// QuestionError marks an error of [Job.Ask] that is the question's own, such as a
// prompt that is too long: it tells nothing about the model.
type QuestionError struct{ Err error }

func (e *QuestionError) Error() string { return e.Err.Error() }
func (e *QuestionError) Unwrap() error { return e.Err }

// inARow is how many failures in a row there may be of a model before it is not
// asked again: the server is down, and each failure has waited long already.
const inARow = 3

// Run asks the jobs in their order. When stop is closed no further one is begun, and
// those that are under way come to their end; when ctx ends they are broken off. tell,
// which may be nil, is called one call at a time after each job.
func Run(ctx context.Context, jobs []Job, l Limits, stop <-chan struct{}, tell func(Job, error)) Outcome {
	r := &run{limits: l, spent: l.Spent, ended: map[string]bool{}, failures: map[string]int{}, errs: make([]error, len(jobs))}
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	waiting, quit := context.WithCancel(ctx) // for the rate: ends with stop, too
	defer quit()
	go func() {
		select {
		case <-stop:
			quit()
		case <-waiting.Done():
		}
	}()
	r.answeredOne = sync.NewCond(&r.mu)
	questions, tokens := limiter(l.PerMinute), limiter(l.TokensPerMinute)
	free := make(chan struct{}, max(l.Parallel, 1))
	var all sync.WaitGroup
	// Of several things that a select may do it does any: what is begun is asked for
	// by itself, so that nothing is after stop.
	stopped := func() bool {
		select {
		case <-stop:
			return true
		default:
			return waiting.Err() != nil
		}
	}
	for i, j := range jobs {
		if r.passes(j) {
			continue // it need not wait its turn for that
		}
		err := wait(waiting, questions, 1)
		if err == nil {
			err = wait(waiting, tokens, j.Tokens)
		}
		if err == nil {
			select {
			case free <- struct{}{}:
			case <-waiting.Done():
				err = waiting.Err()
			}
		}
		if err != nil {
			r.interrupt()
			break
		}
		if !r.begin(j, stopped) {
			<-free
			continue // another model may be asked
		}
		all.Add(1)
		go func() {
			defer func() { <-free; all.Done() }()
			cost, err := j.Ask(asking)
			r.end(i, j, cost, err, tell)
		}()
	}
	all.Wait()
	return r.outcome(len(jobs))
}

// limiter lets so many pass a minute, and nothing at once that a quiet minute before
// would have allowed: servers count by the second, too.
func limiter(perMinute float64) *rate.Limiter {
	if perMinute <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perMinute/60), max(1, int(math.Ceil(perMinute/60))))
}

// wait takes n from the limiter. A prompt may have more tokens than pass in a second
// or a minute; it takes as long as it takes.
func wait(ctx context.Context, l *rate.Limiter, n int) error {
	if l == nil {
		return nil
	}
	for n > 0 {
		k := min(n, l.Burst())
		if err := l.WaitN(ctx, k); err != nil {
			return err
		}
		n -= k
	}
	return nil
}

// run is the state of a Run.
type run struct {
	limits Limits
	errs   []error // by job

	mu          sync.Mutex
	answeredOne *sync.Cond
	spent       float64
	held        float64 // the most that the questions under way can cost
	under       int     // questions under way
	failures    map[string]int
	ended       map[string]bool // models that are not asked again
	ceiling     bool            // was reached
	interrupted bool
	broken      bool // after a StopError
	reasons     []error
	answered    int
	failed      int
}

// once notes a reason for which questions are left, the first time.
func (r *run) once(known *bool, why error) {
	if !*known {
		*known = true
		r.reasons = append(r.reasons, why)
	}
}

// endModel has a model asked no more.
func (r *run) endModel(model string, why error) {
	if !r.ended[model] {
		r.ended[model] = true
		r.reasons = append(r.reasons, why)
	}
}

func (r *run) interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.once(&r.interrupted, ErrInterrupted)
}

// passes reports whether a question is not asked, whatever those under way will cost.
// Others may be: of another model, or cheaper ones.
func (r *run) passes(j Job) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.passesLocked(j)
}

func (r *run) passesLocked(j Job) bool {
	if r.broken || r.ended[j.Model] {
		return true
	}
	if c := r.limits.MaxCost; c > 0 && r.spent+j.Most > c {
		r.once(&r.ceiling, fmt.Errorf("%w: $%.4f of $%.4f are spent, and %s may cost up to $%.4f", ErrCeiling, r.spent, c, j.Name, j.Most))
		return true
	}
	return false
}

// begin holds back what a question can cost, and reports whether it may be asked.
func (r *run) begin(j Job, stopped func() bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	// What is under way may turn out cheaper than it could have been.
	for !r.passesLocked(j) && r.limits.MaxCost > 0 && r.spent+r.held+j.Most > r.limits.MaxCost && r.held > 0 {
		r.answeredOne.Wait()
	}
	if stopped() {
		r.once(&r.interrupted, ErrInterrupted)
		return false
	}
	if r.passesLocked(j) {
		return false
	}
	r.held += j.Most
	r.under++
	return true
}

func (r *run) end(i int, j Job, cost float64, err error, tell func(Job, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.answeredOne.Broadcast()
	r.held -= j.Most
	if r.under--; r.under == 0 {
		r.held = 0 // and not what rounding leaves
	}
	r.spent += cost
	if err == nil {
		r.answered++
		r.failures[j.Model] = 0
	} else {
		r.failed++
		r.errs[i] = fmt.Errorf("%s: %w", j.Name, err)
		var final *FinalError
		if _, own := errors.AsType[*QuestionError](err); !own {
			r.failures[j.Model]++
		}
		var all *StopError
		switch {
		case errors.As(err, &all):
			r.once(&r.broken, fmt.Errorf("nothing more is asked: %w", err))
		case errors.As(err, &final):
			r.endModel(j.Model, fmt.Errorf("%s is not asked again: %w", j.Model, err))
		case r.failures[j.Model] >= inARow && !errors.Is(err, context.Canceled):
			r.endModel(j.Model, fmt.Errorf("%s is not asked again: %d questions in a row had no answer", j.Model, inARow))
		}
	}
	if tell != nil {
		tell(j, err)
	}
}

func (r *run) outcome(jobs int) Outcome {
	o := Outcome{Answered: r.answered, Failed: r.failed, Left: jobs - r.answered - r.failed, Spent: r.spent, Stopped: r.reasons}
	o.Errs = slices.DeleteFunc(slices.Clone(r.errs), func(err error) bool { return err == nil })
	return o
}
