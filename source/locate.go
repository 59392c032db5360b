package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxFile is the size above which a file is not read. The largest Go files in
// use, generated tables, have a few MiB.
const maxFile = 16 << 20

// place is a file that a function may be in.
type place struct {
	path    string // on disk
	root    string // the file must lie below, symbolic links followed; "": anywhere
	display string
	mutable bool   // may have been edited since the build
	note    string // a warning that goes with every text from here
	guess   bool   // found by a part of its name only; note says so
	owner   owner
}

// sibling is another file of the same directory.
func (pl place) sibling(name string) place {
	pl.path = filepath.Join(filepath.Dir(pl.path), name)
	pl.display = path.Join(path.Dir(pl.display), name)
	return pl
}

// candidates lists the places of a file in the order in which to try them.
func (p *places) candidates(o owner, name string) []place {
	var list []place
	add := func(root, rel string, mutable bool, note string) {
		if root == "" || !filepath.IsLocal(filepath.FromSlash(rel)) {
			return
		}
		list = append(list, place{
			path:    filepath.Join(root, filepath.FromSlash(rel)),
			root:    root,
			display: o.display(),
			mutable: mutable,
			note:    note,
			owner:   o,
		})
	}
	if file := filepath.FromSlash(name); filepath.IsAbs(file) && !p.inGoroot(file) {
		_, cached := below(p.GOMODCACHE, file)
		list = append(list, place{path: file, display: o.display(), mutable: !cached && o.kind != stdOwner, owner: o})
	}

	switch o.kind {
	case stdOwner:
		for _, g := range p.goroots {
			// Also for an absolute name: the release at that place may
			// have changed since, and another place have the right one.
			add(filepath.Join(g.dir, "src"), o.rel, false, p.releaseNote(g))
		}
		for _, root := range p.Roots {
			add(root, o.rel, true, "")
			add(filepath.Join(root, "src"), o.rel, true, "")
		}
	case mainOwner:
		if o.pinned {
			add(p.cacheDir(o.mod), o.rel, false, "")
			add(p.mainDir, o.rel, true, fmt.Sprintf("%s is from a working copy of %s, while the program was built from version %s",
				o.rel, o.mod.Path, o.mod.Version))
		} else {
			add(p.mainDir, o.rel, true, "")
			add(p.cacheDir(o.mod), o.rel, false, "")
		}
		p.addRoots(o, add)
	case depOwner:
		// A vendor directory that is there is also what the go command
		// builds from, unless told otherwise.
		add(p.mainDir, path.Join("vendor", o.mod.Path, o.rel), true, "")
		add(p.replaceDir(o.mod), o.rel, true, "")
		add(p.cacheDir(o.mod), o.rel, false, "")
		p.addRoots(o, add)
	}
	return list
}

// addRoots looks for a module's file in the directories that the user named.
func (p *places) addRoots(o owner, add func(root, rel string, mutable bool, note string)) {
	for _, root := range p.Roots {
		if m := p.moduleAbove(root); m.path == o.mod.Path {
			add(m.dir, o.rel, true, "")
		}
		if dir, ok := below(p.GOMODCACHE, p.cacheDir(o.mod)); ok {
			add(root, path.Join(dir, o.rel), false, "")
		}
		add(root, path.Join(o.mod.Path, o.rel), true, "")
	}
}

