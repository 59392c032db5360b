package patch

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// ReadDiff makes a Patch of a diff for the tree in a directory, as git diff, diff -u and agents write
// them, and writes nothing. A hunk whose lines are elsewhere is used if that place is the only one.
// A file that is renamed is removed and added. What a Patch can't say is refused by name:
// binary files, changed modes, copies.
func ReadDiff(dir string, text []byte) (*Patch, error) {
	t, err := openTree(dir)
	if err != nil {
		return nil, err
	}
	bad := func(file, what string) error { return &Error{Kind: BadDiff, File: file, What: what} }
	files, _, err := gitdiff.Parse(bytes.NewReader(plainDiff(text)))
	if err != nil {
		return nil, bad("", "the diff does not parse: "+strings.TrimPrefix(err.Error(), "gitdiff: "))
	}
	if len(files) == 0 && bytes.Contains(text, []byte("\x1b[")) {
		return nil, bad("", "the text has no diff but in colours: write it with --no-color")
	}
	if len(files) == 0 {
		return nil, bad("", "the text has no diff")
	}
	done := map[string]*File{}
	put := func(f File) error {
		if done[f.Name] != nil {
			return bad(f.Name, "the diff changes it twice")
		}
		done[f.Name] = &f
		return nil
	}
	for _, f := range files {
		oldName, newName, err := t.sides(f)
		if err != nil {
			return nil, err
		}
		name := newName
		if name == "" {
			name = oldName
		}
		switch {
		case f.IsBinary:
			return nil, bad(name, "it is binary: only text can be changed")
		case f.IsCopy:
			return nil, bad(name, "it is a copy of "+oldName+": write the diff with --no-renames")
		case oldName != "" && newName != "" && f.NewMode != 0 && f.OldMode != f.NewMode:
			return nil, bad(name, "its mode changes: only text can be changed")
		case f.IsNew && f.NewMode != 0 && f.NewMode&0o777 != 0o644 && f.NewMode&0o777 != 0o664:
			return nil, bad(name, fmt.Sprintf("it is new with mode %o: new files are regular and not executable", f.NewMode))
		case (f.IsNew || f.IsDelete) && f.OldMode|f.NewMode != 0 && (f.OldMode|f.NewMode)&0o170000 != 0 && (f.OldMode|f.NewMode)&0o170000 != 0o100000:
			return nil, bad(name, "it is a link or a submodule: only regular files can be changed")
		}
		var before []byte
		if oldName != "" {
			if before, err = t.read(oldName); err != nil {
				return nil, err
			}
			if before == nil {
				return nil, &Error{Kind: Conflict, File: oldName, What: "the diff changes it, and it does not exist"}
			}
		} else if there, err := t.read(newName); err != nil {
			return nil, err
		} else if there != nil {
			return nil, &Error{Kind: Conflict, File: newName, What: "the diff has it as a new file, and it exists"}
		}
		lineEnds(before, f.TextFragments)
		after, err := applyHunks(name, before, f.TextFragments)
		if err != nil {
			return nil, err
		}
		if newName == "" {
			if len(after) > 0 {
				return nil, &Error{Kind: Conflict, File: oldName, What: "the diff removes it, and it has more than the lines that the diff knows"}
			}
			after = nil
		}
		if oldName != newName && oldName != "" && newName != "" {
			if there, err := t.read(newName); err != nil || there != nil {
				return nil, &Error{Kind: Conflict, File: newName, What: "the diff gives " + oldName + " that name, and it exists"}
			}
			if err := put(File{Name: oldName, Before: before}); err != nil {
				return nil, err
			}
			before = nil
		}
		if err := put(File{Name: name, Before: before, After: after}); err != nil {
			return nil, err
		}
	}
	var changed []File
	for _, f := range done {
		if f.Before == nil || f.After == nil || !bytes.Equal(f.Before, f.After) {
			changed = append(changed, *f)
		}
	}
	return Of(changed...), nil
}

