package trial

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"tracerag/eval"
	"tracerag/eval/results"
	"tracerag/llm"
	"tracerag/llm/metered"
	"tracerag/llm/throttle"
	"tracerag/phrase"
	"tracerag/prompt"
	"tracerag/prompt/tokens"
)

// answerTokens is what an answer may have when its price is known and no option says
// otherwise: a ceiling of cost is none without it.
const answerTokens = 16_000

// Options say who is asked, how, and who hears of it.
type Options struct {
	Dir    *results.Dir
	Trials []*Trial

	Models      []string // that are asked instead of those that experiments name
	Default     string   // that is asked where an experiment names none; "": none
	Judge       string   // that grades answers, too; "": none
	Temperature *float64 // nil: the models' own
	Contexts    tokens.Models
	Limits      throttle.Limits
	DryRun      bool // no model is asked

	Config func(model string) (llm.Config, error)
	Mask   func(string) string // secrets in what a model says

	// Note takes what the user should know, Complain what went wrong and ended nothing.
	Note, Complain func(error)
	// Progress returns a bar: set shows how many of all are done.
	Progress func(what string) (set func(done, all int), end func())
}

// Examiner asks the questions of trials.
type Examiner struct {
	Options
	clients map[string]*llm.Client
	configs map[string]llm.Config
	wrong   map[string]error // why a client could not be made
	stop    chan struct{}

	mu   sync.Mutex
	told map[string]bool // notes about models
}

// NewExaminer prepares to ask.
func NewExaminer(o Options) (*Examiner, error) {
	x := &Examiner{Options: o, clients: map[string]*llm.Client{}, configs: map[string]llm.Config{}, wrong: map[string]error{}, told: map[string]bool{}, stop: make(chan struct{})}
	if err := x.models(); err != nil {
		return nil, err
	}
	return x, x.account()
}

func (x *Examiner) note(format string, args ...any)     { x.Note(fmt.Errorf(format, args...)) }
func (x *Examiner) complain(format string, args ...any) { x.Complain(fmt.Errorf(format, args...)) }

// Ask asks what has no answer yet, and has the answers judged that have no marks yet. It
// returns how many questions are still open.
func (x *Examiner) Ask(ctx context.Context) (open int, err error) {
	ctx, release := x.interrupts(ctx)
	defer release()
	jobs, err := x.questions()
	if err != nil {
		return 0, err
	}
	if x.Judge != "" && len(jobs) > 0 {
		if err := x.judgeIsReady(); err != nil {
			return 0, err
		}
	}
	open, err = x.carryOut(ctx, jobs, "question", "questions")
	if err != nil || x.DryRun {
		return 0, err
	}
	if x.Judge != "" {
		jobs, err := x.judgements()
		if err != nil {
			return 0, err
		}
		left := len(jobs)
		if !x.stopped() {
			if left, err = x.carryOut(ctx, jobs, "judgement", "judgements"); err != nil {
				return 0, err
			}
		}
		open += left
	}
	return open, nil
}

// interruptGrace is how long an interrupt lets answers come that are under way: they
// are paid for, and may be as good as here.
const interruptGrace = 700 * time.Millisecond

