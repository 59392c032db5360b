package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/phrase"
)

// largeFile is the size from which a file that git does not keep is left out: a core dump, a data base.
const largeFile = 256 << 20

// tree lists the user's files in their present state.
type tree struct {
	root    string // of the repository, or of the module where git does not know it
	files   []string
	left    []string // what is not copied, for people
	keptGit bool     // git says what belongs to it
}

// readTree lists the files below a directory's repository: those in git's index as they
// are on disk, and those that git does not know and does not ignore. Nothing is written,
// no hook and no filter runs: only names come from git.
func readTree(ctx context.Context, dir string) (*tree, error) {
	t := new(tree)
	top, err := git(ctx, dir, "rev-parse", "--show-toplevel")
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		t.root, t.keptGit = filepath.FromSlash(strings.TrimRight(string(top), "\r\n")), true
		return t, t.listGit(ctx, "")
	}
	t.root, err = moduleRoot(dir)
	if err != nil {
		return nil, err
	}
	return t, t.walk("")
}

// moduleRoot is the directory of the module that holds dir, or of the workspace around it.
func moduleRoot(dir string) (string, error) {
	root := ""
	for d := dir; ; d = filepath.Dir(d) {
		if regular(filepath.Join(d, "go.work")) {
			return d, nil
		}
		if root == "" && regular(filepath.Join(d, "go.mod")) {
			root = d
		}
		if filepath.Dir(d) == d {
			break
		}
	}
	if root == "" {
		return "", fmt.Errorf("trial: no go.mod in %s or above: run it in a module", dir)
	}
	return root, nil
}

func regular(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

// git runs git so that it neither writes nor starts anything.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"}, args...)...)
	for _, kv := range os.Environ() {
		// a hook's GIT_DIR and GIT_INDEX_FILE mean another state
		if !strings.HasPrefix(kv, "GIT_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}

// listGit lists the repository or submodule at a directory below the root.
func (t *tree) listGit(ctx context.Context, below string) error {
	dir := filepath.Join(t.root, filepath.FromSlash(below))
	out, err := git(ctx, dir, "ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return fmt.Errorf("trial: %w", err)
	}
	seen := map[string]bool{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		state, name, _ := strings.Cut(line, " ") // "?" is what git does not know
		nested := strings.HasSuffix(name, "/")
		name = path.Join(below, name)
		if name == below || seen[name] {
			continue // git lists an unmerged file three times
		}
		seen[name] = true
		info, err := os.Lstat(filepath.Join(t.root, filepath.FromSlash(name)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			// removed, not committed yet
		case err != nil:
			return fmt.Errorf("trial: %w", err)
		case info.IsDir() && exists(filepath.Join(t.root, filepath.FromSlash(name), ".git")):
			if err := t.listGit(ctx, name); err != nil { // a submodule, or a repository within
				return err
			}
		case info.IsDir() && nested:
			if err := t.walk(name); err != nil {
				return err
			}
		default:
			t.add(name, info, state == "?")
		}
	}
	return t.listIgnored(ctx, below)
}

// listIgnored adds files that git ignores but the go command reads: a workspace, a vendor directory,
// generated sources.
func (t *tree) listIgnored(ctx context.Context, below string) error {
	dir := filepath.Join(t.root, filepath.FromSlash(below))
	out, err := git(ctx, dir, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	if err != nil {
		return fmt.Errorf("trial: %w", err)
	}
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name == "" {
			continue
		}
		isDir := strings.HasSuffix(name, "/")
		name = path.Join(below, name)
		if !isDir {
			if info, err := os.Lstat(filepath.Join(t.root, filepath.FromSlash(name))); err == nil && goReads(name) {
				t.add(name, info, true)
			} else {
				t.left = append(t.left, name+": ignored by git")
			}
			continue
		}
		if path.Base(name) == "vendor" && regular(filepath.Join(t.root, filepath.FromSlash(name), "modules.txt")) {
			if err := t.walk(name); err != nil {
				return err
			}
			continue
		}
		if n := t.walkSources(name); n > 0 {
			t.left = append(t.left, fmt.Sprintf("%s/: ignored by git, but for %s", name, phrase.Plural(n, "Go source", "Go sources")))
		} else {
			t.left = append(t.left, name+"/: ignored by git")
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// goReads reports whether the go command reads a file by its name.
func goReads(name string) bool {
	switch path.Base(name) {
	case "go.mod", "go.sum", "go.work", "go.work.sum":
		return true
	}
	switch path.Ext(name) {
	case ".go", ".s", ".S", ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".m", ".syso", ".swig", ".swigcxx":
		return true
	}
	return false
}

// skipDirectory reports whether nothing of a directory belongs to a module's build.
func skipDirectory(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", ".jj", ".tracerag", "node_modules":
		return true
	}
	return false
}

// walk adds all files below a directory.
func (t *tree) walk(below string) error {
	start := filepath.Join(t.root, filepath.FromSlash(below))
	return filepath.WalkDir(start, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("trial: %w", err)
		}
		name, err := filepath.Rel(t.root, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if e.IsDir() {
			if file != start && skipDirectory(e.Name()) {
				if e.Name() == "node_modules" {
					t.left = append(t.left, name+"/")
				}
				return fs.SkipDir
			}
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return fmt.Errorf("trial: %w", err)
		}
		t.add(name, info, true)
		return nil
	})
}

// walkSources adds the sources below an ignored directory. What can't be read there is left out.
func (t *tree) walkSources(below string) (n int) {
	start := filepath.Join(t.root, filepath.FromSlash(below))
	_ = filepath.WalkDir(start, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if e.IsDir() {
			if skipDirectory(e.Name()) || file != start && exists(filepath.Join(file, ".git")) {
				return fs.SkipDir
			}
			return nil
		}
		name, err := filepath.Rel(t.root, file)
		info, infoErr := e.Info()
		if err == nil && infoErr == nil && goReads(name) && t.add(filepath.ToSlash(name), info, true) {
			n++
		}
		return nil
	})
	return n
}

// add adds a file, unless it is neither a file nor a link, or large.
func (t *tree) add(name string, info fs.FileInfo, limited bool) bool {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
	case !info.Mode().IsRegular():
		if !info.IsDir() {
			t.left = append(t.left, name+": neither a file nor a link")
		}
		return false
	case limited && info.Size() > largeFile:
		t.left = append(t.left, fmt.Sprintf("%s: %s MB", name, phrase.Number(info.Size()>>20)))
		return false
	}
	t.files = append(t.files, name)
	return true
}

// sorted puts the lists in their order.
func (t *tree) sorted() {
	slices.Sort(t.files)
	t.files = slices.Compact(t.files)
	slices.SortFunc(t.left, cmp.Compare[string])
	t.left = slices.Compact(t.left)
}
