package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tracerag/phrase"
	"tracerag/repair/patch"
)

// wantedRuns is how often the wanted tests have to pass.
const wantedRuns = 3

// Judge says whether a change makes the wanted tests pass and breaks nothing. It needs
// [Trial.Baseline] with the same tests first. An error means that nothing can be said.
func (t *Trial) Judge(ctx context.Context, p patch.Patch, wanted ...TestID) (Verdict, error) {
	wanted = t.resolve(wanted)
	t.mu.Lock()
	b, before := t.before, t.wanted
	t.mu.Unlock()
	if b == nil {
		return Verdict{}, errNoBaseline
	}
	for _, w := range wanted {
		if b.Packages[w.Package] == nil && !t.firstTest(p, w) {
			return Verdict{}, fmt.Errorf("trial: %s is in no package of the baseline", w)
		}
	}
	if v, ok := t.guard(p); !ok {
		return v, nil
	}
	s, err := t.take(ctx)
	if err != nil {
		return Verdict{}, err
	}
	defer t.release(s)
	j := &judgement{slot: s, base: b, patch: p, wanted: wanted, all: also(before, wanted), state: t.base.with(p), built: map[string]*program{},
		verdict: Verdict{Times: map[Stage]time.Duration{Guard: 0}}}
	for _, step := range []struct {
		stage Stage
		do    func(context.Context) (bool, error)
	}{
		{Builds, j.builds}, {Vets, j.vets}, {Wants, j.wants}, {Affects, j.affects}, {Packages, j.packages}, {Suite, j.suite},
	} {
		j.verdict.Stage = step.stage
		t.progress(string(step.stage))
		start := time.Now()
		// What ran in the stage before may have written into the tree.
		if err := j.state.settle(ctx, s.root); err != nil {
			return Verdict{}, err
		}
		ok, err := step.do(ctx)
		j.verdict.Times[step.stage] = time.Since(start)
		if err != nil {
			return Verdict{}, err
		}
		if !ok {
			return j.verdict, nil
		}
	}
	j.verdict.Accepted = true
	j.verdict.Reason = fmt.Sprintf("the wanted tests pass three times, and %s as before the change", phrase.Plural(j.verdict.Tests, "test ends", "tests end"))
	if len(wanted) == 0 {
		j.verdict.Reason = fmt.Sprintf("%s as before the change", phrase.Plural(j.verdict.Tests, "test ends", "tests end"))
	}
	return j.verdict, nil
}

// firstTest reports whether a patch adds a test file to the package of a wanted test. The baseline lacks a
// package that had no tests.
func (t *Trial) firstTest(p patch.Patch, w TestID) bool {
	_, dir, err := t.Resolve(w)
	return err == nil && slices.ContainsFunc(p.Files, func(f patch.File) bool {
		return f.Before == nil && path.Dir(f.Name) == dir && strings.HasSuffix(f.Name, "_test.go")
	})
}

// guard refuses what need not be built.
func (t *Trial) guard(p patch.Patch) (Verdict, bool) {
	refuse := func(reason string) (Verdict, bool) {
		return Verdict{Stage: Guard, Reason: reason}, false
	}
	if err := t.base.check(p); err != nil {
		return refuse(err.Error())
	}
	if empty(p) {
		return refuse("it changes nothing")
	}
	for _, f := range p.Files {
		parts := strings.Split(strings.ToLower(f.Name), "/")
		switch {
		case slices.Contains(parts, ".git"):
			return refuse(f.Name + " belongs to git")
		case slices.Contains(parts, "vendor"):
			return refuse(f.Name + " is a copy of another module: change that module, or its version in go.mod")
		}
	}
	if name := t.outside(t.base.with(p)); name != "" {
		return refuse(fmt.Sprintf("%s is in a module whose tests are not run here", name))
	}
	var failures []Failure
	for _, r := range p.Weakens() {
		if t.options.Allow == nil || !t.options.Allow(r) {
			failures = append(failures, Failure{Output: r.String()})
		}
	}
	if len(failures) > 0 {
		return Verdict{Stage: Guard, Reason: failures[0].Output, Failures: failures[:min(len(failures), maxFailures)]}, false
	}
	return Verdict{}, true
}

