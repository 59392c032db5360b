package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tracerag/locate"
	"tracerag/visible"
)

type locateArgs struct {
	Report string `json:"report" jsonschema:"the bug report or question, as it was written: names, file names, quoted messages and stack traces in it count most"`
	In     string `json:"in,omitempty" jsonschema:"look only in these paths below a repository's root, or import paths; x/... is all below x. Default: everywhere"`
	Limit  int    `json:"limit,omitempty" jsonschema:"functions, files and packages to list. Default 10"`
	budget
}

func (s *server) addLocate(to *sdk.Server) {
	add(s, to, &sdk.Tool{Name: "locate", Title: "Where in the source a report is about", Description: `The functions, files and packages that a report is about, the likeliest first, with reasons, in all indexed repositories. No run and no model is needed. It ends with the saved runs that executed the best ones, and the command that would record a test that does: a recorded run tells more (rank, context).
unit shows a source, callers and tests_of what is around it.`},
		s.locate)
}

func (s *server) locate(ctx context.Context, in locateArgs) (answer[none], error) {
	limit, err := in.limit(defaultTokens)
	switch {
	case err != nil:
		return answer[none]{}, err
	case strings.TrimSpace(in.Report) == "":
		return answer[none]{}, errors.New("no report: say in words what is wrong, or what to find")
	case in.Limit < 0:
		return answer[none]{}, fmt.Errorf("limit=%d: give a number of functions, or leave it out", in.Limit)
	}
	head, err := s.fresh(ctx)
	if err != nil {
		return answer[none]{}, err
	}
	a, err := s.Knowledge.Locate(ctx, locate.Question{Text: in.Report, In: in.In}, in.Limit)
	if err != nil {
		return answer[none]{}, err
	}
	if len(a.Functions) == 0 {
		return answer[none]{text: head + "nothing has words of the report\n"}, nil
	}
	return answer[none]{text: s.fit(limit, len(a.Functions), func(n int) string {
		text := head + located(a, n, s.Dir)
		if n < len(a.Functions) {
			text += clipped(len(a.Functions)-n, "function", "locate with a larger max_tokens") + "\n"
		}
		return text
	})}, nil
}

// located writes the first n functions of an answer, and as many files and packages.
func located(a *locate.Answer, n int, cwd string) string {
	var b strings.Builder
	several := len(a.Repositories) > 1
	if several {
		b.WriteString("repositories:")
		for i, r := range a.Repositories[:min(n, len(a.Repositories))] {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, " %s %.2f", visible.Line(r.Name), r.Score)
		}
		b.WriteByte('\n')
	}
	line := func(format string, args ...any) {
		b.WriteString(visible.Line(fmt.Sprintf(format, args...)) + "\n")
	}
	at := func(repository, path string) string {
		if several {
			return repository + "/" + path
		}
		return path
	}
	for i, f := range a.Functions[:n] {
		line("%d. %.2f %s %s:%d-%d", i+1, f.Score, f.Name, at(f.Repository, f.File), f.Line, f.EndLine)
		if why := locate.Why(f.Reasons); why != "" {
			line("   %s", cutText(why, 300))
		}
	}
	list := func(title string, places []locate.Place, name func(*locate.Place) string) {
		var names []string
		for i := range places[:min(n, len(places))] {
			names = append(names, name(&places[i]))
		}
		if len(names) > 0 {
			line("%s: %s", title, strings.Join(names, ", "))
		}
	}
	list("files", a.Files, func(p *locate.Place) string { return at(p.Repository, p.File) })
	list("packages", a.Packages, func(p *locate.Place) string { return p.Package })
	for _, r := range a.Runs {
		line("executed by trace %s: %s", r.Trace, strings.TrimSpace(r.Command+" "+r.Test))
	}
	if len(a.OldCalls) > 0 {
		line("calls in the source of %s are those of an earlier state of the files", strings.Join(a.OldCalls, ", "))
	}
	if a.Record != nil {
		line("a test to record (%s): %s", a.Record.Why, a.Record.Line(cwd))
	}
	return b.String()
}
