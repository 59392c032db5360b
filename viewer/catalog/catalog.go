package catalog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"tracerag/knowledge"
	"tracerag/locate"
	"tracerag/trace"
	"tracerag/viewer/guard"
	"tracerag/viewer/site"
)

// Store is what the page reads.
type Store interface {
	knowledge.Reader
	knowledge.Summaries
	knowledge.SummaryModels
	knowledge.Executions
	Counts(ctx context.Context, repository int64) (knowledge.Counts, error)
}

// Secrets hides secrets. [tracerag/session.Masker] does.
type Secrets interface {
	// LearnTexts and LearnCommand see what texts are made of, before anything of it leaves.
	LearnTexts(texts []string)
	LearnCommand(line string)
	Located(a *locate.Answer)
	Text(text string) string
	CleanJSON(json []byte) []byte
}

// Content is what a page shows.
type Content struct {
	Name    string // of the knowledge base
	Store   Store
	Secrets Secrets
	// Text returns the text of a file as it was indexed. It may be called by several goroutines.
	Text func(r *knowledge.Repository, path string) ([]byte, error)
	// Model is the one whose summaries are shown; "" is the one with the most. What it has not said is from the code.
	Model string
	// Watched says what is known of newer states of repositories, by their names, as far as that is known in a moment. Nil: nothing.
	Watched func(ctx context.Context, list []knowledge.Repository) map[string]Watched
	// Trace opens a kept trace, without its secrets. The error is an [ErrNoTrace] if it is nowhere to be had.
	Trace func(ctx context.Context, e *knowledge.Execution) (*trace.Trace, error)
	// Asked notes a question before it is answered; with an error it is not. It hides the secrets of the question itself: what one
	// asks is nothing that others' answers are masked by. Nil notes nothing.
	Asked func(ctx context.Context, q Question) error
	// Private says that others look on than the one who started the page: errors don't say where the store is.
	Private bool
	// Failed sees the errors that are not shown, for the one who started the page. It may be called by several goroutines; nil: nobody does.
	Failed func(error)
	// WayOut says what a user can do about an error; "" or nil: nothing.
	WayOut func(error) string
}

// Watched is what is known of a repository outside of the store.
type Watched struct {
	Stale   string     // in what its files differ from the store; "" in nothing
	Checked *time.Time // when somebody looked; nil: now
}

// Question is what somebody asks.
type Question struct {
	Who, What, Text string
}

// ErrNoTrace says that a trace is known, and its file is not here.
var ErrNoTrace = errors.New("the trace itself is not in the knowledge base")

// Server shows the page.
type Server struct {
	content  Content
	answers  site.Answers
	handler  http.Handler
	listener net.Listener
	patience time.Duration // for an answer

	mu     sync.Mutex
	asking map[string]bool // who waits for locate
	counts map[counted]counts
	model  string        // with the most summaries
	looked time.Time     // when that was seen
	slots  chan struct{} // of all of them
}

// How much is answered at once.
const (
	mostRepositories = 2000
	mostFiles        = 3000 // of a repository
	mostDeclared     = 2000 // by a file
	mostFound        = 40   // by a search
	mostLocated      = 20
	mostAround       = 200 // callers, callees
	mostTests        = 20  // that were not recorded
	mostRan          = 50  // tests and programs that executed a function
	mostLines        = 5000
	mostReport       = 64 << 10 // bytes of a report
	mostSearch       = 1 << 10
	atOnce           = 4 // reports that are located
	answerTime       = 20 * time.Second
)

// New makes a server on a listener for those that a guard lets in.
func New(c Content, l net.Listener, g *guard.Guard) *Server {
	s := &Server{content: c, listener: l, patience: answerTime, asking: map[string]bool{}, counts: map[counted]counts{}, slots: make(chan struct{}, atOnce)}
	s.answers = site.Answers{WayOut: c.WayOut, Clean: c.Secrets.CleanJSON}
	s.handler = s.routes(g)
	return s
}

// Serve answers until ctx ends, which is no error.
func (s *Server) Serve(ctx context.Context) error { return site.Serve(ctx, s.listener, s.handler) }

func (s *Server) routes(g *guard.Guard) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", site.File("text/html; charset=utf-8", page))
	mux.HandleFunc("GET /catalog.js", site.File("text/javascript; charset=utf-8", script()))
	mux.HandleFunc("GET /catalog.css", site.File("text/css; charset=utf-8", style()))
	mux.HandleFunc("GET /icon.svg", site.File("image/svg+xml", site.Icon))
	mux.HandleFunc("GET /api/overview", g.Known(s.overview))
	mux.HandleFunc("POST /api/repository", g.Known(s.repository))
	mux.HandleFunc("POST /api/file", g.Known(s.file))
	mux.HandleFunc("POST /api/search", g.Known(s.search))
	mux.HandleFunc("POST /api/locate", g.Known(s.locate))
	mux.HandleFunc("POST /api/unit", g.Known(s.unit))
	mux.HandleFunc("POST /api/values", g.Known(s.values))
	for _, writes := range []string{"index", "refresh"} {
		mux.HandleFunc("/api/"+writes, g.Known(readOnly))
	}
	return g.Protect(mux)
}

// readOnly refuses what would write, whoever asks.
func readOnly(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "this page only reads: tracerag index and workers bring the knowledge base up to date", http.StatusForbidden)
}

// errTimeout says that an answer took too long.
var errTimeout = fmt.Errorf("the answer took longer than %v: ask about less, such as one repository", answerTime)

// errStore stands for an error that is not for everybody.
var errStore = errors.New("the knowledge base can't be read now: try again in a moment")

// answer answers with what do returns, within the time that answers may take.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, do func(ctx context.Context) (any, error)) {
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.patience, errTimeout)
	defer cancel()
	v, err := do(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		code := status(err)
		if s.content.Private && code == http.StatusInternalServerError {
			if s.content.Failed != nil {
				s.content.Failed(err)
			}
			code, err = http.StatusServiceUnavailable, errStore
		}
		s.answers.Refuse(w, err.Error(), err, code)
		return
	}
	s.answers.Write(w, v)
}

// refusal is an error with the status that it is answered with.
type refusal struct {
	code int
	text string
}

func (e *refusal) Error() string { return e.text }

// ask reads a request, notes it as a question of a kind and answers it. text is what is noted of it.
func ask[In any](s *Server, w http.ResponseWriter, r *http.Request, what string, text func(*In) string, do func(ctx context.Context, in *In) (any, error)) {
	in := new(In)
	if !site.ReadBody(w, r, "question", in) {
		return
	}
	s.answer(w, r, func(ctx context.Context) (any, error) {
		if err := s.note(ctx, what, text(in)); err != nil {
			return nil, err
		}
		return do(ctx, in)
	})
}

// note notes who asks what.
func (s *Server) note(ctx context.Context, what, text string) error {
	if s.content.Asked == nil {
		return nil
	}
	err := s.content.Asked(ctx, Question{Who: guard.Name(ctx), What: what, Text: text})
	if err != nil && ctx.Err() == nil {
		err = &refusal{http.StatusServiceUnavailable, "questions can't be noted now, so they are not answered: try again in a moment"}
	}
	return err
}
