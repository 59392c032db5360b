package trial

import (
	"context"

	"tracerag/llm"
	"tracerag/prompt"
)

// inRounds asks a question in rounds: the model reads what it wants to. What all of them
// took is added up.
func (x *Examiner) inRounds(model string, q *inquiry) sender {
	return func(ctx context.Context) (sum llm.Answer, prompts []string, err error) {
		rounds, p, err := q.first()
		if err != nil {
			return sum, nil, err
		}
		var used llm.Usage
		counted, paid := true, ""
		for {
			prompts = append(prompts, p.Text)
			got, err := x.clients[model].Ask(ctx, message(p.Text), nil)
			if counted = counted && got.Usage != nil; counted {
				used.Add(*got.Usage)
			}
			reads, requests, text := rounds.Parse(got.Text)
			if !reads || err != nil || rounds.Last() {
				if !reads {
					got.Text = text
				}
				if got.Usage = nil; counted {
					got.Usage = &used
				}
				if err != nil && got.Text == "" {
					got.Text = paid // rounds before were: the question has a cost
				}
				return got, prompts, err
			}
			paid = got.Text
			p = q.next(rounds, requests)
		}
	}
}

// first starts a question in rounds.
func (q *inquiry) first() (*prompt.Rounds, *prompt.Prompt, error) {
	q.making.Lock()
	defer q.making.Unlock()
	r, err := q.rounds()
	if err != nil {
		return nil, nil, err
	}
	return r, r.First(), nil
}

func (q *inquiry) next(r *prompt.Rounds, requests []prompt.Request) *prompt.Prompt {
	q.making.Lock()
	defer q.making.Unlock()
	return r.Next(requests)
}

// mostOfRounds is the most that all rounds of a question can cost; 0: the price is not known.
func (x *Examiner) mostOfRounds(model string, promptTokens int) float64 {
	usd, _ := llm.EstimateCost(model, llm.Usage{PromptTokens: promptTokens, CompletionTokens: prompt.MaxRounds * x.configs[model].MaxTokens})
	return usd
}
