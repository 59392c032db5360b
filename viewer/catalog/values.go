package catalog

import (
	"context"
	"net/http"
	"slices"

	"tracerag/knowledge"
	"tracerag/trace"
	"tracerag/trace/symbol"
)

// mostCalls is how many observed calls are answered.
const mostCalls = 50

// observed are calls of a function in one run, with their values.
type observed struct {
	Calls []observedCall `json:"calls"`
	More  bool           `json:"more,omitempty"`
}

type observedCall struct {
	Args     []trace.Value `json:"args,omitempty"`
	Results  []trace.Value `json:"results,omitempty"`
	Returned bool          `json:"returned"`
}

// values answers with the values of a function in one of the runs that executed it.
func (s *Server) values(w http.ResponseWriter, r *http.Request) {
	type question struct {
		reference
		Trace string `json:"trace"`
	}
	text := func(q *question) string { return q.reference.String() + " in trace " + q.Trace }
	ask(s, w, r, "values", text, func(ctx context.Context, in *question) (any, error) {
		_, u, err := s.unitNamed(ctx, &in.reference)
		if err != nil {
			return nil, err
		}
		// Only a trace that the function's page names is opened.
		ran, err := s.executed(ctx, u)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(ran, func(e knowledge.Execution) bool { return e.ID == in.Trace })
		if i < 0 {
			return nil, missingTrace(in.Trace)
		}
		if s.content.Trace == nil {
			return nil, ErrNoTrace
		}
		end, err := s.begin(ctx)
		if err != nil {
			return nil, err
		}
		defer end()
		tr, err := s.content.Trace(ctx, &ran[i])
		if err != nil {
			return nil, err
		}
		return observedIn(tr, u.Package, u.Decl.Name), nil
	})
}

// observedIn returns what was observed of a function in a run, in the order of its nodes.
func observedIn(tr *trace.Trace, pkg, name string) observed {
	out := observed{Calls: []observedCall{}}
	for i := range tr.Activations {
		a := &tr.Activations[i]
		fn := tr.Functions[tr.Nodes[a.Node].Func]
		if fn.Package != pkg || symbol.Local(symbol.WithoutArguments(fn.Name)) != name {
			continue
		}
		if len(out.Calls) == mostCalls {
			out.More = true
			break
		}
		out.Calls = append(out.Calls, observedCall{a.Args, a.Results, a.Returned})
	}
	return out
}