// bySuffix looks for a file where neither its path nor its package says where
// it is: the end of its path, as long as possible, below a directory that is
// being worked in. Unless the whole relative name is there, that is a guess and
// says so. It is the last resort for a binary from another machine, where the
// copy of an inlined function's literal has the package of the copy.
func (p *places) bySuffix(name string) []place {
	roots := slices.Concat([]string{p.Dir, p.mainDir}, p.Roots)
	for _, m := range p.modules[min(1, len(p.modules)):] {
		roots = append(roots, p.replaceDir(m))
	}
	var list []place
	rel := strings.TrimPrefix(name, "/")
	if isAbsolute(rel) {
		rel = rel[len("C:/"):]
	}
	whole := rel == name
	// The package that "go build file.go" makes up.
	rel, ok := strings.CutPrefix(rel, "command-line-arguments/")
	whole = whole || ok
	for more := filepath.IsLocal(filepath.FromSlash(rel)); more; {
		for _, root := range roots {
			if root == "" {
				continue
			}
			pl := place{
				path:    filepath.Join(root, filepath.FromSlash(rel)),
				root:    root,
				mutable: true,
			}
			pl.owner = p.ownerOfPath(filepath.ToSlash(pl.path))
			pl.display = pl.owner.display()
			if !whole {
				pl.guess = true
				pl.note = fmt.Sprintf("%s was taken for the file that the binary names %s, by the end of its path", pl.display, name)
			}
			list = append(list, pl)
		}
		_, rel, more = strings.Cut(rel, "/")
		whole = false
	}
	return list
}

func (p *places) inGoroot(file string) bool {
	for _, g := range p.goroots {
		if _, ok := below(filepath.Join(g.dir, "src"), file); ok {
			return true
		}
	}
	return false
}

// releaseNote warns of a GOROOT whose release is not the binary's.
func (p *places) releaseNote(g goroot) string {
	if v := p.release(); v != "" && g.version != "" && g.version != v {
		return fmt.Sprintf("the standard library here is of %s, the program was built with %s", g.version, v)
	}
	return ""
}

// missing says why none of a file's places has it, and the way out.
func (p *places) missing(o owner, name string) string {
	give := "give the directory that holds it as an extra source directory"
	if p.RootsBy != "" {
		give += " (" + p.RootsBy + ")"
	}
	switch o.kind {
	case stdOwner:
		return fmt.Sprintf("%s is not in any GOROOT on this machine: set GOROOT to that of %s", o.display(), orElse(p.release(), "the release that built the program"))
	case mainOwner, depOwner:
		cache := p.cacheDir(o.mod)
		if cache == "" || o.kind == mainOwner && !o.pinned {
			return fmt.Sprintf("%s of module %s is not on this machine: %s", o.rel, o.mod.Path, give)
		}
		m := o.mod
		if m.ReplacePath != "" {
			m.Path, m.Version = m.ReplacePath, m.ReplaceVersion
		}
		if fi, err := os.Stat(cache); err == nil && fi.IsDir() {
			return fmt.Sprintf("module %s@%s has no file %s", m.Path, m.Version, o.rel)
		}
		return fmt.Sprintf("%s is not in the module cache: \"go mod download %s@%s\" brings it", o.display(), m.Path, m.Version)
	}
	return fmt.Sprintf("source file %s is not on this machine: %s", name, give)
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

var errNotRegular = errors.New("not a regular file")

// readRegular reads a regular file of at most maxFile bytes. With a root, the
// file must lie below it, where no symbolic link may lead out again: a binary's
// file names, and the repository that it was built from, are somebody else's.
func readRegular(root, name string) ([]byte, time.Time, error) {
	// Before opening: to open a named pipe would block.
	fi, err := os.Stat(name)
	if err != nil {
		return nil, time.Time{}, err
	}
	if !fi.Mode().IsRegular() {
		return nil, time.Time{}, &fs.PathError{Op: "read", Path: name, Err: errNotRegular}
	}
	var f *os.File
	if root == "" {
		f, err = os.Open(name)
	} else {
		rel, ok := below(root, name)
		if !ok {
			return nil, time.Time{}, &fs.PathError{Op: "read", Path: name, Err: fs.ErrPermission}
		}
		f, err = os.OpenInRoot(root, filepath.FromSlash(rel))
	}
	if err != nil {
		return nil, time.Time{}, err
	}
	defer f.Close()
	b := bytes.NewBuffer(make([]byte, 0, min(fi.Size(), maxFile)+bytes.MinRead)) // so that it need not grow
	_, err = b.ReadFrom(io.LimitReader(f, maxFile+1))
	if err == nil && b.Len() > maxFile {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("larger than %d MiB", maxFile>>20)}
	}
	return b.Bytes(), fi.ModTime(), err
}
