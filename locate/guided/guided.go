// Package guided finds the functions that a report is about with the help of a model.
//
// Package locate finds candidates by words, without a model. Here a model reads what each of
// them does, and orders them:
//
//   - rerank.go: one question about the best candidates of words;
//   - levels.go: repositories, then packages, then files, then functions (Rafiei Oskooei et al.
//     2026);
//   - summaries.go: files by one line each, then by what all their declarations do (Tawosi et
//     al. 2025, "Meta-RAG");
//   - schematic.go: files, then declarations by signature, then those that were read whole, with a plan
//     for each place (Gautam et al. 2024, "SuperCoder 2.0");
//   - search.go: functions one by one, each with a reward, the best ones in a summary with a plan,
//     and then what the model wants to look at (Ma et al. 2024, "RepoUnderstander").
//
// A model orders and adds. What words found keeps its order behind what the model chose:
// a wrong answer costs places, and hides nothing.
//
// # What a model is sent
//
// A list has numbered units, and the model answers with numbers (choose.go, reply.go). Its
// choice is held against the list: what is not in it is asked again once, then dropped and noted.
// Text of repositories and reports is between fences that it does not contain (fence.go).
// A list that is longer than the model's window is ordered by words and cut, and a note says so.
//
// # A new strategy
//
// A new strategy is a file with a method of Guide, and a line in strategies. It begins with
// Guide.begin, asks with task.choose, and ends with task.end.
package guided

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tracerag/knowledge"
	"tracerag/llm/metered"
	"tracerag/locate"
	"tracerag/summary"
)

// How names a strategy.
type How string

// The strategies.
const (
	Words     How = "words" // no model
	Rerank    How = "rerank"
	Levels    How = "levels"
	Summaries How = "summaries"
	Schematic How = "schematic"
	Search    How = "search"
)

type strategy struct {
	how How
	run func(*Guide, context.Context, locate.Question) (*Answer, error)
}

// strategies are what Locate dispatches to.
var strategies = []strategy{
	{Words, (*Guide).words},
	{Rerank, (*Guide).rerank},
	{Levels, (*Guide).levels},
	{Summaries, (*Guide).summaries},
	{Schematic, (*Guide).schematic},
	{Search, (*Guide).search},
}

// All returns the strategies, the one without a model first.
func All() []How {
	var all []How
	for _, s := range strategies {
		all = append(all, s.how)
	}
	return all
}

// Names returns the strategies' names, in the order of All.
func Names() []string {
	var names []string
	for _, h := range All() {
		names = append(names, string(h))
	}
	return names
}

// Guide locates in a store.
type Guide struct {
	Store knowledge.Reader
	// Book has what the model said of units; nil has substitutes. Without Read it reads as
	// Options.Text does.
	Book  *summary.Book
	Model *metered.Model // nil: only Words
	// Summarise makes the summaries of files that are about to be read by them; nil: what is not kept
	// has a substitute. Of most files nobody ever asks.
	Summarise func(context.Context, []knowledge.File) error
	Options   locate.Options
	Search    SearchOptions
	Secrets   Secrets // nil hides none
}

// Secrets hides secrets. It knows one by what it has learned until then, so it sees
// what words found, and each file that is read, before anything of them is sent.
type Secrets interface {
	Located(*locate.Answer)
	LearnTexts(texts []string)
	// Clean masks what is known, of a text before it is cut: of a part of a secret nobody can
	// tell that it is one.
	Clean(text string) string
}

// Answer is what was found, and how.
type Answer struct {
	*locate.Answer
	How How `json:"how"`
	// Read, Write and New are what the model says that a change has to know, to change and
	// to add.
	Read  []Listed `json:"read,omitempty"`
	Write []Listed `json:"write,omitempty"`
	New   []Listed `json:"new,omitempty"`
	// Plan says what the model would change.
	Plan string `json:"plan,omitempty"`
	// Steps are what the model looked at.
	Steps []Step `json:"steps,omitempty"`
	// Ways are, for each of Functions, what was chosen on the way to it.
	Ways [][]Step `json:"ways,omitempty"`
	// Notes say what was left out, and why.
	Notes  []string       `json:"notes,omitempty"`
	Totals metered.Totals `json:"model"`
}

// Listed is a place that a model named.
type Listed struct {
	Repository string `json:"repository,omitempty"`
	File       string `json:"file"`
	Name       string `json:"name,omitempty"` // of the declaration; "" is the file
	Why        string `json:"why,omitempty"`
}

// Step is a choice on the way to a function.
type Step struct {
	Level string `json:"level"` // "repository", "package", "file"
	Name  string `json:"name"`
	Why   string `json:"why,omitempty"`
}

// ErrNoModel says that a strategy needs a model.
var ErrNoModel = errors.New("no model is configured")

// UnknownError says that a strategy is not known.
type UnknownError struct{ How How }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown strategy %q: must be one of %s", e.How, strings.Join(Names(), ", "))
}

// Locate finds what a question is about. With an error there is an answer nevertheless if
// something was found until then.
func (g *Guide) Locate(ctx context.Context, q locate.Question, how How) (*Answer, error) {
	i := slices.IndexFunc(strategies, func(s strategy) bool { return s.how == how })
	if i < 0 {
		return nil, &UnknownError{how}
	}
	if g.Model == nil && how != Words {
		return nil, fmt.Errorf("locating by %s: %w", how, ErrNoModel)
	}
	return strategies[i].run(g, ctx, q)
}

func (g *Guide) words(ctx context.Context, q locate.Question) (*Answer, error) {
	t, err := g.begin(ctx, q, Words)
	if err != nil {
		return nil, err
	}
	return t.end(locate.Order{}, nil)
}
