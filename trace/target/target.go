package target

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"tracerag/trace"
	"tracerag/trace/executable"
)

// Target is a program with its arguments, not yet started.
type Target struct {
	Path    string   // of the executable
	Args    []string // argv as the user typed it
	Dir     string   // working directory
	Binary  *executable.File
	modTime time.Time // of the executable
	ready   func() error

	Include, Exclude []string // package patterns as given
	sel              *selection
	program          string   // its path for the trace
	ownCode          *OwnCode // once it was asked for

	// NoInput runs the program with empty standard input.
	NoInput bool
	// Silent runs the program without our standard input, output, error and
	// terminal: a baseline's output is not shown.
	Silent bool
	// Output takes the program's standard output and error, in place of ours; nil
	// leaves it ours.
	Output *os.File
	// Errors takes its standard error, if that is not to go to Output.
	Errors *os.File
}

// Find looks the command's program up as a shell would, reads it, and chooses
// the packages to record: include patterns (none: everything outside the
// standard library) less exclude patterns.
func Find(args []string, dir string, include, exclude []string) (*Target, error) {
	t, err := FindLater(args, dir, include, exclude)
	if err == nil {
		err = t.Ready()
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// FindLater is Find for who need not know the program's functions yet, as
// [executable.OpenLater]: before Ready it is not known either which packages are recorded,
// and if there are any.
func FindLater(args []string, dir string, include, exclude []string) (*Target, error) {
	if len(args) == 0 {
		return nil, errors.New("no program given")
	}
	path, err := lookPath(args[0], dir)
	if err != nil {
		return nil, err
	}
	t, err := find(path, dir, include, exclude, false)
	if err != nil {
		return nil, err
	}
	t.Args = args
	return t, nil
}

// Ready waits until the program's functions are read, and finds out if some of them are to be
// recorded.
func (t *Target) Ready() error { return t.ready() }

// find reads the program at path, as FindLater does: one that was started by a target, or one that the user named.
func find(path, dir string, include, exclude []string, started bool) (*Target, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	bin, err := executable.OpenLater(path)
	if err != nil {
		return nil, err
	}
	if err := isProgram(bin); err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	t := &Target{Path: path, program: path, Dir: dir, Binary: bin, modTime: info.ModTime(), Include: include, Exclude: exclude}
	sel, err := newSelection(bin, dir, include, exclude)
	if err != nil {
		return nil, err
	}
	t.sel = sel
	t.ready = sync.OnceValue(func() error {
		if err := bin.Ready(); err != nil {
			return err
		}
		return sel.check(include, started)
	})
	return t, nil
}

// Of finds the program of a process that runs, on linux.
func Of(pid int, include, exclude []string) (*Target, error) {
	r, err := look(pid)
	if err != nil {
		return nil, err
	}
	t, err := r.target(r.dir, include, exclude, false)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	return t, nil
}

// Started is Of for a process that a target in a directory has started: patterns that are
// paths are of that directory. An error of the program does not say of which process.
func Started(pid int, dir string, include, exclude []string) (*Target, error) {
	r, err := look(pid)
	if err != nil {
		return nil, err
	}
	return r.target(dir, include, exclude, true)
}

// running is what /proc says of a process.
type running struct {
	path     string // through which its program can be read also when the file was removed or replaced since
	exe, dir string
	args     []string
}

func look(pid int) (*running, error) {
	proc := fmt.Sprintf("/proc/%d/", pid)
	if _, err := os.Stat(proc); err != nil {
		return nil, fmt.Errorf("process %d not found", pid)
	}
	exe, err := os.Readlink(proc + "exe")
	if errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("process %d is another user's: run tracerag as that user", pid)
	}
	if err != nil {
		return nil, fmt.Errorf("process %d: its program: %w", pid, err)
	}
	dir, err := os.Readlink(proc + "cwd")
	if err != nil {
		return nil, fmt.Errorf("process %d: its directory: %w", pid, err)
	}
	line, err := os.ReadFile(proc + "cmdline")
	if err != nil {
		return nil, fmt.Errorf("process %d: its command: %w", pid, err)
	}
	return &running{proc + "exe", exe, dir, strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")}, nil
}

// target reads the program. Patterns that are paths are of a directory.
func (r *running) target(patterns string, include, exclude []string, started bool) (*Target, error) {
	t, err := find(r.path, patterns, include, exclude, started)
	if err == nil {
		err = t.Ready()
	}
	if err != nil {
		return nil, err
	}
	t.Dir, t.Args, t.program = r.dir, r.args, r.exe
	return t, nil
}

// Files returns what the program has for standard input, output and error. They
// are to be released when it has been started.
func (t *Target) Files() (files [3]*os.File, release func(), err error) {
	files, release = [3]*os.File{os.Stdin, os.Stdout, os.Stderr}, func() {}
	if t.Silent || t.NoInput {
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return files, release, err
		}
		release = func() { null.Close() }
		files[0] = null
		if t.Silent {
			files[1], files[2] = null, null
		}
	}
	if t.Output != nil {
		files[1], files[2] = t.Output, t.Output
	}
	if t.Errors != nil {
		files[2] = t.Errors
	}
	return files, release, nil
}

// isProgram returns why a file is not a program: it is linked to be loaded by one.
func isProgram(f *executable.File) error {
	for _, s := range f.Settings {
		if s.Key != "-buildmode" {
			continue
		}
		switch s.Value {
		case "plugin", "c-shared", "shared", "c-archive":
			return fmt.Errorf("is a library (-buildmode=%s), not a program: record the program that loads it", s.Value)
		}
	}
	return nil
}

func lookPath(name, dir string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) || strings.ContainsRune(name, '/') {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		info, err := os.Stat(path)
		if err != nil {
			if found, e := exec.LookPath(path); e == nil && runtime.GOOS == "windows" {
				return found, nil // without its extension
			}
			return "", err
		}
		if info.IsDir() {
			return "", fmt.Errorf("%s is a directory, not a program: build it first (go build -o app %s) and give the program", name, name)
		}
		return path, nil
	}
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrNotFound) {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return "", fmt.Errorf("%s is not in PATH; to run the one in this directory write ./%s", name, name)
		}
		return "", fmt.Errorf("%s is not in PATH", name)
	}
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// Records reports whether calls of functions in the package with this import
// path are recorded.
func (t *Target) Records(pkg string) bool { return t.sel.matches(pkg) }

