package trial

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"tracerag/eval"
	"tracerag/eval/results"
	"tracerag/llm"
	"tracerag/llm/metered"
	"tracerag/llm/throttle"
	"tracerag/prompt"
)

// sender asks a question, and returns the answer, and all prompts if these are several.
type sender func(ctx context.Context) (got llm.Answer, prompts []string, err error)

// oneShot sends one prompt.
func (x *Examiner) oneShot(model string, p *prompt.Prompt) sender {
	return func(ctx context.Context) (llm.Answer, []string, error) {
		got, err := x.clients[model].Ask(ctx, message(p.Text), nil)
		return got, nil, err
	}
}

func message(text string) llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: "user", Content: text}}}
}

// answer asks in a cell and saves the answer. What came of an answer that broke off
// is no answer.
func (x *Examiner) answer(ctx context.Context, id string, c eval.Cell, q *inquiry, most float64, send sender) (float64, error) {
	var prompts []string
	got, took, err := x.ask(ctx, id, c.String(), c.Model, most, func(ctx context.Context) (answer llm.Answer, err error) {
		answer, prompts, err = send(ctx)
		return answer, err
	})
	if err != nil {
		return value(got.cost), err
	}
	sum := sha256.Sum256([]byte(q.prompts[c.Variant].Text))
	a := eval.Answer{
		Cell: c, Prompt: hex.EncodeToString(sum[:]), Rounds: prompts, Text: x.Mask(got.Text), FinishReason: got.FinishReason, ServedBy: got.Model, Notes: got.Notes,
		Usage: usage(got.Usage), Cost: got.cost, Seconds: took.Seconds(), Asked: time.Now().UTC().Truncate(time.Second),
	}
	if got.FinishReason == "length" {
		x.Note(&CutError{c, x.Dir.Path(results.AnswerPath(c.Experiment, id))})
	}
	x.notes(c, got.Notes)
	return value(a.Cost), x.saved(x.Dir.SaveAnswer(id, a), x.Dir.Path(results.AnswerPath(c.Experiment, id)), a)
}

// notes tells what was done otherwise than asked, the first time that it happens with
// a model; the others are in the answers.
func (x *Examiner) notes(c eval.Cell, notes []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, note := range notes {
		kind := c.Model + " " + digits.ReplaceAllString(note, "")
		if !x.told[kind] {
			x.told[kind] = true
			x.note("%s: %s", c, note)
		}
	}
}

var digits = regexp.MustCompile(`\d+`)

// saved is the error of saving an answer, which is put where there may be more room:
// it was paid for.
func (x *Examiner) saved(err error, place string, answer any) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("its answer was not saved: %w", err)
	if data, wrong := json.MarshalIndent(answer, "", "  "); wrong == nil {
		if f, wrong := os.CreateTemp("", "tracerag-*.json"); wrong == nil { // whose name cannot be guessed
			_, wrong = f.Write(data)
			if errors.Join(wrong, f.Close()) == nil {
				err = fmt.Errorf("%w (it is in %s: move it to %s)", err, f.Name(), place)
			}
		}
	}
	return &throttle.StopError{Err: err}
}

// reply is what a model answered, and what that cost; nil where no price is known.
type reply struct {
	llm.Answer
	cost *float64
}

// ask sends a question and waits for the whole answer. Before and after it is
// written down that money is being spent, so much at most. What is lost may have a cost, too.
func (x *Examiner) ask(ctx context.Context, id, what, model string, most float64, send func(context.Context) (llm.Answer, error)) (reply, time.Duration, error) {
	if err := x.Dir.Begin(id, results.Asking{What: what, Most: most}); err != nil {
		return reply{}, 0, &throttle.StopError{Err: err}
	}
	start := time.Now()
	got, err := send(ctx)
	took := time.Since(start)
	var refused *llm.Error
	if errors.As(err, &refused) && refused.Kind == llm.KindEmpty && got.FinishReason != "" {
		err = nil // a silence that has come to its end is an answer, which was paid for
	}
	if err == nil {
		cost := x.cost(&got, model, most)
		return reply{got, cost}, took, nil
	}
	err, lost := metered.Classify(ctx, got, err)
	if lost {
		return reply{cost: &most}, took, err // it may have been paid for: the next run counts it, too
	}
	return reply{}, took, errors.Join(err, x.Dir.End(id))
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
func (x *Examiner) cost(got *llm.Answer, model string, most float64) *float64 {
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
