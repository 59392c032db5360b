package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"tracerag/eval"
	"tracerag/eval/ask"
	"tracerag/eval/results"
	"tracerag/llm"
	"tracerag/phrase"
	"tracerag/prompt"
	"tracerag/prompt/tokens"
)

// answerTokens is what an answer may have when its price is known and nobody said
// otherwise: a ceiling of cost is none without it.
const answerTokens = 16_000

// examiner asks the questions of trials.
type examiner struct {
	a       *app
	dir     *results.Dir
	flags   *evalFlags
	limits  ask.Limits
	windows tokens.Models
	clients map[string]*llm.Client
	configs map[string]llm.Config
	wrong   map[string]error // why there is no client
	stop    chan struct{}

	mu   sync.Mutex
	told map[string]bool // notes about models
}

// askAll asks what has no answer yet, and has the answers judged that have no marks
// yet. It returns the exit code: 1 if something is still open.
func (a *app) askAll(ctx context.Context, trials []*trial, dir *results.Dir, e *evalFlags) (*examiner, int, error) {
	x := &examiner{a: a, dir: dir, flags: e, clients: map[string]*llm.Client{}, configs: map[string]llm.Config{}, wrong: map[string]error{}, told: map[string]bool{}, stop: make(chan struct{})}
	if err := x.models(trials); err != nil {
		return nil, 0, err
	}
	if err := x.account(); err != nil {
		return nil, 0, err
	}
	ctx, release := x.interrupts(ctx)
	defer release()
	jobs, err := x.questions(trials)
	if err != nil {
		return nil, 0, err
	}
	if e.judge != "" && len(jobs) > 0 {
		if err := x.judgeIsReady(); err != nil {
			return nil, 0, err
		}
	}
	open, err := x.carryOut(ctx, jobs, "question", "questions")
	if err != nil || e.dryRun {
		return x, exitOK, err
	}
	if e.judge != "" {
		jobs, err := x.judgements(trials)
		if err != nil {
			return nil, 0, err
		}
		left := len(jobs)
		if !x.stopped() {
			if left, err = x.carryOut(ctx, jobs, "judgement", "judgements"); err != nil {
				return nil, 0, err
			}
		}
		open += left
	}
	if open > 0 {
		a.complain("%s still open: the same command again goes on with what is left", phrase.Plural(open, "question is", "questions are"))
		return x, exitFailure, nil
	}
	return x, exitOK, nil
}

// interruptGrace is how long an interrupt lets answers come that are under way: they
// are paid for, and may be as good as here.
const interruptGrace = 700 * time.Millisecond

// interrupts has an interrupt end the asking: no further question is asked, and what
// is under way is broken off after interruptGrace. A second interrupt does not wait.
func (x *examiner) interrupts(ctx context.Context) (context.Context, func()) {
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
				x.a.note("interrupted")
				time.AfterFunc(interruptGrace, cancel)
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(got); cancel() }
}

func (x *examiner) stopped() bool {
	select {
	case <-x.stop:
		return true
	default:
		return false
	}
}

// asks returns the models that a trial's questions go to.
func (x *examiner) asks(t *trial) []string {
	if len(x.flags.models) > 0 {
		return x.flags.models
	}
	if len(t.Models) > 0 {
		return t.Models
	}
	if m := firstOf(x.a.getenv("TRACERAG_MODEL"), x.a.getenv("OPENAI_MODEL")); m != "" {
		return []string{m}
	}
	return nil
}

