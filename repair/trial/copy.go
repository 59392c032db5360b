package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"tracerag/repair/patch"
	"tracerag/repair/sandbox"
)

// Copy is a copy of the tree with a patch, for commands that are no verdict.
type Copy struct {
	Root string
	slot *slot
}

// Use has f use a copy of the tree with a patch: to record a test's run, for one.
func (t *Trial) Use(ctx context.Context, p patch.Patch, f func(*Copy) error) error {
	if err := t.base.check(p); err != nil {
		return &Refused{err.Error()}
	}
	s, err := t.take(ctx)
	if err != nil {
		return err
	}
	defer t.release(s)
	if err := t.base.with(p).settle(ctx, s.root); err != nil {
		return err
	}
	return f(&Copy{Root: s.root, slot: s})
}

// Go is the go command of the tree.
func (c *Copy) Go() string { return c.slot.trial.goEnv.command }

// Tool puts a program where commands in the copy can start it, and returns its name there: most
// directories of the machine are hidden from them.
func (c *Copy) Tool(file string) (string, error) {
	name := filepath.Join(c.slot.out, "tools", filepath.Base(file))
	if regular(name) {
		return name, nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return "", full(err, c.slot.trial.options.Scratch)
	}
	if os.Link(file, name) == nil {
		return name, nil
	}
	in, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return "", err
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Close()
	}
	if err != nil {
		out.Close()
		os.Remove(name)
		return "", full(err, c.slot.trial.options.Scratch)
	}
	return name, nil
}

// Scratch makes an empty directory beside the copy, which is removed with it. Commands may read it, and write to it if
// they are allowed to.
func (c *Copy) Scratch() (string, error) {
	dir := filepath.Join(c.slot.out, "scratch")
	if err := removeAll(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", full(err, c.slot.trial.options.Scratch)
	}
	return dir, nil
}

// Run runs a command in a directory of the copy, as tests are run: in the sandbox, within the limits.
// It may also write into some directories. It returns the exit code and what was printed; the error is one of the
// sandbox, or that a limit ended the command.
func (c *Copy) Run(ctx context.Context, dir string, args, env []string, write ...string) (code int, output string, err error) {
	r, err := c.slot.run(ctx, call{args: args, dir: filepath.Join(c.Root, filepath.FromSlash(dir)), tests: true, env: env, write: write})
	if err == nil && r.Stopped != "" {
		err = &StoppedError{r.Stopped}
	}
	return r.Code, r.out, err
}

// StoppedError says which limit ended a command.
type StoppedError struct{ By sandbox.Reason }

func (e *StoppedError) Error() string { return fmt.Sprintf("the limit of %s ended it", e.By) }

// Snapshot is the directory of the tree as it was when the trial was opened. It never changes: a change
// that is made from it fits, even if the user edits the files meanwhile.
func (t *Trial) Snapshot() string { return t.base.dir }

// Resolve returns a test with its package's import path, and the directory of that, as a slash path
// in the tree.
func (t *Trial) Resolve(w TestID) (TestID, string, error) {
	w = t.resolve([]TestID{w})[0]
	best, dir := "", ""
	for name := range t.base.files {
		if path.Base(name) != "go.mod" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(t.base.dir, filepath.FromSlash(name)))
		if err != nil {
			return w, "", err
		}
		module := modfile.ModulePath(data)
		if rest, ok := strings.CutPrefix(w.Package, module); ok && module != "" && len(module) > len(best) && (rest == "" || rest[0] == '/') {
			best, dir = module, path.Join(path.Dir(name), rest)
		}
	}
	if best == "" {
		return w, "", fmt.Errorf("package %s is in no module of %s", w.Package, t.tree.root)
	}
	if info, err := os.Stat(filepath.Join(t.base.dir, filepath.FromSlash(dir))); err != nil || !info.IsDir() {
		return w, "", errors.Join(fmt.Errorf("package %s was not found", w.Package), err)
	}
	return w, dir, nil
}
