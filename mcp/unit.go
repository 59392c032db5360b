package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tracerag/knowledge"
	"tracerag/knowledge/lookup"
	"tracerag/visible"
)

func (s *server) addUnit(to *sdk.Server) {
	add(s, to, &sdk.Tool{Name: "unit", Title: "A declaration's source", Description: `The source of a function, type, constant or variable, with its doc comment and line numbers, as the file is now; of a file, what it declares. It needs no run. callers, callees and tests_of say what is around it.`},
		s.unit)
}

func (s *server) unit(ctx context.Context, in unitArgs) (answer[none], error) {
	limit, err := in.limit(defaultTokens)
	if err != nil {
		return answer[none]{}, err
	}
	head, _, units, err := s.find(ctx, &in)
	if err != nil {
		return answer[none]{}, err
	}
	if strings.HasSuffix(strings.TrimSpace(in.Name), ".go") {
		return answer[none]{text: s.fit(limit, len(units), func(n int) string {
			text := head
			for _, u := range units[:n] {
				text += unitHead(u) + "\n"
			}
			if n < len(units) {
				text += clipped(len(units)-n, "declaration", "unit with a larger max_tokens") + "\n"
			}
			return text
		})}, nil
	}
	// Several declarations of a name share the budget evenly, so that the first of them, which
	// may be the wrong one, does not take all of it.
	const shown = 4
	text := head
	for i, u := range units[:min(len(units), shown)] {
		left := min(len(units), shown) - i
		text += s.clip(max((limit-s.count.Count(text)-40)/left, 80), unitText(u))
	}
	if n := len(units) - shown; n > 0 {
		text += clipped(n, "declaration", "unit with the package in front of the name") + "\n"
	}
	return answer[none]{text: s.clip(limit, text)}, nil
}

// unitText is a declaration with numbered lines.
func unitText(u *lookup.Unit) string {
	text := unitHead(u) + "\n"
	if u.Problem != "" {
		return text + u.Problem + "\n"
	}
	for line := range strings.Lines(u.Doc) {
		text += line
	}
	if u.Doc != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	n := u.Line
	for line := range strings.Lines(u.Text) {
		line = strings.TrimRight(line, "\r\n")
		if n == u.Line || n%5 == 0 {
			text += fmt.Sprintf("%d %s\n", n, line)
		} else {
			text += line + "\n"
		}
		n++
	}
	return text
}

func (s *server) addCalls(to *sdk.Server) {
	add(s, to, &sdk.Tool{Name: "callers", Title: "What calls a function", Description: `The functions whose source calls a function, with the lines of the calls: "static" calls it by name, "interface" may call it through an interface or a function value, "ran x12" called it in recorded runs. It needs no run: call_tree shows the calls of one.`},
		func(ctx context.Context, in unitArgs) (answer[none], error) {
			return s.around(ctx, &in, "callers", (*lookup.Lookup).Callers)
		})
	add(s, to, &sdk.Tool{Name: "callees", Title: "What a function calls", Description: `The functions of the repository that a function calls, in the order of its source, with the lines of the calls; see callers.`},
		func(ctx context.Context, in unitArgs) (answer[none], error) {
			return s.around(ctx, &in, "callees", (*lookup.Lookup).Callees)
		})
}

func (s *server) around(ctx context.Context, in *unitArgs, what string, of func(*lookup.Lookup, context.Context, *lookup.Unit) ([]lookup.Call, error)) (answer[none], error) {
	limit, err := in.limit(defaultTokens)
	if err != nil {
		return answer[none]{}, err
	}
	head, l, u, err := s.one(ctx, in)
	if err != nil {
		return answer[none]{}, err
	}
	calls, err := of(l, ctx, u)
	if err != nil {
		return answer[none]{}, err
	}
	head += callsKnown(u.Repository)
	if len(calls) == 0 {
		return answer[none]{text: head + "no " + what + " are known\n"}, nil
	}
	return answer[none]{text: s.fit(limit, len(calls), func(n int) string {
		text := head
		for i := range calls[:n] {
			text += callLine(&calls[i])
		}
		if n < len(calls) {
			text += clipped(len(calls)-n, strings.TrimSuffix(what, "s"), what+" with a larger max_tokens") + "\n"
		}
		return text
	})}, nil
}

// callsKnown is the line that says what an empty list of calls does not prove.
func callsKnown(r *knowledge.Repository) string {
	if text := lookup.CallsKnown(r); text != "" {
		return text + "\n"
	}
	return ""
}

func callLine(c *lookup.Call) string {
	text := fmt.Sprintf("%s  %s:%d  %s", c.Name(), visible.Line(c.Path), c.Line, c.How())
	if len(c.Lines) > 0 {
		var at []string
		for _, line := range c.Lines {
			at = append(at, fmt.Sprint(line))
		}
		text += "  at line " + strings.Join(at, ", ")
	}
	return text + "\n"
}

type testsArgs struct {
	unitArgs
	Limit int `json:"limit,omitempty" jsonschema:"tests to list that were not recorded. Default 10"`
}

func (s *server) addTestsOf(to *sdk.Server) {
	add(s, to, &sdk.Tool{Name: "tests_of", Title: "Tests that execute a function", Description: `The saved runs that executed a function, and then tests from which calls in the source lead to it, the nearest first: those may execute it. record, if the user allowed it, shows what a test really calls.`},
		s.testsOf)
}

func (s *server) testsOf(ctx context.Context, in testsArgs) (answer[none], error) {
	limit, err := in.limit(defaultTokens)
	switch {
	case err != nil:
		return answer[none]{}, err
	case in.Limit < 0:
		return answer[none]{}, fmt.Errorf("limit=%d: give a number of tests, or leave it out", in.Limit)
	case in.Limit == 0:
		in.Limit = 10
	}
	head, l, u, err := s.one(ctx, &in.unitArgs)
	if err != nil {
		return answer[none]{}, err
	}
	tests, err := l.Tests(ctx, u, in.Limit)
	if err != nil {
		return answer[none]{}, err
	}
	if len(tests) == 0 {
		return answer[none]{text: head + callsKnown(u.Repository) + "no saved run executed it, and no test is known from which calls lead to it\n"}, nil
	}
	return answer[none]{text: s.fit(limit, len(tests), func(n int) string {
		text := head
		for i := range tests[:n] {
			text += testLine(&tests[i])
		}
		if n < len(tests) {
			text += clipped(len(tests)-n, "test", "tests_of with a larger max_tokens") + "\n"
		}
		return text
	})}, nil
}

func testLine(t *lookup.Test) string {
	if r := t.Run; r != nil {
		what := r.Command
		if r.Test != "" {
			what = r.Package + " " + r.Test
		}
		passed := "passed"
		if !r.Passed {
			passed = "failed"
		}
		return fmt.Sprintf("ran: %s (%s), trace %s\n", visible.Line(what), passed, r.Trace)
	}
	return fmt.Sprintf("may run: %s  %s:%d  %s\n", t.Name(), visible.Line(t.Path), t.Line, t.Distance())
}