// judgement is a verdict in the making.
type judgement struct {
	slot    *slot
	base    *Baseline
	patch   patch.Patch
	wanted  []TestID
	all     []TestID // with those that the baseline is about
	state   state
	verdict Verdict

	list    []*pkg
	changed []string // packages
	depend  []*pkg
	done    map[string]bool     // packages whose tests ran
	built   map[string]*program // test programs that are kept from step to step
}

func (j *judgement) refuse(reason string, failures ...Failure) (bool, error) {
	j.verdict.Reason = reason
	if len(failures) > maxFailures {
		failures = failures[:maxFailures]
	}
	j.verdict.Failures = failures
	return false, nil
}

func (j *judgement) builds(ctx context.Context) (bool, error) {
	var err error
	if j.list, err = j.slot.packages(ctx, j.all, j.patch); err != nil {
		var failed *GoFailed
		if errors.As(err, &failed) {
			return j.refuse("the go command can't read it", Failure{Output: block(failed.Output, "")})
		}
		return false, err
	}
	if ok, err := j.keepData(ctx); !ok {
		return false, err
	}
	var all bool
	j.changed, all = j.slot.changedPackages(j.list, j.patch)
	if j.depend = dependents(j.list, j.changed, all); len(j.depend) == 0 {
		j.depend = j.list // it may be what no import tells: a file that a test reads
	}
	for of := range j.base.Packages {
		if !slices.ContainsFunc(j.list, func(p *pkg) bool { return p.ImportPath == of && p.tested() }) {
			return j.refuse(fmt.Sprintf("package %s has no tests any more", of), Failure{Package: of, Is: Absent})
		}
	}
	var failures []Failure
	dirs, of := byModule(j.depend)
	for _, dir := range dirs {
		failed, err := j.slot.build(ctx, dir, of[dir])
		if err != nil {
			return false, err
		}
		for _, name := range sortedKeys(failed) {
			if _, ok := j.base.Build[name]; !ok {
				failures = append(failures, Failure{Package: name, Output: block(failed[name], "")})
			}
		}
	}
	if len(failures) > 0 {
		return j.refuse(notCompiling(failures), failures...)
	}
	return true, nil
}

// notCompiling is a sentence on packages, with the place of the first error.
func notCompiling(failures []Failure) string {
	what := "it does not compile"
	if of := failures[0].Package; of != "" {
		what = of + " does not compile"
	}
	first, _, _ := strings.Cut(strings.TrimSpace(failures[0].Output), "\n")
	if first != "" {
		what += ": " + first
	}
	return what
}

func (j *judgement) vets(ctx context.Context) (bool, error) {
	dirs, of := byModule(j.depend)
	var failures []Failure
	for _, dir := range dirs {
		v, err := j.slot.vet(ctx, dir, of[dir])
		if err != nil {
			return false, err
		}
		for _, name := range sortedKeys(v.Unchecked) {
			if _, ok := j.base.Vet.Unchecked[name]; !ok {
				failures = append(failures, Failure{Package: name, Output: block(v.Unchecked[name], "")})
			}
		}
		if len(failures) > 0 {
			return j.refuse(notCompiling(failures), failures...)
		}
		for _, f := range sortedKeys(v.Findings) {
			file, message, _ := strings.Cut(f, "\t")
			if !j.base.Vet.Findings[f] && !j.unchecked(dir, file) {
				failures = append(failures, Failure{Output: file + ": " + message})
			}
		}
	}
	if len(failures) > 0 {
		return j.refuse(fmt.Sprintf("go vet finds something new: %s", failures[0].Output), failures...)
	}
	return true, nil
}

