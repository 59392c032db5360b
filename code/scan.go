package code

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Listing is what a directory holds, found without reading its Go files.
type Listing struct {
	Root    string   // absolute, symbolic links followed
	Modules []Module // by directory
	Files   []Entry  // by path
	Gaps    []Gap    // by path
}

// Gap is a part of a directory that could not be listed, or a file that could not be
// understood.
type Gap struct {
	Path string // slash path below the root
	What string // one sentence without a full stop, that does not repeat the path
}

// Entry is a Go file of a listing.
type Entry struct {
	Path    string // slash path below the root, as the file system has it: it may hold any byte but 0
	Module  int    // index into Modules; -1 outside of all
	Package string // import path by its directory; of files outside of all modules the directory's path
	Size    int64
	Time    time.Time // see Changed
	Class
}

// Class is what a file's path and size tell of it.
type Class struct {
	Test     bool // _test.go
	Vendored bool // below a directory "vendor" that is beside a go.mod or go.work, or outside of all modules
	Testdata bool // below a directory "testdata", or a directory or file whose name begins with "." or "_"
	Ignored  bool // by git, and not in git's index; listed only when asked for
	TooLarge bool // over Options.Large: not worth parsing
	// Platform is the constraint that the name implies ("linux", "windows,amd64"); "" none.
	Platform string
}

// Options says what is listed. The zero Options are good for a repository.
type Options struct {
	Ignored bool  // files that git ignores, too
	Large   int64 // bytes over which a file is Class.TooLarge; 0 is Large
}

// Large is the size over which files are taken for data: the largest file that people
// wrote in Go's distribution has 1.3 MB, and generated ones of 10 MB hold tables.
const Large = 4 << 20

// LongPath is how many bytes the path of a directory, or of a module, may have: those of Go's own distribution and of its largest
// programs have 150. An index of a database takes 2,700, of a module's path and a directory's together; a byte that is no UTF-8 takes three.
const LongPath = 400

// Scan lists the Go files and modules of a directory. It reads go.mod, go.work and
// .gitignore files, git's index where something is ignored, and nothing else. Symbolic
// links to directories are not followed, those to files are unless they lead out of the
// root. What can't be read is a [Gap]; the error is for the root alone.
func Scan(root string, o Options) (*Listing, error) {
	abs, err := Root(root)
	if err != nil {
		return nil, err
	}
	s := &scan{root: abs, large: cmp.Or(o.Large, Large), options: o}
	s.idle.L = &s.mu
	first := directory{git: openGit(abs)}
	first.ignore, s.gaps = first.git.ignore, first.git.gaps
	if first.module = s.moduleAbove(first.git); first.module != nil {
		s.modules = append(s.modules, first.module)
	}
	s.todo, s.pending = []directory{first}, 1

	var wg sync.WaitGroup
	for range min(max(2*runtime.GOMAXPROCS(0), 4), 16) {
		wg.Go(s.work)
	}
	wg.Wait()
	return s.listing()
}

// Root returns the root that [Scan] gives the listing of a directory.
func Root(root string) (string, error) {
	abs, err := filepath.Abs(root)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", fmt.Errorf("list Go files: %w", err)
	}
	if info, err := os.Stat(abs); err != nil {
		return "", fmt.Errorf("list Go files: %w", err)
	} else if !info.IsDir() {
		return "", fmt.Errorf("list Go files: %s is not a directory", root)
	}
	return abs, nil
}

// scan is one call of Scan.
type scan struct {
	root    string
	large   int64
	options Options

	mu      sync.Mutex
	idle    sync.Cond
	todo    []directory // the last one is next
	pending int         // directories that are in todo or being read

	files   []found
	modules []*module
	spaces  []*workspace
	gaps    []Gap
	dirs    dirReader
	failed  error // reading the root
}

// directory is one still to read, with what its parents say of it.
type directory struct {
	path   string // slash path below the root; "" is the root
	module *module
	ignore *ignoreFile
	git    *repository
	// unscoped is below "vendor": the import path begins there
	unscoped  string
	class     Class
	workspace bool   // a go.work is above, or here
	pkg       string // import path; "": not asked for yet
}

