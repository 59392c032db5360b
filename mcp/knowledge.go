package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tracerag/knowledge"
	"tracerag/knowledge/lookup"
	"tracerag/locate"
	"tracerag/visible"
)

// Knowledge is what is known of repositories' sources, without a run.
// [tracerag/knowledge/sources.Sources] is one.
type Knowledge interface {
	// Refresh brings it up to date with the files: whatever takes a moment, or, if all is
	// set, everything. It returns a line for each thing that is stale then, or missing.
	Refresh(ctx context.Context, all bool) (stale []string, err error)
	Repositories(ctx context.Context) ([]knowledge.Repository, error)
	Lookup(ctx context.Context) (*lookup.Lookup, error)
	Locate(ctx context.Context, q locate.Question, limit int) (*locate.Answer, error)
}

// addKnowledge adds the tools that need no run.
func (s *server) addKnowledge(to *sdk.Server) {
	s.addLocate(to)
	s.addUnit(to)
	s.addCalls(to)
	s.addTestsOf(to)
	s.addRefresh(to)
}

// unitArgs name a declaration.
type unitArgs struct {
	Name       string `json:"name" jsonschema:"a declaration as it is named in Go (Draw, (*Table).Render, table.Draw, example.com/app/table.Draw), or a file (table/table.go), or a line of one (table/table.go:120)"`
	Repository string `json:"repository,omitempty" jsonschema:"name of a repository, where there are several. Default: all"`
	budget
}

// snapshots is the line that says what an answer is about: each repository with its state,
// and what has changed since.
func (s *server) snapshots(ctx context.Context, stale []string) (string, error) {
	list, err := s.Knowledge.Repositories(ctx)
	if err != nil {
		return "", err
	}
	const named = 8
	var names []string
	for _, r := range list[:min(len(list), named)] {
		names = append(names, strings.TrimSpace(r.Name+" "+r.Snapshot.String()))
	}
	if len(list) > named {
		names = append(names, fmt.Sprintf("%d more", len(list)-named))
	}
	text := "source of " + visible.Line(strings.Join(names, ", ")) + "\n"
	for _, line := range stale {
		text += "stale: " + visible.Line(line) + "\n"
	}
	return text, nil
}

// fresh brings what is known up to date, and returns the head of an answer.
func (s *server) fresh(ctx context.Context) (string, error) {
	stale, err := s.Knowledge.Refresh(ctx, false)
	if err != nil {
		return "", err
	}
	return s.snapshots(ctx, stale)
}

// repository returns the number of a repository in a list; none for "".
func (s *server) repository(ctx context.Context, name string) ([]int64, error) {
	if name == "" {
		return nil, nil
	}
	list, err := s.Knowledge.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, r := range list {
		if r.Name == name {
			return []int64{r.ID}, nil
		}
		names = append(names, r.Name)
	}
	return nil, fmt.Errorf("no repository %q: it must be one of %s", name, strings.Join(names, ", "))
}

// find resolves a name, and returns the head of the answer about it.
func (s *server) find(ctx context.Context, in *unitArgs) (head string, l *lookup.Lookup, units []*lookup.Unit, err error) {
	if strings.TrimSpace(in.Name) == "" {
		return "", nil, nil, errors.New("no name: give a declaration, a file, or file:line")
	}
	if head, err = s.fresh(ctx); err != nil {
		return "", nil, nil, err
	}
	repositories, err := s.repository(ctx, in.Repository)
	if err != nil {
		return "", nil, nil, err
	}
	if l, err = s.Knowledge.Lookup(ctx); err != nil {
		return "", nil, nil, err
	}
	units, err = l.Find(ctx, in.Name, repositories...)
	return head, l, units, err
}

// one is find for tools that are about one declaration: the first, which is of the program
// before tests and generated code. Others are named.
func (s *server) one(ctx context.Context, in *unitArgs) (head string, l *lookup.Lookup, u *lookup.Unit, err error) {
	head, l, units, err := s.find(ctx, in)
	if err != nil {
		return "", nil, nil, err
	}
	const named = 5
	var others []string
	for _, u := range units[1:min(len(units), named+1)] {
		others = append(others, fmt.Sprintf("%s (%s:%d)", u.Name(), visible.Line(u.Path), u.Line))
	}
	if more := len(units) - 1 - named; more > 0 {
		others = append(others, fmt.Sprintf("%d more", more))
	}
	u = units[0]
	head += unitHead(u) + "\n"
	if len(others) > 0 {
		head += "also named so: " + strings.Join(others, ", ") + "\n"
	}
	return head, l, u, nil
}

// unitHead names a declaration and what its name does not say.
func unitHead(u *lookup.Unit) string {
	text := u.Kind.String() + " " + u.Name() + "  " + u.Place()
	if marks := u.Marks(); len(marks) > 0 {
		text += " (" + strings.Join(marks, ", ") + ")"
	}
	return text
}

type refreshArgs struct{}

func (s *server) addRefresh(to *sdk.Server) {
	add(s, to, &sdk.Tool{Name: "refresh", Title: "Bring the index up to date", Description: `Reads what changed in the repositories since they were indexed, however long it takes. Other tools do so themselves for what takes less than a second, and say what is stale: then ask refresh.`},
		s.refresh)
}

func (s *server) refresh(ctx context.Context, _ refreshArgs) (answer[none], error) {
	stale, err := s.Knowledge.Refresh(ctx, true)
	if err != nil {
		return answer[none]{}, err
	}
	text, err := s.snapshots(ctx, stale)
	if err == nil && len(stale) == 0 {
		text += "up to date\n"
	}
	return answer[none]{text: text}, err
}
