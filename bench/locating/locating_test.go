package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
	corpus, clones := t.TempDir(), t.TempDir()
	repo := filepath.Join(clones, "example", "app")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write(filepath.Join(repo, "go.mod"), "module example.com/app\n")
	write(filepath.Join(repo, "app.go"), appGo)
	write(filepath.Join(repo, "app_test.go"), "package app\n\nfunc border() {}\n")
	write(filepath.Join(repo, "testdata", "x.go"), "package x\n\nfunc border() {}\n")
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "base")
	base := git("rev-parse", "HEAD")
	write(filepath.Join(repo, "app.go"), strings.Replace(appGo, "func pad() {}", "func border() {}", 1))
	git("commit", "-qam", "the border was too thick")

	write(filepath.Join(corpus, "dev.jsonl"), `{"id":"one","repo":"example/app","module":"example.com/app","base_commit":"`+base+
		`","report":"the border is too thick","test_package":".","primary_test":"TestX","gold":[{"file":"app.go","function":"Draw"}],"gold_files":["app.go"]}`+"\n")
	var z bytes.Buffer
	g := gzip.NewWriter(&z)
	g.Write([]byte(`{"id":"one","functions":[["example.com/app","pad","app.go",6,6,10,3,3,0],["example.com/app","Draw","app.go",4,4,20,1,1,0]]}` + "\n"))
	g.Close()
	write(filepath.Join(corpus, "dev-executed.jsonl.gz"), z.String())
	return settings{corpus: corpus, clones: clones, split: "dev"}
}

// Nothing of the fix, of tests or of testdata is seen.
func TestReadsTheBase(t *testing.T) {
	set := corpusOf(t)
	bugs, err := readCases(set.corpus, "dev")
	if err != nil {
		t.Fatal(err)
	}
	all, err := load(bugs, set.clones)
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
	if err := run(io.Discard, io.Discard, settings{}); err == nil || !strings.Contains(err.Error(), "-clones DIR") {
		t.Errorf("without directories: %v", err)
	}
}

func TestInterval(t *testing.T) {
	a, b := make([]float64, 50), make([]float64, 50)
	for i := range a {
		a[i] = .5 + float64(i%2)/10
		b[i] = .4
	}
	mean, low, high := interval(a, b)
	if math.Abs(mean-.15) > 1e-9 || low < .13 || low >= mean || high > .17 || high <= mean {
		t.Errorf("%v, from %v to %v", mean, low, high)
	}
}
