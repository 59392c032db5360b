package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/bench/corpus"
	"tracerag/bench/corpus/corpustest"
)

const appGo = `package app

// Draw draws the border of a table.
func Draw() { pad() }

func pad() {}
`

// corpusOf makes a corpus of one case, and a clone of its repository with the fix, whose commit
// names what it changed.
func corpusOf(t *testing.T) settings {
	t.Helper()
	dir, clones := corpustest.Corpus{
		Cases: `{"id":"one","repo":"example/app","module":"example.com/app","base_commit":"BASE","fix_commit":"FIXED","report":"the border is too thick",` +
			`"test_package":".","primary_test":"TestX","gold":[{"file":"app.go","function":"Draw"}],"gold_files":["app.go"],"changed_files":["app.go"]}` + "\n",
		Executed: `{"id":"one","functions":[["example.com/app","pad","app.go",6,6,10,3,3,0],["example.com/app","Draw","app.go",4,4,20,1,1,0]]}` + "\n",
		Base: map[string]string{
			"go.mod":        "module example.com/app\n",
			"app.go":        appGo,
			"app_test.go":   "package app\n\nfunc border() {}\n",
			"testdata/x.go": "package x\n\nfunc border() {}\n",
		},
		Fixed:   map[string]string{"app.go": strings.Replace(appGo, "func pad() {}", "func border() {}", 1)},
		Subject: "the border was too thick",
	}.Write(t)
	return settings{corpus: dir, clones: clones, split: "dev"}
}

// Nothing of the fix, of tests or of testdata is seen.
func TestReadsTheBase(t *testing.T) {
	set := corpusOf(t)
	cases, err := corpus.Read(set.corpus, "dev")
	if err != nil {
		t.Fatal(err)
	}
	all, err := load(cases, set.clones)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range plain(all[0]) {
		if f.name == "border" {
			t.Errorf("found %v", f)
		}
	}
	commits, err := all[0].store.History(t.Context(), 0, 10)
	if err != nil || len(commits) != 1 || commits[0].Subject != "base" {
		t.Errorf("history %v %v", commits, err)
	}
}

func TestRun(t *testing.T) {
	set := corpusOf(t)
	set.refit, set.ablate, set.cases, set.decoys = true, true, true, filepath.Join(set.clones, "example", "app")
	var out bytes.Buffer
	if err := run(&out, io.Discard, set); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"locate 1 1.000 1.000 1.000 1.000 1.000 1.000 1.000 1.000", "plain BM25 1 1.000", "weights of the other repositories 1",
		"locate, with its trace 1 1.000", "words alone 1 1.000", "one [1] file 1"} {
		found := false
		for line := range strings.Lines(out.String()) {
			found = found || strings.HasPrefix(strings.Join(strings.Fields(line), " "), want)
		}
		if !found {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
	set = corpusOf(t)
	set.how, set.calls = "search", t.TempDir()
	out.Reset()
	var log bytes.Buffer
	if err := run(&out, &log, set); err != nil || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), "the tree 1.000 1.000") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if !strings.Contains(log.String(), "one: 1 calls, 1 of them of declarations of the store") {
		t.Error(log.String())
	}
	set.how = "rerank,levels,summaries"
	out.Reset()
	if err := run(&out, io.Discard, set); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"rerank 1 1.000 1.000 1.000", "levels 1 1.000 1.000 1.000", "summaries 1 1.000 1.000 1.000"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
	set.how, set.fix = "schematic", true
	out.Reset()
	if err := run(&out, io.Discard, set); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"schematic right at once 1 1 1 1.000", "schematic right at the second try 1 1 1 1.000", "schematic nonsense 1 0 0 0.000"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
	set.fix = false
	set.how = "guess"
	if err := run(io.Discard, io.Discard, set); err == nil || !strings.Contains(err.Error(), `unknown strategy "guess"`) {
		t.Error(err)
	}
	if err := run(io.Discard, io.Discard, settings{}); err == nil || !strings.Contains(err.Error(), "-clones DIR") {
		t.Errorf("without directories: %v", err)
	}
}
