package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tracerag/prompt"
	"tracerag/session"
)

// askedArgs are what context and index are asked about.
type askedArgs struct {
	Question string `json:"question,omitempty" jsonschema:"what to find out, in the user's words, or a whole bug report: it decides what is shown"`
	Trace    string `json:"trace,omitempty" jsonschema:"id of a trace, @last (the default), @prev, or a .pb.gz file below the working directory"`
	Compare  string `json:"compare_with,omitempty" jsonschema:"a second trace, where the question is about two runs: these are then A and B"`
}

type contextArgs struct {
	askedArgs
	Read      []string `json:"read,omitempty" jsonschema:"what to read, the most important first: a function (table.Render), lines of one (table.Render:310-480), callers FUNCTION, callees FUNCTION, a type, constant or variable (table.Table), a handle of the index (p3: names of a package's functions; p3:101-200), a node's handle (#12). Default: what the question is about"`
	MaxTokens int      `json:"max_tokens,omitempty" jsonschema:"tokens that the answer may have. Default 3000: some functions and the names of a hundred others"`
}

func (s *server) addContext(to *sdk.Server) {
	add(s, to, &sdk.Tool{Name: "context", Title: "The code that a question is about", Description: `Which code a question is about, in one answer: the ways to the best functions, their sources with line numbers, the types that these name, and names of other functions that ran. Then again with read=[...] for whatever these name.
Begin here, with the question. All functions that ran can be read, of any module; what did not run is left out of sources, and marked.`},
		s.context)
}

func (s *server) context(_ context.Context, in contextArgs) (answer[none], error) {
	limit, err := budget{in.MaxTokens}.limit(prompt.ContextTokens)
	if err != nil {
		return answer[none]{}, err
	}
	if strings.TrimSpace(in.Question) == "" && len(in.Read) == 0 {
		return answer[none]{}, errors.New("no question: say in words what to find, or give read")
	}
	return s.asked(&in.askedArgs, session.ContextRequest{Read: in.Read, Limit: limit})
}

type indexArgs struct {
	askedArgs
	budget
}

func (s *server) addIndex(to *sdk.Server) {
	add(s, to, &sdk.Tool{Name: "index", Title: "Names of all functions that ran", Description: `The functions that ran, by package, in the order of first calls: "x3" called three times, ".Name" a method of the type before it, "[12 more: p3]" and "p3 name (12)" functions that are not listed. context shows them: read=["p3"] their names, read=["table.Render"] a source. Of two runs "x2/x7" is twice in A and seven times in B, "A" in A only.
For questions whose words are not those of the code: choose by name.`},
		s.index)
}

func (s *server) index(_ context.Context, in indexArgs) (answer[none], error) {
	limit, err := in.limit(defaultTokens)
	if err != nil {
		return answer[none]{}, err
	}
	return s.asked(&in.askedArgs, session.ContextRequest{Index: true, Limit: limit})
}

// asked answers from what a reader shows.
func (s *server) asked(in *askedArgs, q session.ContextRequest) (answer[none], error) {
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
			return answer[none]{}, empty(r, "to read")
		}
	}
	if slices.ContainsFunc(v.Runs, func(r *session.Run) bool { return r.Pruned > 0 }) {
		q.Whole = func() (*prompt.Reader, error) {
			v, err := s.open(true, names...)
			if err != nil {
				return nil, err
			}
			return v.Reader(in.Question)
		}
	}
	r, err := v.Reader(in.Question)
	if err != nil {
		return answer[none]{}, err
	}
	text, err := session.Context(r, v.Runs, q)
	return answer[none]{text: s.clip(q.Limit, text)}, err
}
