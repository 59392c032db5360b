// Package lookup finds declarations by what a person or an agent writes, shows them as
// they are now, and says what is around them: callers, callees, and the tests that execute
// them.
//
// A name is, and the first reading that finds anything is taken:
//
//   - a file's path, or the end of one, "table/border.go": all that it declares;
//     with a line, "table/border.go:120", the declaration there;
//   - a declaration's name, "F", "T", "T.M", "(*T).M", or a method's alone, "M";
//   - that behind the name of its package, "table.F", "table.(*T).M", or its import path,
//     "example.com/app/table.F".
//
// A store follows the files with some delay. So a text is read from the file, and where
// that has changed since it was indexed, the declaration of that name is looked for in it.
package lookup

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/trace/symbol"
	"tracerag/visible"
)

// Lookup reads one store. It is for one answer: files are kept as they were read first.
type Lookup struct {
	Store knowledge.Reader
	// Read reads a file of a repository; nil reads the working tree.
	Read func(r *knowledge.Repository, path string) ([]byte, error)

	repositories map[int64]*knowledge.Repository
	files        map[fileKey]*file
}

type fileKey struct {
	repository int64
	path       string
}

// file is a file, or why it can't be read.
type file struct {
	*File
	err error
}

// Unit is a declaration as it is now.
type Unit struct {
	knowledge.Decl
	Repository *knowledge.Repository
	Text, Doc  string // "" where Problem says why
	// Changed says that the file is another one than was indexed.
	Changed bool
	// Problem says why the text can't be shown; "" if it can.
	Problem string
}

// Name returns the declaration's name behind that of its package's directory:
// "table.(*T).M".
func (u *Unit) Name() string { return visible.Line(shortName(&u.Decl)) }

// Place returns where it is, on one line: "table/border.go:120-158".
func (u *Unit) Place() string {
	return fmt.Sprintf("%s:%d-%d", visible.Line(u.Path), u.Line, u.EndLine)
}

// Marks says in words what its name does not: "generated".
func (u *Unit) Marks() []string {
	var marks []string
	for _, m := range []struct {
		is   bool
		text string
	}{
		{u.Generated, "generated"}, {u.Vendored, "vendored"}, {u.Testdata, "in testdata"},
		{u.Changed, "its file changed since it was indexed"}, {u.Broken, "does not parse"},
	} {
		if m.is {
			marks = append(marks, m.text)
		}
	}
	if u.Platform != "" {
		marks = append(marks, "for "+u.Platform)
	}
	return marks
}

func shortName(d *knowledge.Decl) string {
	name := d.Symbol()
	if d.Package == "" {
		return name
	}
	if d.PackageName == "main" {
		return "main." + name // as programs and traces name it
	}
	return symbol.Base(d.Package) + "." + name
}

// NotFoundError says that nothing has a name.
type NotFoundError struct {
	Name string
	Near []string // names that may have been meant
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("no declaration and no file is named %q", e.Name)
	if len(e.Near) > 0 {
		text += ": did you mean " + strings.Join(e.Near, ", ") + "?"
	}
	return text
}

// Repository returns a repository of the store; nil if it has none of that number.
func (l *Lookup) Repository(ctx context.Context, id int64) (*knowledge.Repository, error) {
	if l.repositories == nil {
		list, err := l.Store.Repositories(ctx)
		if err != nil {
			return nil, err
		}
		l.repositories = map[int64]*knowledge.Repository{}
		for i := range list {
			l.repositories[list[i].ID] = &list[i]
		}
	}
	return l.repositories[id], nil
}

// Find returns what a name means, in the given repositories, or in all of them if none is
// given: code of the program before tests, generated and vendored code. The error is a
// [*NotFoundError] if nothing has the name.
func (l *Lookup) Find(ctx context.Context, name string, repositories ...int64) ([]*Unit, error) {
	decls, err := l.Decls(ctx, name, repositories...)
	if err != nil {
		return nil, err
	}
	if len(decls) > 0 {
		return l.Units(ctx, decls)
	}
	name = strings.TrimSpace(name)
	near, err := l.near(ctx, name, repositories)
	if err != nil {
		return nil, err
	}
	return nil, &NotFoundError{name, near}
}