// found is an entry whose module has no number yet.
type found struct {
	Entry
	module *module
}

// work reads directories until none is left.
func (s *scan) work() {
	var part scan // what this goroutine found
	for {
		s.mu.Lock()
		for len(s.todo) == 0 && s.pending > 0 {
			s.idle.Wait()
		}
		if s.pending == 0 {
			s.files = append(s.files, part.files...)
			s.modules = append(s.modules, part.modules...)
			s.spaces = append(s.spaces, part.spaces...)
			s.gaps = append(s.gaps, part.gaps...)
			s.mu.Unlock()
			return
		}
		d := s.todo[len(s.todo)-1]
		s.todo = s.todo[:len(s.todo)-1]
		s.mu.Unlock()

		below := s.read(d, &part)

		s.mu.Lock()
		s.todo = append(s.todo, below...)
		s.pending += len(below) - 1
		if len(below) > 0 || s.pending == 0 {
			s.idle.Broadcast()
		}
		s.mu.Unlock()
	}
}

// read lists one directory into part, and returns those below it.
func (s *scan) read(d directory, part *scan) (below []directory) {
	list, err := part.dirs.read(s.disk(d.path))
	if err != nil {
		if d.path == "" {
			s.mu.Lock()
			s.failed = err
			s.mu.Unlock()
		} else if !errors.Is(err, fs.ErrNotExist) { // deleted since
			part.gap(d.path, err)
		}
		return nil // of a directory that was read in part, nothing is sure
	}
	if !s.prepare(&d, list, part) {
		return nil
	}
	for i := range list {
		switch e := &list[i]; {
		case e.kind.IsDir():
			b, ok := s.enter(d, e.name)
			if ok && len(b.path) > LongPath {
				part.gap(b.path, fmt.Errorf("its path has more than %d bytes, so it is left out", LongPath))
			} else if ok {
				below = append(below, b)
			}
		case e.isGo():
			s.file(&d, e, part)
		}
	}
	return below
}

// prepare reads what a directory says of itself and all below it: .git, .gitignore, go.mod,
// go.work. It returns false for a directory to leave out.
func (s *scan) prepare(d *directory, list []dirEntry, part *scan) bool {
	var has map[string]bool
	for _, e := range list {
		switch e.name {
		case ".git", ".gitignore", "go.mod", "go.work":
			if e.kind.IsRegular() || e.name == ".git" && e.kind.IsDir() {
				if has == nil {
					has = map[string]bool{}
				}
				has[e.name] = true
			}
		}
	}
	if has[".git"] && d.path != "" && !d.class.Ignored {
		dir := s.disk(d.path)
		git := openGit(dir)
		if git.top == dir && git.worktree {
			part.gaps = append(part.gaps, Gap{d.path, "it is another working tree of a git repository, index it on its own"})
			return false
		}
		if git.top == dir { // a submodule, or a clone inside of this one
			git.below = d.path
			d.git, d.ignore = git, git.ignore
			part.gaps = append(part.gaps, git.gaps...)
		}
	}
	if has[".gitignore"] {
		if text, err := readSmall(filepath.Join(s.disk(d.path), ".gitignore")); err != nil {
			part.gap(join(d.path, ".gitignore"), err)
		} else {
			ignore := parseIgnore(text, d.git.dirOf(d.path), d.ignore)
			if g, ok := ignore.gap(join(d.path, ".gitignore")); ok && ignore != d.ignore {
				part.gaps = append(part.gaps, g)
			}
			d.ignore = ignore
		}
	}
	if d.class.Vendored {
		return true // go.mod files in there were copied along
	}
	if has["go.work"] {
		d.workspace = true
		s.goWork(d.path, part)
	}
	if has["go.mod"] {
		d.module = s.goMod(d.path, d.class.Testdata, part)
	}
	return true
}

