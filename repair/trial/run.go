package trial

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tracerag/repair/sandbox"
)

// program is a compiled test program.
type program struct {
	*pkg
	file   string // "" if it does not compile
	errors string // then, what the compiler says
	sum    string // of the file, if it is kept for the next steps
}

// batch is how many test programs are there at one time: each may have many megabytes.
const batch = 8

// compile compiles the tests of packages, with our package testing. without names test
// files that are left out.
func (s *slot) compile(ctx context.Context, list []*pkg, without []string) ([]*program, error) {
	var programs []*program
	dirs, of := []string{}, map[string][]*program{}
	for _, p := range list {
		prog := &program{pkg: p}
		programs = append(programs, prog)
		if p.tested() {
			if of[p.module] == nil {
				dirs = append(dirs, p.module)
			}
			of[p.module] = append(of[p.module], prog)
		}
	}
	overlay, err := s.trial.observer.without(s, without)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		for left := of[dir]; len(left) > 0; {
			// One command compiles programs of different names; which they get is the go command's rule.
			var now, later []*program
			names := map[string]bool{}
			for _, p := range left {
				if n := programName(p.ImportPath); names[n] {
					later = append(later, p)
				} else {
					names[n] = true
					now = append(now, p)
				}
			}
			left = later
			if err := s.compileSome(ctx, dir, now, overlay); err != nil {
				return nil, err
			}
		}
	}
	return programs, nil
}

var version = regexp.MustCompile(`^v[0-9]+$`)

// programName is what `go test -c` calls a package's program.
func programName(importPath string) string {
	name := path.Base(importPath)
	if version.MatchString(name) && path.Dir(importPath) != "." {
		name = path.Base(path.Dir(importPath))
	}
	return name + ".test"
}

func (s *slot) compileSome(ctx context.Context, dir string, programs []*program, overlay string) error {
	s.n++
	out := filepath.Join(s.out, "bin"+strconv.Itoa(s.n))
	if err := os.MkdirAll(out, 0o700); err != nil {
		return full(err, s.trial.options.Scratch)
	}
	args := append([]string{s.trial.goEnv.command, "test", "-c", "-vet=off", "-buildvcs=false", s.trial.jobs(), "-overlay=" + overlay}, s.trial.options.Flags...)
	run := func(to string, programs ...*program) (ran, error) {
		args := append(slices.Clone(args), "-o", to)
		for _, p := range programs {
			args = append(args, p.ImportPath)
		}
		r, err := s.run(ctx, call{args: args, dir: dir, write: []string{s.out}})
		if err == nil && strings.Contains(r.out, "# testing\n") {
			return r, &UnknownTesting{s.trial.goEnv.root, "names that fit: " + strings.TrimSpace(r.out)}
		}
		return r, err
	}
	r, err := run(out+string(filepath.Separator), programs...)
	if err != nil {
		return err
	}
	said := byPackage(r.out)
	for i, p := range programs {
		p.file = filepath.Join(out, programName(p.ImportPath))
		if regular(p.file) {
			continue
		}
		p.errors = said[p.ImportPath]
		stopped := r.Stopped
		if p.errors == "" && (len(programs) > 1 || r.Code == 0) {
			// Another one failed first, or the name is another.
			p.file = filepath.Join(out, "alone"+strconv.Itoa(i)+".test")
			r, err := run(p.file, p)
			if err != nil {
				return err
			}
			if regular(p.file) {
				continue
			}
			p.errors, stopped = r.out, r.Stopped
		} else if p.errors == "" {
			p.errors = r.out
		}
		if stopped != "" {
			p.errors += fmt.Sprintf("go test -c was stopped by the limit on %s", stopped)
		}
		if p.errors == "" {
			p.errors = "go test -c made no program"
		}
		p.file = ""
	}
	return nil
}

// result is what became of the tests of a package.
type result struct {
	Built    bool
	Errors   string             `json:",omitempty"` // of the compiler
	Outcomes map[string]Outcome // of each test that began
	Began    bool               // the program came to its tests
	Whole    bool               // and through them, but for those that crashed it
	Code     int                // exit code of the program in the end
	Stopped  sandbox.Reason     `json:",omitempty"` // a limit that ended it
	Wall     time.Duration

	output  string
	refused []string // by the sandbox
	without []string // test files that were left out since they don't compile
}

// processes bounds how often the tests of one package are started again after a crash.
const processes = 12

