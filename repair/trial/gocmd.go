package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"tracerag/repair/sandbox"
)

// toolchain is the go command that the user's directory chooses, with its settings.
type toolchain struct {
	command  string // bin/go of the root
	root     string
	version  string
	settings []string // of the environment
	work     string   // the workspace in use
	cache    string   // the user's build cache
}

// goEnvironment asks the go command of a directory. It is asked there since go.mod and
// go.work choose the toolchain, and since the user's `go env -w` is not read in a sandbox.
func goEnvironment(ctx context.Context, dir string, environ []string) (*toolchain, error) {
	names := []string{"GOROOT", "GOVERSION", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOWORK", "GOOS", "GOARCH", "CGO_ENABLED", "GOEXPERIMENT", "GOPRIVATE", "GONOSUMDB", "GOCACHE"}
	cmd := exec.CommandContext(ctx, "go", append([]string{"env", "-json"}, names...)...)
	cmd.Dir, cmd.Env = dir, environ
	out, err := cmd.Output()
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil, fmt.Errorf("trial: go env in %s: %w: %s", dir, err, bytes.TrimSpace(exit.Stderr))
		}
		return nil, fmt.Errorf("trial: running the go command: %w", err)
	}
	values := map[string]string{}
	if err := json.Unmarshal(out, &values); err != nil {
		return nil, fmt.Errorf("trial: go env: %w", err)
	}
	t := &toolchain{root: values["GOROOT"], version: values["GOVERSION"], work: values["GOWORK"], cache: values["GOCACHE"]}
	t.command = filepath.Join(t.root, "bin", "go")
	if runtime.GOOS == "windows" {
		t.command += ".exe"
	}
	if t.work == "off" {
		t.work = ""
	}
	for _, name := range names {
		switch name {
		case "GOVERSION", "GOCACHE", "GOWORK":
		default:
			if v := values[name]; v != "" {
				t.settings = append(t.settings, name+"="+v)
			}
		}
	}
	return t, nil
}

// tailSize is how much of the output of a command is kept: half of its beginning, half of its end.
const tailSize = 64 << 10

// tail keeps the beginning and the end of what is written.
type tail struct {
	head, end []byte
	cut       int64
}

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if room := tailSize/2 - len(t.head); room > 0 {
		k := min(room, len(p))
		t.head = append(t.head, p[:k]...)
		p = p[k:]
	}
	t.end = append(t.end, p...)
	if over := len(t.end) - tailSize/2; over > 0 {
		t.cut += int64(over)
		t.end = slices.Delete(t.end, 0, over)
	}
	return n, nil
}

func (t *tail) String() string {
	if t.cut == 0 {
		return string(t.head) + string(t.end)
	}
	return fmt.Sprintf("%s\n[%d bytes left out]\n%s", t.head, t.cut, t.end)
}

// ran is a command that ended.
type ran struct {
	sandbox.Result
	out string // standard output and standard error, without the names of scratch directories
}

// call is a command to run.
type call struct {
	args   []string
	dir    string // in the copy
	tests  bool   // it runs tests, and does not build them
	env    []string
	write  []string  // where it may write beside the copy
	stdout io.Writer // nil: kept with the standard error
	limit  time.Duration
}

// run runs a command in a directory of the slot's copy. The command of a test has
// another build cache than those that build: nothing that tests write is ever linked.
// The user's is below both where the sandbox can lay one over the other.
func (s *slot) run(ctx context.Context, c call) (ran, error) {
	t := s.trial
	out := new(tail)
	if c.stdout == nil {
		c.stdout = out
	}
	cache := t.buildCache
	if c.tests {
		cache = s.testCache()
	}
	limits := t.options.Limits
	if c.limit > 0 {
		limits.Time = min(limits.Time, c.limit)
	}
	for _, d := range []string{cache, filepath.Join(s.temp, "home"), filepath.Join(s.temp, "tmp")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return ran{}, full(err, t.options.Scratch)
		}
	}
	settings := append(slices.Clone(t.goEnv.settings),
		"GOCACHE="+cache, "GOROOT="+t.goEnv.root, "PWD="+c.dir,
		"PATH="+filepath.Join(t.goEnv.root, "bin")+string(os.PathListSeparator)+environ(t.environ, "PATH"),
		// A tree without .git must not be taken for a part of a repository around it.
		"GIT_CEILING_DIRECTORIES="+t.dir)
	if t.goEnv.work == "" {
		settings = append(settings, "GOWORK=off")
	} else {
		settings = append(settings, "GOWORK="+s.inCopy(t.goEnv.work))
	}
	cmd := sandbox.Command{
		Args:   c.args,
		Dir:    c.dir,
		Env:    sandbox.Environment(t.environ, s.temp, limits.Network, append(settings, c.env...)...),
		Write:  append([]string{s.root, s.temp, filepath.Dir(cache)}, c.write...), // a layer is laid from beside it
		Temp:   filepath.Join(s.temp, "tmp"),
		Stdout: c.stdout,
		Stderr: out,
		Limits: limits,
	}
	cmd.Hide, cmd.Read = s.hidden(c.tests)
	if t.goEnv.cache != "" && t.goEnv.cache != "off" && t.goEnv.cache != cache {
		cmd.Layers = []sandbox.Layer{{Dir: cache, Below: []string{t.goEnv.cache}}}
	}
	res, err := t.options.Run(ctx, cmd)
	if ctx.Err() != nil {
		return ran{}, ctx.Err()
	}
	if err != nil {
		return ran{}, fmt.Errorf("trial: %w", err)
	}
	if len(res.Unlayered) > 0 && t.options.Note != nil {
		t.cold.Do(func() {
			t.options.Note("your build cache can't be read in the sandbox, so the first build takes longer: " + res.Unlayered[0])
		})
	}
	return ran{res, s.plain(out.String())}, nil
}

