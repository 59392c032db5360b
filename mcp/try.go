package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

type tryArgs struct {
	Change string `json:"change" jsonschema:"a unified diff with paths below the repository's root, as git diff prints it; or for each file a line \"FILE: path/file.go\" and a fenced block of whole Go declarations, which replace those of the same names"`
	Test   string `json:"test,omitempty" jsonschema:"the test that fails and that the change has to make pass, as \"./table:TestBorder\". Default: none, and only what passes now has to pass then, too"`
	Dir    string `json:"dir,omitempty" jsonschema:"directory of the module, below the server's working directory, which is the default"`
	budget
}

// Change is a change to be judged.
type Change struct {
	Text          string
	Package, Test string // "./table", "TestBorder"; "" none
	Dir           string // absolute
}

// Tried is what a trial says of a change.
type Tried struct {
	Accepted bool
	Stage    string // that refused it
	Text     string
}

// tryFacts is the structured content of try_change.
type tryFacts struct {
	Accepted bool   `json:"accepted"`
	Stage    string `json:"stage,omitempty" jsonschema:"the step that refused it"`
	Text     string `json:"text"`
}

func (s *server) addTry(to *sdk.Server) {
	yes := true
	add(s, to, &sdk.Tool{Name: "try_change", Title: "Judge a change by tests", Description: `Puts a change into a copy of the working tree, builds and vets it, and runs tests there: the failing one three times, then those of its package, then all. Answers accepted, or which step refused it and what failed. The user's files stay as they are. Changes of existing tests are refused. It may take minutes.
Only if the user allowed it when the server was started.`,
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes}},
		s.try)
}

func (s *server) try(ctx context.Context, in tryArgs) (answer[tryFacts], error) {
	var out answer[tryFacts]
	if s.Try == nil {
		return out, ErrNotAllowed
	}
	limit, err := in.limit(defaultTokens)
	if err != nil {
		return out, err
	}
	c := Change{Text: in.Change}
	if strings.TrimSpace(in.Change) == "" {
		return out, errors.New("no change: give a unified diff, or files with whole declarations")
	}
	if in.Test != "" {
		i := strings.LastIndexByte(in.Test, ':')
		if i <= 0 || i == len(in.Test)-1 || strings.ContainsRune(in.Test, 0) {
			return out, fmt.Errorf("test=%q: give package and test, as in ./table:TestBorder", in.Test)
		}
		c.Package, c.Test = in.Test[:i], in.Test[i+1:]
	}
	dir := in.Dir
	if dir == "" {
		dir = "."
	}
	if c.Dir, err = s.dirName(dir); err != nil {
		return out, err
	}
	tried, err := s.Try(ctx, c)
	if err != nil {
		return out, err
	}
	text := s.ends(limit, tried.Text)
	out.text = text
	out.facts = tryFacts{Accepted: tried.Accepted, Stage: tried.Stage, Text: s.Mask(text)}
	return out, nil
}
