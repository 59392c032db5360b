package patch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/code"
)

// tree is a directory as it is, and as it will be.
type tree struct {
	dir   string
	now   map[string][]byte // files that are changed
	files map[string]*code.File
	repo  *repository // once imports are looked for
}

func openTree(dir string) (*tree, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, fmt.Errorf("can't open the tree: %w", err)
	}
	return &tree{dir: abs, now: map[string][]byte{}, files: map[string]*code.File{}}, nil
}

func badName(name, why string) *Error { return &Error{Kind: BadName, File: name, What: why} }

// inside returns the clean name of a file that may be written: one in the tree, reached through no
// symbolic link, and not in .git.
func (t *tree) inside(name string) (string, error) {
	clean := path.Clean(name)
	switch {
	case name == "":
		return "", badName("(no name)", "a change without a file's name")
	case slices.Contains(strings.Split(name, "/"), "..") || strings.ContainsAny(name, "\x00\r\n\\") || path.IsAbs(clean) || !fs.ValidPath(clean) || clean == "." || !filepath.IsLocal(filepath.FromSlash(clean)):
		return "", badName(name, "it is not a slash path inside of the tree")
	}
	for part := range strings.SplitSeq(clean, "/") {
		if strings.EqualFold(part, ".git") || strings.HasPrefix(strings.ToLower(part), "git~") {
			return "", badName(clean, "it is git's own")
		}
	}
	at := t.dir
	parts := strings.Split(clean, "/")
	for i, part := range parts {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return "", badName(clean, "it can't be looked at: "+err.Error())
		}
		switch last := i == len(parts)-1; {
		case info.Mode()&fs.ModeSymlink != 0:
			return "", badName(clean, path.Join(parts[:i+1]...)+" is a symbolic link")
		case last && !info.Mode().IsRegular():
			return "", badName(clean, "it is not a regular file")
		case !last && !info.IsDir():
			return "", badName(clean, path.Join(parts[:i+1]...)+" is not a directory")
		}
	}
	return clean, nil
}

// goFile returns the clean name of a Go file that edits may change: one that the go command
// builds, and that the tree's own people write.
func (t *tree) goFile(name string) (string, error) {
	clean, err := t.inside(name)
	if err != nil {
		return "", err
	}
	if !strings.HasSuffix(clean, ".go") {
		return "", badName(clean, "it is not a Go file")
	}
	for part := range strings.SplitSeq(clean, "/") {
		switch {
		case part == "vendor", part == "testdata":
			return "", badName(clean, "files in "+part+" are not changed")
		case strings.HasPrefix(part, "."), strings.HasPrefix(part, "_"):
			return "", badName(clean, "the go command ignores "+part)
		}
	}
	return clean, nil
}

// read returns the text of a file, nil if it does not exist.
func (t *tree) read(name string) ([]byte, error) {
	text, err := code.Read(t.dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, badName(name, "it can't be read: "+err.Error())
	}
	if text == nil {
		text = []byte{}
	}
	return text, nil
}

// declared returns what a file declares, as it will be; nil if it does not exist.
func (t *tree) declared(name string) *code.File {
	if text, ok := t.now[name]; ok {
		if text == nil {
			return nil
		}
		return code.Parse(text)
	}
	if f, ok := t.files[name]; ok {
		return f
	}
	var f *code.File
	if text, err := t.read(name); err == nil && text != nil {
		f, _ = code.ParseTree(text)
	}
	t.files[name] = f
	return f
}

// beside returns the other Go files of a file's directory, sorted, with those that will be there.
func (t *tree) beside(name string) []string {
	dir := path.Dir(name)
	var out []string
	entries, _ := os.ReadDir(filepath.Join(t.dir, filepath.FromSlash(dir)))
	for _, e := range entries {
		n := path.Join(dir, e.Name())
		if !strings.HasSuffix(n, ".go") || strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "_") || n == name {
			continue
		}
		out = append(out, n)
	}
	for n := range t.now {
		if path.Dir(n) == dir && n != name && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// packageOf returns the package that a new file without a package clause is in; "" if the
// directory does not say.
func (t *tree) packageOf(name string) string {
	found := ""
	for _, n := range t.beside(name) {
		f := t.declared(n)
		if f == nil || f.Package == "" || strings.HasSuffix(f.Package, "_test") || f.Constraint == "ignore" {
			continue
		}
		if found != "" && found != f.Package {
			return ""
		}
		found = f.Package
	}
	return found
}

// declares returns the other files of a file's package that declare a name.
func (t *tree) declares(file, name string) []string {
	self := t.declared(file)
	var out []string
	for _, n := range t.beside(file) {
		f := t.declared(n)
		if f == nil || self != nil && f.Package != self.Package {
			continue
		}
		for _, d := range f.Decls {
			if bare(d.Name) == name || slices.Contains(d.Names, name) {
				out = append(out, n)
				break
			}
		}
	}
	return out
}

// elsewhere refuses what a file is to declare and another one of its package declares already, unless
// they are built under different conditions.
func (c *change) elsewhere() {
	if len(c.errs) > 0 {
		return
	}
	self := c.tree.declared(c.name)
	for _, name := range c.added {
		if name == "_" || name == "init" {
			continue
		}
		for _, other := range c.tree.declares(c.name, name) {
			f := c.tree.declared(other)
			a, b := code.Built{Name: path.Base(c.name), Constraint: self.Constraint}, code.Built{Name: path.Base(other), Constraint: f.Constraint}
			if tags, ok := code.Tags(a, b); (!ok || len(tags) > 0) && conditions(a) != conditions(b) {
				continue
			}
			e := c.refuse(Elsewhere, name, "%s declares it already: change it there, or delete it there, too", other)
			e.Others = []string{other}
		}
	}
}

// conditions says under which conditions a file is built, as its name and its constraint say it.
func conditions(b code.Built) string {
	name := strings.TrimSuffix(strings.TrimSuffix(b.Name, ".go"), "_test")
	parts := strings.Split(name, "_")
	return strings.Join(parts[max(1, len(parts)-2):], "_") + " " + b.Constraint
}
