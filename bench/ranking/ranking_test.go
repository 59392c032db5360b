package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/bench/corpus"
	"tracerag/bench/corpus/corpustest"
	"tracerag/rank"
)

const appGo = `package app

// Draw draws the border of a table.
func Draw() { pad() }

func pad() {}

func (t *Table[K, V]) Read() {}

func unused() {}
`

// corpusOf makes a corpus of cases and a clone of their repository, at a commit
// that is not the one checked out.
func corpusOf(t *testing.T, cases, executed string) (corpus, clones string) {
	return corpustest.Corpus{
		Cases: cases, Executed: executed,
		Base: map[string]string{
			"app.go":        appGo,
			"app_test.go":   "package app\n\nfunc border() {}\n",
			"testdata/x.go": "package x\n\nfunc border() {}\n",
			"broken.go":     "package app\n\nfunc {",
		},
		Fixed:   map[string]string{"app.go": "package app\n"},
		Subject: "fix",
	}.Write(t)
}

const (
	oneCase = `{"id":"one","repo":"example/app","module":"example.com/app","base_commit":"BASE","report":"the border of a table is too thick","test_package":".","primary_test":"TestX","report_words":8,"gold":[{"file":"app.go","function":"Draw","package":"example.com/app"},{"file":"app.go","function":"unused","package":"example.com/app"}]}
{"id":"no function","repo":"example/gone","base_commit":"BASE","gold":[]}
`
	oneExecuted = `{"id":"one","functions":[["example.com/app","pad","app.go",6,6,10,3,3,0],["example.com/app","Draw","app.go",4,4,20,1,1,0],["example.com/app","(*Table).Read","app.go",8,8,30,0,0,0]]}
{"id":"no function","functions":[["p","f","f.go",1,1,1,1,1,0]]}
{"id":"of another split","functions":[]}
`
)

func TestReadsTheBase(t *testing.T) {
	corpus, clones := corpusOf(t, oneCase, oneExecuted)
	bugs, err := readBugs(corpus, "dev")
	if err != nil {
		t.Fatal(err)
	}
	b := bugs[0]
	if err := b.readSources(clones); err != nil {
		t.Fatal(err)
	}
	// Read ran in another failing test only
	var ran, others []string
	for _, x := range b.Executed {
		ran = append(ran, x.Name+": "+x.Text)
	}
	for _, f := range b.Others {
		others = append(others, f.Name)
	}
	if got, want := strings.Join(ran, "\n"), "pad: func pad() {}\nDraw: func Draw() { pad() }"; got != want {
		t.Errorf("ran:\n%s\nnot\n%s", got, want)
	}
	if got, want := strings.Join(others, " "), "(*Table).Read unused"; got != want {
		t.Errorf("the others are %s, not %s", got, want)
	}
	if b.Executed[1].Doc != "// Draw draws the border of a table." || !b.Executed[1].Gold || b.Executed[0].Gold {
		t.Errorf("%+v", b.Executed)
	}
}

func TestRun(t *testing.T) {
	corpus, clones := corpusOf(t, oneCase, oneExecuted)
	var out bytes.Buffer
	if err := run(&out, corpus, clones, "dev", true, true); err != nil {
		t.Fatal(err)
	}
	var rank string
	for line := range strings.Lines(out.String()) {
		if f := strings.Fields(line); len(f) > 0 && f[0] == "rank" {
			rank = strings.Join(f, " ")
		}
	}
	// one of two gold functions ran, and it is the first, of 20 tokens
	if want := "rank 1 1.000 1.000 1.000 0.000 0.000 0.000 1.000 20"; rank != want {
		t.Errorf("got  %s\nwant %s\n%s", rank, want, out.String())
	}
}

func TestRunRefuses(t *testing.T) {
	for _, test := range []struct{ name, cases, executed, want string }{
		{"no clone", strings.Replace(oneCase, "example/app", "example/none", 1), oneExecuted, "no git clone of example/none"},
		{"unknown commit", strings.Replace(oneCase, "BASE", strings.Repeat("0", 40), 1), oneExecuted, "example/app at 0000"},
		{"broken case", "{", oneExecuted, "dev.jsonl, line 1"},
		{"nothing executed", oneCase, `{"id":"one","functions":[]}`, "no executed functions of one"},
		{"a column too few", oneCase, `{"id":"one","functions":[["p","f"]]}`, "2 columns"},
		{"a column of another kind", oneCase, `{"id":"one","functions":[["p",1,"f.go",1,1,1,1,1,0]]}`, "line 1: one: a column"},
		{"moved function", oneCase, strings.Replace(oneExecuted, `"app.go",6,6`, `"app.go",7,7`, 1), "no function pad at line 7 of app.go"},
	} {
		t.Run(test.name, func(t *testing.T) {
			corpus, clones := corpusOf(t, test.cases, test.executed)
			err := run(new(bytes.Buffer), corpus, clones, "dev", false, false)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, without %q", err, test.want)
			}
		})
	}
	corpus, clones := corpusOf(t, oneCase, oneExecuted)
	name := filepath.Join(corpus, "dev-executed.jsonl.gz")
	if data, err := os.ReadFile(name); err != nil || os.WriteFile(name, data[:len(data)-4], 0o666) != nil {
		t.Fatal(err)
	}
	if err := run(new(bytes.Buffer), corpus, clones, "dev", false, false); err == nil || !strings.Contains(err.Error(), "dev-executed.jsonl.gz, line 4: unexpected EOF") {
		t.Errorf("a file that is cut off: %v", err)
	}
	if err := run(new(bytes.Buffer), "", "", "dev", false, false); err == nil || !strings.Contains(err.Error(), "-clones DIR") {
		t.Errorf("without directories: %v", err)
	}
}

// The weights that are chosen for a repository never saw its cases.
func TestLeaveOut(t *testing.T) {
	var bugs []*bug
	for _, repo := range []string{"a", "b"} {
		for i := range 3 {
			b := &bug{Case: corpus.Case{ID: fmt.Sprint(repo, i), Repo: repo, Report: "span"}}
			word := "x"
			if repo == "b" {
				word = "span"
			}
			b.Executed = []executed{{Function: rank.Function{Name: "f", Text: "span()"}}, {Function: rank.Function{Name: word, Text: "y()"}, Gold: true}}
			bugs = append(bugs, b)
		}
	}
	f := &fitter{bugs, map[rank.Weights][]result{}}
	alone := &fitter{bugs[:3], map[rank.Weights][]result{}}
	for i, r := range f.leaveOut()[3:] {
		w := plainWeights
		best := meanReciprocal(alone.results(w))
		for _, c := range choices {
			for _, v := range c.values {
				try := w
				set(&try, c.weight, v)
				if m := meanReciprocal(alone.results(try)); m > best {
					t.Fatalf("the test's cases are to have nothing to choose: %s %v is better", c.weight, v)
				}
			}
		}
		if want := rankAll(bugs[3:], w)[i]; r.Reciprocal() != want.Reciprocal() {
			t.Errorf("%s has %v, by the weights of the others %v", r.bug.ID, r.At, want.At)
		}
	}
}
