package trial

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
	"tracerag/phrase"
	"tracerag/record"
	"tracerag/session"
)

// Runs records the runs of experiments. Each is recorded in a process of its own: the
// recorder hands the program our standard input and output, and these are the
// experiment's, which says what the program reads.
type Runs struct {
	Dir     *results.Dir
	Session *session.Session // whose store takes the traces
	Spec    record.Spec      // what is the same of all runs
	Self    []string         // see [record.NewChild]
	Version string           // of the recorder: runs of another one are recorded anew
	Fresh   bool             // all are recorded anew
	Begun   func(Step) (done func())
}

// Step is something that takes its time.
type Step struct {
	What string
	Note string // for the user to know; "": nothing
}

// BaselineFailedError says that an experiment's baseline failed, so that nothing would be
// pruned by it.
type BaselineFailedError struct{ Failed record.BaselineFailed }

func (e *BaselineFailedError) Error() string {
	return "the experiment's baseline failed, so that nothing would be pruned by it: give others in the file, or none"
}

// Record records those runs of an experiment that its inquiries are about, unless that
// was done before and nothing has changed, and returns the traces' IDs by the runs'
// names.
func (r *Runs) Record(ctx context.Context, x *eval.Experiment) (map[string]string, error) {
	program, err := Program(ctx, x, r.Dir, r.Begun)
	if err != nil {
		return nil, err
	}
	traces := map[string]string{}
	for _, q := range x.Inquiries {
		for _, name := range q.Runs {
			if traces[name] != "" {
				continue
			}
			id, err := r.one(ctx, x, name, program)
			if err != nil {
				return nil, fmt.Errorf("run %s: %w", name, err)
			}
			traces[name] = id
		}
	}
	return traces, nil
}

// one records one run, or finds the trace of it.
func (r *Runs) one(ctx context.Context, x *eval.Experiment, name, program string) (string, error) {
	run := x.Runs[name]
	scratch, err := os.MkdirTemp("", "tracerag-experiment-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	if err := x.Lay(scratch); err != nil {
		return "", err
	}
	madeOf, err := r.hash(x, run, program, scratch)
	if err != nil {
		return "", err
	}
	have, err := r.Dir.Run(x.Name, name)
	if err != nil {
		return "", err
	}
	if have.Of == madeOf && !r.Fresh {
		if _, err := r.Session.Store.Find(have.Trace); err == nil {
			return have.Trace, nil
		}
	}
	command := append([]string{filepath.Base(program)}, run.Args...)
	r.Session.Mask.LearnArgs(command)
	what := "recording " + phrase.CommandLine(command)
	defer r.Begun(Step{What: what, Note: x.Name + ": " + what})()
	spec := r.Spec
	spec.Command, spec.Dir, spec.Store = command, scratch, r.Dir.Traces()
	if len(x.Baseline) > 0 {
		spec.Baseline = phrase.CommandLine(x.Baseline)
	}
	report, printed, err := r.apart(ctx, spec, run.Stdin, program)
	switch {
	case err != nil:
		return "", err
	case len(report.Traces) != 1 && report.Code == run.Exit:
		return "", fmt.Errorf("%s was not recorded%s", phrase.CommandLine(command), lastLines(printed))
	case len(report.Traces) != 1 || report.Code != run.Exit:
		return "", fmt.Errorf("%s exited with %d, want %d%s\nif it should, say so in the file: exit: %[2]d", phrase.CommandLine(command), report.Code, run.Exit, lastLines(printed))
	case report.BaselineFailed != nil:
		return "", &BaselineFailedError{*report.BaselineFailed}
	}
	id := report.Traces[0]
	return id, r.Dir.SaveRun(x.Name, name, results.Run{Trace: id, Of: madeOf})
}

// apart records in a process of its own: the recorder hands the program our
// standard input and output, and these are the experiment's. printed is what the program
// and the recorder printed.
func (r *Runs) apart(ctx context.Context, spec record.Spec, stdin, program string) (report record.Report, printed string, err error) {
	child, err := record.NewChild(ctx, r.Self, spec)
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

// hash is a hash of all that a run's trace depends on: the program, what it gets,
// and who records it.
func (r *Runs) hash(x *eval.Experiment, run eval.Run, program, files string) (string, error) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	if err := enc.Encode([]any{r.Version, run, x.Baseline, r.Spec.Recorder, filepath.Base(program)}); err != nil {
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
