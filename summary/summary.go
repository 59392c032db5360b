// Package summary says of each unit of a repository what it does: of a declaration in a
// sentence, of a file in a line, of a package and a repository in a paragraph.
//
// A [Book] has them for choosing between units by what they do. A [Maker] has a model write
// them, once: a summary is kept under a hash of what it is of ([knowledge.SummaryKey]), so
// what did not change is not asked again. The hashes go upwards: that of a file is made of
// those of its declarations, that of a package of its files', that of a repository of its
// packages'. Formatting changes none.
//
// What no model has said yet is a substitute from the code: the doc comment, or the names and
// literals that only this declaration has (substitute.go).
package summary

import (
	"cmp"
	"context"
	"crypto/sha256"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"

	"tracerag/code"
	"tracerag/knowledge"
)

// Decl is a declaration with its summary.
type Decl struct {
	knowledge.Decl
	Signature string // on one line
	Text      string

	key  knowledge.SummaryKey
	kept bool // the store has its summary
}

// File is a file with its summary.
type File struct {
	knowledge.File
	Line  string // the file in a line
	Decls []Decl // in source order
}

// Package is a package with its summary.
type Package struct {
	Repository int64
	ImportPath string
	Dir        string // below the root
	Text       string
	Files      []knowledge.File // of the program, by path
}

// Book has the summaries of a store. It may be used by several goroutines.
type Book struct {
	Store knowledge.Reader
	// Read reads a file of a repository.
	Read func(r *knowledge.Repository, path string) ([]byte, error)

	// Learn sees files before anything of them is in a summary; nil: nobody does.
	Learn func(texts []string)
	// Mask hides secrets in a text before it is cut: of a part of one nobody can tell that it is
	// one. nil hides none.
	Mask func(string) string

	// Kept has what a model said; nil: everything is a substitute.
	Kept  knowledge.Summaries
	Model string

	wanted func(decl int64) bool // nil: all declarations
}

func (b *Book) wants(decl int64) bool { return b.wanted == nil || b.wanted(decl) }

// Files returns the summaries of files, in their order. A file that cannot be read has
// no declarations.
func (b *Book) Files(ctx context.Context, files []knowledge.File) ([]File, error) {
	out := make([]File, 0, len(files))
	err := b.each(ctx, files, whole, func(u *unit) error {
		out = append(out, u.File)
		return nil
	})
	return out, err
}

// Decls is Files for some declarations, by their numbers. Others have no signature, and a text only if one is kept: hiding secrets in
// all of a large file takes seconds.
func (b *Book) Decls(ctx context.Context, files []knowledge.File, wanted func(decl int64) bool) ([]File, error) {
	some := *b
	some.wanted = wanted
	return some.Files(ctx, files)
}

// Packages returns the packages of a repository's program, by import path.
func (b *Book) Packages(ctx context.Context, repository int64) ([]Package, error) {
	list, err := b.packages(ctx, repository)
	if err != nil {
		return nil, err
	}
	return shown(list), nil
}

func shown(list []pkg) []Package {
	out := make([]Package, len(list))
	for i := range list {
		out[i] = list[i].Package
	}
	return out
}

// Repository returns the summary of a repository, and those of its packages, which it takes anyway.
func (b *Book) Repository(ctx context.Context, r *knowledge.Repository) (string, []Package, error) {
	packages, err := b.packages(ctx, r.ID)
	if err != nil {
		return "", nil, err
	}
	key := repositoryKey(packages)
	kept, err := b.kept(ctx, []knowledge.SummaryKey{key})
	if err != nil {
		return "", nil, err
	}
	text := repositoryText(r, packages)
	if x, ok := kept[key]; ok {
		text = x.Text
	}
	return text, shown(packages), nil
}

// unit is a file with what its summary is made of.
type unit struct {
	File
	repository *knowledge.Repository
	text       []byte // nil: it could not be read
	// changed says that the file is not the one that was indexed.
	changed bool
	doc     string // of the package, without marks
	key     knowledge.SummaryKey
	kept    bool // the store has its line
}

// pkg is a package with what its summary is made of.
type pkg struct {
	Package
	lines    []string // of the files, each with its name
	key      knowledge.SummaryKey
	kept     bool
	complete bool // the store has the lines of all its files
}

// atATime is how many files are read at a time: a question to the store takes as long as the answer
// about ten files, and what files are made of stays in memory until then.
const atATime = 100

