package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tracerag/code"
	"tracerag/repair/affected"
)

// measurement is of one module.
type measurement struct {
	dir, out string
	n        int
	seed     uint64
	share    float64
	leave    string

	skip   string // -skip: tests that fail before any change
	suite  cache  // for the whole suite
	first  cache  // for the chosen tests
	checks cache  // to find out what compiles
	limit  time.Duration
	dirs   map[string]string // of packages
}

func (m *measurement) results() string { return filepath.Join(m.out, filepath.Base(m.dir)+".jsonl") }

// cache is a build cache that is set back after each mutation.
type cache struct {
	dir  string
	have map[string]bool
}

func (c *cache) files(visit func(name string)) {
	_ = filepath.WalkDir(c.dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			visit(name)
		}
		return nil
	})
}

func (c *cache) remember() {
	c.have = map[string]bool{}
	c.files(func(name string) { c.have[name] = true })
}

func (c *cache) reset() {
	c.files(func(name string) {
		if !c.have[name] {
			_ = os.Remove(name)
		}
	})
}

// link copies a build cache by hard links: the go command adds files to one, and never changes what is there.
func link(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		return os.Link(name, filepath.Join(to, rel))
	})
}

// run is a go command's end.
type run struct {
	spent
	failing []string // "PACKAGE:TEST"
	output  string
}

// goCommand runs go with a build cache.
func (m *measurement) goCommand(ctx context.Context, c cache, args ...string) (*run, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "GOCACHE="+c.dir)
	together(cmd)
	cmd.WaitDelay = 5 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	begun := time.Now()
	err := cmd.Run()
	r := &run{output: errs.String()}
	r.Wall = time.Since(begun).Seconds()
	if cmd.ProcessState != nil {
		r.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if args[0] == "test" && args[1] != "-c" {
		r.failing, r.Runs = outcome(out.Bytes())
		if err != nil && len(r.failing) == 0 {
			return r, fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, errs.String())
		}
		return r, nil
	}
	return r, err
}

// outcome lists the top-level tests that failed, and how long the test programs ran. A test that was running when its program ended has failed, too.
func outcome(out []byte) (failing []string, seconds float64) {
	failed, began, packages := map[string]bool{}, map[string]string{}, map[string]bool{}
	d := json.NewDecoder(bytes.NewReader(out))
	for {
		var x struct {
			Action, Package, Test string
			Elapsed               float64
		}
		if d.Decode(&x) != nil {
			break
		}
		top, _, _ := strings.Cut(x.Test, "/")
		if x.Test == "" {
			seconds += x.Elapsed
		}
		switch {
		case x.Test == "" && x.Action == "fail":
			packages[x.Package] = true
		case x.Test == "":
		case x.Action == "fail":
			failed[x.Package+":"+top] = true
		case x.Action == "run" && x.Test == top:
			began[x.Package+":"+top] = x.Package
		case x.Action == "pass" && x.Test == top || x.Action == "skip" && x.Test == top:
			delete(began, x.Package+":"+top)
		}
	}
	for test, pkg := range began {
		if packages[pkg] {
			failed[test] = true
		}
	}
	for pkg := range packages { // without any test: its TestMain or an init ended it
		if !slices.ContainsFunc(slices.Collect(maps.Keys(failed)), func(t string) bool { return strings.HasPrefix(t, pkg+":") }) {
			failed[pkg+":"] = true
		}
	}
	return slices.Sorted(maps.Keys(failed)), seconds
}

func (m *measurement) test(ctx context.Context, c cache, limit time.Duration, args ...string) (*run, error) {
	flags := []string{"test", "-count=1", "-vet=off", "-json", "-timeout=" + limit.String()}
	if m.skip != "" {
		flags = append(flags, "-skip="+m.skip)
	}
	return m.goCommand(ctx, c, append(flags, args...)...)
}

// prepare finds the tests that fail anyway, and fills the build caches.
func (m *measurement) prepare(ctx context.Context) error {
	dir, err := filepath.Abs(m.dir)
	if err != nil {
		return err
	}
	m.dir = dir
	if m.out, err = filepath.Abs(m.out); err != nil {
		return err
	}
	base := cache{dir: filepath.Join(m.out, "cache", "base")} // of all modules: the standard library is compiled once
	if err := os.MkdirAll(base.dir, 0o755); err != nil {
		return err
	}
	if err := m.before(ctx, base); err != nil {
		return err
	}
	name := filepath.Base(dir)
	for _, c := range []struct {
		*cache
		kind string
	}{{&m.suite, "suite"}, {&m.first, "first"}, {&m.checks, "checks"}} {
		c.cache.dir = filepath.Join(m.out, "cache", name, c.kind)
		if err := os.RemoveAll(c.cache.dir); err != nil {
			return err
		}
		if err := link(base.dir, c.cache.dir); err != nil {
			return err
		}
	}
	m.suite.remember()
	m.first.remember()
	m.checks.remember()
	return nil
}