// unchecked reports whether a file's package could not be vetted before the change.
func (j *judgement) unchecked(module, file string) bool {
	if !filepath.IsAbs(file) {
		file = filepath.Join(module, file)
	}
	return slices.ContainsFunc(j.list, func(p *pkg) bool {
		return p.Dir == filepath.Dir(file) && j.base.Vet.Unchecked[p.ImportPath] != ""
	})
}

// limit is how long the tests of a package may take: ten times as long as before the
// change, since a change may make a loop endless.
func (j *judgement) limit(p *pkg) time.Duration {
	most := j.slot.trial.options.Limits.Time
	pb := j.base.Packages[p.ImportPath]
	if pb == nil || pb.Wall == 0 || pb.Errors != "" {
		return most
	}
	return min(most, max(time.Minute, 10*pb.Wall))
}

// programs compiles the tests of those packages that tests are of, and the functions of each.
func (j *judgement) programs(ctx context.Context, ids []TestID) ([]*program, map[string][]string, error) {
	tops := map[string][]string{}
	for _, id := range ids {
		if !slices.Contains(tops[id.Package], id.top()) {
			tops[id.Package] = append(tops[id.Package], id.top())
		}
	}
	var list []*pkg
	for _, p := range j.list {
		if tops[p.ImportPath] != nil && p.tested() {
			slices.Sort(tops[p.ImportPath])
			list = append(list, p)
		}
	}
	programs, err := j.compile(ctx, list)
	if err == nil {
		j.keep(programs)
	}
	return programs, tops, err
}

func (j *judgement) wants(ctx context.Context) (bool, error) {
	if len(j.wanted) == 0 {
		return true, nil
	}
	programs, tops, err := j.programs(ctx, j.wanted)
	if err != nil {
		return false, err
	}
	for n := range wantedRuns {
		if n > 0 {
			if err := j.state.settle(ctx, j.slot.root); err != nil {
				return false, err
			}
		}
		for _, p := range programs {
			r, err := j.slot.test(ctx, p, tops[p.ImportPath], j.limit(p.pkg))
			if err != nil {
				return false, err
			}
			if ok, err := j.wantedIn(p, r, tops[p.ImportPath], n); !ok {
				j.verdict.Refused = r.refused
				return false, err
			}
		}
	}
	return true, nil
}

// wantedIn judges one run of the wanted tests of a package.
func (j *judgement) wantedIn(p *program, r result, tops []string, n int) (bool, error) {
	of := p.ImportPath
	if !r.Built {
		return j.refuse(fmt.Sprintf("the tests of %s do not compile", of), Failure{Package: of, Output: block(r.Errors, "")})
	}
	pb := cmp.Or(j.base.Packages[of], &PackageBaseline{Whole: true})
	for _, w := range j.wanted {
		if w.Package != of {
			continue
		}
		is, ok := r.Outcomes[w.Name]
		f := Failure{Package: of, Test: w.Name, Was: pb.Outcomes[w.Name], Is: is}
		if !ok {
			f.Is = Absent
		}
		if pb.Errors != "" && f.Was == "" {
			f.Was = Failed
		}
		switch {
		case !ok && !r.Began && !r.Whole:
			f.Output = block(r.output, "")
			return j.refuse(fmt.Sprintf("%s does not run: the test program of %s %s", w, of, r.ended()), f)
		case !ok && !r.Whole:
			f.Output = block(r.output, w.Name)
			return j.refuse(fmt.Sprintf("%s does not come to its end: the test program of %s %s", w, of, r.ended()), f)
		case !ok:
			f.Output = block(r.output, w.top())
			return j.refuse(fmt.Sprintf("%s does not run", w), f)
		case is != Passed:
			f.Output = block(r.output, w.Name)
			switch is {
			case Skipped:
				return j.refuse(fmt.Sprintf("%s is skipped", w), f)
			case Crashed:
				return j.refuse(fmt.Sprintf("%s ends the test program", w), f)
			}
			if n > 0 {
				return j.refuse(fmt.Sprintf("%s fails in run %d of %d", w, n+1, wantedRuns), f)
			}
			return j.refuse(fmt.Sprintf("%s fails", w), f)
		}
	}
	if !r.Whole {
		return j.refuse(fmt.Sprintf("the test program of %s %s", of, r.ended()), Failure{Package: of, Output: block(r.output, "")})
	}
	failures, reason := pb.against(of, r, tops)
	if reason != "" {
		return j.refuse(reason, failures...)
	}
	j.verdict.Tests = len(r.Outcomes)
	return true, nil
}

