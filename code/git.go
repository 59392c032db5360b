package code

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// repository is the git repository that files are in, as far as it says what is ignored.
type repository struct {
	top      string // absolute path of the working tree; "" outside of all
	below    string // path of the working tree below the scan's root; "" if it is that or a parent
	prefix   string // path of the scan's root below the working tree, with "/" behind it
	ignore   *ignoreFile
	gaps     []Gap
	worktree bool   // made by "git worktree add"
	private  string // the tree's own part of ".git"
	sha256   bool   // object names are longer than usual

	once    sync.Once
	tracked []string // paths in the index, sorted
}

// openGit finds the repository of a directory: what it says itself, and the ignore files
// of the directories above.
func openGit(dir string) *repository {
	r := &repository{}
	for top := dir; ; top = filepath.Dir(top) {
		if r.open(top) {
			r.top = top
			break
		}
		if filepath.Dir(top) == top {
			return r
		}
	}
	if rel, err := filepath.Rel(r.top, dir); err == nil && rel != "." {
		r.prefix = filepath.ToSlash(rel) + "/"
	}
	// Those above the directory; its own is read when it is listed.
	for i := 0; i < len(r.prefix); i++ {
		if i == 0 || r.prefix[i-1] == '/' {
			if text, err := readSmall(filepath.Join(r.top, filepath.FromSlash(r.prefix[:i]), ".gitignore")); err == nil {
				r.exclude(text, r.prefix[:i], filepath.Join(r.top, filepath.FromSlash(r.prefix[:i]), ".gitignore"))
			}
		}
	}
	return r
}

// open reports whether top is a working tree, and reads its info/exclude.
func (r *repository) open(top string) bool {
	at := filepath.Join(top, ".git")
	info, err := os.Stat(at)
	if err != nil {
		return false
	}
	r.private = at
	if !info.IsDir() { // "gitdir: PATH"
		text, err := readSmall(at)
		to, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
		if err != nil || !ok {
			return false
		}
		r.private = within(top, to)
	}
	if !exists(filepath.Join(r.private, "HEAD")) {
		return false
	}
	common := r.private
	if text, err := readSmall(filepath.Join(r.private, "commondir")); err == nil {
		common = within(r.private, strings.TrimSpace(string(text)))
		r.worktree = true
	}
	if text, err := readSmall(filepath.Join(common, "config")); err == nil {
		r.sha256 = bytes.Contains(bytes.ToLower(text), []byte("objectformat = sha256"))
	}
	if text, err := readSmall(filepath.Join(common, "info", "exclude")); err == nil {
		r.exclude(text, "", filepath.Join(common, "info", "exclude"))
	}
	return true
}

// exclude reads an ignore file that is not below the directory.
func (r *repository) exclude(text []byte, dir, file string) {
	outer := r.ignore
	r.ignore = parseIgnore(text, dir, outer)
	if g, ok := r.ignore.gap(file); ok && r.ignore != outer {
		r.gaps = append(r.gaps, g)
	}
}

func within(dir, path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// dirOf is a directory below the scan's root as a path below the working tree, with "/" behind it,
// or "".
func (r *repository) dirOf(dir string) string {
	if r.below != "" {
		dir = strings.TrimPrefix(strings.TrimPrefix(dir, r.below), "/")
	}
	if dir != "" {
		dir += "/"
	}
	return r.prefix + dir
}

// tracks reports whether a path is in git's index, which keeps it from being ignored: a
// line "app" in .gitignore, that means a program, also names the directory cmd/app.
func (r *repository) tracks(path string) bool {
	r.once.Do(r.readIndex)
	_, ok := slices.BinarySearch(r.tracked, path)
	return ok
}

// tracksBelow reports whether a path in a directory is in git's index.
func (r *repository) tracksBelow(dir string) bool {
	r.once.Do(r.readIndex)
	i, _ := slices.BinarySearch(r.tracked, dir+"/")
	return i < len(r.tracked) && strings.HasPrefix(r.tracked[i], dir+"/")
}

// largeIndex is more than an index has: that of linux, with 90,000 files, has 9 MB.
const largeIndex = 1 << 30

func (r *repository) readIndex() {
	if r.private == "" {
		return
	}
	text, err := ReadRegular(filepath.Join(r.private, "index"), largeIndex)
	if err != nil {
		return // of a repository without a commit, or a bare one
	}
	names := 20
	if r.sha256 {
		names = 32
	}
	r.tracked, _ = indexPaths(text, names)
	slices.Sort(r.tracked) // is, but for damaged ones
}

var errIndex = errors.New("the index of git does not have the known form")

// indexPaths returns the paths of Go files in git's index (gitformat-index, versions 2 to 4), whose names of objects have a length.
func indexPaths(text []byte, names int) ([]string, error) {
	if len(text) < 12 || string(text[:4]) != "DIRC" {
		return nil, errIndex
	}
	version, entries := binary.BigEndian.Uint32(text[4:]), binary.BigEndian.Uint32(text[8:])
	if version < 2 || version > 4 {
		return nil, errIndex
	}
	var out []string
	var path []byte
	at := 12
	for range entries {
		start := at
		at += 42 + names // times and numbers, the object, flags
		if at > len(text) {
			return out, errIndex
		}
		if version > 2 && text[at-2]&0x40 != 0 {
			at += 2 // more flags
		}
		if version == 4 { // the path drops some of the end of that before
			drop, n := indexNumber(text[min(at, len(text)):])
			if n == 0 || drop > len(path) {
				return out, errIndex
			}
			at += n
			path = path[:len(path)-drop]
		} else {
			path = path[:0]
		}
		if at > len(text) {
			return out, errIndex
		}
		end := bytes.IndexByte(text[at:], 0)
		if end < 0 {
			return out, errIndex
		}
		path = append(path, text[at:at+end]...)
		at += end + 1
		if version < 4 {
			at = start + (at-1-start+8)&^7
		}
		if bytes.HasSuffix(path, []byte(".go")) {
			out = append(out, string(path))
		}
	}
	return out, nil
}

// indexNumber reads a number as git writes offsets, and says how many bytes it has; 0 if
// it does not end.
func indexNumber(text []byte) (value, n int) {
	for n < len(text) && n < 5 {
		c := text[n]
		n++
		value = value<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return value, n
		}
		value++
	}
	return 0, 0
}
