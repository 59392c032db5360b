// Package throttle sends questions under rate and cost limits: some at a time, at
// most so many a minute, and for at most a sum of money. An interruption loses no
// answer that was paid for.
//
//	o := throttle.Run(ctx, jobs, throttle.Limits{Parallel: 4, MaxCost: 5}, stop, answered)
//
// A [Job] asks one question and saves the answer; the caller knows what a question
// is and which model answers it. [Run] starts a job only while its highest possible
// cost fits under the limit, and stops asking a model after an error that is final
// for it. The [Outcome] counts what was answered, and says why the rest was not. A
// [Meter] does the same for questions that are not known beforehand.
package throttle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
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

	// MostTokens is the most that question and answer can have; 0 is unknown. Used returns those that they had, after
	// Ask has returned; nil: the most. Both are for [Shared].
	MostTokens int
	Used       func() int

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

	// Shared are a rate and a ceiling that other processes have a part in; nil: there are none. A [Meter] keeps them,
	// [Run] does not.
	Shared Shared
}

// Shared is a rate and a ceiling of several processes.
type Shared interface {
	// Begin waits until a question may be asked, and holds back what it can take. end counts what it took. The
	// error is [ErrCeiling] if the question could take more than is left.
	Begin(ctx context.Context, j Job) (end func(cost float64, tokens int), err error)
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
	m := NewMeter(l)
	errs := make([]error, len(jobs))
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
		if m.passes(j) != nil {
			continue // it need not wait its turn for that
		}
		if m.turn(waiting, j) != nil {
			m.interrupt()
			break
		}
		if m.begin(j, stopped) != nil {
			<-m.free
			continue // another model may be asked
		}
		all.Go(func() {
			defer func() { <-m.free }()
			cost, err := j.Ask(asking)
			m.end(j, cost, err, func(err error) {
				errs[i] = err
				if tell != nil {
					tell(j, err)
				}
			})
		})
	}
	all.Wait()
	o := Outcome{Answered: m.answered, Failed: m.failed, Left: len(jobs) - m.answered - m.failed, Spent: m.spent, Stopped: m.reasons}
	for i, err := range errs {
		if err != nil {
			o.Errs = append(o.Errs, fmt.Errorf("%s: %w", jobs[i].Name, err))
		}
	}
	return o
}

// Meter holds questions to limits that come one after another, each when the answers to
// others are known. It may be used by several goroutines.
type Meter struct {
	limits            Limits
	questions, tokens *rate.Limiter
	free              chan struct{} // has one for each question under way

	mu          sync.Mutex
	answeredOne *sync.Cond
	spent       float64
	held        float64 // the most that the questions under way can cost
	under       int     // questions under way
	failures    map[string]int
	ended       map[string]error // models that are not asked again
	ceiling     bool             // was reached
	interrupted bool
	broken      error // after a StopError
	reasons     []error
	answered    int
	failed      int
}

// NewMeter returns a meter for limits.
func NewMeter(l Limits) *Meter {
	m := &Meter{
		limits: l, spent: l.Spent, questions: limiter(l.PerMinute), tokens: limiter(l.TokensPerMinute),
		free: make(chan struct{}, max(l.Parallel, 1)), failures: map[string]int{}, ended: map[string]error{},
	}
	m.answeredOne = sync.NewCond(&m.mu)
	return m
}

// Ask waits until a question may be asked, and asks it. Its error is that of [Job.Ask]; or,
// if it was not asked, [ErrCeiling], that of ctx, or why its model is not asked again.
func (m *Meter) Ask(ctx context.Context, j Job) error {
	if err := m.passes(j); err != nil {
		return err
	}
	if err := m.turn(ctx, j); err != nil {
		return err
	}
	defer func() { <-m.free }()
	count := func(float64, int) {}
	if m.limits.Shared != nil {
		var err error
		if count, err = m.limits.Shared.Begin(ctx, j); err != nil {
			return err
		}
	}
	if err := m.begin(j, func() bool { return ctx.Err() != nil }); err != nil {
		count(0, 0)
		return err
	}
	cost, err := j.Ask(ctx)
	tokens := j.MostTokens
	if j.Used != nil {
		tokens = j.Used()
	}
	count(cost, tokens)
	m.end(j, cost, err, nil)
	return err
}

// Spent is what was spent until now, [Limits.Spent] included, in US dollars.
func (m *Meter) Spent() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent
}

// turn waits for the rates and for a place among the questions under way.
func (m *Meter) turn(ctx context.Context, j Job) error {
	if err := wait(ctx, m.questions, 1); err != nil {
		return err
	}
	if err := wait(ctx, m.tokens, j.Tokens); err != nil {
		return err
	}
	select {
	case m.free <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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

// once notes a reason for which questions are left, the first time.
func (m *Meter) once(known *bool, why error) error {
	if !*known {
		*known = true
		m.reasons = append(m.reasons, why)
	}
	return why
}

// endModel has a model asked no more.
func (m *Meter) endModel(model string, why error) {
	if m.ended[model] == nil {
		m.ended[model] = why
		m.reasons = append(m.reasons, why)
	}
}

func (m *Meter) interrupt() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.once(&m.interrupted, ErrInterrupted)
}

// passes returns why a question is not asked, whatever those under way will cost; nil if it
// may be. Others may be asked: of another model, or cheaper ones.
func (m *Meter) passes(j Job) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.passesLocked(j)
}

func (m *Meter) passesLocked(j Job) error {
	if err := cmp.Or(m.broken, m.ended[j.Model]); err != nil {
		return err
	}
	if c := m.limits.MaxCost; c > 0 && m.spent+j.Most > c {
		return m.once(&m.ceiling, fmt.Errorf("%w: $%.4f of $%.4f are spent, and %s may cost up to $%.4f", ErrCeiling, m.spent, c, j.Name, j.Most))
	}
	return nil
}

// begin holds back what a question can cost, or returns why it may not be asked.
func (m *Meter) begin(j Job, stopped func() bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	// What is under way may turn out cheaper than it could have been.
	for m.passesLocked(j) == nil && m.limits.MaxCost > 0 && m.spent+m.held+j.Most > m.limits.MaxCost && m.held > 0 {
		m.answeredOne.Wait()
	}
	if stopped() {
		return m.once(&m.interrupted, ErrInterrupted)
	}
	if err := m.passesLocked(j); err != nil {
		return err
	}
	m.held += j.Most
	m.under++
	return nil
}

// end counts a question that was asked. tell, which may be nil, is called by one at a time.
func (m *Meter) end(j Job, cost float64, err error, tell func(error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.answeredOne.Broadcast()
	m.held -= j.Most
	if m.under--; m.under == 0 {
		m.held = 0 // and not what rounding leaves
	}
	m.spent += cost
	if err == nil {
		m.answered++
		m.failures[j.Model] = 0
	} else {
		m.failed++
		var final *FinalError
		if _, own := errors.AsType[*QuestionError](err); !own {
			m.failures[j.Model]++
		}
		var all *StopError
		switch {
		case errors.As(err, &all):
			if m.broken == nil {
				m.broken = fmt.Errorf("nothing more is asked: %w", err)
				m.reasons = append(m.reasons, m.broken)
			}
		case errors.As(err, &final):
			m.endModel(j.Model, fmt.Errorf("%s is not asked again: %w", j.Model, err))
		case m.failures[j.Model] >= inARow && !errors.Is(err, context.Canceled):
			m.endModel(j.Model, fmt.Errorf("%s is not asked again: %d questions in a row had no answer", j.Model, inARow))
		}
	}
	if tell != nil {
		tell(err)
	}
}
