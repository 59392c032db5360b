package patch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Write writes all files of the Patch in a directory, or none. First it compares every file with the
// Patch's Before, and names those that differ. Modes are kept. os.Root keeps every step inside the
// directory, even if links change meanwhile.
func (p *Patch) Write(dir string) error {
	t, err := openTree(dir)
	if err != nil {
		return err
	}
	if err := p.asBefore(t); err != nil {
		return err
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return fmt.Errorf("can't open the tree: %w", err)
	}
	defer root.Close()
	w := &writing{root: root}
	if err := w.all(p, t); err != nil {
		return errors.Join(err, w.back())
	}
	w.done()
	return nil
}

// asBefore refuses files that are not as the Patch has them before.
func (p *Patch) asBefore(t *tree) error {
	var errs []error
	for i, f := range p.Files {
		name, err := t.inside(f.Name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		conflict := func(what string) { errs = append(errs, &Error{Kind: Conflict, File: f.Name, What: what}) }
		if name != f.Name || i > 0 && p.Files[i-1].Name >= name {
			conflict("the patch does not have its files in order, each once")
			continue
		}
		now, err := t.read(name)
		switch {
		case err != nil:
			errs = append(errs, err)
		case f.Before == nil && now != nil:
			conflict("it is to be a new file, and it exists")
		case f.Before != nil && now == nil:
			conflict("it no longer exists")
		case !bytes.Equal(f.Before, now):
			conflict("it has changed since the patch was made")
		}
	}
	return errors.Join(errs...)
}

// writing is what was done so far.
type writing struct {
	root  *os.Root
	steps []step
	dirs  []string // made, outermost first
}

// step is a file on its way: written beside its place, then put there by a rename.
type step struct {
	name, fresh, old string // fresh and old are the files beside it; "" if there is none
	put              bool
}

func beside(name string) string { return fmt.Sprintf("%s.%08x.new", name, rand.Uint32()) }

func (w *writing) all(p *Patch, t *tree) error {
	for _, f := range p.Files {
		if err := w.prepare(f); err != nil {
			return fmt.Errorf("can't write %s: %w", f.Name, err)
		}
	}
	if err := p.asBefore(t); err != nil { // what another process wrote meanwhile must not be lost
		return err
	}
	for i := range w.steps {
		if err := w.replace(&w.steps[i]); err != nil {
			return fmt.Errorf("can't write %s: %w", w.steps[i].name, err)
		}
	}
	return nil
}

// prepare writes the new text and a copy of the old one beside the file. A full disk or a missing
// permission shows here, before any file is changed.
func (w *writing) prepare(f File) error {
	name := filepath.FromSlash(f.Name)
	mode := fs.FileMode(0o666)
	w.steps = append(w.steps, step{name: name})
	s := &w.steps[len(w.steps)-1]
	if f.Before == nil {
		if err := w.mkdir(path.Dir(f.Name)); err != nil {
			return err
		}
	} else {
		info, err := w.root.Lstat(name)
		if err != nil {
			return err
		}
		mode = info.Mode().Perm()
		old := beside(name)
		if err := w.root.Link(name, old); err == nil {
			s.old = old
		} else if err := w.copy(f.Before, old, mode); err == nil { // a file system without hard links
			s.old = old
		} else {
			return err
		}
	}
	if f.After == nil {
		return nil
	}
	fresh := beside(name)
	s.fresh = fresh
	return w.copy(f.After, fresh, mode)
}

// copy writes a file to the disk.
func (w *writing) copy(text []byte, name string, mode fs.FileMode) error {
	f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if mode != 0o666 { // that of a new file is as the user's mask has it
		err = errors.Join(err, f.Chmod(mode))
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, w.root.Remove(name))
	}
	return nil
}

func (w *writing) mkdir(dir string) error {
	var missing []string
	for dir != "." && dir != "/" {
		if _, err := w.root.Lstat(filepath.FromSlash(dir)); err == nil {
			break
		}
		missing = append(missing, dir)
		dir = path.Dir(dir)
	}
	for _, d := range slices.Backward(missing) {
		if err := w.root.Mkdir(filepath.FromSlash(d), 0o777); err != nil {
			return err
		}
		w.dirs = append(w.dirs, d)
	}
	return nil
}

func (w *writing) replace(s *step) error {
	if s.fresh == "" {
		if err := w.root.Remove(s.name); err != nil {
			return err
		}
	} else if err := w.root.Rename(s.fresh, s.name); err != nil {
		return err
	}
	s.put = true
	return nil
}

// back undoes what was done.
func (w *writing) back() error {
	var errs []error
	for _, s := range slices.Backward(w.steps) {
		switch {
		case s.put && s.old != "":
			if err := w.root.Rename(s.old, s.name); err != nil {
				errs = append(errs, fmt.Errorf("%s could not be restored, and is in %s: %w", s.name, s.old, err))
			}
			continue
		case s.put:
			errs = append(errs, w.root.Remove(s.name))
		case s.fresh != "":
			_ = w.root.Remove(s.fresh)
		}
		if s.old != "" {
			_ = w.root.Remove(s.old)
		}
	}
	for _, d := range slices.Backward(w.dirs) {
		_ = w.root.Remove(filepath.FromSlash(d))
	}
	return errors.Join(errs...)
}

// done removes the old files.
func (w *writing) done() {
	for _, s := range w.steps {
		if s.old != "" {
			_ = w.root.Remove(s.old)
		}
	}
}