// packages runs the tests of the packages that are changed or have a wanted test.
func (j *judgement) packages(ctx context.Context) (bool, error) {
	j.done = map[string]bool{}
	names := map[string]bool{}
	for _, c := range j.changed {
		names[c] = true
	}
	for _, w := range j.wanted {
		names[w.Package] = true
	}
	return j.run(ctx, slices.DeleteFunc(slices.Clone(j.list), func(p *pkg) bool { return !names[p.ImportPath] }))
}

// suite runs the tests of all other packages, first of those that depend on the change.
func (j *judgement) suite(ctx context.Context) (bool, error) {
	left := func(list []*pkg) []*pkg {
		return slices.DeleteFunc(slices.Clone(list), func(p *pkg) bool { return j.done[p.ImportPath] })
	}
	if ok, err := j.run(ctx, left(j.depend)); !ok {
		return false, err
	}
	if err := j.state.settle(ctx, j.slot.root); err != nil {
		return false, err
	}
	return j.run(ctx, left(j.list))
}

func (j *judgement) run(ctx context.Context, list []*pkg) (ok bool, err error) {
	ok = true
	tests := 0
	testErr := j.slot.testAll(ctx, list, j.compile, false, j.limit, func(p *pkg, r result) bool {
		j.done[p.ImportPath] = true
		delete(j.built, p.ImportPath)
		tests += len(r.Outcomes)
		ok, err = j.held(ctx, p, r, nil)
		return ok && err == nil
	})
	if len(j.done) > 0 && ok {
		if j.verdict.Stage == Packages {
			j.verdict.Tests = 0
		}
		j.verdict.Tests += tests
	}
	if testErr != nil {
		return false, testErr
	}
	return ok, err
}

// held holds the outcome of a package's tests against the baseline. A test that fails
// beside others runs twice alone before it counts: it may be in need of time or of a port.
func (j *judgement) held(ctx context.Context, p *pkg, r result, tops []string) (bool, error) {
	pb := j.base.Packages[p.ImportPath]
	failures, reason := pb.against(p.ImportPath, r, tops)
	if reason == "" {
		return true, nil
	}
	var again []string
	for _, f := range failures {
		if f.Test == "" || f.Is != Failed && f.Is != Crashed || slices.ContainsFunc(j.wanted, func(w TestID) bool { return w.Package == f.Package && w.top() == function(f.Test) }) {
			j.verdict.Refused = r.refused
			return j.refuse(reason, failures...)
		}
		again = append(again, f.Test)
	}
	programs, err := j.compile(ctx, []*pkg{p})
	if err != nil {
		return false, err
	}
	for range 2 {
		if err := j.state.settle(ctx, j.slot.root); err != nil {
			return false, err
		}
		alone := functions(again)
		r, err := j.slot.test(ctx, programs[0], alone, j.limit(p))
		if err != nil {
			return false, err
		}
		if still, why := pb.against(p.ImportPath, r, alone); why != "" {
			j.verdict.Refused = r.refused
			return j.refuse(why, still...)
		}
	}
	for _, name := range again {
		j.verdict.Unsteady = append(j.verdict.Unsteady, TestID{p.ImportPath, name})
	}
	return true, nil
}