// interrupts has an interrupt end the asking: no further question is asked, and what
// is under way is broken off after interruptGrace. A second interrupt does not wait.
func (x *Examiner) interrupts(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	got := make(chan os.Signal, 2)
	signal.Notify(got, os.Interrupt)
	go func() {
		for {
			select {
			case <-got:
				if x.stopped() {
					cancel()
					return
				}
				close(x.stop)
				x.note("interrupted")
				time.AfterFunc(interruptGrace, cancel)
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(got); cancel() }
}

func (x *Examiner) stopped() bool {
	select {
	case <-x.stop:
		return true
	default:
		return false
	}
}

// asks returns the models that a trial's questions go to.
func (x *Examiner) asks(t *Trial) []string {
	if len(x.Models) > 0 {
		return x.Models
	}
	if len(t.Models) > 0 {
		return t.Models
	}
	if x.Default != "" {
		return []string{x.Default}
	}
	return nil
}

// models prepares to ask every model, the judge included. What is wrong with one is an
// error if there is something to ask it: answers can be graded and laid out without.
func (x *Examiner) models() error {
	all := []string{}
	for _, t := range x.Trials {
		models := x.asks(t)
		if len(models) == 0 {
			if saved, err := x.Dir.Answers(t.Name); err != nil || len(saved) == 0 {
				return cmp.Or[error](err, &NoModelError{t.Path})
			}
		}
		all = append(all, models...)
	}
	if x.Judge != "" {
		all = append(all, x.Judge)
	}
	for _, m := range all {
		if _, ok := x.configs[m]; ok {
			continue
		}
		cfg, err := x.Config(m)
		if cfg.MaxTokens == 0 && priced(m) {
			cfg.MaxTokens = answerTokens
		}
		if err == nil {
			x.clients[m], err = llm.New(cfg)
		}
		x.configs[m], x.wrong[m] = cfg, err
	}
	return nil
}

func priced(model string) bool {
	_, ok := llm.EstimateCost(model, llm.Usage{PromptTokens: 1})
	return ok
}

// most is the most that a question to a model can cost; 0: its price is not known.
func (x *Examiner) most(model string, promptTokens int) float64 {
	usd, _ := llm.EstimateCost(model, llm.Usage{PromptTokens: promptTokens, CompletionTokens: x.configs[model].MaxTokens})
	return usd
}

// account finds what earlier runs have spent.
func (x *Examiner) account() error {
	lost, err := x.Dir.Lost()
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(lost)) {
		counted := ""
		if lost[id].Most > 0 {
			counted = fmt.Sprintf(": counted with $%.4f", lost[id].Most)
		}
		x.note("%s was asked earlier and never answered%s", lost[id].What, counted)
	}
	if err := x.Dir.SaveLost(lost); err != nil {
		return err
	}
	x.Limits.Spent, err = x.Dir.Spent()
	return err
}

func value(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}

// answerID is the ID of the answer in a cell to a prompt.
func (x *Examiner) answerID(c eval.Cell, p *prompt.Prompt) string {
	sent := []string{p.Text}
	if t := x.Temperature; t != nil {
		sent = append(sent, fmt.Sprintf("temperature %g", *t))
	}
	return results.ID(c, sent...)
}

// questions are the jobs of all cells that have no answer yet.
func (x *Examiner) questions() ([]throttle.Job, error) {
	var jobs []throttle.Job
	all := 0
	tooLarge := map[string][]string{} // by model
	for _, t := range x.Trials {
		answers, err := x.Dir.Answers(t.Name)
		if err != nil {
			return nil, err
		}
		for _, c := range t.Cells(x.asks(t)) {
			p := t.inquiry(c.Inquiry).prompts[c.Variant]
			id := x.answerID(c, p)
			all++
			if _, ok := answers[id]; ok {
				continue
			}
			n := x.counter(c.Model).Count(p.Text)
			if context, _ := x.contextSize(c.Model); n > context {
				if c.Repetition == 1 {
					tooLarge[c.Model] = append(tooLarge[c.Model], fmt.Sprintf("%s %s %s (%s)", t.Name, c.Inquiry, c.Variant, phrase.Number(n)))
				}
				all--
				continue
			}
			q := t.inquiry(c.Inquiry)
			job := throttle.Job{Name: c.String(), Model: c.Model, Tokens: n, Most: x.most(c.Model, n), Ask: func(ctx context.Context) (float64, error) {
				return x.answer(ctx, id, c, q, x.most(c.Model, n), x.oneShot(c.Model, p))
			}}
			if c.Variant == eval.Rounds {
				job.Tokens, job.Most = q.mostTokens, x.mostOfRounds(c.Model, q.mostTokens)
				job.Ask = func(ctx context.Context) (float64, error) {
					return x.answer(ctx, id, c, q, job.Most, x.inRounds(c.Model, q))
				}
			}
			jobs = append(jobs, job)
		}
	}
	for _, model := range slices.Sorted(maps.Keys(tooLarge)) {
		context, known := x.contextSize(model)
		x.Note(&TooLongError{Model: model, Context: context, Known: known, Prompts: tooLarge[model]})
	}
	x.note("%s, %s answered already", phrase.Plural(all, "question", "questions"), phrase.Number(all-len(jobs)))
	return jobs, nil
}

func (x *Examiner) counter(model string) tokens.Counter {
	if m, ok := x.Contexts.Lookup(model); ok {
		return m.Counter()
	}
	return tokens.For(model)
}

// contextSize is how many tokens a model takes, and whether that is more than assumed.
func (x *Examiner) contextSize(model string) (size int, known bool) {
	if m, ok := x.Contexts.Lookup(model); ok {
		return m.Window, true
	}
	m, known := tokens.Lookup(model)
	return m.Window, known
}

// carryOut says what the jobs could cost, and does them. It returns how many are
// left.
func (x *Examiner) carryOut(ctx context.Context, jobs []throttle.Job, one, many string) (int, error) {
	if len(jobs) == 0 {
		return 0, nil
	}
	prompts, most := 0, 0.0
	unknown := []string{}
	for _, j := range jobs {
		prompts += j.Tokens
		most += j.Most
		if !priced(j.Model) && !slices.Contains(unknown, j.Model) {
			unknown = append(unknown, j.Model)
		}
	}
	line := fmt.Sprintf("to ask: %s, %s tokens of prompts", phrase.Plural(len(jobs), one, many), phrase.Number(prompts))
	if most > 0 {
		line += fmt.Sprintf(", at most $%.2f at list prices of %s", most, llm.PricesAsOf)
	}
	if x.Limits.Spent > 0 {
		line += fmt.Sprintf(", after $%.2f that are spent", x.Limits.Spent)
	}
	x.note("%s", line)
	if len(unknown) > 0 {
		x.note("price of %s unknown: its cost is not counted", strings.Join(unknown, ", "))
	}
	if x.DryRun {
		return 0, nil
	}
	for _, j := range jobs {
		if err := x.wrong[j.Model]; err != nil {
			return 0, fmt.Errorf("%s: %w", j.Model, err)
		}
	}
	if x.Limits.MaxCost == 0 && most > 0 {
		return 0, &metered.NoCeilingError{Need: roundUp(x.Limits.Spent + most)}
	}
	if x.Limits.MaxCost > 0 && x.Limits.Spent+most > x.Limits.MaxCost {
		x.note("the cost limit of $%.2f may be reached before every question is asked", x.Limits.MaxCost)
	}
	set, end := x.Progress("asking")
	done := 0
	set(0, len(jobs))
	o := throttle.Run(ctx, jobs, x.Limits, x.stop, func(throttle.Job, error) { done++; set(done, len(jobs)) })
	end()
	x.Limits.Spent = o.Spent
	for i, err := range o.Errs {
		if i == 5 && len(o.Errs) > 6 {
			x.complain("and %d more like these", len(o.Errs)-i)
			break
		}
		x.complain("no answer: %w", err)
	}
	for _, err := range o.Stopped {
		x.Complain(err)
	}
	spent := ""
	if o.Spent > 0 {
		spent = fmt.Sprintf(", $%.2f spent in all", o.Spent)
	}
	x.note("%s of %s answered%s", phrase.Number(o.Answered), phrase.Plural(len(jobs), one, many), spent)
	return o.Failed + o.Left, nil
}

// roundUp gives whole cents that are enough.
func roundUp(usd float64) float64 { return float64(int(usd*100)+1) / 100 }

// answers are those that a trial has to its prompts as they are, in the order of the
// cells.
func (x *Examiner) answers(t *Trial) ([]eval.Answer, error) {
	saved, err := x.Dir.Answers(t.Name)
	if err != nil {
		return nil, err
	}
	var found []eval.Answer
	for _, c := range t.Cells(x.everAsked(t, saved)) {
		if a, ok := saved[x.answerID(c, t.inquiry(c.Inquiry).prompts[c.Variant])]; ok {
			found = append(found, a)
		}
	}
	return found, nil
}

// everAsked are the models that this command asks, and behind them those that earlier
// ones asked.
func (x *Examiner) everAsked(t *Trial, saved map[string]eval.Answer) []string {
	models := slices.Clone(x.asks(t))
	var others []string
	for _, a := range saved {
		if !slices.Contains(models, a.Model) && !slices.Contains(others, a.Model) {
			others = append(others, a.Model)
		}
	}
	slices.Sort(others)
	return append(models, others...)
}
