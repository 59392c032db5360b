package session

import (
	"errors"
	"io"
	"strings"
	"testing"

	"tracerag/redact"
	"tracerag/trace"
	"tracerag/trace/store"
)

// saved saves a run.
func saved(t *testing.T, s *store.Store, baseline string, command []string, paths ...string) store.Entry {
	t.Helper()
	tr := traced(paths...)
	tr.Recorder, tr.Command, tr.Baseline = "probe", command, baseline
	e, err := s.Save(tr)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// traced is a run that makes calls: paths such as "main.main>main.run".
func traced(paths ...string) *trace.Trace {
	b := trace.NewBuilder(&trace.Trace{Program: trace.Program{MainPath: "example.com/app"}})
	for _, p := range paths {
		var stack []trace.Frame
		for name := range strings.SplitSeq(p, ">") {
			stack = append(stack, trace.Frame{Func: b.Func(trace.Function{Name: name, Package: "example.com/app", File: "main.go", StartLine: 1})})
		}
		b.Call(trace.Root{Kind: trace.RootMain}, stack, 1)
	}
	return b.Finish()
}

// What the baseline did is pruned; a baseline that is gone is a warning, and one that is
// named and missing an error.
func TestOpenPrunes(t *testing.T) {
	s := &Session{Store: store.Open(t.TempDir())}
	var warnings []error
	s.Warn = func(err error) { warnings = append(warnings, err) }
	base := saved(t, s.Store.Baselines(), "", []string{"./app", "--version"}, "main.main", "main.main>main.flags")
	run := saved(t, s.Store, base.ID, []string{"./app"}, "main.main", "main.main>main.flags", "main.main>main.show")
	for _, c := range []struct {
		o     TreeOptions
		nodes int
	}{
		{TreeOptions{}, 2}, {TreeOptions{Baseline: NoBaseline}, 3}, {TreeOptions{Baseline: base.ID}, 2}, {TreeOptions{Baseline: run.ID}, 0}, {TreeOptions{Focus: []string{"main.show"}}, 2},
	} {
		views, err := s.Open([]string{run.ID}, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if v := views[0]; v.Tree.Size != c.nodes || v.Whole != 3 {
			t.Errorf("%+v: %d nodes of %d, want %d of 3", c.o, v.Tree.Size, v.Whole, c.nodes)
		} else if (v.Empty() != nil) != (c.nodes == 0) {
			t.Errorf("%+v: %v", c.o, v.Empty())
		}
	}
	if len(warnings) > 0 {
		t.Errorf("warnings: %v", warnings)
	}
	var wrong *BaselineError
	if _, err := s.Open([]string{run.ID}, TreeOptions{Baseline: "beef"}); !errors.As(err, &wrong) {
		t.Errorf("a baseline that is not there: %v", err)
	}
	if err := s.Store.Baselines().Remove(base); err != nil {
		t.Fatal(err)
	}
	views, err := s.Open([]string{run.ID}, TreeOptions{})
	var gone *BaselineGoneError
	if err != nil || views[0].Tree.Size != 3 || len(warnings) != 1 || !errors.As(warnings[0], &gone) || gone.Baseline != base.ID || gone.Trace != run.ID {
		t.Errorf("without its baseline: %v, %v", warnings, err)
	}
}

// What one place tells to be a secret is masked in all others, with one placeholder; a
// nil masker masks nothing.
func TestOpenMasks(t *testing.T) {
	secret := "corr3ct" + "-horse"
	s := &Session{Store: store.Open(t.TempDir()), Mask: NewMasker(func() *redact.Redactor { return redact.New() })}
	run := saved(t, s.Store, "", []string{"./app", "--password=" + secret, secret}, "main.main")
	views, err := s.Open([]string{run.ID}, TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := views[0].Title(); strings.Contains(got, secret) || strings.Count(got, "[REDACTED:password:1]") != 2 {
		t.Errorf("the title is %s", got)
	}
	if sum, err := s.Summarize(run.ID); err != nil || strings.Contains(sum.Title, secret) {
		t.Errorf("the summary is %s, %v", sum.Title, err)
	}
	if got := s.Mask.Clean("it is " + secret); strings.Contains(got, secret) {
		t.Error(got)
	}
	if len(s.Mask.Findings()) != 1 {
		t.Errorf("%v", s.Mask.Findings())
	}
	fork := s.Mask.Fork()
	fork.LearnText("the token is ghp_" + "16C7e42F292c6912" + "E7710c838347Ae178B4a")
	if before, after := s.Mask.Text("x "+secret), fork.Text("x "+secret); before != after {
		t.Errorf("a fork has other numbers: %s and %s", before, after)
	}
	s.Mask = nil
	if views, err = s.Open([]string{run.ID}, TreeOptions{}); err != nil || !strings.Contains(views[0].Title(), secret) {
		t.Errorf("nothing is to be masked: %v, %v", views[0].Title(), err)
	}
}

// What a comparison leaves out are counts, orders, goroutines and packages; another word
// is an error.
func TestIgnore(t *testing.T) {
	s := &Session{Store: store.Open(t.TempDir())}
	a := saved(t, s.Store, "", []string{"./a"}, "main.main", "main.main>log.print")
	b := saved(t, s.Store, "", []string{"./b"}, "main.main", "main.main>log.print", "main.main>log.print")
	views, err := s.Open([]string{a.ID, b.ID}, TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	match := func(pattern string) (func(string) bool, error) {
		if pattern == "./broken" {
			return nil, io.ErrUnexpectedEOF
		}
		return func(pkg string) bool { return pkg == pattern }, nil
	}
	for words, equal := range map[string]bool{"": false, "order": false, "counts": true, "example.com/app": true} {
		i, err := Ignore(strings.Fields(words), match)
		if err != nil {
			t.Fatal(err)
		}
		if d := new(Session).Compare(views[0], views[1], i, ""); d.Equal() != equal {
			t.Errorf("without %q the runs are equal: %v, want %v", words, d.Equal(), equal)
		}
	}
	for _, word := range []string{"lines", "./broken"} {
		if _, err := Ignore([]string{word}, match); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", word, err)
		}
	}
}