// Decls is [Lookup.Find] without the texts. That nothing has the name is no error.
func (l *Lookup) Decls(ctx context.Context, name string, repositories ...int64) ([]knowledge.Decl, error) {
	name = strings.TrimSpace(name)
	for _, reading := range []func(context.Context, string, []int64) ([]knowledge.Decl, error){l.inFile, l.named, l.qualified} {
		decls, err := reading(ctx, name, repositories)
		if err != nil {
			return nil, err
		}
		if len(decls) > 0 {
			return sorted(decls), nil
		}
	}
	return nil, nil
}

// In returns what a file of a repository declares, in the order of its source; the error is a
// [*NotFoundError] if the store has no such file.
func (l *Lookup) In(ctx context.Context, repository int64, path string) ([]*Unit, error) {
	files, err := l.Store.Files(ctx, []string{path}, []int64{repository})
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f knowledge.File) bool { return f.Path != path })
	if len(files) == 0 {
		return nil, &NotFoundError{Name: path}
	}
	decls, err := l.Store.In(ctx, []int64{files[0].ID})
	if err != nil {
		return nil, err
	}
	return l.Units(ctx, decls)
}

// At returns the declaration that a file has under a name, the one nearest to a line
// if there are several. The error is a [*NotFoundError] if there is none.
func (l *Lookup) At(ctx context.Context, repository int64, path, name string, line int) (*Unit, error) {
	units, err := l.In(ctx, repository, path)
	if err != nil {
		return nil, err
	}
	units = slices.DeleteFunc(units, func(u *Unit) bool { return u.Decl.Name != name })
	if len(units) == 0 {
		return nil, &NotFoundError{Name: path + ": " + name}
	}
	nearest(units, line)
	return units[0], nil
}

