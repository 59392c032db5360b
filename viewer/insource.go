package viewer

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"tracerag/knowledge"
	"tracerag/knowledge/lookup"
	"tracerag/locate"
	"tracerag/viewer/site"
)

// Sources is what is known of repositories' sources, without a run. Its methods return
// [knowledge.ErrNotIndexed] as long as nothing is. [tracerag/knowledge/sources.Sources] is one.
type Sources interface {
	// Refresh brings it up to date with the files: whatever takes a moment, or, if all is
	// set, everything. It returns a line for each thing that is stale then, or missing.
	Refresh(ctx context.Context, all bool) (stale []string, err error)
	Repositories(ctx context.Context) ([]knowledge.Repository, error)
	Lookup(ctx context.Context) (*lookup.Lookup, error)
	Locate(ctx context.Context, q locate.Question, limit int) (*locate.Answer, error)
	// Index indexes the module around.
	Index(ctx context.Context) error
}

const (
	mostLocated = 20  // functions, files
	mostAround  = 200 // callers, callees
	mostTests   = 20  // that were not recorded
)

// state says what an answer about the source is of.
type state struct {
	// Unknown: nothing is indexed yet, and the answer has nothing else.
	Unknown bool       `json:"unknown,omitempty"`
	Of      []snapshot `json:"of,omitempty"`
	Stale   []string   `json:"stale,omitempty"`
}

// snapshot is a repository and its state.
type snapshot struct {
	Repository string `json:"repository"`
	Snapshot   string `json:"snapshot,omitempty"`

	id int64
}

// state brings what is known up to date, and says what it is then.
func (s *Server) state(ctx context.Context, all bool) (state, error) {
	src := s.page.content.Sources
	stale, err := src.Refresh(ctx, all)
	if errors.Is(err, knowledge.ErrNotIndexed) {
		return state{Unknown: true}, nil
	}
	if err != nil {
		return state{}, err
	}
	list, err := src.Repositories(ctx)
	out := state{Stale: stale}
	for _, r := range list {
		out.Of = append(out.Of, snapshot{r.Name, r.Snapshot.String(), r.ID})
	}
	return out, err
}

// refresh reads all that changed, however long it takes.
func (s *Server) refresh(w http.ResponseWriter, r *http.Request) {
	var nothing struct{}
	if !site.ReadBody(w, r, "request", &nothing) {
		return
	}
	st, err := s.state(r.Context(), true)
	s.answer(w, st, err)
}

// index makes the index that is not there yet.
func (s *Server) index(w http.ResponseWriter, r *http.Request) {
	var nothing struct{}
	if !site.ReadBody(w, r, "request", &nothing) {
		return
	}
	var st state
	err := s.page.content.Sources.Index(r.Context())
	if err == nil {
		st, err = s.state(r.Context(), false)
	}
	s.answer(w, st, err)
}

func (s *Server) answer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		code := http.StatusUnprocessableEntity
		if _, ok := errors.AsType[*lookup.NotFoundError](err); ok {
			code = http.StatusNotFound
		}
		s.refuse(w, err, code)
		return
	}
	s.writeJSON(w, v)
}

// located is what of the source a question is about.
type located struct {
	state
	Functions []locatedFunction `json:"functions"`
	Files     []locatedFile     `json:"files,omitempty"`
	Runs      []ranBy           `json:"runs,omitempty"`   // that executed the best functions
	Record    *toRecord         `json:"record,omitempty"` // a test that would
}

type locatedFunction struct {
	unitRef
	Why   string  `json:"why,omitempty"`
	Score float64 `json:"score"`
}

type locatedFile struct {
	unitRef
	Functions []string `json:"functions,omitempty"`
}

// ranBy is a saved run.
type ranBy struct {
	Text  string `json:"text"`
	Trace string `json:"trace"`
	Here  bool   `json:"here,omitempty"` // it is on the page
}

// toRecord is a test to record.
type toRecord struct {
	Line string `json:"line"`
	Why  string `json:"why"`
}

// locate answers where in the source something is.
func (s *Server) locate(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Question string `json:"question"`
	}
	if !site.ReadBody(w, r, "question", &in) {
		return
	}
	st, err := s.state(r.Context(), false)
	out := located{state: st, Functions: []locatedFunction{}}
	if err == nil && !st.Unknown && strings.TrimSpace(in.Question) != "" {
		var a *locate.Answer
		if a, err = s.page.content.Sources.Locate(r.Context(), locate.Question{Text: in.Question}, mostLocated); err == nil {
			s.page.located(&out, a)
		}
	}
	s.answer(w, &out, err)
}

func (p *Page) located(out *located, a *locate.Answer) {
	for _, f := range a.Functions {
		ref := p.refs.give(unitRef{Repository: f.Repository, Path: f.File, Name: f.Name, Line: f.Line})
		out.Functions = append(out.Functions, locatedFunction{ref, locate.Why(f.Reasons), f.Score})
	}
	for _, f := range a.Files {
		out.Files = append(out.Files, locatedFile{p.refs.give(unitRef{Repository: f.Repository, Path: f.File}), f.Functions})
	}
	for i := range a.Runs {
		out.Runs = append(out.Runs, p.ranBy(&a.Runs[i]))
	}
	if a.Record != nil {
		// With the directory: the page is not in a shell's.
		out.Record = &toRecord{a.Record.Line(""), a.Record.Why}
	}
}

func (p *Page) ranBy(r *knowledge.Run) ranBy {
	out := ranBy{Text: r.Title(), Trace: r.Trace}
	for _, run := range p.content.Runs {
		out.Here = out.Here || run.ID == r.Trace
	}
	return out
}
