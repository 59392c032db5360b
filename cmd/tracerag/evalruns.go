package main

import (
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
	"tracerag/record"
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
	command := append([]string{filepath.Base(program)}, run.Args...)
	a.masker().LearnArgs(command)
	a.note("%s: recording %s", x.Name, phrase.CommandLine(command))
	defer a.wait("recording " + phrase.CommandLine(command))()
	spec := record.Spec{Command: command, Dir: scratch, Store: dir.Traces(), Recorder: e.recorder}
	if len(x.Baseline) > 0 {
		spec.Baseline = phrase.CommandLine(x.Baseline)
	}
	report, printed, err := recordApart(ctx, spec, run.Stdin, program)
	switch {
	case err != nil:
		return "", err
	case len(report.Traces) != 1 && report.Code == run.Exit:
		return "", fmt.Errorf("%s was not recorded%s", phrase.CommandLine(command), lastLines(printed))
	case len(report.Traces) != 1 || report.Code != run.Exit:
		return "", fmt.Errorf("%s exited with %d, want %d%s\nif it should, say so in the file: exit: %[2]d", phrase.CommandLine(command), report.Code, run.Exit, lastLines(printed))
	case report.BaselineFailed != nil:
		return "", fmt.Errorf("the experiment's baseline failed, so that nothing would be pruned by it: give others in the file, or none\n%s", a.baselineFailure(*report.BaselineFailed))
	}
	id := report.Traces[0]
	return id, dir.SaveRun(x.Name, name, results.Run{Trace: id, Of: madeOf})
}

// recordApart records in a process of its own: the recorder hands the program our
// standard input and output, and these are the experiment's. printed is what the program
// and the recorder printed.
func recordApart(ctx context.Context, spec record.Spec, stdin, program string) (report record.Report, printed string, err error) {
	self, err := innerCommand()
	if err == nil {
		spec.Caller, err = json.Marshal(passed{Quiet: true})
	}
	if err != nil {
		return report, "", err
	}
	child, err := record.NewChild(ctx, self, spec)
	if err != nil {
		return report, "", err
	}
	defer child.Close()
	cmd := child.Cmd
	// It passes an interrupt on to the program, which would outlive its killing.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(withoutKeys(os.Environ()), "PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	var output record.Ends
	cmd.Stdout, cmd.Stderr = &output, &output
	err = cmd.Run()
	printed, _ = output.Text()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return report, printed, err
	}
	if report, err = child.Report(); err != nil { // it was killed
		report.Code, err = cmd.ProcessState.ExitCode(), nil
	}
	return report, printed, err
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

// hashRun is a hash of all that a run's trace depends on: the program, what it gets,
// and who records it.
func hashRun(x *eval.Experiment, run eval.Run, program, files string, e *evalFlags) (string, error) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	if err := enc.Encode([]any{version(), run, x.Baseline, e.recorder, filepath.Base(program)}); err != nil {
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