// sides returns the names of a file before and after, "" where it does not exist. The library
// takes the prefixes a/ and b/ from git's diffs; diff -u and --no-prefix have others.
func (t *tree) sides(f *gitdiff.File) (before, after string, err error) {
	before, after = f.OldName, f.NewName
	if f.IsNew || before == "/dev/null" {
		before = ""
	}
	if f.IsDelete || after == "/dev/null" {
		after = ""
	}
	if before == "" && after == "" {
		return "", "", &Error{Kind: BadDiff, What: "a part of the diff names no file"}
	}
	if before != "" {
		if before, err = t.existing(before, after); err != nil {
			return "", "", err
		}
	}
	switch {
	case after == "":
	case before != "" && !f.IsRename:
		after = before // diff -u has two directories, or "x.go.orig"
	default:
		if after, err = t.inside(stripped(after)); err != nil {
			return "", "", err
		}
	}
	return before, after, nil
}

// existing returns which of the names of a diff is a file of the tree.
func (t *tree) existing(before, after string) (string, error) {
	var first error
	for _, n := range []string{before, stripped(before), after, stripped(after)} {
		if n == "" {
			continue
		}
		clean, err := t.inside(n)
		if err == nil {
			var text []byte
			if text, err = t.read(clean); err == nil && text != nil {
				return clean, nil
			}
			if err == nil {
				err = &Error{Kind: Conflict, File: clean, What: "the diff changes it, and it does not exist"}
			}
		}
		if first == nil || n == stripped(before) {
			first = err // by the name without a prefix
		}
	}
	return "", first
}

// stripped is a name without git's prefix.
func stripped(name string) string {
	for _, p := range [...]string{"a/", "b/", "./"} {
		if rest, ok := strings.CutPrefix(name, p); ok {
			return rest
		}
	}
	return name
}

// applyHunks changes lines. Where a hunk's old lines are not at its place, but at one other place, as
// after a change further up, that is taken.
func applyHunks(name string, before []byte, hunks []*gitdiff.TextFragment) ([]byte, error) {
	lines := bytes.SplitAfter(before, []byte("\n"))
	if n := len(lines); n > 0 && len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	var out []byte
	at, shift := 0, 0
	for i, h := range hunks {
		var old [][]byte
		for _, l := range h.Lines {
			if l.Old() {
				old = append(old, []byte(l.Line))
			}
		}
		from := int(h.OldPosition) - 1
		if h.OldLines == 0 {
			from++ // behind that line
		}
		from = max(from, 0)
		fits := func(from int) bool {
			if from < at || from+len(old) > len(lines) {
				return false
			}
			for k := range old {
				if !bytes.Equal(old[k], lines[from+k]) {
					return false
				}
			}
			return true
		}
		if len(old) == 0 {
			if from += shift; from < at || from > len(lines) {
				return nil, &Error{Kind: Conflict, File: name, What: fmt.Sprintf("hunk %d adds lines at line %d, and the file has %d lines", i+1, from+1, len(lines))}
			}
		} else if !fits(from) {
			var found []int
			for k := at; k+len(old) <= len(lines); k++ {
				if fits(k) {
					found = append(found, k)
				}
			}
			switch len(found) {
			case 0:
				return nil, &Error{Kind: Conflict, File: name, What: fmt.Sprintf("hunk %d, for line %d, is of another state of the file: it does not have these lines", i+1, h.OldPosition)}
			case 1:
				shift = found[0] - from
				from = found[0]
			default:
				return nil, &Error{Kind: Conflict, File: name, What: fmt.Sprintf("hunk %d, for line %d, fits %d other places: make the diff for this state of the file", i+1, h.OldPosition, len(found))}
			}
		}
		for _, l := range lines[at:from] {
			out = append(out, l...)
		}
		for _, l := range h.Lines {
			if l.New() {
				out = append(out, l.Line...)
			}
		}
		at = from + len(old)
	}
	for _, l := range lines[min(at, len(lines)):] {
		out = append(out, l...)
	}
	if out == nil {
		out = []byte{}
	}
	return out, nil
}