// before finds out which tests fail without any change, and how long the suite takes, unless that is known.
func (m *measurement) before(ctx context.Context, base cache) error {
	known := strings.TrimSuffix(m.results(), ".jsonl") + ".base.json"
	var b struct {
		Skip  string
		Limit time.Duration
	}
	if text, err := os.ReadFile(known); err == nil && json.Unmarshal(text, &b) == nil {
		m.skip, m.limit = b.Skip, b.Limit
		return nil
	}
	failed := map[string]bool{}
	for range 2 {
		var names []string
		for t := range failed {
			_, test, _ := strings.Cut(t, ":")
			names = append(names, "^"+regexp.QuoteMeta(test)+"$")
		}
		if m.leave != "" {
			names = append(names, m.leave)
		}
		slices.Sort(names)
		m.skip = strings.Join(names, "|")
		r, err := m.test(ctx, base, 10*time.Minute, "./...")
		if err != nil {
			return err
		}
		m.limit = max(20*time.Second, time.Duration(5*r.Wall)*time.Second) // of the last, which had everything built
		for _, t := range r.failing {
			failed[t] = true
		}
	}
	b.Skip, b.Limit = m.skip, m.limit
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return writeFile(known, text)
}

// run measures until there are enough results.
func (m *measurement) run(ctx context.Context) error {
	have, err := read(m.results())
	if err != nil && !os.IsNotExist(err) || len(have) >= m.n {
		return err
	}
	if err := m.prepare(ctx); err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Join(m.out, "cache", filepath.Base(m.dir)))
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var flags []string
	if m.skip != "" {
		flags = append(flags, "-skip="+m.skip)
	}
	recorder := &affected.Recorder{Self: []string{self, "job"}, Flags: flags}
	os.Setenv("GOCACHE", filepath.Join(m.out, "cache", "base")) // what is not inlined has names of its own there
	begun := time.Now()
	tests, err := affected.Open(affected.Options{Dir: m.dir, Keep: filepath.Join(m.out, "kept", filepath.Base(m.dir)), Record: recorder.Record, Share: m.share})
	if err == nil {
		err = tests.Update(ctx)
	}
	if err != nil {
		return err
	}
	os.Setenv("GOCACHE", m.first.dir)
	for _, u := range tests.Unknown() {
		fmt.Fprintf(os.Stderr, "%s: nothing is known of %s: %s\n", m.dir, u.Package, u.Why)
	}
	functions := tests.Functions()
	fmt.Fprintf(os.Stderr, "%s: %d functions that tests run, recorded in %.1f s; skipped: %q\n", m.dir, len(functions), time.Since(begun).Seconds(), m.skip)
	if len(functions) == 0 {
		return fmt.Errorf("no test runs any function")
	}
	f, err := os.OpenFile(m.results(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	// Each attempt has random numbers of its own, so that what goes on chooses as it would have chosen.
	attempt, done := uint64(0), len(have)
	if done > 0 {
		attempt = have[done-1].Attempt + 1
	}
	for ; done < m.n && attempt < uint64(20*m.n+100); attempt++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := rand.New(rand.NewPCG(m.seed, attempt))
		fn := functions[r.IntN(len(functions))]
		text, err := code.Read(m.dir, fn.File)
		if err != nil {
			return err
		}
		list, err := mutations(text, fn.File, fn.Line)
		if err != nil || len(list) == 0 {
			continue
		}
		mut := pick(list, r)
		overlay, err := m.overlay(fn.File, mut.apply(text))
		if err != nil {
			return err
		}
		if _, err := m.goCommand(ctx, m.checks, "build", "-overlay="+overlay, "./"+filepath.Dir(fn.File)); err != nil {
			m.checks.reset()
			continue
		}
		m.checks.reset()
		done++
		res, err := m.one(ctx, tests, fn, mut, overlay)
		if err != nil {
			return err
		}
		res.Attempt = attempt
		line, _ := json.Marshal(res)
		if _, err := f.Write(append(line, '\n')); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%d %s %s: ran %d, chosen %d, failing %d, found %v, %.1f s of %.1f s\n", done, fn.Symbol, mut.What, res.Ran, res.Chosen, len(res.Failing), res.Found, res.First.Wall, res.Suite.Wall)
	}
	return nil
}

func (m *measurement) overlay(file string, text []byte) (string, error) {
	dir := filepath.Join(m.out, "overlay")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	changed, list := filepath.Join(dir, filepath.Base(file)), filepath.Join(dir, "overlay.json")
	if err := writeFile(changed, text); err != nil {
		return "", err
	}
	replace, _ := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(m.dir, filepath.FromSlash(file)): changed}})
	return list, writeFile(list, replace)
}

