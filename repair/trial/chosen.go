package trial

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"tracerag/phrase"
	"tracerag/repair/patch"
)

// Choosing is what is known when tests are chosen for a change. The wanted tests pass with it.
type Choosing struct {
	Patch    patch.Patch
	Baseline *Baseline
	Built    []string // packages whose test programs are built
	// Use has a function use a copy of the tree as it is before any change, to run tests of it. It is the
	// candidate's own, so it waits for no other candidate.
	Use func(context.Context, func(*Copy) error) error
}

// Choice is the tests that run first.
type Choice struct {
	Tests []Chosen // in their order
	// Left says why tests are missing, where that is worth a word.
	Left string
}

// Chosen is a test that ran what a change changes. Why goes on behind the test's name: "ran F".
type Chosen struct {
	TestID
	Why string
}

// First is what a verdict knows of the tests that were chosen.
type First struct {
	Tests int    `json:"tests"`          // that ran in this step; functions
	Left  string `json:"left,omitempty"` // why some or all are missing
}

func (f *First) String() string {
	if f == nil {
		return ""
	}
	var said []string
	if f.Tests > 0 {
		said = append(said, fmt.Sprintf("%s what the change concerns, by recorded runs, and came before the others", phrase.Plural(f.Tests, "test runs", "tests run")))
	}
	if f.Left != "" {
		said = append(said, "not all tests that run it came first: "+f.Left)
	}
	return strings.Join(said, "\n")
}

// affects runs the tests that ran what the change changes. Whatever goes wrong with the choice, the next
// steps run all tests: so it refuses nothing.
func (j *judgement) affects(ctx context.Context) (bool, error) {
	choose := j.slot.trial.options.Choose
	if choose == nil {
		return true, nil
	}
	choice, err := choose(ctx, Choosing{Patch: j.patch, Baseline: j.base, Built: sortedKeys(j.built), Use: j.before})
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		choice = Choice{Left: err.Error()}
	}
	why := map[TestID]string{}
	var ids []TestID
	for _, c := range choice.Tests {
		c.Name = c.top()
		if _, twice := why[c.TestID]; !twice && j.counts(c.TestID) {
			why[c.TestID] = c.Why
			ids = append(ids, c.TestID)
		}
	}
	if choice.Left != "" || len(ids) > 0 {
		j.verdict.First = &First{Tests: len(ids), Left: choice.Left}
	}
	if len(ids) == 0 {
		return true, nil
	}
	if err := j.state.settle(ctx, j.slot.root); err != nil { // a choice may have run tests
		return false, err
	}
	programs, tops, err := j.programs(ctx, ids)
	if err != nil {
		return false, err
	}
	for _, p := range programs {
		r, err := j.slot.test(ctx, p, tops[p.ImportPath], j.limit(p.pkg))
		if err != nil {
			return false, err
		}
		if ok, err := j.held(ctx, p.pkg, r, tops[p.ImportPath]); !ok {
			for i, f := range j.verdict.Failures {
				j.verdict.Failures[i].Why = why[TestID{f.Package, function(f.Test)}]
			}
			return false, err
		}
	}
	return true, nil
}

// counts reports whether a chosen test says something that is not known: what it does without the change is,
// and with the change is not.
func (j *judgement) counts(id TestID) bool {
	pb := j.base.Packages[id.Package]
	if pb == nil || pb.Errors != "" || slices.Contains(j.wanted, id) {
		return false
	}
	is := pb.Outcomes[id.Name]
	return is == Passed || is == Skipped
}

// before has f use the candidate's copy without the change. What ran there leaves nothing behind.
func (j *judgement) before(ctx context.Context, f func(*Copy) error) error {
	s := j.slot
	defer func() { _ = removeAll(s.temp) }()
	if err := s.trial.base.with(patch.Patch{}).settle(ctx, s.root); err != nil {
		return err
	}
	return f(&Copy{Root: s.root, slot: s})
}

// programsKept bounds how many test programs a candidate keeps from step to step: each may have many megabytes.
const programsKept = batch

// keep keeps compiled programs for the next steps. Linking one takes longer than most tests.
func (j *judgement) keep(programs []*program) {
	for _, p := range programs {
		if p.file != "" && len(j.built) < programsKept {
			if p.sum = fileSum(p.file); p.sum != "" {
				j.built[p.ImportPath] = p
			}
		}
	}
}

// compile compiles what a step needs and has not been compiled.
func (j *judgement) compile(ctx context.Context, list []*pkg) ([]*program, error) {
	var missing []*pkg
	for _, p := range list {
		if k := j.built[p.ImportPath]; k == nil || fileSum(k.file) != k.sum { // something wrote to it
			delete(j.built, p.ImportPath)
			missing = append(missing, p)
		}
	}
	made, err := j.slot.compile(ctx, missing, nil)
	if err != nil {
		return nil, err
	}
	out := make([]*program, 0, len(list))
	for _, p := range list {
		if k := j.built[p.ImportPath]; k != nil {
			out = append(out, k)
			continue
		}
		out = append(out, made[0])
		made = made[1:]
	}
	return out, nil
}

// fileSum is of a file's bytes; "": it can't be read.
func fileSum(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return string(h.Sum(nil))
}