// Choice is what chooses the packages to record, besides the program: the patterns, those
// that are relative to the working directory as import paths behind "./".
func (t *Target) Choice() (include, exclude []string) { return t.sel.in, t.sel.out }

// NewTrace returns a trace with all that is known before the program starts.
func (t *Target) NewTrace(recorder string) *trace.Trace {
	f := t.Binary
	tr := &trace.Trace{
		Recorder: recorder, Command: t.Args, Dir: t.Dir, Include: t.Include, Exclude: t.Exclude,
		Program: trace.Program{
			Path: t.program, BuildID: f.BuildID, ModTime: t.modTime.UTC(), GoVersion: f.GoVersion, GOOS: f.GOOS, GOARCH: f.GOARCH,
			MainPath: f.MainPath, Main: module(f.MainModule),
		},
	}
	for _, m := range f.Deps {
		tr.Program.Deps = append(tr.Program.Deps, module(m))
	}
	for _, s := range f.Settings {
		tr.Program.Settings = append(tr.Program.Settings, trace.Setting{Key: s.Key, Value: s.Value})
	}
	return tr
}

func module(m executable.Module) trace.Module {
	out := trace.Module{Path: m.Path, Version: m.Version, Sum: m.Sum}
	if m.Replace != nil {
		r := module(*m.Replace)
		out.Replace = &r
	}
	return out
}
