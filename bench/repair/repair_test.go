package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"tracerag/bench/corpus/corpustest"
	"tracerag/bench/corpus/gold"
)

const before = `package app

import "fmt"

// Draw draws the border of a table.
func Draw() { pad() }

const (
	a = iota
	b
)

func pad() { fmt.Println() }
`

const after = `package app

import "strings"

// Draw draws the border.
func Draw() { thick() }

const (
	a = iota
	_
	b
)

func thick() { _ = strings.ToUpper("") }
`

// small makes a corpus of one fix.
func small(t *testing.T) settings {
	corpus, clones := corpustest.Corpus{
		Cases: `{"id":"one","repo":"example/app","module":"example.com/app","base_commit":"BASE","fix_commit":"HEAD"}` + "\n",
		Base: map[string]string{"go.mod": "module example.com/app\n", "app.go": before,
			"app_test.go": "package app\n\nimport \"testing\"\n\nfunc TestDraw(t *testing.T) {\n\tif a != b {\n\t\tt.Error(1)\n\t}\n}\n"},
		Fixed:   map[string]string{"app.go": after, "app_test.go": "package app\n\nimport \"testing\"\n\nfunc TestDraw(t *testing.T) {\n\tDraw()\n}\n"},
		Subject: "the border was too thick",
	}.Write(t)
	return settings{corpus: corpus, clones: clones, split: "dev", verbose: true}
}

func TestRun(t *testing.T) {
	var out, log bytes.Buffer
	f, err := run(&out, &log, small(t))
	if err != nil {
		t.Fatal(err)
	}
	if f.files != 2 || f.exact != 2 || f.whole != 2 || f.replied != 1 || f.imports != 1 || f.named != 1 || f.found != 1 || f.suspected != 0 {
		t.Errorf("%+v\n%s", f, log.String())
	}
	if !strings.Contains(out.String(), "files as they should be      2   2") && !strings.Contains(strings.Join(strings.Fields(out.String()), " "), "files as they should be 2 2") {
		t.Error(out.String())
	}
	if _, err := run(io.Discard, io.Discard, settings{}); err == nil || !strings.Contains(err.Error(), "-clones DIR") {
		t.Errorf("without directories: %v", err)
	}
}

// What the measure calls wrong is wrong: it finds other bytes in a declaration, and outside.
func TestWrongIsFound(t *testing.T) {
	_, changed := gold.Edit("app.go", []byte(before), []byte(after), false)
	if what := wrong([]byte(before), []byte(after), []byte(after), changed, []string{"pad"}); what != "" {
		t.Error(what)
	}
	for _, pair := range [][2]string{{"thick() }", "thick()  }"}, {"func thick() { _ = strings.ToUpper(\"\") }", ""}, {"package app", "package  app"}, {"const (", "// x\n\nconst ("}} {
		spoilt := strings.Replace(after, pair[0], pair[1], 1)
		if wrong([]byte(before), []byte(after), []byte(spoilt), changed, nil) == "" {
			t.Errorf("%q for %q is not found", pair[1], pair[0])
		}
	}
}

// Every generated change that cheats has a reason against it.
func TestCheats(t *testing.T) {
	var log bytes.Buffer
	f, err := run(io.Discard, &log, small(t))
	if err != nil {
		t.Fatal(err)
	}
	if f.unsuspected > 0 || f.cheats < 30 {
		t.Errorf("%d of %d cheats are not suspected\n%s", f.unsuspected, f.cheats, log.String())
	}
}

// TestCorpus holds the bars on real fixes: CORPUS and CLONES are the directories (see make eval).
func TestCorpus(t *testing.T) {
	set := settings{corpus: os.Getenv("CORPUS"), clones: os.Getenv("CLONES"), split: "dev", verbose: true}
	if set.corpus == "" || set.clones == "" {
		t.Skip("CORPUS and CLONES are not set")
	}
	var out, log bytes.Buffer
	f, err := run(&out, &log, set)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String() + log.String())
	if f.exact*100 < f.files*99 || f.wrong > 0 {
		t.Errorf("%d of %d files are as they should be, %d are wrong", f.exact, f.files, f.wrong)
	}
	if f.unsuspected > 0 || f.cheats < 500 {
		t.Errorf("%d of %d cheats are not suspected", f.unsuspected, f.cheats)
	}
}
