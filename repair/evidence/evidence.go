// Package evidence collects what is known of a failing test before anything is changed: the test
// and how it fails, its recorded run, and the places that its cause may be in.
package evidence

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"tracerag/calltree"
	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/locate"
	"tracerag/locate/guided"
	"tracerag/prompt"
	"tracerag/repair"
	"tracerag/session"
)

// MostPlaces is how many places a task has at most.
const MostPlaces = 12

// Collector collects. The repository is the only one that is looked into.
type Collector struct {
	Session    *session.Session // of the store that runs of this repair are recorded into
	Guide      *guided.Guide
	How        guided.How
	Repository *knowledge.Repository
	Prompt     prompt.Options // how a run is shown, but for its budget
	// RunTokens is how many tokens the run may have; 0 leaves it out.
	RunTokens int
}

// Found is what was collected.
type Found struct {
	Task   *repair.Task   `json:"task"`
	Answer *guided.Answer `json:"located"`
	// Ran are the functions of the run that it is most likely about, the likeliest first: names as the
	// linker has them.
	Ran []string `json:"ran,omitempty"`
	// Notes say what is missing, and why.
	Notes []string `json:"notes,omitempty"`
}

// Collect makes a task of a report, a failing test and its recorded run: the name of a trace, "" for
// none. dir is the tree that a change is for. With an error there is what was found until then, if anything was.
func (c *Collector) Collect(ctx context.Context, report string, test repair.Test, run, dir string) (*Found, error) {
	found := &Found{Task: &repair.Task{Report: report, Test: test, Dir: dir}}
	q := locate.Question{Text: question(found.Task), Test: test.Name, Package: test.Package}
	if run != "" {
		views, err := c.Session.Open([]string{run}, session.TreeOptions{SourceDirs: []string{dir}})
		if err != nil {
			return nil, err
		}
		q.Ran = locate.FromRanking(c.Session.Rank(q.Text, views))
	}
	g := *c.Guide
	g.Options.Repositories = []int64{c.Repository.ID}
	answer, err := g.Locate(ctx, q, c.How)
	if missing, ok := errors.AsType[*locate.NoTestError](err); ok && answer == nil {
		found.Note("%v", missing) // a test of another module, or a name that is made at run time
		q.Test, q.Package = "", ""
		answer, err = g.Locate(ctx, q, c.How)
	}
	if answer == nil {
		return nil, err
	}
	found.Answer, found.Task.Plan = answer, answer.Plan
	found.Task.Places = repair.PlacesOf(answer, MostPlaces)
	found.Notes = append(found.Notes, answer.Notes...)
	for _, f := range answer.Functions {
		if f.Ran && len(found.Ran) < mostValues {
			found.Ran = append(found.Ran, f.Package+"."+f.Name)
		}
	}
	return found, err
}

// mostValues is how many functions' arguments and results are observed.
const mostValues = 6

// Note says what is missing.
func (f *Found) Note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// Show writes a run of the task's test as a prompt shows it; "" if there is no room for it, or nothing of
// the recorded packages ran.
func (c *Collector) Show(f *Found, run, dir string) (string, error) {
	if c.RunTokens <= 0 {
		return "", nil
	}
	views, err := c.Session.Open([]string{run}, session.TreeOptions{SourceDirs: []string{dir}})
	if err != nil {
		return "", err
	}
	in, err := c.Session.PromptInput("", views...)
	if empty, ok := errors.AsType[*session.EmptyTreeError](err); ok {
		f.Note("%v", empty)
		return "", nil
	}
	if err != nil {
		return "", err
	}
	in.Score = c.Session.Input(question(f.Task), views...).Score
	o := c.Prompt
	o.Budget = c.RunTokens
	p, err := prompt.Build(in, o)
	if err != nil {
		return "", err
	}
	return p.Text, nil
}

// question is what places and sources are chosen by: the report, and how the test fails.
func question(t *repair.Task) string {
	return strings.TrimSpace(t.Report + "\n\n" + failure(t.Test.Output))
}

// Differences says where a run parts from an earlier one of the same test; "" if it does not.
func (c *Collector) Differences(before, after, dir string) (string, error) {
	views, err := c.Session.Open([]string{before, after}, session.TreeOptions{Compared: true, SourceDirs: []string{dir}})
	if err != nil {
		return "", err
	}
	d := c.Session.Compare(views[0], views[1], session.Ignored{}, "")
	if d.Equal() && d.Values == 0 {
		return "", nil
	}
	var b strings.Builder
	err = d.WriteText(&b, calltree.View{Counts: true, Positions: true, Compact: true, MaxNodes: differenceNodes, File: views[1].File, Dependency: views[1].Dependency})
	return b.String(), err
}

// differenceNodes is how many nodes of a difference are shown: those where the runs part come first.
const differenceNodes = 60

// failureLines is how much of a failing test's output counts as words of the report.
const failureLines = 30

// failure returns the lines of an output that say how a test failed.
func failure(output string) string {
	var lines []string
	for line := range strings.Lines(output) {
		text := strings.TrimSpace(line)
		switch {
		case text == "", strings.HasPrefix(text, "=== "), strings.HasPrefix(text, "--- PASS"), strings.HasPrefix(text, "ok "), text == "FAIL", strings.HasPrefix(text, "exit status"):
			continue
		}
		if len(lines) < failureLines {
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "\n")
}

// TestOf finds a test's source in the tree: name is of a test or one of its subtests, directory that
// of its package, as a slash path in the tree.
func TestOf(dir, directory, pkg, name string, files []string) (repair.Test, error) {
	t := repair.Test{Package: pkg, Name: name}
	function, _, _ := strings.Cut(name, "/")
	slices.Sort(files)
	for _, file := range files {
		if path.Dir(file) != path.Clean(directory) || !strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := code.Read(dir, file)
		if err != nil {
			return t, err
		}
		var others []string
		for _, d := range code.Parse(text).Decls {
			switch {
			case d.Kind.Callable() && d.Name == function:
				t.File, t.Source = file, string(d.With(text))
			case d.Kind.Callable() && isTest.MatchString(d.Name) && len(others) < mostSiblings:
				others = append(others, d.Name)
			}
		}
		if t.File != "" {
			t.Siblings = others
			return t, nil
		}
	}
	return t, &NoTestError{Package: pkg, Name: function}
}

// mostSiblings is how many other tests of a file are recorded.
const mostSiblings = 8

var isTest = regexp.MustCompile(`^Test([^\p{Ll}]|$)`)

// NoTestError says that a package declares no test of a name.
type NoTestError struct{ Package, Name string }

func (e *NoTestError) Error() string {
	return fmt.Sprintf("%s has no test %s", e.Package, e.Name)
}