// models prepares to ask every model, the judge included. What is wrong with one is an
// error if there is something to ask it: answers can be graded and laid out without.
func (x *examiner) models(trials []*trial) error {
	if x.flags.windows != "" {
		var err error
		if x.windows, err = tokens.LoadModels(x.flags.windows); err != nil {
			return err
		}
	}
	all := []string{}
	for _, t := range trials {
		models := x.asks(t)
		if len(models) == 0 {
			if saved, err := x.dir.Answers(t.Name); err != nil || len(saved) == 0 {
				return cmp.Or(err, fmt.Errorf("%s names no models\n--model NAME names one; --prompts-only asks nobody", t.Path))
			}
		}
		all = append(all, models...)
	}
	if x.flags.judge != "" {
		all = append(all, x.flags.judge)
	}
	for _, m := range all {
		if _, ok := x.configs[m]; ok {
			continue
		}
		cfg, err := x.a.modelConfig(&x.flags.model, m)
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
func (x *examiner) most(model string, promptTokens int) float64 {
	usd, _ := llm.EstimateCost(model, llm.Usage{PromptTokens: promptTokens, CompletionTokens: x.configs[model].MaxTokens})
	return usd
}

// account finds what earlier runs have spent.
func (x *examiner) account() error {
	x.limits = ask.Limits{Parallel: x.flags.parallel, PerMinute: x.flags.rate, TokensPerMinute: x.flags.tokenRate, MaxCost: x.flags.maxCost}
	lost, err := x.dir.Lost()
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(lost)) {
		counted := ""
		if lost[id].Most > 0 {
			counted = fmt.Sprintf(": counted with $%.4f", lost[id].Most)
		}
		x.a.note("%s was asked earlier and never answered%s", lost[id].What, counted)
	}
	if err := x.dir.SaveLost(lost); err != nil {
		return err
	}
	x.limits.Spent, err = x.dir.Spent()
	return err
}

func value(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}

// answerID is the ID of the answer in a cell to a prompt.
func (x *examiner) answerID(c eval.Cell, p *prompt.Prompt) string {
	sent := []string{p.Text}
	if t := x.flags.model.temperature; t != nil {
		sent = append(sent, fmt.Sprintf("temperature %g", *t))
	}
	return results.ID(c, sent...)
}

// questions are the jobs of all cells that have no answer yet.
func (x *examiner) questions(trials []*trial) ([]ask.Job, error) {
	var jobs []ask.Job
	all := 0
	tooLarge := map[string][]string{} // by model
	for _, t := range trials {
		answers, err := x.dir.Answers(t.Name)
		if err != nil {
			return nil, err
		}
		for _, c := range t.Cells(x.asks(t)) {
			p := t.asked(c.Inquiry).prompts[c.Variant]
			id := x.answerID(c, p)
			all++
			if _, ok := answers[id]; ok {
				continue
			}
			n := x.counter(c.Model).Count(p.Text)
			if window, _ := x.window(c.Model); n > window {
				if c.Repetition == 1 {
					tooLarge[c.Model] = append(tooLarge[c.Model], fmt.Sprintf("%s %s %s (%s)", t.Name, c.Inquiry, c.Variant, phrase.Number(n)))
				}
				all--
				continue
			}
			jobs = append(jobs, ask.Job{Name: c.String(), Model: c.Model, Tokens: n, Most: x.most(c.Model, n), Ask: func(ctx context.Context) (float64, error) {
				return x.answer(ctx, id, c, p, n)
			}})
		}
	}
	for _, model := range slices.Sorted(maps.Keys(tooLarge)) {
		const most = 6
		names := tooLarge[model]
		if n := len(names) - most; n > 1 {
			names = append(names[:most:most], fmt.Sprintf("and %d more", n))
		}
		window, known := x.window(model)
		takes := fmt.Sprintf("%s takes %s tokens", model, phrase.Number(window))
		if !known {
			takes = fmt.Sprintf("the context size of %s is unknown: %s tokens are assumed (--models names a file with sizes)", model, phrase.Number(window))
		}
		x.a.note("%s: %s too long for it and not asked\n%s", takes,
			phrase.Plural(len(tooLarge[model]), "prompt is", "prompts are"), strings.Join(names, "\n"))
	}
	x.a.note("%s, %s answered already", phrase.Plural(all, "question", "questions"), phrase.Number(all-len(jobs)))
	return jobs, nil
}

func (t *trial) asked(inquiry string) *asked {
	i := slices.IndexFunc(t.inquiries, func(q *asked) bool { return q.ID == inquiry })
	return t.inquiries[i]
}

func (x *examiner) counter(model string) tokens.Counter {
	if m, ok := x.windows.Lookup(model); ok {
		return m.Counter()
	}
	return tokens.For(model)
}

// window is how many tokens a model takes, and whether that is more than assumed.
func (x *examiner) window(model string) (size int, known bool) {
	if m, ok := x.windows.Lookup(model); ok {
		return m.Window, true
	}
	m, known := tokens.Lookup(model)
	return m.Window, known
}

// carryOut says what the jobs could cost, and does them. It returns how many are
// left.
func (x *examiner) carryOut(ctx context.Context, jobs []ask.Job, one, many string) (int, error) {
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
	if x.limits.Spent > 0 {
		line += fmt.Sprintf(", after $%.2f that are spent", x.limits.Spent)
	}
	x.a.note("%s", line)
	if len(unknown) > 0 {
		x.a.note("no price is known of %s: what it costs is not counted", strings.Join(unknown, ", "))
	}
	if x.flags.dryRun {
		return 0, nil
	}
	for _, j := range jobs {
		if err := x.wrong[j.Model]; err != nil {
			return 0, fmt.Errorf("%s: %w", j.Model, err)
		}
	}
	if x.limits.MaxCost == 0 && most > 0 {
		return 0, fmt.Errorf("these questions cost money: say how much may be spent in all, --max-cost=%.2f", roundUp(x.limits.Spent+most))
	}
	if x.limits.MaxCost > 0 && x.limits.Spent+most > x.limits.MaxCost {
		x.a.note("the ceiling of $%.2f may be reached before all is asked", x.limits.MaxCost)
	}
	bar := x.a.progress("asking")
	done := 0
	bar.set(0, len(jobs))
	o := ask.Run(ctx, jobs, x.limits, x.stop, func(ask.Job, error) { done++; bar.set(done, len(jobs)) })
	bar.close()
	x.limits.Spent = o.Spent
	for i, err := range o.Errs {
		if i == 5 && len(o.Errs) > 6 {
			x.a.complain("and %d more like these", len(o.Errs)-i)
			break
		}
		x.a.complain("no answer: %v", err)
		x.a.hint(llm.Hint(err))
	}
	for _, err := range o.Stopped {
		x.a.complain("%v", err)
	}
	spent := ""
	if o.Spent > 0 {
		spent = fmt.Sprintf(", $%.2f spent in all", o.Spent)
	}
	x.a.note("%s of %s answered%s", phrase.Number(o.Answered), phrase.Plural(len(jobs), one, many), spent)
	return o.Failed + o.Left, nil
}

// roundUp gives whole cents that are enough.
func roundUp(usd float64) float64 { return float64(int(usd*100)+1) / 100 }

// answer asks in a cell and saves the answer. What came of an answer that broke off
// is no answer.
func (x *examiner) answer(ctx context.Context, id string, c eval.Cell, p *prompt.Prompt, n int) (float64, error) {
	got, took, err := x.ask(ctx, id, c.String(), c.Model, p.Text, n)
	if err != nil {
		return value(got.cost), err
	}
	sum := sha256.Sum256([]byte(p.Text))
	a := eval.Answer{
		Cell: c, Prompt: hex.EncodeToString(sum[:]), Text: x.a.masker().Clean(got.Text), FinishReason: got.FinishReason, ServedBy: got.Model, Notes: got.Notes,
		Usage: usage(got.Usage), Cost: got.cost, Seconds: took.Seconds(), Asked: time.Now().UTC().Truncate(time.Second),
	}
	if got.FinishReason == "length" {
		x.a.note("%s: the answer was cut at a limit of tokens: raise --max-tokens, and remove %s to have it asked again", c, x.dir.Path(results.AnswerPath(c.Experiment, id)))
	}
	x.notes(c, got.Notes)
	return value(a.Cost), x.saved(x.dir.SaveAnswer(id, a), x.dir.Path(results.AnswerPath(c.Experiment, id)), a)
}

// notes tells what was done otherwise than asked, the first time that it happens with
// a model; the others are in the answers.
func (x *examiner) notes(c eval.Cell, notes []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, note := range notes {
		kind := c.Model + " " + digits.ReplaceAllString(note, "")
		if !x.told[kind] {
			x.told[kind] = true
			x.a.note("%s: %s", c, note)
		}
	}
}

var digits = regexp.MustCompile(`\d+`)

// saved is the error of saving an answer, which is put where there may be more room:
// it was paid for.
func (x *examiner) saved(err error, place string, answer any) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("its answer was not saved: %w", err)
	if data, wrong := json.MarshalIndent(answer, "", "  "); wrong == nil {
		if f, wrong := os.CreateTemp("", "tracerag-*.json"); wrong == nil { // whose name nobody can foresee
			_, wrong = f.Write(data)
			if errors.Join(wrong, f.Close()) == nil {
				err = fmt.Errorf("%w (it is in %s: move it to %s)", err, f.Name(), place)
			}
		}
	}
	return &ask.StopError{Err: err}
}

