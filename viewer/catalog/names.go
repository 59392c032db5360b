package catalog

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"tracerag/knowledge"
	"tracerag/knowledge/lookup"
)

// reference names a declaration, or without a symbol a file, or without a path a repository, as answers have the names.
type reference struct {
	Repository string `json:"repository"`
	Path       string `json:"path,omitempty"`
	Symbol     string `json:"symbol,omitempty"` // "(*T).M", "init#2"
}

func (r *reference) String() string {
	text := r.Repository
	if r.Path != "" {
		text += ": " + r.Path
	}
	if r.Symbol != "" {
		text += ": " + r.Symbol
	}
	return text
}

// is reports whether a name of the store is the one that an answer had.
func (s *Server) is(name, shown string) bool { return name == shown || s.answers.Text(name) == shown }

func (s *Server) reader() *lookup.Lookup {
	return &lookup.Lookup{Store: s.content.Store, Read: s.content.Text}
}

// repositoryNamed returns a repository by its name.
func (s *Server) repositoryNamed(ctx context.Context, name string) (*knowledge.Repository, error) {
	list, err := s.content.Store.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(r knowledge.Repository) bool { return s.is(r.Name, name) })
	if i < 0 {
		return nil, missing("repository", name)
	}
	return &list[i], nil
}

// fileNamed returns a file of a repository by its path.
func (s *Server) fileNamed(ctx context.Context, r *knowledge.Repository, path string) (*knowledge.File, error) {
	files, err := s.content.Store.Files(ctx, []string{path}, []int64{r.ID})
	if err == nil && !slices.ContainsFunc(files, func(f knowledge.File) bool { return f.Path == path }) {
		files, err = s.content.Store.Product(ctx, r.ID) // one that is shown otherwise
	}
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(files, func(f knowledge.File) bool { return s.is(f.Path, path) })
	if i < 0 {
		return nil, missing("file", path)
	}
	return &files[i], nil
}

// declNamed returns a declaration of a repository.
func (s *Server) declNamed(ctx context.Context, r *knowledge.Repository, path, symbol string) (*knowledge.Decl, error) {
	name, _, _ := strings.Cut(symbol, "#")
	decls, err := s.content.Store.Named(ctx, []string{name}, []int64{r.ID})
	if err == nil && !slices.ContainsFunc(decls, func(d knowledge.Decl) bool { return s.is(d.Path, path) && d.Symbol() == symbol }) {
		// A name that means a member before it means this one, or that is shown otherwise.
		var f *knowledge.File
		if f, err = s.fileNamed(ctx, r, path); err == nil {
			decls, err = s.content.Store.In(ctx, []int64{f.ID})
		}
	}
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(decls, func(d knowledge.Decl) bool { return s.is(d.Path, path) && s.is(d.Symbol(), symbol) })
	if i < 0 {
		return nil, missing("declaration", path+": "+symbol)
	}
	return &decls[i], nil
}

func missing(what, name string) error {
	return &refusal{http.StatusNotFound, "no " + what + " " + name + " is indexed: it was renamed or removed, or never was"}
}

// status is the status that an error is answered with.
func status(err error) int {
	if e, ok := errors.AsType[*refusal](err); ok {
		return e.code
	}
	switch {
	case errors.Is(err, errTimeout):
		return http.StatusGatewayTimeout
	case errors.Is(err, ErrNoTrace):
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}

// entry is a declaration in a list.
type entry struct {
	reference
	Title   string `json:"title"` // "table.(*T).Row"
	Package string `json:"package,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Line    int    `json:"line,omitempty"`
	How     string `json:"how,omitempty"`     // what it has to do with what is shown
	Lines   []int  `json:"lines,omitempty"`   // of the calls, in the caller
	Summary string `json:"summary,omitempty"` // what it does
}

func entryOf(u *lookup.Unit) entry {
	return entry{
		reference: reference{u.Repository.Name, u.Path, u.Decl.Symbol()},
		Title:     u.Name(), Package: u.Package, Kind: u.Kind.String(), Line: u.Line,
		How: strings.Join(u.Marks(), ", "),
	}
}
