package affected

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"tracerag/code"
	"tracerag/trace"
)

// Test names a top-level test, example or fuzz target.
type Test struct {
	Package string // import path of the package that is tested
	Name    string
}

func (t Test) String() string { return t.Package + ":" + t.Name }

// Package is a package whose tests are to be recorded.
type Package struct {
	Path string // import path
	Dir  string // of its module: where go test runs
	// Include is the pattern of the packages to record: those of its module, if no other one of ours is
	// in its test program; "": all packages that are not the standard library's.
	Include string
}

// Recorded is the recorded run of a package's tests.
type Recorded struct {
	Package string
	Trace   *trace.Trace // of all tests in one process; nil: see Err
	// Took is how long each test took that ended, by name.
	Took map[string]time.Duration
	// Err is why the run was not recorded. A run in which tests fail is recorded all the same.
	Err error
}

// Options say of what a Map is, and how it comes to be.
type Options struct {
	Dir  string   // of the module or workspace
	Tags []string // build tags
	Keep string   // the directory of what is known already; "": nothing is kept
	// Record runs the tests of packages once and records all functions of the module ([Recorder]). It reports
	// each package, in any order. Nil: nothing can be recorded.
	Record func(ctx context.Context, packages []Package, done func(Recorded)) error
	// Only says which packages' tests may be recorded and chosen; nil: all.
	Only func(pkg string) bool
	// Share is how much of the suite's time the first tests may take; 0: DefaultShare.
	Share float64
}

// DefaultShare leaves the first tests of goldmark in one test program (bench/affected). With twice as much they were in
// two or three, and building those took more time than the tests.
const DefaultShare = 0.05

// opening is how long it takes to link and start one more test program, in seconds, beside its tests.
const opening = 0.5

// Map is which tests of a module ran which declarations, at one state of its files. Its methods may be called by
// several goroutines, and wait for each other.
type Map struct {
	mu       sync.Mutex
	options  Options
	source   *source
	programs map[string]*program
	keys     map[string]string
}

// Open reads the module's files and what is kept. It runs nothing.
func Open(o Options) (*Map, error) {
	s, err := scan(o.Dir, o.Tags)
	if err != nil {
		return nil, fmt.Errorf("which tests ran what: %w", err)
	}
	if o.Share <= 0 {
		o.Share = DefaultShare
	}
	return &Map{options: o, source: s, programs: map[string]*program{}, keys: map[string]string{}}, nil
}

// Packages lists the packages that have tests, in order.
func (m *Map) Packages() (out []string) {
	for name, p := range m.source.packages {
		if p.hasTestFiles {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Update records the packages of which nothing is known; none named: all that have tests. What it has recorded is
// kept even if it is interrupted.
func (m *Map) Update(ctx context.Context, packages ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.update(ctx, packages)
}

func (m *Map) update(ctx context.Context, packages []string) error {
	if len(packages) == 0 {
		packages = m.Packages()
	}
	var missing []string
	for _, name := range packages {
		p := m.source.packages[name]
		if p == nil || !p.hasTestFiles {
			return fmt.Errorf("which tests ran what: %s has no tests", name)
		}
		if !m.known(p) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 || m.options.Record == nil {
		return nil
	}
	var list []Package
	for _, name := range missing {
		list = append(list, m.source.request(m.source.packages[name]))
	}
	var lost error
	err := m.options.Record(ctx, list, func(r Recorded) {
		p := m.source.packages[r.Package]
		if p == nil || !slices.Contains(missing, r.Package) {
			return
		}
		made := m.make(p, r)
		m.programs[r.Package] = made
		if m.options.Keep != "" && made.Failed == "" {
			if err := save(m.options.Keep, made); err != nil && lost == nil {
				lost = err
			}
		}
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, name := range missing {
		if m.programs[name] == nil {
			why := "the run was not recorded"
			if err != nil {
				why = err.Error()
			}
			m.programs[name] = &program{Package: name, Failed: why}
		}
	}
	return lost
}

// known reports whether something is known of a package, and reads what is kept of it.
func (m *Map) known(p *pkg) bool {
	if m.programs[p.path] != nil {
		return true
	}
	m.keys[p.path] = m.source.key(p)
	if m.options.Keep != "" {
		if kept := load(m.options.Keep, p.path, m.keys[p.path]); kept != nil {
			m.programs[p.path] = kept
			return true
		}
	}
	return false
}

// make makes of a recording what is known.
func (m *Map) make(p *pkg, r Recorded) *program {
	out := &program{Version: version, Key: m.keys[p.path], Package: p.path}
	for _, name := range p.tests {
		out.Tests = append(out.Tests, test{Name: name, Seconds: r.Took[name].Seconds()})
	}
	switch {
	case r.Err != nil:
		out.Failed = r.Err.Error()
	case r.Trace == nil:
		out.Failed = "the run was not recorded"
	case r.Trace.Sampled:
		out.Failed = "the run was sampled, and not recorded"
	}
	if out.Failed != "" {
		return out
	}
	for _, l := range r.Trace.Losses {
		switch l.Kind {
		case trace.LossNotHooked:
			out.Unseen = append(out.Unseen, l.Function)
		case trace.LossFloor:
		default:
			out.Failed = fmt.Sprintf("its trace is incomplete (%s)", l.Kind)
			return out
		}
	}
	var seen []bool
	out.Ran, seen = read(r.Trace, p.path, p.tests, m.source.callers)
	for i := range out.Tests {
		_, ended := r.Took[out.Tests[i].Name]
		out.Tests[i].Seen = seen[i] || ended // an empty one ends, and calls nothing
	}
	out.ready()
	return out
}

// packageOf returns the package of a file, or of the nearest directory above it that has one.
func (m *Map) packageOf(file string) *pkg {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if p := m.source.byDir[dir]; p != nil || dir == "." || strings.HasPrefix(dir, "/") {
			return p
		}
	}
}

// PackageOf is the import path of a file's package; "": it is in none.
func (m *Map) PackageOf(file string) string {
	if p := m.packageOf(file); p != nil {
		return p.path
	}
	return ""
}

// Unknown lists the packages whose recording failed, of those that were asked for, and why.
func (m *Map) Unknown() (out []Whole) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.programs)) {
		if p := m.programs[name]; p.Failed != "" {
			out = append(out, Whole{name, p.Failed})
		}
	}
	return out
}

// Function is one that tests run.
type Function struct {
	File   string // slash path below the root
	Symbol string
	Line   int
}

// Functions lists the module's functions that recorded tests ran, without those of test files, by file and place.
func (m *Map) Functions() (out []Function) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.source.learn()
	for _, dir := range slices.Sorted(maps.Keys(m.source.byDir)) {
		p := m.source.byDir[dir]
		for _, file := range p.files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := code.Read(m.source.root, file)
			if err != nil {
				continue
			}
			f := code.Parse(text)
			if f.Generated {
				continue
			}
			for _, d := range f.Decls {
				if d.Kind.Callable() && m.anyRan(declared{p.path, d.Name}) {
					out = append(out, Function{file, d.Symbol(), d.Line})
				}
			}
		}
	}
	return out
}

func (m *Map) anyRan(d declared) bool {
	for _, p := range m.programs {
		if i, ok := p.index[d]; ok && len(p.Ran[i].Tests) > 0 {
			return true
		}
	}
	return false
}