// each calls do for each of the files, in their order. See read.
func (b *Book) each(ctx context.Context, files []knowledge.File, what extent, do func(*unit) error) error {
	repositories, err := b.Store.Repositories(ctx)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(files, atATime) {
		units, err := b.read(ctx, repositories, part, what)
		if err != nil {
			return err
		}
		for i := range units {
			if err := do(&units[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// extent is what declarations have beside the summaries that are kept.
type extent int

const (
	bare   extent = iota
	signed        // signatures
	whole         // signatures, and substitutes, which take longer than all else
)

// read reads files of repositories, with the summaries that there are.
func (b *Book) read(ctx context.Context, repositories []knowledge.Repository, files []knowledge.File, what extent) ([]unit, error) {
	ids := make([]int64, len(files))
	for i := range files {
		ids[i] = files[i].ID
	}
	decls, err := b.Store.In(ctx, ids)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(decls, func(x, y knowledge.Decl) int { return cmp.Compare(x.Start, y.Start) })
	of := map[int64][]knowledge.Decl{}
	for _, d := range decls {
		of[d.File] = append(of[d.File], d)
	}
	units := make([]unit, len(files))
	var keys []knowledge.SummaryKey
	var texts []string
	for i, f := range files {
		u := &units[i]
		u.File.File = f
		at := slices.IndexFunc(repositories, func(r knowledge.Repository) bool { return r.ID == f.Repository })
		if at < 0 {
			continue
		}
		u.repository = &repositories[at]
		if text, err := b.Read(u.repository, f.Path); err == nil {
			if u.text = text; b.Learn != nil {
				texts = append(texts, string(text))
			}
		}
	}
	if b.Learn != nil {
		b.Learn(texts)
	}
	for i, f := range files {
		u, text := &units[i], units[i].text
		if text == nil {
			continue // it is gone or not ours to read: its name is all that is known
		}
		sum := sha256.Sum256(text)
		u.changed = code.Hash(sum[:len(f.Hash)]) != f.Hash
		for _, d := range of[f.ID] {
			if d.End > len(text) {
				continue // it changed since
			}
			x := Decl{Decl: d, key: declKey(&d.Decl)}
			if what >= signed && b.wants(d.ID) {
				x.Signature = b.signature(&d.Decl, text)
			}
			u.Decls = append(u.Decls, x)
			keys = append(keys, x.key)
		}
		var doc code.Hash
		u.doc, doc = packageDoc(text)
		u.key = fileKey(f.PackageName, doc, u.Decls)
		keys = append(keys, u.key)
	}
	kept, err := b.kept(ctx, keys)
	if err != nil {
		return nil, err
	}
	for i := range units {
		u := &units[i]
		if u.text == nil {
			continue
		}
		for j := range u.Decls {
			d := &u.Decls[j]
			x, ok := kept[d.key]
			if d.Text, d.kept = x.Text, ok; !ok && what == whole && b.wants(d.ID) {
				d.Text = b.substitute(&d.Decl.Decl, u.text)
			}
		}
		x, ok := kept[u.key]
		if u.Line, u.kept = x.Text, ok; !ok {
			u.Line = b.fileLine(&u.File, u.doc)
		}
	}
	return units, nil
}

func (b *Book) kept(ctx context.Context, keys []knowledge.SummaryKey) (map[knowledge.SummaryKey]knowledge.Summary, error) {
	if b.Kept == nil || len(keys) == 0 {
		return nil, nil
	}
	return b.Kept.Summaries(ctx, b.Model, keys)
}

// packages returns the packages of a repository's program, by import path.
func (b *Book) packages(ctx context.Context, repository int64) ([]pkg, error) {
	files, err := b.Store.Product(ctx, repository)
	if err != nil {
		return nil, err
	}
	by := map[string]*pkg{}
	var list []*pkg
	for _, f := range files {
		p := by[f.ImportPath()]
		if p == nil {
			p = &pkg{Package: Package{Repository: repository, ImportPath: f.ImportPath(), Dir: path.Dir(f.Path)}, complete: true}
			by[p.ImportPath] = p
			list = append(list, p)
		}
		p.Files = append(p.Files, f)
	}
	slices.SortFunc(list, func(x, y *pkg) int { return strings.Compare(x.ImportPath, y.ImportPath) })
	sorted := make([]knowledge.File, 0, len(files))
	for _, p := range list {
		sorted = append(sorted, p.Files...)
	}
	out := make([]pkg, 0, len(list))
	var keys []knowledge.SummaryKey
	var units []unit // of a package, without texts
	err = b.each(ctx, sorted, bare, func(u *unit) error {
		p := list[len(out)]
		p.lines = append(p.lines, Clean(path.Base(u.Path), most)+": "+u.Line)
		p.complete = p.complete && u.kept
		units = append(units, unit{File: u.File, key: u.key})
		if len(units) < len(p.Files) {
			return nil
		}
		p.key = packageKey(p.ImportPath, units)
		p.Text = packageText(p.lines)
		out, keys, units = append(out, *p), append(keys, p.key), nil
		return nil
	})
	if err != nil {
		return nil, err
	}
	kept, err := b.kept(ctx, keys)
	for i := range out {
		if x, ok := kept[out[i].key]; ok {
			out[i].Text, out[i].kept = x.Text, true
		}
	}
	return out, err
}

// packageDoc returns the comment of a file's package clause, without marks, and its hash. It
// reads no further.
func packageDoc(text []byte) (string, code.Hash) {
	fset := token.NewFileSet()
	f, _ := parser.ParseFile(fset, "", text, parser.PackageClauseOnly|parser.ParseComments)
	if f == nil || f.Doc == nil {
		return "", code.Hash{}
	}
	file := fset.File(f.Doc.Pos())
	raw := text[file.Offset(f.Doc.Pos()):file.Offset(f.Doc.End())]
	return comment(string(raw)), code.HashComment(raw)
}
