package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"

	"tracerag/atomicfile"
	"tracerag/phrase"
	"tracerag/repair/patch"
)

// Baseline is what the tree does before any change.
type Baseline struct {
	Tree     string            // [Trial.Hash]
	Build    map[string]string `json:",omitempty"` // packages that do not compile: what the compiler says
	Vet      vetted
	Packages map[string]*PackageBaseline
	Took     time.Duration
}

// PackageBaseline is what a package's tests do before any change.
type PackageBaseline struct {
	Errors   string             `json:",omitempty"` // its tests do not compile
	Without  []string           `json:",omitempty"` // test files that had to be left out for that
	Outcomes map[string]Outcome `json:",omitempty"` // the same in each run
	Flaky    []string           `json:",omitempty"` // another in one run than in another
	Whole    bool               // the program comes through its tests
	Code     int                // and ends with
	Ended    string             `json:",omitempty"` // how it ends otherwise
	Wall     time.Duration      // the longest run
}

// Flaky are the tests that did not end the same way in each run. They don't count in a verdict.
func (b *Baseline) Flaky() []TestID {
	var ids []TestID
	for _, p := range sortedKeys(b.Packages) {
		for _, name := range b.Packages[p].Flaky {
			ids = append(ids, TestID{p, name})
		}
	}
	return ids
}

// Failing are the tests that fail before any change, functions and subtests.
func (b *Baseline) Failing() []TestID {
	var ids []TestID
	for _, p := range sortedKeys(b.Packages) {
		for _, name := range sortedKeys(b.Packages[p].Outcomes) {
			if o := b.Packages[p].Outcomes[name]; o == Failed || o == Crashed {
				ids = append(ids, TestID{p, name})
			}
		}
	}
	return ids
}

// NotFailing is the error of a wanted test that does not fail before any change.
type NotFailing struct {
	Test  TestID
	Is    Outcome // Passed, Skipped
	Flaky bool    // it does fail at times
}

func (e *NotFailing) Error() string {
	switch {
	case e.Flaky:
		return fmt.Sprintf("%s fails at times only: a change can't be proved by it; make it fail each time", e.Test)
	case e.Is == Skipped:
		return fmt.Sprintf("%s is skipped here, so it can't show what a change does", e.Test)
	}
	return fmt.Sprintf("%s passes before any change: name a test that fails", e.Test)
}

// NoSuchTest is the error of a wanted test that is not there.
type NoSuchTest struct {
	Test    TestID
	Nearest string // a test whose name is like it
	Package bool   // there is not even a package with tests
	Errors  string // what the go command says of the package
	Fails   bool   // it is a subtest, and its function fails
}

func (e *NoSuchTest) Error() string {
	switch {
	case e.Package && e.Errors != "":
		return fmt.Sprintf("package %s can't be loaded: %s", e.Test.Package, e.Errors)
	case e.Package:
		return fmt.Sprintf("package %s has no tests", e.Test.Package)
	case e.Fails && e.Nearest != "":
		return fmt.Sprintf("%s was not found; did you mean %s, or %s?", e.Test, e.Nearest, e.Test.top())
	case e.Fails:
		return fmt.Sprintf("%s was not found; %s fails, and may be named itself", e.Test, e.Test.top())
	case e.Nearest != "":
		return fmt.Sprintf("%s was not found; did you mean %s?", e.Test, e.Nearest)
	}
	return fmt.Sprintf("%s was not found", e.Test)
}

// Baseline builds, vets and tests the tree before any change, or reads what is kept of
// that. The wanted tests must fail, or not compile: otherwise it is a [NotFailing] or a [NoSuchTest].
func (t *Trial) Baseline(ctx context.Context, wanted ...TestID) (*Baseline, error) {
	wanted = t.resolve(wanted)
	if err := t.seen(wanted); err != nil {
		return nil, err
	}
	t.mu.Lock()
	b, all := t.before, also(t.wanted, wanted)
	t.mu.Unlock()
	if b != nil && b.lacks(wanted) {
		b = nil // of tests that were wanted before, in packages outside of the suite
	}
	file := filepath.Join(t.options.Kept, t.baselineKey(all)+".json")
	if b == nil {
		b = readBaseline(file, t.base.hash)
	}
	if b == nil {
		s, err := t.take(ctx)
		if err != nil {
			return nil, err
		}
		b, err = s.baseline(ctx, all)
		t.release(s)
		if err != nil {
			return nil, err
		}
		if err := b.keep(file); err != nil {
			return nil, err
		}
	}
	t.mu.Lock()
	t.before, t.wanted = b, all
	t.mu.Unlock()
	for _, w := range wanted {
		if err := b.wants(w, t.named); err != nil {
			return b, err
		}
	}
	return b, nil
}

