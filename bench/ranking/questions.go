package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tracerag/bench/corpus"
	"tracerag/fixtures/real"
	"tracerag/prompt/tokens"
	"tracerag/session"
	"tracerag/trace/store"
)

// The halves of the questions, each of programs of its own.
const (
	tuning  = "tuning"   // weights may be chosen on it
	heldOut = "held-out" // it is only looked at
)

// program is one that is asked about, with its runs and the questions about them.
type program struct {
	Name     string            `yaml:"name"` // of the binary
	Package  string            `yaml:"package"`
	Version  string            `yaml:"version"`
	Half     string            `yaml:"half"`
	Cheap    bool              `yaml:"cheap"`    // always tested: other tests install it anyhow
	Baseline []string          `yaml:"baseline"` // arguments; nil is none
	Files    map[string]string `yaml:"files"`    // of each run's working directory
	Runs     map[string]struct {
		Args []string `yaml:"args"`
		Exit int      `yaml:"exit"`
	} `yaml:"runs"`
	Questions []struct {
		Run      string   `yaml:"run"`
		Question string   `yaml:"question"`
		Decides  []string `yaml:"decides"` // as the call tree shows them
	} `yaml:"questions"`
}

func (p *program) real() real.Program {
	return real.Program{Name: p.Name, Package: p.Package, Version: p.Version}
}

// readQuestions reads a file of programs and questions.
func readQuestions(name string) ([]program, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var programs []program
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&programs); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	seen := map[string]bool{}
	for i := range programs {
		p := &programs[i]
		if seen[p.Name] {
			return nil, fmt.Errorf("%s: %s is repeated: all questions about a program are of one half", name, p.Name)
		}
		seen[p.Name] = true
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, p.Name, err)
		}
	}
	return programs, nil
}

func (p *program) check() error {
	switch {
	case p.Name == "" || p.Package == "" || p.Version == "":
		return errors.New("want a name, a package and its version")
	case p.Half != tuning && p.Half != heldOut:
		return fmt.Errorf("half %q: want %s or %s", p.Half, tuning, heldOut)
	case len(p.Questions) == 0:
		return errors.New("no questions")
	}
	for _, q := range p.Questions {
		if _, ok := p.Runs[q.Run]; !ok {
			return fmt.Errorf("%q is asked about the unknown run %q", q.Question, q.Run)
		}
		if strings.TrimSpace(q.Question) == "" || len(q.Decides) < 1 || len(q.Decides) > 3 {
			return fmt.Errorf("%q: want a question, and one to three functions that decide", q.Question)
		}
	}
	return nil
}

// recorder records programs with tracerag, as a user does it.
type recorder struct {
	command string // tracerag
	dir     string // of everything
}

// newRecorder builds tracerag into a directory.
func newRecorder(dir string) (*recorder, error) {
	r := &recorder{filepath.Join(dir, "tracerag"), dir}
	if out, err := exec.Command("go", "build", "-o", r.command, "tracerag/cmd/tracerag").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building tracerag: %w\n%s", err, out)
	}
	return r, nil
}

// record makes a trace of each run, and returns their ids.
func (r *recorder) record(p *program, exe string) (s *store.Store, ids map[string]string, err error) {
	traces := filepath.Join(r.dir, p.Name, "traces")
	ids = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(p.Runs)) {
		at := filepath.Join(r.dir, p.Name, "run-"+name)
		for file, text := range p.Files {
			file = filepath.Join(at, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
				return nil, nil, err
			}
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				return nil, nil, err
			}
		}
		id := filepath.Join(r.dir, p.Name, name+".id")
		args := []string{"run", "--quiet", "--id-file=" + id}
		if p.Baseline != nil {
			args = append(args, "--baseline="+strings.Join(p.Baseline, " "))
		}
		cmd := exec.Command(r.command, append(append(args, "--", exe), p.Runs[name].Args...)...)
		cmd.Dir = at
		cmd.Env = append(os.Environ(), "TRACERAG_DIR="+traces)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != p.Runs[name].Exit {
			return nil, nil, fmt.Errorf("%s: run %s: %w (exit code %d was expected)\n%s", p.Name, name, err, p.Runs[name].Exit, out)
		}
		text, err := os.ReadFile(id)
		if err != nil {
			return nil, nil, err
		}
		ids[name] = strings.TrimSpace(string(text))
	}
	return store.Open(traces), ids, nil
}

// cases are a program's questions as the cases of a corpus: what ran is what tracerag rank
// ranks, and gold is what decides.
func (r *recorder) cases(p *program, exe string) ([]*bug, error) {
	traces, ids, err := r.record(p, exe)
	if err != nil {
		return nil, err
	}
	s := &session.Session{Store: traces, Warn: func(error) {}}
	count := tokens.For("gpt-4o")
	var out []*bug
	for i, q := range p.Questions {
		views, err := s.Open([]string{ids[q.Run]}, session.TreeOptions{})
		if err != nil {
			return nil, fmt.Errorf("%s: run %s: %w", p.Name, q.Run, err)
		}
		ranking := s.Rank(q.Question, views)
		b := &bug{
			Case: corpus.Case{
				ID: fmt.Sprintf("%s %d", p.Name, i+1), Repo: p.Name, Report: q.Question, Words: len(strings.Fields(q.Question)),
			},
			Executed: make([]executed, len(ranking.Functions)), Passing: ranking.Corpus.Passing,
		}
		missing := slices.Clone(q.Decides)
		for _, f := range ranking.Functions {
			x := &b.Executed[f.Function]
			x.Function = ranking.Corpus.Functions[f.Function]
			x.Tokens = count.Count(x.Text)
			if x.Gold = slices.Contains(q.Decides, f.Name); x.Gold {
				b.Gold = append(b.Gold, corpus.Gold{Function: f.Name, Package: x.Package})
				missing = slices.DeleteFunc(missing, func(m string) bool { return m == f.Name })
			}
		}
		if len(missing) > 0 {
			return nil, fmt.Errorf("%s: %q: %s did not run", p.Name, q.Question, strings.Join(missing, ", "))
		}
		if ranking.Corpus.Background != nil {
			b.Others = slices.Collect(ranking.Corpus.Background)
		}
		out = append(out, b)
	}
	return out, nil
}

// allCases installs and records every program. It says on log what takes its time.
func allCases(log io.Writer, programs []program) (map[string][]*bug, error) {
	dir, err := os.MkdirTemp("", "ranking-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	r, err := newRecorder(dir)
	if err != nil {
		return nil, err
	}
	halves := map[string][]*bug{}
	for i := range programs {
		p := &programs[i]
		fmt.Fprintf(log, "%s@%s\n", p.Package, p.Version)
		exe, err := real.Installed(p.real())
		if err != nil {
			return nil, err
		}
		cases, err := r.cases(p, exe)
		if err != nil {
			return nil, err
		}
		halves[p.Half] = append(halves[p.Half], cases...)
	}
	return halves, nil
}