// one measures one mutation.
func (m *measurement) one(ctx context.Context, tests *affected.Map, fn affected.Function, mut mutation, overlay string) (*result, error) {
	changes := []affected.Change{{File: fn.File, Symbol: fn.Symbol}}
	// Whoever repairs has built the program of the wanted test. It is that of the changed package, if there is one.
	wanted := tests.PackageOf(fn.File)
	if !slices.Contains(tests.Packages(), wanted) {
		sel, err := tests.Select(ctx, changes)
		if err != nil {
			return nil, err
		}
		if wanted = ""; len(sel.Tests) > 0 {
			wanted = sel.Tests[0].Package
		}
	}
	sel, err := tests.Select(ctx, changes, wanted)
	if err != nil {
		return nil, err
	}
	res := &result{Function: fn.Symbol, File: fn.File, What: mut.What, Ran: len(sel.Tests), Chosen: sel.First}
	whole, err := m.test(ctx, m.suite, m.limit, "-overlay="+overlay, "./...")
	m.suite.reset()
	if err != nil {
		return nil, err
	}
	res.Failing, res.Suite = whole.failing, whole.spent
	var packages, names, own []string
	ran, chosen := map[string]bool{}, map[string]bool{}
	for i, t := range sel.Tests {
		ran[t.String()] = true
		if i >= sel.First {
			continue
		}
		chosen[t.String()] = true
		if t.Package == wanted {
			own = append(own, t.Name)
			continue
		}
		if !slices.Contains(packages, t.Package) {
			packages = append(packages, t.Package)
		}
		names = append(names, t.Name)
	}
	for _, t := range whole.failing {
		if ran[t] {
			res.InRan++
		}
		if chosen[t] {
			res.Among++
		}
	}
	if len(chosen) == 0 {
		return res, nil
	}
	defer m.first.reset()
	limit := min(m.limit, max(5*time.Second, time.Duration(10*sel.Seconds*float64(time.Second))))
	program := filepath.Join(m.out, "overlay", "wanted.test")
	built, err := m.goCommand(ctx, m.first, "test", "-c", "-vet=off", "-overlay="+overlay, "-o", program, wanted)
	if err != nil {
		return nil, err
	}
	res.Wanted = built.spent
	if len(own) > 0 {
		failed, took, err := m.runProgram(ctx, program, filepath.Join(m.dir, m.directory(ctx, wanted)), limit, own)
		if err != nil {
			return nil, err
		}
		res.Found, res.First = failed, took
	}
	if len(names) > 0 {
		slices.Sort(names)
		first, err := m.test(ctx, m.first, limit, append([]string{"-overlay=" + overlay, "-run=^(" + strings.Join(slices.Compact(names), "|") + ")$"}, packages...)...)
		if err != nil {
			return nil, err
		}
		res.First.add(first.spent)
		for _, t := range first.failing {
			if chosen[t] || strings.HasSuffix(t, ":") {
				res.Found = true
			}
		}
	}
	if !res.Found && len(whole.failing) > 0 {
		// A test that fails now and then is no failure that anyone finds: it must fail again.
		again, err := m.test(ctx, m.suite, m.limit, "-overlay="+overlay, "./...")
		m.suite.reset()
		if err != nil {
			return nil, err
		}
		res.Flaky = !slices.ContainsFunc(again.failing, func(t string) bool { return slices.Contains(whole.failing, t) })
	}
	return res, nil
}

// directory is that of a package, below the module's.
func (m *measurement) directory(ctx context.Context, pkg string) string {
	if m.dirs == nil {
		m.dirs = map[string]string{}
	}
	if m.dirs[pkg] == "" {
		cmd := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", pkg)
		cmd.Dir = m.dir
		out, err := cmd.Output()
		if err != nil {
			return "."
		}
		if m.dirs[pkg], err = filepath.Rel(m.dir, strings.TrimSpace(string(out))); err != nil {
			return "."
		}
	}
	return m.dirs[pkg]
}

// runProgram runs tests of a program that is built, and reports whether one fails.
func (m *measurement) runProgram(ctx context.Context, program, dir string, limit time.Duration, tests []string) (failed bool, s spent, err error) {
	slices.Sort(tests)
	args := []string{"-test.run=^(" + strings.Join(tests, "|") + ")$", "-test.timeout=" + limit.String()}
	if m.skip != "" {
		args = append(args, "-test.skip="+m.skip)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	together(cmd)
	cmd.WaitDelay = 5 * time.Second
	begun := time.Now()
	err = cmd.Run()
	s.Wall = time.Since(begun).Seconds()
	s.Runs = s.Wall
	if ctx.Err() != nil {
		return false, s, ctx.Err()
	}
	if cmd.ProcessState == nil {
		return false, s, err
	}
	s.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return !cmd.ProcessState.Success(), s, nil
}