// answers are those that a trial has to its prompts as they are, in the order of the
// cells.
func (x *examiner) answers(t *trial) ([]eval.Answer, error) {
	saved, err := x.dir.Answers(t.Name)
	if err != nil {
		return nil, err
	}
	var found []eval.Answer
	for _, c := range t.Cells(x.everAsked(t, saved)) {
		if a, ok := saved[x.answerID(c, t.asked(c.Inquiry).prompts[c.Variant])]; ok {
			found = append(found, a)
		}
	}
	return found, nil
}

// everAsked are the models that this command asks, and behind them those that earlier
// ones asked.
func (x *examiner) everAsked(t *trial, saved map[string]eval.Answer) []string {
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

// reply is what a model answered, and what that cost; nil where no price is known.
type reply struct {
	llm.Answer
	cost *float64
}

// ask sends one message and waits for the whole answer. Before and after it is
// written down that money is being spent. What is lost may have a cost, too.
func (x *examiner) ask(ctx context.Context, id, what, model, text string, n int) (reply, time.Duration, error) {
	most := x.most(model, n)
	if err := x.dir.Begin(id, results.Asking{What: what, Most: most}); err != nil {
		return reply{}, 0, &ask.StopError{Err: err}
	}
	start := time.Now()
	got, err := x.clients[model].Ask(ctx, llm.Request{Messages: []llm.Message{{Role: "user", Content: text}}}, nil)
	took := time.Since(start)
	var refused *llm.Error
	if errors.As(err, &refused) && refused.Kind == llm.KindEmpty && got.FinishReason != "" {
		err = nil // a silence that has come to its end is an answer, which was paid for
	}
	if err == nil {
		cost := x.cost(&got, model, most)
		return reply{got, cost}, took, nil
	}
	lost := ctx.Err() != nil || got.Text != ""
	if refused != nil {
		switch refused.Kind {
		case llm.KindAuth, llm.KindModel, llm.KindURL, llm.KindQuota:
			err = &ask.FinalError{Err: err}
		case llm.KindTooLarge:
			err = &ask.QuestionError{Err: err}
		case llm.KindTimeout, llm.KindDropped:
			lost = true // the server had taken it
		}
	}
	if lost {
		return reply{cost: &most}, took, err // it may have been paid for: the next run counts it, too
	}
	return reply{}, took, errors.Join(err, x.dir.End(id))
}

func usage(u *llm.Usage) *eval.Usage {
	if u == nil {
		return nil
	}
	return &eval.Usage{Prompt: u.PromptTokens, Completion: u.CompletionTokens, Cached: u.CachedTokens, Reasoning: u.ReasoningTokens}
}

// cost is that of an answer at the list price of the model that was asked for: the
// server may name another. Where the server did not count, it is the most that the
// answer can have cost, or a ceiling would be none.
func (x *examiner) cost(got *llm.Answer, model string, most float64) *float64 {
	if !priced(model) {
		return nil
	}
	if got.Usage == nil {
		got.Notes = append(got.Notes, "the server did not report its token count: the cost is an upper bound")
		return &most
	}
	usd, _ := llm.EstimateCost(model, *got.Usage)
	return &usd
}
