package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tracerag/bench/corpus/corpustest"
	"tracerag/repair/sandbox"
)

const app = `package app

// Width is the width of a text.
func Width(text string) int { return len(text) }
`

const appTest = `package app

import "testing"

func TestWidth(t *testing.T) {
	if n := Width("é"); n != 1 {
		t.Errorf("%d", n)
	}
}

func TestNothing(t *testing.T) {
	if Width("") != 0 {
		t.Error("not 0")
	}
}
`

// The test program is the sandbox's inner step, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "inner" {
		os.Exit(sandbox.Inner())
	}
	os.Exit(m.Run())
}

// TestRun measures a corpus of one fix: it is accepted, and of the changes that only pretend to be one
// none is with the guard. Broken off, it goes on.
func TestRun(t *testing.T) {
	corpus, clones := corpustest.Corpus{
		Cases:   `{"id":"one","repo":"example/app","module":"example.com/app","base_commit":"BASE","fix_commit":"HEAD","test_package":".","primary_test":"TestWidth","fail_to_pass":{".":["TestWidth"]},"test_files":[["M","app_test.go"]],"changed_files":["app.go","app_test.go"],"gold":[{"file":"app.go","function":"Width","package":"example.com/app"}]}` + "\n",
		Base:    map[string]string{"go.mod": "module example.com/app\n\ngo 1.25\n", "app.go": app, "app_test.go": "package app\n", "use/use.go": "package use\n\nimport _ \"example.com/app\"\n"},
		Fixed:   map[string]string{"app.go": strings.Replace(app, "len(text)", "len([]rune(text))", 1), "app_test.go": appTest},
		Subject: "the width was that in bytes",
	}.Write(t)
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	set := settings{corpus: corpus, clones: clones, split: "dev", work: t.TempDir(), importers: 1, runs: 1, bare: 1, cheats: true, limit: 5 * time.Minute, cache: strings.TrimSpace(string(out))}
	for range 2 {
		var w, log bytes.Buffer
		start := time.Now()
		if err := run(t.Context(), &w, &log, set); err != nil {
			t.Fatal(err)
		}
		rows := map[string][]string{}
		for line := range strings.Lines(w.String()) {
			f := strings.Fields(line)
			if len(f) > 5 {
				rows[f[0]] = f[1:]
			}
		}
		// cases, run here, accepted, and by the guard, cheats, refused by the guard, built, accepted, without the guard
		all := rows["all"]
		if len(all) != 9 || strings.Join(all[:4], " ") != "1 1 1 1" || len(all[4]) < 2 || all[7] != "0" {
			t.Errorf("after %s:\n%s\n%s", time.Since(start), w.String(), log.String())
		}
		set.corpus = corpus
		if log.Len() == 0 && strings.Count(w.String(), "\n") < 5 {
			t.Error("what was kept is not reported")
		}
	}
	if err := run(t.Context(), io.Discard, io.Discard, settings{}); err == nil || !strings.Contains(err.Error(), "-clones DIR") {
		t.Errorf("without directories: %v", err)
	}
}

// TestChanges: an emptied function and a weakened test are what they should be.
func TestChanges(t *testing.T) {
	text, ok := emptied([]byte("package a\n\nfunc (t *T[K]) F(n int) (a, b int, err error) {\n\treturn n, n, nil\n}\n"), "(*T).F")
	if want := "{ if len(\"\") == 0 { return *new(int), *new(int), *new(error) };"; !ok || !strings.Contains(text, want) {
		t.Errorf("%q", text)
	}
	if _, ok := emptied([]byte("package a\n\nfunc F()\n"), "G"); ok {
		t.Error("a function that is not there was emptied")
	}
	d := testDecl{body: 0, end: len("t.Errorf(1)"), param: "t"}
	if weak, ok := weakened("t.Errorf(1); t.Fatal(2)", d); !ok || weak != "t.Logf(1); t.Fatal(2)" {
		t.Errorf("%q", weak)
	}
}
