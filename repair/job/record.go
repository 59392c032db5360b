package job

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tracerag/repair/patch"
	"tracerag/repair/trial"
	"tracerag/trace/store"
)

// Recording is a run to be recorded.
type Recording struct {
	Copy      *trial.Copy
	Directory string // of the test's package, a slash path in the copy
	Store     string // directory of the traces
	Test      string
	// Siblings are other tests of the same file: what they call tells what only the failing one does.
	// Each test is a trace of its own then.
	Siblings []string
	// Values are the functions whose arguments and results are observed, in a second run.
	Values []string
}

// output is what the wanted test prints, with a patch.
func (j *Job) output(ctx context.Context, p patch.Patch, directory, test string) (output string, err error) {
	j.step("running " + test)
	err = j.trial.Use(ctx, p, func(c *trial.Copy) error {
		_, output, err = c.Run(ctx, directory, []string{c.Go(), "test", "-count=1", "-vet=off", "-run=" + Pattern(test), "."}, nil)
		return err
	})
	return timeless(output), err
}

var (
	took  = regexp.MustCompile(`(?m)^(\s*--- [A-Z]+: .*) \(\d+\.\d+s\)$`)
	total = regexp.MustCompile(`(?m)^((?:ok  |FAIL)\t\S+)\t\d+\.\d+s$`)
)

// timeless takes the times out of what go test prints: equal failures make equal questions, whose
// answers are kept.
func timeless(output string) string {
	return total.ReplaceAllString(took.ReplaceAllString(output, "$1"), "$1")
}

// Pattern is the -run of a test's name.
func Pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// record records the wanted test in a copy with a patch, once, and returns the name of its trace.
func (j *Job) record(ctx context.Context, traces *store.Store, p patch.Patch, name string, siblings []string, values ...string) (string, error) {
	kept := filepath.Join("runs", name+".json")
	var trace string
	if ok, err := j.read(kept, &trace); ok && err == nil {
		if _, err := traces.Find(trace); err == nil {
			return trace, nil
		}
	}
	j.step("recording " + j.test.Name)
	before, err := traces.List()
	if err != nil {
		return "", err
	}
	said := ""
	err = j.trial.Use(ctx, p, func(c *trial.Copy) error {
		said, err = j.o.Record(ctx, Recording{Copy: c, Directory: j.directory, Store: traces.Dir(), Test: j.test.Name, Siblings: siblings, Values: values})
		return err
	})
	if err != nil {
		return "", err
	}
	after, err := traces.List()
	if err != nil {
		return "", err
	}
	top, _, _ := strings.Cut(j.test.Name, "/")
	for _, e := range slices.Backward(after) {
		if slices.ContainsFunc(before, func(b store.Entry) bool { return b.ID == e.ID }) {
			continue
		}
		tr, _, err := traces.Load(e.ID)
		if err != nil {
			return "", err
		}
		if tr.Test.Name == "" || tr.Test.Name == top {
			return e.ID, j.keep(kept, e.ID)
		}
	}
	return "", fmt.Errorf("no trace was saved: %s", lastLine(said))
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// parts says where the run of the wanted test with a change parts from the run before it.
func (j *Job) parts(ctx context.Context, p *patch.Patch) (string, error) {
	traces := store.Open(j.Path("traces"))
	before, err := j.record(ctx, traces, j.base(), "before", nil)
	if err != nil {
		return "", err
	}
	key, err := hash(p.Diff())
	if err != nil {
		return "", err
	}
	after, err := j.record(ctx, traces, *p, key, nil)
	if err != nil {
		return "", err
	}
	return j.o.Collector(traces).Differences(before, after, j.trial.Snapshot())
}
