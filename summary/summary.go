// Package summary says of each unit of a repository what it does: of a declaration in a
// sentence, of a file in a line, of a package and a repository in a paragraph.
//
// A [Book] has them for choosing between units by what they do. What no model has said
// yet is a substitute from the code: the doc comment, or the signature with the names and
// literals that only this declaration has (substitute.go).
package summary

import (
	"cmp"
	"context"
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
}

// Files returns the summaries of files, in their order. A file that cannot be read has
// no declarations.
func (b *Book) Files(ctx context.Context, files []knowledge.File) ([]File, error) {
	repositories, err := b.Store.Repositories(ctx)
	if err != nil {
		return nil, err
	}
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
	out := make([]File, len(files))
	for i, f := range files {
		out[i].File = f
		at := slices.IndexFunc(repositories, func(r knowledge.Repository) bool { return r.ID == f.Repository })
		if at < 0 {
			continue
		}
		text, err := b.Read(&repositories[at], f.Path)
		if err != nil {
			continue // it is gone or not ours to read: its name is all that is known
		}
		for _, d := range of[f.ID] {
			if d.End > len(text) {
				continue // it changed since
			}
			out[i].Decls = append(out[i].Decls, Decl{d, signature(&d.Decl, text), substitute(&d.Decl, text)})
		}
		out[i].Line = fileLine(&out[i], packageDoc(text))
	}
	return out, nil
}

// Packages returns the packages of a repository's program, by import path.
func (b *Book) Packages(ctx context.Context, repository int64) ([]Package, error) {
	files, err := b.Store.Product(ctx, repository)
	if err != nil {
		return nil, err
	}
	by := map[string]*Package{}
	var out []*Package
	for _, f := range files {
		p := by[f.ImportPath()]
		if p == nil {
			p = &Package{Repository: repository, ImportPath: f.ImportPath(), Dir: path.Dir(f.Path)}
			by[p.ImportPath] = p
			out = append(out, p)
		}
		p.Files = append(p.Files, f)
	}
	slices.SortFunc(out, func(x, y *Package) int { return strings.Compare(x.ImportPath, y.ImportPath) })
	list := make([]Package, len(out))
	for i, p := range out {
		read, err := b.Files(ctx, p.Files)
		if err != nil {
			return nil, err
		}
		p.Text = packageText(read)
		list[i] = *p
	}
	return list, nil
}

// Repository returns the summary of a repository.
func (b *Book) Repository(ctx context.Context, r *knowledge.Repository) (string, error) {
	packages, err := b.Packages(ctx, r.ID)
	if err != nil {
		return "", err
	}
	return repositoryText(r, packages), nil
}

func packageDoc(text []byte) string { return comment(string(code.Parse(text).Doc.Of(text))) }