// test runs tests of a program to their end: all, or those of some functions. A test
// that ends the program is left out the next time, so that one knows of the others.
func (s *slot) test(ctx context.Context, p *program, tops []string, limit time.Duration) (result, error) {
	res := result{Outcomes: map[string]Outcome{}}
	if p.file == "" {
		res.Errors = s.plain(p.errors)
		return res, nil
	}
	res.Built = true
	var skip []string
	for range processes {
		o, r, err := s.start(ctx, p, tops, skip, limit)
		if err != nil {
			return res, err
		}
		res.Began = res.Began || o.began
		res.Code, res.Whole = r.Code, o.done
		res.add(o.outcomes, r.out, r.Wall, r.Stopped)
		for _, what := range r.Refused {
			res.deny(s.plain(what))
		}
		if o.done {
			return res, nil
		}
		running := functions(o.running)
		if len(running) == 0 {
			return res, nil // before or between its tests: none of them to leave out
		}
		guilty := guess(running, r.out)
		skip = append(skip, guilty...)
		for _, name := range o.running {
			if slices.Contains(guilty, function(name)) {
				res.Outcomes[name] = Crashed
			}
		}
		if len(guilty) > 1 {
			// Tests ran in parallel, and one of them ended the program.
			for _, name := range guilty[:min(len(guilty), 2*processes)] {
				one, err := s.test(ctx, p, []string{name}, limit)
				if err != nil {
					return res, err
				}
				maps.DeleteFunc(res.Outcomes, func(n string, _ Outcome) bool { return function(n) == name })
				res.add(one.Outcomes, one.output, one.Wall, one.Stopped)
				res.deny(one.refused...)
			}
		}
		if len(tops) > 0 && !slices.ContainsFunc(tops, func(t string) bool { return !slices.Contains(skip, t) }) {
			res.Whole = true
			return res, nil
		}
	}
	return res, nil
}

// add adds what another process said.
func (r *result) add(outcomes map[string]Outcome, out string, wall time.Duration, stopped sandbox.Reason) {
	for name, is := range outcomes {
		r.Outcomes[name] = worse(r.Outcomes[name], is)
	}
	r.Wall += wall
	if stopped != "" {
		r.Stopped = stopped
	}
	if r.output += out; len(r.output) > 2*tailSize {
		r.output = r.output[:tailSize] + "\n[...]\n" + r.output[len(r.output)-tailSize:]
	}
}

// maxRefused bounds what a verdict says of refusals.
const maxRefused = 5

// deny adds what the sandbox refused.
func (r *result) deny(what ...string) {
	for _, w := range what {
		if len(r.refused) < maxRefused && !slices.Contains(r.refused, w) {
			r.refused = append(r.refused, w)
		}
	}
}

func function(test string) string {
	top, _, _ := strings.Cut(test, "/")
	return top
}

// functions are those of tests, once each.
func functions(names []string) []string {
	var tops []string
	for _, name := range names {
		tops = append(tops, function(name))
	}
	slices.Sort(tops)
	return slices.Compact(tops)
}

var timedOut = regexp.MustCompile(`(?m)^\t(\S+) \(\d`)

// guess chooses those of the running tests that ended a program: the ones that the crash's
// stack or package testing's alarm names, or all. The output is the program's own and may
// say anything: it only decides which tests are left out first.
func guess(running []string, output string) []string {
	if len(running) == 1 {
		return running
	}
	if _, list, ok := strings.Cut(output, "\n\trunning tests:\n"); ok {
		list, _, _ = strings.Cut(list, "\n\n")
		var guilty []string
		for _, m := range timedOut.FindAllStringSubmatch(list, -1) {
			if top := function(m[1]); slices.Contains(running, top) && !slices.Contains(guilty, top) {
				guilty = append(guilty, top)
			}
		}
		if len(guilty) > 0 {
			return guilty
		}
	}
	_, stack, ok := strings.Cut(output, " [running]:\n")
	if !ok {
		return running
	}
	stack, _, _ = strings.Cut(stack, "\n\n")
	for _, name := range running {
		if regexp.MustCompile(`\.` + regexp.QuoteMeta(name) + `(\.|\()`).MatchString(stack) {
			return []string{name}
		}
	}
	return running
}

