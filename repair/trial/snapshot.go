package trial

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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

	"tracerag/repair/patch"
)

// entry is what a file of a snapshot is.
type entry struct {
	mode fs.FileMode // permissions, and whether it is a link
	hash string      // of the text, or of a link's target
}

// snapshot is a copy of a tree that nothing runs in, and what each file of it is. The copies in
// which candidates run are made of it and held against it.
type snapshot struct {
	dir   string // the copy
	files map[string]entry
	names []string // ascending
	hash  string   // of all of it
}

// take copies a tree.
func take(ctx context.Context, t *tree, dir string) (*snapshot, error) {
	s := &snapshot{dir: dir, files: map[string]entry{}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, full(err, dir)
	}
	for _, name := range t.files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		from, to := filepath.Join(t.root, filepath.FromSlash(name)), filepath.Join(dir, filepath.FromSlash(name))
		e, err := copyFile(from, to, t.root)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("trial: copying %s: %w", name, full(err, dir))
		}
		if e.mode&fs.ModeSymlink == 0 {
			// A copy is no change: sources are older than what was built of them, whenever that was.
			_ = os.Chtimes(to, time.Unix(0, 0), time.Unix(0, 0))
		}
		s.files[name] = e
		s.names = append(s.names, name)
	}
	slices.Sort(s.names)
	h := sha256.New()
	for _, name := range s.names {
		e := s.files[name]
		// git keeps no other permission than that to execute
		fmt.Fprintf(h, "%q %v %v %s\n", name, e.mode&fs.ModeSymlink != 0, e.mode&0o100 != 0, e.hash)
	}
	s.hash = hex.EncodeToString(h.Sum(nil))
	return s, nil
}

// copyFile copies a file or a link with its permissions, and says what it is. A link to a
// file of the tree below root by its whole path leads to the copy of it; never into the
// user's tree.
func copyFile(from, to, root string) (entry, error) {
	info, err := os.Lstat(from)
	if err != nil {
		return entry{}, err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return entry{}, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return entry{}, err
		}
		target = linkTarget(from, to, target, root)
		return entry{mode: fs.ModeSymlink, hash: hashOf([]byte(target))}, os.Symlink(target, to)
	}
	in, err := os.Open(from)
	if err != nil {
		return entry{}, err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return entry{}, err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), in)
	err = errors.Join(err, out.Close(), os.Chmod(to, info.Mode().Perm()))
	return entry{mode: info.Mode().Perm(), hash: hex.EncodeToString(h.Sum(nil))}, err
}

// linkTarget is where the copy of a link leads.
func linkTarget(from, to, target, root string) string {
	whole := target
	if !filepath.IsAbs(whole) {
		whole = filepath.Join(filepath.Dir(from), target)
	}
	within, err := filepath.Rel(root, whole)
	if err != nil || !filepath.IsLocal(within) {
		return whole // out of the tree: as before
	}
	if !filepath.IsAbs(target) {
		return target
	}
	fromRoot, err := filepath.Rel(root, filepath.Dir(from))
	if err != nil {
		return whole
	}
	rel, err := filepath.Rel(filepath.Join("/", fromRoot), filepath.Join("/", within))
	if err != nil {
		return whole
	}
	return rel
}

// ScratchChanged is the error of a snapshot that something wrote into.
type ScratchChanged struct{ File string }

func (e *ScratchChanged) Error() string {
	return fmt.Sprintf("trial: something wrote into the scratch directory: %s isn't what was copied there; start again", e.File)
}

// state is what the files of a copy should be: those of the snapshot with a patch.
type state struct {
	*snapshot
	changed map[string]*patch.File
}

func (s *snapshot) with(p patch.Patch) state {
	st := state{snapshot: s, changed: map[string]*patch.File{}}
	for i := range p.Files {
		st.changed[p.Files[i].Name] = &p.Files[i]
	}
	return st
}

// want is what a file should be.
func (s state) want(name string) (entry, bool) {
	e, ok := s.files[name]
	if f := s.changed[name]; f != nil {
		if f.After == nil {
			return entry{}, false
		}
		if !ok {
			e.mode = 0o644
		}
		e.hash = hashOf(f.After)
		return e, true
	}
	return e, ok
}

// settle restores the files below dir after a run. It reads each file: a program that writes one can
// restore its size and time.
func (s state) settle(ctx context.Context, dir string) error {
	seen := map[string]bool{}
	parents := map[string]bool{".": true}
	expect := func(name string) {
		for d := path.Dir(name); !parents[d]; d = path.Dir(d) {
			parents[d] = true
		}
	}
	for _, name := range s.names {
		if _, ok := s.want(name); ok {
			expect(name)
		}
	}
	for name := range s.changed {
		if _, ok := s.want(name); ok {
			expect(name)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return full(err, dir)
	}
	if err := s.clean(ctx, dir, ".", parents, seen); err != nil {
		return fmt.Errorf("trial: %w", full(err, dir))
	}
	for _, name := range s.names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.put(dir, name, seen); err != nil {
			return err
		}
	}
	for name := range s.changed {
		if err := s.put(dir, name, seen); err != nil {
			return err
		}
	}
	return nil
}

