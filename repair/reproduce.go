package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tracerag/code"
	"tracerag/llm/metered"
	"tracerag/repair/patch"
)

// Reproduction is a test that was written from a report.
type Reproduction struct {
	Test  Test         `json:"test"`
	Patch *patch.Patch `json:"-"` // that adds it
	// Votes is how many of the tests that were written fail in the same way, of Asked.
	Votes int `json:"votes"`
	Asked int `json:"asked"`
}

// Try runs a test that a patch adds, and says whether and how it fails: a test that does not build
// has not failed.
type Try func(ctx context.Context, p *patch.Patch, t Test) (failed bool, output string, err error)

// NotReproducedError says that no test that was written from a report fails.
type NotReproducedError struct {
	Asked int
	Why   []string // of each
}

func (e *NotReproducedError) Error() string {
	return fmt.Sprintf("none of %d tests that the model wrote from the report fails: %s", e.Asked, strings.Join(e.Why, "; "))
}

// reproducing is what is asked.
const reproducing = `Write one Go test that fails because of what the report says, and that passes when it is repaired.
It is a new file %s of package %s, beside the code: package clause, imports, and one function %s(t *testing.T). It needs no network, no files of its own and no new dependency. It checks what the report says is wrong, and nothing that a repair may decide otherwise. It says with t.Errorf what it got and what it wants.

`

// reproductionTest names the test that is written.
const reproductionTest = "TestReproduction"

// Reproduce asks for tests from a report. It returns one that fails in the same way as most others. It is in the package of the first place.
func (f *Fixer) Reproduce(ctx context.Context, t *Task, try Try) (*Reproduction, error) {
	if len(t.Places) == 0 {
		return nil, ErrNoPlace
	}
	at := t.Places[0].File
	text, err := code.Read(t.Dir, at)
	if err != nil {
		return nil, err
	}
	name, err := freeName(t.Dir, path.Dir(at))
	if err != nil {
		return nil, err
	}
	ask := fmt.Sprintf(reproducing, name, code.Parse(text).Package, reproductionTest)
	p, err := f.question(t, metered.Part{Name: "TASK", Text: ask})
	if err != nil {
		return nil, err
	}
	p.user = ask + "REPORT is the report, PLACES has the declarations that it is about most likely.\n\n" + p.user[strings.Index(p.user, "<<<"):]
	samples := cmp.Or(f.Candidates, Default.Candidates)
	found := make([]*Reproduction, samples)
	why := make([]string, samples)
	outputs := make([]string, samples)
	err = beside(ctx, samples, cmp.Or(f.Parallel, Default.Parallel), func(i int) (err error) {
		found[i], outputs[i], err = f.reproduce(ctx, t, p, name, temperature(i, samples), i+1, try)
		if err != nil {
			why[i] = err.Error()
		}
		return final(err)
	})
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return nil, err
	}
	ways := map[string]int{}
	for i, x := range found {
		if x != nil {
			ways[way(outputs[i])]++
		}
	}
	best := -1
	for i, x := range found {
		if x != nil && (best < 0 || ways[way(outputs[i])] > ways[way(outputs[best])]) {
			best = i
		}
	}
	if best < 0 {
		return nil, &NotReproducedError{samples, slices.Compact(why)}
	}
	r := found[best]
	r.Votes, r.Asked = ways[way(outputs[best])], samples
	r.Test.Output = outputs[best]
	return r, nil
}

// errPasses says that a test does not show the fault.
var errPasses = errors.New("it passes")

func (f *Fixer) reproduce(ctx context.Context, t *Task, p *prompt, name string, temperature float64, sample int, try Try) (*Reproduction, string, error) {
	r := &Reproduction{Test: Test{Package: t.Test.Package, Name: reproductionTest, File: name}}
	err := f.Model.AskInForm(ctx, metered.Question{Kind: "fix: test", System: system, User: p.user, Temperature: &temperature, Sample: sample, Again: retries}, func(reply string) error {
		edits, err := patch.ParseReply(t.Dir, reply)
		if err != nil {
			return err
		}
		if len(edits) != 1 || path.Clean(edits[0].File) != name {
			return fmt.Errorf("want one file, %s, and no other", name)
		}
		r.Patch, err = patch.Apply(t.Dir, edits)
		if err != nil {
			return err
		}
		file := code.Parse(r.Patch.Files[0].After)
		if !slices.ContainsFunc(file.Decls, func(d code.Decl) bool { return d.Name == reproductionTest }) {
			return fmt.Errorf("%s has no function %s", name, reproductionTest)
		}
		r.Test.Source = string(r.Patch.Files[0].After)
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	failed, output, err := try(ctx, r.Patch, r.Test)
	if err != nil {
		return nil, "", err
	}
	if !failed {
		return nil, "", errPasses
	}
	return r, output, nil
}

// freeName returns the name of a test file that does not exist yet, as a slash path in the tree.
func freeName(dir, directory string) (string, error) {
	for i := 1; i < 100; i++ {
		name := path.Join(directory, "reproduction_test.go")
		if i > 1 {
			name = path.Join(directory, fmt.Sprintf("reproduction%d_test.go", i))
		}
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
	}
	return "", errors.New("there are 99 files reproduction_test.go")
}

var differs = regexp.MustCompile(`\d+(\.\d+)?(m?s)?|0x[0-9a-f]+`)

// way is how a test fails, without numbers, which differ from test to test.
func way(output string) string {
	var lines []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			return differs.ReplaceAllString(line, "0")
		}
		if strings.HasPrefix(line, "--- FAIL") {
			lines = append(lines, differs.ReplaceAllString(line, "0"))
		}
	}
	return strings.Join(lines, "\n")
}