// resolve makes ./dir an import path: a directory is meant from the user's.
func (t *Trial) resolve(wanted []TestID) []TestID {
	out := slices.Clone(wanted)
	for i, w := range out {
		if w.Package != "." && w.Package != "" && !strings.HasPrefix(w.Package, "./") && !strings.HasPrefix(w.Package, "../") {
			continue
		}
		dir := filepath.Join(t.options.Dir, filepath.FromSlash(w.Package))
		rel, err := filepath.Rel(t.tree.root, dir)
		if err != nil {
			continue
		}
		rel = filepath.ToSlash(rel)
		m := t.base.with(patch.Patch{}).moduleOf(path.Join(rel, "x.go"))
		data, err := os.ReadFile(filepath.Join(t.base.dir, filepath.FromSlash(m), "go.mod"))
		if err != nil {
			continue
		}
		if below, err := filepath.Rel(filepath.FromSlash("/"+m), filepath.FromSlash("/"+rel)); err == nil {
			out[i].Package = path.Join(modfile.ModulePath(data), filepath.ToSlash(below))
		}
	}
	return out
}

// baselineVersion changes when the meaning of what is kept does.
const baselineVersion = "1"

func (t *Trial) baselineKey(wanted []TestID) string {
	packages := []string{}
	for _, w := range wanted {
		packages = append(packages, w.Package)
	}
	slices.Sort(packages)
	data, _ := json.Marshal([]any{baselineVersion, t.base.hash, t.modules, t.goEnv.version, t.goEnv.settings, t.options.Suite, t.options.Flags, slices.Compact(packages), t.options.Runs, t.options.Limits})
	return hashOf(data)[:32]
}

// readBaseline reads a kept baseline. It returns nil if it is missing or damaged.
func readBaseline(file, tree string) *Baseline {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	b := new(Baseline)
	if json.Unmarshal(data, b) != nil || b.Tree != tree || b.Packages == nil {
		return nil
	}
	return b
}

func (b *Baseline) keep(file string) error {
	data, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("trial: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("trial: keeping the baseline: %w", full(err, filepath.Dir(file)))
	}
	if err := atomicfile.Save(file, data); err != nil {
		return fmt.Errorf("trial: keeping the baseline: %w", full(err, filepath.Dir(file)))
	}
	forget(filepath.Dir(file), time.Now().Add(-baselineAge))
	return nil
}

// baselineAge is how long a baseline is kept. A machine that tries changes all day has one for each commit.
const baselineAge = 30 * 24 * time.Hour

// forget removes the baselines of a directory that were made before a time. What can't be removed is tried again with the next one.
func forget(dir string, before time.Time) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && filepath.Ext(e.Name()) == ".json" && info.ModTime().Before(before) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// baseline makes a baseline.
func (s *slot) baseline(ctx context.Context, wanted []TestID) (*Baseline, error) {
	t := s.trial
	start := time.Now()
	b := &Baseline{Tree: t.base.hash, Packages: map[string]*PackageBaseline{}, Build: map[string]string{},
		Vet: vetted{Findings: map[string]bool{}, Unchecked: map[string]string{}}}
	unchanged := t.base.with(patch.Patch{})
	if err := unchanged.settle(ctx, s.root); err != nil {
		return nil, err
	}
	list, err := s.packages(ctx, wanted, patch.Patch{})
	if err != nil {
		return nil, err
	}
	for _, w := range wanted {
		i := slices.IndexFunc(list, func(p *pkg) bool { return p.ImportPath == w.Package })
		if i < 0 {
			return nil, &NoSuchTest{Test: w, Package: true}
		}
		if p := list[i]; !p.tested() {
			e := &NoSuchTest{Test: w, Package: true}
			if p.Error != nil {
				e.Errors = strings.TrimSpace(p.Error.Err)
			}
			return nil, e
		}
	}
	t.progress("building before any change")
	dirs, of := byModule(list)
	for _, dir := range dirs {
		failed, err := s.build(ctx, dir, of[dir])
		if err != nil {
			return nil, err
		}
		maps.Copy(b.Build, failed)
		v, err := s.vet(ctx, dir, of[dir])
		if err != nil {
			return nil, err
		}
		maps.Copy(b.Vet.Findings, v.Findings)
		maps.Copy(b.Vet.Unchecked, v.Unchecked)
	}
	for n := range t.options.Runs {
		t.progress(fmt.Sprintf("testing before any change, run %d of %d", n+1, t.options.Runs))
		if n > 0 {
			if err := unchanged.settle(ctx, s.root); err != nil {
				return nil, err
			}
		}
		if err := s.baselineRun(ctx, list, b, n); err != nil {
			return nil, err
		}
	}
	b.Took = time.Since(start)
	return b, nil
}

