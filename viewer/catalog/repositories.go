package catalog

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"tracerag/knowledge"
	"tracerag/knowledge/lookup"
)

// overview is the first that the browser asks for.
type overview struct {
	Name         string       `json:"name"` // of the knowledge base
	Repositories []repository `json:"repositories"`
	More         int          `json:"more,omitempty"`
}

// repository is a repository and its state.
type repository struct {
	Name      string     `json:"name"`
	Place     string     `json:"place"` // URL or directory
	Snapshot  string     `json:"snapshot,omitempty"`
	Files     *time.Time `json:"files,omitempty"` // time of the newest file
	Modules   []string   `json:"modules,omitempty"`
	State     state      `json:"state"`
	StateNote string     `json:"state_note,omitempty"` // in what it is stale
	Checked   *time.Time `json:"checked,omitempty"`    // when somebody looked; nil: now, or nobody did
	CallsNote string     `json:"calls_note,omitempty"`
	Counts    *counts    `json:"counts,omitempty"` // nil: counting took too long, and goes on when they are asked for again
}

// state says whether the store has a repository as its files are now.
type state string

const (
	unknown state = "unknown"
	fresh   state = "fresh"
	stale   state = "stale"
)

func (s *Server) overview(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, func(ctx context.Context) (any, error) {
		list, err := s.content.Store.Repositories(ctx)
		if err != nil {
			return nil, err
		}
		out := overview{Name: s.content.Name, Repositories: []repository{}, More: max(len(list)-mostRepositories, 0)}
		list = list[:min(len(list), mostRepositories)]
		watched := s.watched(ctx, list)
		end := time.Now().Add(countTime)
		for i := range list {
			r := repositoryOf(&list[i], watched)
			if time.Now().Before(end) || s.isCounted(&list[i]) {
				n, err := s.count(ctx, &list[i])
				if err != nil {
					return nil, err
				}
				r.Counts = &n
			}
			out.Repositories = append(out.Repositories, r)
		}
		return out, nil
	})
}

func (s *Server) watched(ctx context.Context, list []knowledge.Repository) map[string]Watched {
	if s.content.Watched == nil {
		return nil
	}
	return s.content.Watched(ctx, list)
}

func repositoryOf(r *knowledge.Repository, watched map[string]Watched) repository {
	out := repository{
		Name: r.Name, Place: r.URL, Snapshot: r.Snapshot.String(), State: unknown, CallsNote: lookup.CallsKnown(r),
	}
	if out.Place == "" {
		out.Place = r.Root
	}
	if t := r.Snapshot.Time.UTC(); !t.IsZero() {
		out.Files = &t
	}
	for _, m := range r.Modules {
		out.Modules = append(out.Modules, m.Path)
	}
	w, known := watched[r.Name]
	switch {
	case r.Incomplete:
		out.State, out.StateNote = stale, "an update is going on, or was interrupted"
	case known && w.Stale != "":
		out.State, out.StateNote = stale, w.Stale
	case known:
		out.State = fresh
	}
	out.Checked = w.Checked
	return out
}

// contents is what is in a repository.
type contents struct {
	repository
	Packages []folder `json:"packages"`
	More     int      `json:"more,omitempty"` // files that are not listed
}

type counts struct {
	Packages     int `json:"packages"`
	Files        int `json:"files"`
	Unread       int `json:"unread,omitempty"`
	Declarations int `json:"declarations"`
	Functions    int `json:"functions"`
	Calls        int `json:"calls"`
	Commits      int `json:"commits"`
}

// countTime is how long an overview counts what is not counted yet: a repository of a million lines takes a second.
const countTime = time.Second

// counted is a state of a repository.
type counted struct {
	id       int64
	snapshot string
	calls    knowledge.CallState
}

func stateOf(r *knowledge.Repository) counted { return counted{r.ID, r.Snapshot.String(), r.Calls} }

func (s *Server) isCounted(r *knowledge.Repository) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.counts[stateOf(r)]
	return ok
}

// count says how much of a repository is in the store. It counts each state once, but while it is being changed.
func (s *Server) count(ctx context.Context, r *knowledge.Repository) (counts, error) {
	s.mu.Lock()
	n, ok := s.counts[stateOf(r)]
	s.mu.Unlock()
	if ok && !r.Incomplete {
		return n, nil
	}
	all, err := s.content.Store.Counts(ctx, r.ID)
	if err != nil {
		return counts{}, err
	}
	n = counts{Packages: all.Packages, Files: all.Files, Unread: all.Unread, Declarations: all.Declarations, Functions: all.Functions, Calls: all.Static + all.Interface, Commits: all.Commits}
	s.mu.Lock()
	defer s.mu.Unlock()
	for old := range s.counts {
		if old.id == r.ID {
			delete(s.counts, old)
		}
	}
	if !r.Incomplete {
		s.counts[stateOf(r)] = n
	}
	return n, nil
}

// folder is a package with its files.
type folder struct {
	Package string   `json:"package"`
	Paths   []string `json:"paths"`
}

func (s *Server) repository(w http.ResponseWriter, r *http.Request) {
	ask(s, w, r, "repository", (*reference).String, func(ctx context.Context, in *reference) (any, error) {
		repo, err := s.repositoryNamed(ctx, in.Repository)
		if err != nil {
			return nil, err
		}
		n, err := s.count(ctx, repo)
		if err != nil {
			return nil, err
		}
		files, err := s.content.Store.Product(ctx, repo.ID)
		if err != nil {
			return nil, err
		}
		watched := s.watched(ctx, []knowledge.Repository{*repo})
		out := contents{repository: repositoryOf(repo, watched), More: max(len(files)-mostFiles, 0)}
		out.Counts = &n
		out.Packages = folders(files[:min(len(files), mostFiles)])
		return out, nil
	})
}

// folders gathers files by their packages.
func folders(files []knowledge.File) []folder {
	at := map[string]int{}
	out := []folder{}
	for i := range files {
		f := &files[i]
		name := f.ImportPath()
		if name == "" { // of no module
			name = path.Dir(f.Path)
		}
		k, ok := at[name]
		if !ok {
			k = len(out)
			at[name] = k
			out = append(out, folder{Package: name})
		}
		out[k].Paths = append(out[k].Paths, f.Path)
	}
	slices.SortStableFunc(out, func(a, b folder) int { return strings.Compare(a.Package, b.Package) })
	return out
}

// declared is a file with what it declares.
type declared struct {
	reference
	Package  string  `json:"package,omitempty"`
	Problem  string  `json:"problem,omitempty"`
	Line     string  `json:"line,omitempty"` // what is in it
	Declares []entry `json:"declares"`
	More     int     `json:"more,omitempty"`
}

func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	ask(s, w, r, "file", (*reference).String, func(ctx context.Context, in *reference) (any, error) {
		repo, err := s.repositoryNamed(ctx, in.Repository)
		if err != nil {
			return nil, err
		}
		f, err := s.fileNamed(ctx, repo, in.Path)
		if err != nil {
			return nil, err
		}
		units, err := s.reader().In(ctx, repo.ID, f.Path)
		if err != nil {
			return nil, err
		}
		out := declared{reference: reference{Repository: repo.Name, Path: f.Path}, Package: f.ImportPath(), Problem: f.Problem, Declares: []entry{}, More: max(len(units)-mostDeclared, 0)}
		units = units[:min(len(units), mostDeclared)]
		line, about, err := s.does(ctx, units)
		out.Line = line
		for _, u := range units {
			e := entryOf(u)
			e.Summary = about[u.ID]
			out.Declares = append(out.Declares, e)
		}
		return out, err
	})
}
