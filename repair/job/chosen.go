package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"tracerag/phrase"
	"tracerag/repair/affected"
	"tracerag/repair/trial"
)

// Choosing says when tests are chosen by what they run ([affected.Map]). Recording costs more than one run of the suite. So
// it waits until the suite has run in vain: for a candidate that it refused.
type Choosing struct {
	// Record records test programs in a copy of the tree, as a request in a directory says ([affected.Inner]). It returns what was
	// printed. Nil: nothing is recorded or chosen.
	Record func(ctx context.Context, c *trial.Copy, dir string) (string, error)
	// Suite is how long the suite has to take; 0: DefaultSuite.
	Suite time.Duration
	// Share is how much of the suite's time the chosen tests may take; 0: DefaultShare.
	Share float64
}

const (
	// DefaultSuite and DefaultShare: docs/fixing.md says why.
	DefaultSuite = 10 * time.Second
	DefaultShare = 0.1
	// building is about how long it takes to link and start a test program.
	building = time.Second / 2
)

// chooser chooses tests for the candidates of a job, one at a time: what the first has recorded the others use.
type chooser struct {
	turn  chan struct{}
	tests *affected.Map
	told  map[string]bool
	// several says that more than one candidate is to be judged; broke, that one broke tests which the wanted ones
	// don't show, so others may do so, too.
	several, broke atomic.Bool
	// use has a copy of the tree before any change: that of the candidate whose turn it is.
	use func(context.Context, func(*trial.Copy) error) error
}

func newChooser() *chooser {
	return &chooser{turn: make(chan struct{}, 1), told: map[string]bool{}}
}

// choose is a trial's Choose.
func (j *Job) choose(ctx context.Context, c trial.Choosing) (trial.Choice, error) {
	select {
	case j.chooser.turn <- struct{}{}:
		defer func() { <-j.chooser.turn }()
	case <-ctx.Done():
		return trial.Choice{}, ctx.Err()
	}
	choice, err := j.chosen(ctx, c)
	if ctx.Err() != nil {
		return choice, ctx.Err()
	}
	if err != nil {
		choice.Left = err.Error()
	}
	if choice.Left != "" && j.o.Trial.Note != nil && !j.chooser.told[choice.Left] {
		j.chooser.told[choice.Left] = true
		j.o.Trial.Note("tests that ran the change don't all come first: " + choice.Left)
	}
	return choice, nil
}

func (j *Job) chosen(ctx context.Context, c trial.Choosing) (choice trial.Choice, err error) {
	o := j.o.Choosing
	least := o.Suite
	if least == 0 {
		least = DefaultSuite
	}
	changes := affected.Changes(c.Patch)
	if len(changes) == 0 || suite(c.Baseline) < least {
		return choice, nil
	}
	if j.chooser.tests == nil {
		options := affected.Options{
			Dir: j.trial.Snapshot(), Tags: tags(j.o.Spec.Flags), Keep: filepath.Join(j.o.Kept, "runs"), Share: o.Share,
			Only: func(pkg string) bool { return c.Baseline.Packages[pkg] != nil },
			Record: func(ctx context.Context, list []affected.Package, done func(affected.Recorded)) error {
				return j.recordTests(ctx, c.Baseline.Took, list, done)
			},
		}
		if options.Share == 0 {
			options.Share = DefaultShare
		}
		if j.chooser.tests, err = affected.Open(options); err != nil {
			return choice, err
		}
	}
	tests := j.chooser.tests
	missing := tests.Missing(changes)
	if len(missing) > 0 && !(j.chooser.several.Load() && j.chooser.broke.Load()) {
		return choice, nil
	}
	if j.chooser.use = c.Use; len(missing) > 0 {
		j.step("recording which tests run what")
	}
	sel, err := tests.Select(ctx, changes, c.Built...)
	if err != nil {
		return choice, err
	}
	whole := map[string]bool{}
	for _, w := range sel.Whole {
		whole[w.Package] = true
	}
	for _, t := range sel.Tests[:sel.First] {
		// All tests of a package run in the next steps anyway.
		if !whole[t.Package] {
			choice.Tests = append(choice.Tests, trial.Chosen{TestID: trial.TestID{Package: t.Package, Name: t.Name}, Why: sel.Why(t)})
		}
	}
	if unknown := tests.Unknown(); len(unknown) > 0 {
		choice.Left = fmt.Sprintf("%s was not recorded: %s", unknown[0].Package, unknown[0].Why)
		if more := len(unknown) - 1; more > 0 {
			choice.Left += fmt.Sprintf(" (and %s)", phrase.Plural(more, "other package", "other packages"))
		}
	}
	return choice, nil
}

// recordTests records the test programs of packages in a copy of the tree. It takes no longer than the tests
// before any change did, or a minute.
func (j *Job) recordTests(ctx context.Context, before time.Duration, list []affected.Package, done func(affected.Recorded)) error {
	limit := max(before, time.Minute)
	if most := j.o.Trial.Limits.Time; most > 0 {
		limit = min(limit, most)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return j.chooser.use(limited, func(c *trial.Copy) error {
		dir, err := c.Scratch()
		if err != nil {
			return err
		}
		request := affected.Request{Limit: limit, Flags: j.o.Spec.Flags}
		for _, p := range list {
			rel, err := filepath.Rel(j.trial.Snapshot(), p.Dir)
			if err != nil {
				return err
			}
			p.Dir = filepath.Join(c.Root, rel)
			request.Packages = append(request.Packages, p)
		}
		if err := request.Write(dir); err != nil {
			return err
		}
		said, err := j.o.Choosing.Record(limited, c, dir)
		// What was recorded before an error is of use.
		n := 0
		if err := affected.Read(dir, func(r affected.Recorded) {
			n++
			if r.Err != nil {
				r.Err = errors.New(strings.ReplaceAll(r.Err.Error(), c.Root+string(os.PathSeparator), ""))
			}
			done(r)
		}); err != nil {
			return err
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case limited.Err() != nil:
			return fmt.Errorf("recording took longer than the tests before any change, %s", limit.Round(time.Second))
		case err == nil && n == 0:
			return fmt.Errorf("nothing was recorded: %s", lastLine(said))
		}
		return err
	})
}

// suite is about how long all tests take, with the linking of their programs.
func suite(b *trial.Baseline) (sum time.Duration) {
	for _, p := range b.Packages {
		sum += p.Wall + building
	}
	return sum
}

// tags are the build tags of flags.
func tags(flags []string) []string {
	for _, f := range flags {
		if list, ok := strings.CutPrefix(f, "-tags="); ok {
			return strings.Split(list, ",")
		}
	}
	return nil
}
