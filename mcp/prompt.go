package mcp

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tracerag/prompt"
	"tracerag/session"
)

type promptArgs struct {
	Question  string `json:"question,omitempty" jsonschema:"what is asked: it decides which functions keep their source when not all fit"`
	Trace     string `json:"trace,omitempty" jsonschema:"id of a trace, @last (the default), @prev, or a .pb.gz file below the working directory"`
	Compare   string `json:"compare_with,omitempty" jsonschema:"a second trace: the prompt then asks about the differences of the two"`
	MaxTokens int    `json:"max_tokens,omitempty" jsonschema:"tokens that the prompt may have. Default 8000: with less, hardly more than the call tree and a few functions fit"`
}

func (s *server) addPrompt(to *sdk.Server) {
	add(s, to, &sdk.Tool{Name: "prompt", Title: "All at once", Description: `One text with the call tree and the source of the called functions in call order, made to fit the budget: what the question is least about is left out, with a mark where it was. For an overview of a small run, or to hand on to another model. For a single question rank and source take fewer tokens.`},
		s.prompt)
}

func (s *server) prompt(_ context.Context, in promptArgs) (answer[none], error) {
	limit, err := budget{in.MaxTokens}.limit(promptTokens)
	if err != nil {
		return answer[none]{}, err
	}
	names := []string{in.Trace}
	if in.Compare != "" {
		names = append(names, in.Compare)
	}
	v, err := s.open(false, names...)
	if err != nil {
		return answer[none]{}, err
	}
	for _, r := range v.Runs {
		if r.Tree.Size == 0 {
			return answer[none]{}, empty(r, "to put into a prompt")
		}
	}
	p, err := v.Prompt(in.Question, limit)
	if over, ok := errors.AsType[*prompt.OverBudgetError](err); ok {
		return answer[none]{}, fmt.Errorf("the least prompt of this run takes %d tokens, more than %d: give max_tokens, or use rank and source", over.Least, limit)
	}
	if err != nil {
		return answer[none]{}, err
	}
	return answer[none]{text: p.Text}, nil
}

// empty says why a run's tree has nothing for what is asked, and where to
// look.
func empty(r *session.Run, what string) error {
	if r.Pruned > 0 {
		return fmt.Errorf("trace %s: nothing %s: its baseline made the same calls; call_tree whole=true shows them", r.ID, what)
	}
	return fmt.Errorf("trace %s: nothing %s: no call was recorded; list_traces names others", r.ID, what)
}