// start runs a test program once.
func (s *slot) start(ctx context.Context, p *program, tops, skip []string, limit time.Duration) (observed, ran, error) {
	reports := filepath.Join(s.out, "reports")
	if err := os.MkdirAll(reports, 0o700); err != nil {
		return observed{}, ran{}, full(err, s.trial.options.Scratch)
	}
	var id [16]byte
	rand.Read(id[:])
	report := filepath.Join(reports, hex.EncodeToString(id[:]))
	if err := os.WriteFile(report, nil, 0o600); err != nil {
		return observed{}, ran{}, full(err, s.trial.options.Scratch)
	}
	// Its own alarm rings before the sandbox's limit: so it reports which tests were running.
	own := min(limit, s.trial.options.Limits.Time*9/10)
	args := []string{p.file, "-test.paniconexit0", "-test.timeout=" + own.String()}
	if len(tops) > 0 {
		args = append(args, "-test.run="+anyOf(tops))
	}
	if len(skip) > 0 {
		args = append(args, "-test.skip="+anyOf(skip))
	}
	r, err := s.run(ctx, call{args: args, dir: p.Dir, tests: true, env: []string{reportVariable + "=" + report}, write: []string{reports}, limit: own + 10*time.Second})
	if err != nil {
		return observed{}, ran{}, err
	}
	o, err := s.trial.observer.read(report)
	_ = os.Remove(report)
	if err != nil {
		// It took the file away: it reported nothing.
		return observed{outcomes: map[string]Outcome{}}, r, nil
	}
	return o, r, nil
}

// anyOf is a pattern of the functions of these names.
func anyOf(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = regexp.QuoteMeta(n)
	}
	return "^(?:" + strings.Join(quoted, "|") + ")$"
}

// testAll compiles and runs the tests of packages, a batch at a time and as many at once
// as the candidate has cores. limit is how long a package's may take.
// lenient leaves out test files that don't compile.
func (s *slot) testAll(ctx context.Context, list []*pkg, compile func(context.Context, []*pkg) ([]*program, error), lenient bool, limit func(*pkg) time.Duration, each func(*pkg, result) bool) error {
	list = slices.DeleteFunc(slices.Clone(list), func(p *pkg) bool { return !p.tested() })
	for len(list) > 0 {
		n := min(batch, len(list))
		programs, err := compile(ctx, list[:n])
		if err != nil {
			return err
		}
		list = list[n:]
		without := make([][]string, n)
		if lenient {
			for i, p := range programs {
				if p.file != "" || p.errors == "" {
					continue
				}
				if without[i] = s.brokenTests(p.pkg, p.errors); len(without[i]) > 0 {
					again, err := s.compile(ctx, []*pkg{p.pkg}, without[i])
					if err != nil {
						return err
					}
					p.file = again[0].file
				}
				if p.file == "" {
					without[i] = nil
				}
			}
		}
		results := make([]result, n)
		errs := make([]error, n)
		var wg sync.WaitGroup
		free := make(chan struct{}, s.trial.cores())
		for i, p := range programs {
			free <- struct{}{}
			wg.Go(func() {
				results[i], errs[i] = s.test(ctx, p, nil, limit(p.pkg))
				if len(without[i]) > 0 {
					results[i].Errors, results[i].without = s.plain(p.errors), without[i]
				}
				<-free
			})
		}
		wg.Wait()
		for i, p := range programs {
			if errs[i] != nil {
				return errs[i]
			}
			if p.file != "" {
				_ = os.Remove(p.file)
			}
			if !each(p.pkg, results[i]) {
				return nil
			}
		}
	}
	return nil
}

// block is what a program printed of a test that failed, or the end of its output.
func block(output, test string) string {
	const most = 4000
	lines := strings.SplitAfter(output, "\n")
	for i, l := range lines {
		rest, ok := strings.CutPrefix(strings.TrimLeft(l, " "), "--- FAIL: "+test+" (")
		if !ok || rest == "" {
			continue
		}
		indent := len(l) - len(strings.TrimLeft(l, " "))
		var b strings.Builder
		b.WriteString(l)
		for _, next := range lines[i+1:] {
			in := len(next) - len(strings.TrimLeft(next, " "))
			if in <= indent || b.Len()+len(next) > most {
				break
			}
			b.WriteString(next)
		}
		return b.String()
	}
	if i := strings.Index(output, "panic: "); i >= 0 {
		output = output[i:]
		if len(output) > most {
			output = output[:most] + "\n[...]"
		}
		return output
	}
	if len(output) > most {
		output = "[...]" + output[len(output)-most:]
	}
	return output
}

// ended says how a program ended that did not come through its tests.
func (r result) ended() string {
	switch {
	case r.Stopped != "":
		return fmt.Sprintf("was stopped by the limit on %s", r.Stopped)
	case !r.Began:
		return fmt.Sprintf("ended before its tests began, with exit code %d", r.Code)
	}
	return fmt.Sprintf("ended before all its tests had run, with exit code %d", r.Code)
}