// baselineRun runs all tests once more. Test programs are compiled again in each run, a
// batch at a time, which the build cache makes cheap: kept, they would fill a disk.
func (s *slot) baselineRun(ctx context.Context, list []*pkg, b *Baseline, n int) error {
	limit := func(*pkg) time.Duration { return s.trial.options.Limits.Time }
	compile := func(ctx context.Context, list []*pkg) ([]*program, error) { return s.compile(ctx, list, nil) }
	return s.testAll(ctx, list, compile, true, limit, func(p *pkg, r result) bool {
		pb := b.Packages[p.ImportPath]
		if pb == nil {
			pb = &PackageBaseline{Outcomes: map[string]Outcome{}}
			b.Packages[p.ImportPath] = pb
		}
		pb.merge(r, n)
		return true
	})
}

// merge adds the outcome of run n.
func (pb *PackageBaseline) merge(r result, n int) {
	pb.Errors, pb.Without = r.Errors, r.without
	if !r.Built {
		return
	}
	pb.Wall = max(pb.Wall, r.Wall)
	if n == 0 {
		pb.Outcomes, pb.Code, pb.Whole = r.Outcomes, r.Code, r.Whole
	} else {
		flaky := map[string]bool{}
		for _, f := range pb.Flaky {
			flaky[f] = true
		}
		for name, is := range r.Outcomes {
			if was, ok := pb.Outcomes[name]; !flaky[name] && (!ok || was != is) {
				flaky[name] = true
			}
		}
		for name := range pb.Outcomes {
			if _, ok := r.Outcomes[name]; !ok {
				flaky[name] = true
			}
		}
		for name := range flaky {
			delete(pb.Outcomes, name)
		}
		pb.Flaky = sortedKeys(flaky)
		pb.Whole = pb.Whole && r.Whole
		pb.Code = worseCode(pb.Code, r.Code)
	}
	if !r.Whole {
		pb.Ended = r.ended()
	}
}

// wants holds a wanted test against the baseline. named reports whether a subtest that did not run may be there.
func (b *Baseline) wants(w TestID, named func(TestID) bool) error {
	pb := b.Packages[w.Package]
	if pb == nil {
		return &NoSuchTest{Test: w, Package: true}
	}
	if pb.Errors != "" {
		return nil // it does not compile yet, or what it is beside
	}
	if slices.Contains(pb.Flaky, w.Name) {
		return &NotFailing{Test: w, Flaky: true}
	}
	switch is := pb.Outcomes[w.Name]; is {
	case Failed, Crashed:
		return nil
	case Passed, Skipped:
		return &NotFailing{Test: w, Is: is}
	}
	// A subtest that its function did not come to is as good as one that fails.
	fails := false
	if top := w.top(); top != w.Name {
		switch pb.Outcomes[top] {
		case Crashed:
			return nil
		case Failed:
			if named(w) {
				return nil
			}
			fails = true
		}
		if slices.Contains(pb.Flaky, top) {
			return &NotFailing{Test: w, Flaky: true}
		}
	}
	if !pb.Whole && !fails {
		return nil // the program ends before it
	}
	e := &NoSuchTest{Test: w, Fails: fails}
	best := 4
	for _, name := range sortedKeys(pb.Outcomes) {
		if d := phrase.Distance(name, w.Name); d < best {
			e.Nearest, best = name, d
		}
	}
	return e
}

var compilerError = regexp.MustCompile(`(?m)^(?:\./)?(\S+_test\.go):\d+`)

// brokenTests are the test files that a compiler names, and nothing else if it names others.
func (s *slot) brokenTests(p *pkg, errors string) []string {
	var files []string
	for _, m := range compilerError.FindAllStringSubmatch(errors, -1) {
		name := m[1]
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.module, filepath.FromSlash(name))
		}
		rel, err := filepath.Rel(s.root, name)
		if err != nil || !filepath.IsLocal(rel) || filepath.Dir(name) != p.Dir {
			continue
		}
		files = append(files, filepath.ToSlash(rel))
	}
	slices.Sort(files)
	return slices.Compact(files)
}

var errNoBaseline = errors.New("trial: Judge needs Baseline first")

// worseCode is the exit code that counts of two runs.
func worseCode(a, b int) int {
	if a == 0 {
		return b
	}
	return a
}