// Function returns the declarations that a function of a program may be compiled from, the
// likeliest first: by its package's import path, its name without type arguments ("F",
// "(*T).M", "init"), and its file and line, of which the directory may be another one. None
// is no error.
func (l *Lookup) Function(ctx context.Context, pkg, name, file string, line int) ([]*Unit, error) {
	decls, err := l.named(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	base := func(p string) string { return p[strings.LastIndexAny(p, `/\`)+1:] }
	decls = slices.DeleteFunc(decls, func(d knowledge.Decl) bool {
		return d.Package != pkg || d.Name != name || !d.Kind.Callable() || base(d.Path) != base(file)
	})
	units, err := l.Units(ctx, decls)
	nearest(units, line)
	return units, err
}

// nearest orders units by how far they are from a line.
func nearest(units []*Unit, line int) {
	away := func(u *Unit) int { return max(u.Line-line, line-u.EndLine, 0) }
	slices.SortStableFunc(units, func(a, b *Unit) int { return cmp.Compare(away(a), away(b)) })
}

// Units returns declarations as they are now, in the order of [Lookup.Find].
func (l *Lookup) Units(ctx context.Context, decls []knowledge.Decl) ([]*Unit, error) {
	decls = sorted(decls)
	var units []*Unit
	for i := range decls {
		u, err := l.unit(ctx, &decls[i])
		if err != nil {
			return nil, err
		}
		units = append(units, u)
	}
	return units, nil
}

// sorted is declarations in the order of [Lookup.Find].
func sorted(decls []knowledge.Decl) []knowledge.Decl {
	decls = slices.Clone(decls)
	slices.SortStableFunc(decls, func(a, b knowledge.Decl) int {
		return cmp.Or(order(a.Product(), b.Product()), order(!a.Test, !b.Test), cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Start, b.Start))
	})
	return decls
}

// order puts what is true first.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func (l *Lookup) inFile(ctx context.Context, name string, repositories []int64) ([]knowledge.Decl, error) {
	at, line := name, 0
	if i := strings.LastIndexByte(name, ':'); i > 0 {
		if n, err := strconv.Atoi(name[i+1:]); err == nil {
			at, line = name[:i], n
		}
	}
	if !strings.HasSuffix(at, ".go") {
		return nil, nil
	}
	files, err := l.Store.Files(ctx, []string{filepath.ToSlash(at)}, repositories)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	ids := make([]int64, len(files))
	for i := range files {
		ids[i] = files[i].ID
	}
	decls, err := l.Store.In(ctx, ids)
	if line > 0 {
		decls = slices.DeleteFunc(decls, func(d knowledge.Decl) bool { return line < d.Line || line > d.EndLine })
	}
	return decls, err
}

func (l *Lookup) named(ctx context.Context, name string, repositories []int64) ([]knowledge.Decl, error) {
	if name == "" {
		return nil, nil
	}
	return l.Store.Named(ctx, []string{name}, repositories)
}

// qualified reads a name behind a package.
func (l *Lookup) qualified(ctx context.Context, name string, repositories []int64) ([]knowledge.Decl, error) {
	slash := strings.LastIndexByte(name, '/') + 1
	// The last element of an import path may have dots of its own: "gopkg.in/yaml.v3.Decode".
	for i := slash; i < len(name); i++ {
		if name[i] != '.' || i == slash || i+1 == len(name) {
			continue
		}
		pkg, local := name[:i], name[i+1:]
		decls, err := l.named(ctx, local, repositories)
		if err != nil {
			return nil, err
		}
		decls = slices.DeleteFunc(decls, func(d knowledge.Decl) bool { return !inPackage(&d, pkg) })
		if len(decls) > 0 {
			return decls, nil
		}
	}
	return nil, nil
}

// inPackage reports whether a declaration's package is called so: by its import path, the
// last elements of it, or "main" for a command's.
func inPackage(d *knowledge.Decl, pkg string) bool {
	at := strings.TrimSuffix(d.Package, "_test")
	pkg = strings.TrimSuffix(pkg, "_test")
	return at == pkg || strings.HasSuffix(at, "/"+pkg) || pkg == "main" && strings.TrimSuffix(d.PackageName, "_test") == "main"
}

// near returns names like one that nothing has.
func (l *Lookup) near(ctx context.Context, name string, repositories []int64) ([]string, error) {
	last := name[strings.LastIndexAny(name, "./")+1:]
	if last == "" || last == name {
		return nil, nil
	}
	decls, err := l.named(ctx, last, repositories)
	if err != nil {
		return nil, err
	}
	var near []string
	for i := range decls {
		if n := shortName(&decls[i]); !slices.Contains(near, n) {
			near = append(near, n)
		}
	}
	slices.Sort(near)
	return near[:min(len(near), 3)], nil
}

// unit reads a declaration as it is now.
func (l *Lookup) unit(ctx context.Context, d *knowledge.Decl) (*Unit, error) {
	u := &Unit{Decl: *d}
	var err error
	if u.Repository, err = l.Repository(ctx, d.Repository); err != nil {
		return nil, err
	}
	if u.Repository == nil {
		u.Repository = &knowledge.Repository{ID: d.Repository}
		u.Problem = "its repository is gone from the store"
		return u, nil
	}
	f, err := l.file(ctx, u.Repository, d)
	switch {
	case err != nil:
		return nil, err
	case f.err != nil:
		u.Problem = f.err.Error()
		return u, nil
	}
	now, ok := f.Decl(&d.Decl)
	u.Changed = f.Changed()
	if !ok {
		u.Problem = "the file was changed, and does not declare it any more"
		return u, nil
	}
	u.Decl.Decl = now
	u.Text, u.Doc = string(u.Of(f.Text)), string(u.Decl.Doc.Of(f.Text))
	return u, nil
}

// file reads the file of a declaration.
func (l *Lookup) file(ctx context.Context, r *knowledge.Repository, d *knowledge.Decl) (*file, error) {
	key := fileKey{r.ID, d.Path}
	if f := l.files[key]; f != nil {
		return f, nil
	}
	if l.files == nil {
		l.files = map[fileKey]*file{}
	}
	f := &file{}
	l.files[key] = f
	read := l.Read
	if read == nil {
		read = ReadTree
	}
	text, err := read(r, d.Path)
	if err != nil {
		f.err = err
		return f, nil
	}
	hashes, err := l.Store.Hashes(ctx, []int64{d.File})
	if err != nil {
		return nil, err
	}
	f.File = FileNow(text, hashes[d.File])
	return f, nil
}

// ReadTree reads a file of a repository's working tree, and none outside of it. If that is on another
// machine, the text is the one that was indexed.
func ReadTree(r *knowledge.Repository, path string) ([]byte, error) {
	if r.Elsewhere && r.Text != nil {
		return r.Text(path)
	}
	return code.Read(r.Root, path)
}
