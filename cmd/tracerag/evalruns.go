package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tracerag/eval"
	"tracerag/eval/results"
	"tracerag/eval/trial"
	"tracerag/phrase"
	"tracerag/trace/store"
)

// An experiment's runs are recorded by a tracerag run of their own each, as an agent's
// are: the recorder hands the program our standard input and output, and these are
// the experiment's, which says what the program reads.

// recordRuns records those runs of an experiment that its inquiries are about, unless
// that was done before and nothing has changed, and returns the traces' IDs by the
// runs' names.
func (a *app) recordRuns(ctx context.Context, x *eval.Experiment, dir *results.Dir, s *store.Store, e *evalFlags) (map[string]string, error) {
	var no *store.UnwritableError
	if err := s.Check(); errors.As(err, &no) {
		return nil, fmt.Errorf("traces cannot be saved in %s: %w: choose another directory with --out", no.Dir, no.Err)
	}
	program, err := trial.Program(ctx, x, dir, func(what string) func() {
		if strings.HasPrefix(what, "go install") {
			a.note("%s", what)
		}
		return a.wait(what)
	})
	if err != nil {
		return nil, err
	}
	traces := map[string]string{}
	for _, q := range x.Inquiries {
		for _, name := range q.Runs {
			if traces[name] != "" {
				continue
			}
			id, err := a.recordRun(ctx, x, name, program, dir, s, e)
			if err != nil {
				return nil, fmt.Errorf("run %s: %w", name, err)
			}
			traces[name] = id
		}
	}
	return traces, nil
}

// recordRun records one run, or finds the trace of it.
func (a *app) recordRun(ctx context.Context, x *eval.Experiment, name, program string, dir *results.Dir, s *store.Store, e *evalFlags) (string, error) {
	run := x.Runs[name]
	scratch, err := os.MkdirTemp("", "tracerag-experiment-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	if err := x.Lay(scratch); err != nil {
		return "", err
	}
	madeOf, err := hashRun(x, run, program, scratch, e)
	if err != nil {
		return "", err
	}
	have, err := dir.Run(x.Name, name)
	if err != nil {
		return "", err
	}
	if have.Of == madeOf && !e.fresh {
		if _, err := s.Find(have.Trace); err == nil {
			return have.Trace, nil
		}
	}
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	command := append([]string{filepath.Base(program)}, run.Args...)
	a.masker().LearnArgs(command)
	a.note("%s: recording %s", x.Name, phrase.CommandLine(command))
	defer a.wait("recording " + phrase.CommandLine(command))()
	idFile := filepath.Join(dir.Path(), ".id")
	defer os.Remove(idFile)
	args := []string{"run", "--quiet", "--dir=" + dir.Traces(), "--id-file=" + idFile}
	args = append(args, e.recorder.args()...)
	if len(x.Baseline) > 0 {
		args = append(args, "--baseline="+phrase.CommandLine(x.Baseline))
	}
	cmd := exec.CommandContext(ctx, exe, append(append(args, "--"), command...)...)
	cmd.Dir = scratch
	// It passes an interrupt on to the program, which would outlive its killing.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(withoutKeys(os.Environ()), "PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
	if run.Stdin != "" {
		cmd.Stdin = strings.NewReader(run.Stdin)
	}
	var output ends
	cmd.Stdout, cmd.Stderr = &output, &output
	err = cmd.Run()
	ids, _ := os.ReadFile(idFile) // missing if nothing was recorded
	var exit *exec.ExitError
	switch code := cmd.ProcessState; {
	case err != nil && !errors.As(err, &exit):
		return "", err
	case len(bytes.TrimSpace(ids)) == 0 && code.ExitCode() == run.Exit:
		text, _ := output.text()
		return "", fmt.Errorf("%s was not recorded%s", phrase.CommandLine(command), lastLines(text))
	case len(bytes.TrimSpace(ids)) == 0 || code.ExitCode() != run.Exit:
		text, _ := output.text()
		return "", fmt.Errorf("%s exited with %d, want %d%s\nif it should, say so in the file: exit: %[2]d", phrase.CommandLine(command), code.ExitCode(), run.Exit, lastLines(text))
	}
	id := strings.TrimSpace(string(ids))
	if tr, _, err := s.Load(id); err != nil {
		return "", err
	} else if len(x.Baseline) > 0 && tr.Baseline == "" {
		text, _ := output.text()
		return "", fmt.Errorf("the experiment's baseline failed, so that nothing would be pruned by it: give others in the file, or none%s", baselineLine(text))
	}
	return id, dir.SaveRun(x.Name, name, results.Run{Trace: id, Of: madeOf})
}

// withoutKeys leaves the keys for models out of an environment: a program that an
// experiment names has no use for them.
func withoutKeys(env []string) []string {
	return slices.DeleteFunc(env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasSuffix(name, "_API_KEY") || name == "TRACERAG_API_KEY_FILE"
	})
}

// lastLines is the end of what a program printed, to stand below an error.
func lastLines(text string) string {
	const most = 10
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if text = strings.Join(lines[max(0, len(lines)-most):], "\n"); text == "" {
		return ""
	}
	return "\n" + text
}

// baselineLine is what tracerag run said of a baseline that failed.
func baselineLine(text string) string {
	const begin = "tracerag: baseline: "
	if _, rest, ok := strings.Cut(text, begin); ok {
		line, _, _ := strings.Cut(rest, "\n")
		return "\n" + line
	}
	return ""
}

// args are the flags that choose the same recorder again.
func (r *recorderFlags) args() []string {
	args := []string{"--recorder=" + r.name, fmt.Sprintf("--max-hits=%d", r.maxHits), fmt.Sprintf("--max-stops=%d", r.maxStops)}
	if r.noInlined {
		args = append(args, "--no-inlined")
	}
	if r.noLines {
		args = append(args, "--no-lines")
	}
	if r.memory > 0 {
		args = append(args, "--memory="+r.memory.String())
	}
	return args
}

// hashRun is a hash of all that a run's trace depends on: the program, what it gets,
// and who records it.
func hashRun(x *eval.Experiment, run eval.Run, program, files string, e *evalFlags) (string, error) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	if err := enc.Encode([]any{version(), run, x.Baseline, e.recorder.args(), filepath.Base(program)}); err != nil {
		return "", err
	}
	f, err := os.Open(program)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	err = filepath.WalkDir(files, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(files, name)
		if err != nil {
			return err
		}
		return enc.Encode([]any{filepath.ToSlash(rel), data})
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