// hidden returns the directories to hide from a command, and those below them that it needs. Tests see
// neither the build cache nor the source of our package testing: both hold its key.
func (s *slot) hidden(tests bool) (hide, read []string) {
	t := s.trial
	if home, err := os.UserHomeDir(); err == nil && filepath.Dir(home) != home {
		hide = append(hide, home)
	}
	hide = append(hide, t.options.Scratch)
	read = append(read, s.around, s.temp, s.out, t.goEnv.root)
	if tests {
		read = append(read, s.testCache())
	} else {
		read = append(read, t.buildCache, filepath.Dir(t.observer.overlay))
	}
	for _, kv := range t.goEnv.settings {
		if dir, ok := strings.CutPrefix(kv, "GOMODCACHE="); ok {
			read = append(read, dir)
		}
	}
	for _, to := range sortedKeys(t.around.links) {
		read = append(read, t.around.links[to])
	}
	return hide, read
}

// testCache is the build cache of a copy's tests. Each copy has its own: what is laid over it is for one command at a time.
func (s *slot) testCache() string { return filepath.Join(filepath.Dir(s.temp), "tests", "gocache") }

func environ(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// plain takes the names of scratch directories out of a text, so that it is the same
// whichever copy a candidate was in.
func (s *slot) plain(text string) string {
	text = strings.ReplaceAll(text, s.root+string(filepath.Separator), "")
	text = strings.ReplaceAll(text, s.root, ".")
	text = strings.ReplaceAll(text, filepath.Join(s.temp, "tmp"), "$TMPDIR")
	return strings.ReplaceAll(text, s.temp, "$SCRATCH")
}

// pkg is a package of the tree, as `go list` says.
type pkg struct {
	ImportPath   string
	Dir          string
	Name         string
	TestGoFiles  []string
	XTestGoFiles []string
	Deps         []string
	TestImports  []string
	XTestImports []string
	EmbedFiles   []string // by code that is no test
	Error        *struct{ Err string }

	module string // the directory in which go commands about it run
	all    map[string]bool
}

func (p *pkg) tested() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// list lists packages in a directory. Those that can't be loaded are there, too.
func (s *slot) list(ctx context.Context, dir string, patterns ...string) ([]*pkg, error) {
	var out bytes.Buffer
	args := append([]string{s.trial.goEnv.command, "list", "-e", "-json=ImportPath,Dir,Name,TestGoFiles,XTestGoFiles,Deps,TestImports,XTestImports,EmbedFiles,Error"}, s.trial.options.Flags...)
	args = append(append(args, "--"), patterns...)
	r, err := s.run(ctx, call{args: args, dir: dir, stdout: &out})
	if err != nil {
		return nil, err
	}
	if r.Stopped != "" {
		// The output may end between two packages, so that missing ones would go unnoticed.
		return nil, &GoFailed{"go list " + strings.Join(patterns, " "), "stopped by the limit on " + string(r.Stopped) + "\n" + r.out}
	}
	var list []*pkg
	d := json.NewDecoder(&out)
	for {
		p := new(pkg)
		if err := d.Decode(p); err == io.EOF {
			break
		} else if err != nil {
			return nil, &GoFailed{"go list " + strings.Join(patterns, " "), r.out}
		}
		p.module = dir
		if p.Dir == "" && p.Error == nil {
			continue // a pattern that means no package
		}
		list = append(list, p)
	}
	if len(list) == 0 && r.Code != 0 {
		return nil, &GoFailed{"go list " + strings.Join(patterns, " "), r.out}
	}
	return list, nil
}

// GoFailed is the error of a go command that cannot read the tree at all.
type GoFailed struct{ Command, Output string }

func (e *GoFailed) Error() string {
	return fmt.Sprintf("%s failed: %s", e.Command, strings.TrimSpace(e.Output))
}

// depend notes for each package what it and its tests depend on.
func depend(list []*pkg) {
	by := map[string]*pkg{}
	for _, p := range list {
		by[p.ImportPath] = p
	}
	for _, p := range list {
		p.all = map[string]bool{p.ImportPath: true}
		for _, d := range p.Deps {
			p.all[d] = true
		}
		for _, imports := range [][]string{p.TestImports, p.XTestImports} {
			for _, i := range imports {
				p.all[i] = true
				if q := by[i]; q != nil {
					for _, d := range q.Deps {
						p.all[d] = true
					}
				}
			}
		}
	}
}

var header = regexp.MustCompile(`^# (\S+)`)

// byPackage cuts the output of go build or go vet by the packages that it is about.
func byPackage(out string) map[string]string {
	by := map[string]string{}
	of := ""
	for line := range strings.Lines(out) {
		if m := header.FindStringSubmatch(line); m != nil {
			of = strings.TrimSuffix(m[1], ".test")
			of = strings.TrimSuffix(of, "_test")
			by[of] += ""
			continue
		}
		by[of] += line
	}
	if strings.TrimSpace(by[""]) == "" {
		delete(by, "")
	}
	return by
}

// build compiles packages, and returns what it says of those that don't compile.
func (s *slot) build(ctx context.Context, dir string, packages []string) (map[string]string, error) {
	if len(packages) == 0 {
		return nil, nil
	}
	args := append([]string{s.trial.goEnv.command, "build", "-buildvcs=false", "-o", os.DevNull, s.trial.jobs()}, s.trial.options.Flags...)
	r, err := s.run(ctx, call{args: append(append(args, "--"), packages...), dir: dir})
	if err != nil {
		return nil, err
	}
	if r.Code == 0 && r.Stopped == "" {
		return nil, nil
	}
	if r.Stopped != "" {
		return map[string]string{"": "go build was stopped by the limit on " + string(r.Stopped) + "\n" + r.out}, nil
	}
	return byPackage(r.out), nil
}

// vet returns what go vet says: its findings by package, without positions, and the
// packages that it could not check.
func (s *slot) vet(ctx context.Context, dir string, packages []string) (vetted, error) {
	v := vetted{Findings: map[string]bool{}, Unchecked: map[string]string{}}
	if len(packages) == 0 {
		return v, nil
	}
	args := append([]string{s.trial.goEnv.command, "vet", "-buildvcs=false", s.trial.jobs()}, s.trial.options.Flags...)
	r, err := s.run(ctx, call{args: append(append(args, "--"), packages...), dir: dir})
	if err != nil {
		return v, err
	}
	if r.Stopped != "" {
		v.Unchecked[""] = "go vet was stopped by the limit on " + string(r.Stopped)
	}
	if r.Code == 0 {
		return v, nil
	}
	for of, text := range byPackage(r.out) {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			switch {
			case line == "" || strings.HasPrefix(line, "exit status"):
			case strings.HasPrefix(line, "vet: "):
				v.Unchecked[of] += strings.TrimPrefix(line, "vet: ") + "\n"
			default:
				file, message := unplaced(line)
				if message == "" || v.Unchecked[of] != "" {
					v.Unchecked[of] += line + "\n" // a compiler's error, or what belongs to one
					continue
				}
				v.Findings[file+"\t"+message] = true
			}
		}
	}
	return v, nil
}

// vetted is what go vet said.
type vetted struct {
	Findings  map[string]bool   `json:",omitempty"` // file and message, with a tab between
	Unchecked map[string]string `json:",omitempty"` // packages with errors of types or syntax
}

var (
	placed   = regexp.MustCompile(`^(\S.*?\.\w+):\d+(?::\d+)?: (.*)$`)
	position = regexp.MustCompile(`:\d+(:\d+)?\b|\bline \d+`)
)

// unplaced is the file and the message of a finding, without the lines that a change moves.
func unplaced(line string) (file, message string) {
	m := placed.FindStringSubmatch(line)
	if m == nil {
		return "", ""
	}
	return strings.TrimPrefix(m[1], "./"), position.ReplaceAllString(m[2], ":N")
}
