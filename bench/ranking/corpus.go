package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tracerag/bench/corpus"
	"tracerag/code"
	"tracerag/rank"
)

// bug is a case of the corpus with what its failing test executed.
type bug struct {
	corpus.Case
	Executed []executed // in the corpus' order
	// Others are the functions that the repository declares beside them,
	// tests and testdata left out.
	Others []rank.Function
	// Passing is the number of runs that Function.Passing counts in: see rank.Corpus.
	Passing int
}

// executed is a function that a test executed.
type executed struct {
	rank.Function
	File   string
	Line   int
	Tokens int
	Gold   bool
}

// question is what the ranking is asked: the report and the test's name.
func (b *bug) question() rank.Question {
	return rank.Question{Text: b.Report, Test: b.Test, Package: b.TestPackage()}
}

func (b *bug) functions() []rank.Function {
	fs := make([]rank.Function, len(b.Executed))
	for i := range fs {
		fs[i] = b.Executed[i].Function
	}
	return fs
}

// readBugs reads the cases of a split whose fix changed a function: of others there is none
// to find.
func readBugs(dir, split string) ([]*bug, error) {
	cases, err := corpus.Read(dir, split)
	if err != nil {
		return nil, err
	}
	ran, err := corpus.ReadExecuted(dir, split, cases)
	if err != nil {
		return nil, err
	}
	var bugs []*bug
	for _, c := range cases {
		if len(c.Gold) == 0 {
			continue
		}
		b := &bug{Case: *c}
		for _, x := range ran[c.ID] {
			b.Executed = append(b.Executed, executed{
				Function: rank.Function{Package: x.Package, Name: x.Name, Startup: x.Startup},
				File:     x.File, Line: x.Line, Tokens: x.Tokens,
				Gold: slices.ContainsFunc(c.Gold, func(g corpus.Gold) bool { return g.Package == x.Package && g.Function == x.Name }),
			})
		}
		bugs = append(bugs, b)
	}
	return bugs, nil
}

// readSources gives a case's functions their texts, out of a git clone of its
// repository below dir, as they were before the fix.
func (b *bug) readSources(dir string) error {
	clone, err := corpus.FindClone(dir, b.Repo)
	if err != nil {
		return err
	}
	files, err := clone.Files(b.Base, func(name string) bool {
		return strings.HasSuffix(name, ".go") && !strings.Contains(name, "testdata/")
	})
	if err != nil {
		return fmt.Errorf("%s at %s: %w", b.Repo, b.Base, err)
	}
	type place struct {
		file string
		line int
	}
	at := map[place]*executed{}
	for i := range b.Executed {
		x := &b.Executed[i]
		at[place{x.File, x.Line}] = x
	}
	for _, f := range files {
		parsed := code.Parse(f.Text)
		if len(parsed.Errors) > 0 {
			continue // a file that does not compile has nothing that ran
		}
		for _, d := range parsed.Decls {
			if d.Kind != code.Func && d.Kind != code.Method {
				continue
			}
			fn := rank.Function{
				Package: path.Join(b.Module, path.Dir(f.Name)),
				Name:    d.Name,
				Doc:     string(f.Text[d.Doc.Start:d.Doc.End]),
				Text:    string(f.Text[d.Start:d.End]),
			}
			if x := at[place{f.Name, d.Line}]; x != nil {
				x.Doc, x.Text = fn.Doc, fn.Text
			} else if !strings.HasSuffix(f.Name, "_test.go") {
				b.Others = append(b.Others, fn)
			}
		}
	}
	for _, x := range b.Executed {
		if x.Text == "" {
			return fmt.Errorf("%s: %s has no function %s at line %d of %s", b.ID, b.Base, x.Name, x.Line, x.File)
		}
	}
	return nil
}