// enter returns the directory of a name in d, unless it is left out.
func (s *scan) enter(d directory, name string) (directory, bool) {
	if name == ".git" {
		return d, false
	}
	b := d
	b.path = join(d.path, name)
	if !b.class.Ignored && b.ignore.ignores(d.git.dirOf(d.path)+name, true) {
		switch {
		case s.options.Ignored:
			b.class.Ignored = true
		case !d.git.tracksBelow(d.git.dirOf(d.path) + name):
			return d, false
		default:
			b.class.Ignored = true // what is in git's index is not
		}
	}
	switch {
	case name == "vendor" && (d.module == nil || d.module.at(d.path) || d.workspace):
		b.class.Vendored = true
		b.unscoped = b.path
	case name == "testdata", name[0] == '.', name[0] == '_':
		b.class.Testdata = true
	}
	b.workspace, b.pkg = false, ""
	return b, true
}

// file adds a Go file of d to part.
func (s *scan) file(d *directory, e *dirEntry, part *scan) {
	name := e.name
	at := join(d.path, name)
	if e.kind&fs.ModeSymlink != 0 && e.err == nil {
		var info fs.FileInfo
		if info, e.err = s.linked(at); e.err == nil {
			e.kind, e.size, e.time = info.Mode().Type(), info.Size(), Changed(info)
		}
	}
	switch {
	case errors.Is(e.err, fs.ErrNotExist): // a link to nothing
		return
	case e.err != nil:
		part.gap(at, e.err)
		return
	case !e.kind.IsRegular():
		return
	}
	f := found{Entry{Path: at, Size: e.size, Time: e.time, Class: d.class}, d.module}
	if !f.Ignored {
		f.Ignored = d.ignore.ignores(d.git.dirOf(d.path)+name, false)
	}
	if f.Ignored {
		f.Ignored = !d.git.tracks(d.git.dirOf(d.path) + name)
		if f.Ignored && !s.options.Ignored {
			return
		}
	}
	f.Test = strings.HasSuffix(name, "_test.go")
	f.Testdata = f.Testdata || name[0] == '.' || name[0] == '_'
	f.TooLarge = f.Size > s.large
	f.Platform = platform(name)
	if d.pkg == "" {
		d.pkg = d.importPath()
	}
	f.Package = d.pkg
	part.files = append(part.files, f)
}

func (d *directory) importPath() string {
	switch {
	case d.unscoped != "":
		return strings.TrimPrefix(strings.TrimPrefix(d.path, d.unscoped), "/")
	case d.module == nil:
		return cmp.Or(d.path, ".")
	}
	return d.module.packageAt(d.path)
}

// linked returns what a link leads to, if that is below the root.
func (s *scan) linked(at string) (fs.FileInfo, error) {
	target, err := filepath.EvalSymlinks(s.disk(at))
	if err != nil {
		return nil, err
	}
	if rel, err := filepath.Rel(s.root, target); err != nil || !filepath.IsLocal(rel) {
		return nil, errors.New("the link leads out of the repository")
	}
	return os.Stat(target)
}

func (s *scan) gap(path string, err error) {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	s.gaps = append(s.gaps, Gap{path, err.Error()})
}

// listing puts together what the goroutines found.
func (s *scan) listing() (*Listing, error) {
	if s.failed != nil {
		return nil, fmt.Errorf("list Go files: %w", s.failed)
	}
	l := &Listing{Root: s.root, Gaps: s.gaps}
	s.applyWorkspaces()
	slices.SortFunc(s.modules, func(a, b *module) int { return strings.Compare(a.Dir, b.Dir) })
	for i, m := range s.modules {
		m.number = i
		l.Modules = append(l.Modules, m.Module)
	}
	order := make([]*found, len(s.files)) // moving them takes longer than comparing
	for i := range s.files {
		order[i] = &s.files[i]
	}
	slices.SortFunc(order, func(a, b *found) int { return strings.Compare(a.Path, b.Path) })
	l.Files = make([]Entry, len(order))
	for i, f := range order {
		l.Files[i] = f.Entry
		l.Files[i].Module = -1
		if f.module != nil {
			l.Files[i].Module = f.module.number
		}
	}
	slices.SortFunc(l.Gaps, func(a, b Gap) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.What, b.What))
	})
	return l, nil
}

// disk is a slash path below the root as the file system has it.
func (s *scan) disk(path string) string { return filepath.Join(s.root, filepath.FromSlash(path)) }

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