// clean removes what should not be there, and notes what is there as it should be.
func (s state) clean(ctx context.Context, dir, below string, parents, seen map[string]bool) error {
	entries, err := os.ReadDir(filepath.Join(dir, below))
	if errors.Is(err, fs.ErrPermission) {
		_ = os.Chmod(filepath.Join(dir, below), 0o755)
		entries, err = os.ReadDir(filepath.Join(dir, below))
	}
	if err != nil {
		return err
	}
	if info, err := os.Lstat(filepath.Join(dir, below)); err == nil && info.Mode().Perm()&0o700 != 0o700 {
		_ = os.Chmod(filepath.Join(dir, below), 0o755)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(below, e.Name())
		file := filepath.Join(dir, filepath.FromSlash(name))
		if e.IsDir() {
			if parents[name] {
				err = s.clean(ctx, dir, name, parents, seen)
			} else {
				err = removeAll(file)
			}
		} else if want, ok := s.want(name); ok && is(file, want) {
			seen[name] = true
		} else {
			err = os.Remove(file)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// is reports whether a file is what it should be.
func is(file string, want entry) bool {
	info, err := os.Lstat(file)
	if err != nil {
		return false
	}
	if want.mode&fs.ModeSymlink != 0 {
		target, err := os.Readlink(file)
		return err == nil && hashOf([]byte(target)) == want.hash
	}
	if !info.Mode().IsRegular() || info.Mode().Perm() != want.mode {
		return false
	}
	// An unreadable file differs: it could not have been copied.
	data, err := os.ReadFile(file)
	return err == nil && hashOf(data) == want.hash
}

// put writes a file that is not there as it should be.
func (s state) put(dir, name string, seen map[string]bool) error {
	want, ok := s.want(name)
	if !ok || seen[name] {
		return nil
	}
	seen[name] = true
	to := filepath.Join(dir, filepath.FromSlash(name))
	if f := s.changed[name]; f != nil {
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return fmt.Errorf("trial: %w", full(err, dir))
		}
		err := os.WriteFile(to, f.After, 0o600)
		if err = errors.Join(err, os.Chmod(to, want.mode)); err != nil {
			return fmt.Errorf("trial: %w", full(err, dir))
		}
		return nil
	}
	got, err := copyFile(filepath.Join(s.dir, filepath.FromSlash(name)), to, s.dir)
	if err != nil {
		return fmt.Errorf("trial: copying %s: %w", name, full(err, dir))
	}
	if got != want {
		return &ScratchChanged{name}
	}
	return nil
}

// check refuses a patch of another state than the snapshot's, or of files that are not in the tree.
func (s *snapshot) check(p patch.Patch) error {
	seen := map[string]bool{}
	for _, f := range p.Files {
		switch {
		case !filepath.IsLocal(filepath.FromSlash(f.Name)) || path.Clean(f.Name) != f.Name || strings.Contains(f.Name, "\\") || strings.ContainsRune(f.Name, 0):
			return fmt.Errorf("%q is not the name of a file in the tree", f.Name)
		case seen[f.Name]:
			return fmt.Errorf("%s is in the change twice", f.Name)
		}
		seen[f.Name] = true
		for d := path.Dir(f.Name); d != "."; d = path.Dir(d) {
			if _, ok := s.files[d]; ok {
				return fmt.Errorf("%s: %s is not a directory", f.Name, d)
			}
		}
		e, ok := s.files[f.Name]
		switch {
		case ok && e.mode&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a link: name the file that it leads to", f.Name)
		case ok && f.Before == nil:
			return fmt.Errorf("%s is there already", f.Name)
		case !ok && f.Before != nil:
			return fmt.Errorf("%s is not in the tree", f.Name)
		case ok && hashOf(f.Before) != e.hash:
			return fmt.Errorf("%s is not as the change says that it was", f.Name)
		case !ok && s.isDirectory(f.Name):
			return fmt.Errorf("%s is a directory", f.Name)
		}
	}
	return nil
}

func (s *snapshot) isDirectory(name string) bool {
	i, _ := slices.BinarySearch(s.names, name+"/")
	return i < len(s.names) && strings.HasPrefix(s.names[i], name+"/")
}

// empty reports whether a patch changes nothing.
func empty(p patch.Patch) bool {
	return !slices.ContainsFunc(p.Files, func(f patch.File) bool {
		return (f.Before == nil) != (f.After == nil) || !bytes.Equal(f.Before, f.After)
	})
}
