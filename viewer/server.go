package viewer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"tracerag/prompt"
	"tracerag/viewer/guard"
	"tracerag/viewer/site"
)

// Model answers prompts.
type Model interface {
	// Name is what the model is called.
	Name() string
	// InRounds reports whether it is asked in rounds rather than with p, the one prompt
	// that has everything.
	InRounds(q *Question, p *prompt.Prompt) bool
	// Ask asks, in rounds or not, and says what comes of it as it comes. Notes are
	// sentences for the user, beside an error, too.
	Ask(ctx context.Context, q *Question, to Listener) (notes []string, err error)
}

// Listener hears what comes of a question.
type Listener interface {
	io.Writer // takes the answer
	// Sent is called with each prompt before it is sent.
	Sent(Round)
}

// Round is one prompt of a question.
type Round struct {
	Number, Of int              // from 1; of at most so many
	Reads      []prompt.Request // what the model wanted to read; the prompt has it
	Prompt     *prompt.Prompt
}

// Server shows a page to anyone who has its URL.
type Server struct {
	page     *Page
	model    Model // nil: none is configured
	listener net.Listener
	url      string
	handler  http.Handler

	building sync.Mutex // one prompt at a time
}

// Listen makes a server on a free port of the loopback interface. A nil model
// answers nothing; the prompt can be copied.
func Listen(p *Page, m Model) (*Server, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening on the loopback interface: %w", err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		l.Close()
		return nil, err
	}
	token := guard.Token()
	s := &Server{page: p, model: m, listener: l, url: "http://127.0.0.1:" + port + "/#" + token}
	s.handler = s.routes(guard.New(guard.Options{Hosts: guard.Loopback(port), Holder: guard.Only(token, ""), WayIn: "open the URL that tracerag view printed"}))
	return s, nil
}

// URL is where the page is; it holds the token.
func (s *Server) URL() string { return s.url }

// Serve answers until ctx ends, which is no error. An answer of the model that is
// on its way is broken off.
func (s *Server) Serve(ctx context.Context) error { return site.Serve(ctx, s.listener, s.handler) }

func (s *Server) routes(g *guard.Guard) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", site.File("text/html; charset=utf-8", servedPage()))
	mux.HandleFunc("GET /viewer.js", site.File("text/javascript; charset=utf-8", script()))
	mux.HandleFunc("GET /viewer.css", site.File("text/css; charset=utf-8", style()))
	mux.HandleFunc("GET /icon.svg", site.File("image/svg+xml", site.Icon))
	mux.HandleFunc("GET /api/overview", g.Known(s.overview))
	mux.HandleFunc("GET /api/source/{function}", g.Known(s.source))
	mux.HandleFunc("GET /api/values/{node}", g.Known(s.values))
	mux.HandleFunc("POST /api/prompt", g.Known(s.prompt))
	mux.HandleFunc("POST /api/rank", g.Known(s.rank))
	mux.HandleFunc("POST /api/ask", g.Known(s.ask))
	if s.page.content.Sources != nil {
		// Posts: each looks at the files first, and brings the store up to date.
		mux.HandleFunc("POST /api/locate", g.Known(s.locate))
		mux.HandleFunc("POST /api/unit", g.Known(s.unit))
		mux.HandleFunc("POST /api/refresh", g.Known(s.refresh))
		mux.HandleFunc("POST /api/index", g.Known(s.index))
	}
	return g.Protect(mux)
}

func (s *Server) overview(w http.ResponseWriter, _ *http.Request) {
	o := s.page.overview
	if s.model != nil {
		o.Model = s.model.Name()
	}
	o.InSource = s.page.content.Sources != nil
	s.writeJSON(w, &o)
}

func (s *Server) source(w http.ResponseWriter, r *http.Request) {
	i, err := strconv.Atoi(r.PathValue("function"))
	if err != nil || i < 0 || i >= len(s.page.functions) {
		http.Error(w, "unknown function", http.StatusNotFound)
		return
	}
	s.writeJSON(w, s.page.source(i))
}

func (s *Server) values(w http.ResponseWriter, r *http.Request) {
	i, err := strconv.Atoi(r.PathValue("node"))
	v, ok := s.page.values(i)
	if err != nil || !ok {
		http.Error(w, "no values were observed there", http.StatusNotFound)
		return
	}
	s.writeJSON(w, v)
}

func (s *Server) prompt(w http.ResponseWriter, r *http.Request) {
	d, ok := readDraft(w, r)
	if !ok {
		return
	}
	q, pr, err := s.build(r.Context(), d)
	if err != nil {
		s.refuse(w, err, http.StatusUnprocessableEntity)
		return
	}
	a := s.page.account(pr)
	a.Rounds = s.model != nil && s.model.InRounds(q, pr)
	s.writeJSON(w, a)
}

// rank lists the functions that a question is about.
func (s *Server) rank(w http.ResponseWriter, r *http.Request) {
	d, ok := readDraft(w, r)
	if !ok {
		return
	}
	s.building.Lock()
	list, err := s.page.rank(d.Question)
	s.building.Unlock()
	if err != nil {
		s.refuse(w, err, http.StatusUnprocessableEntity)
		return
	}
	s.writeJSON(w, list)
}

// ErrNoModel is the error of a question to a page without a [Model].
var ErrNoModel = errors.New("no model is configured")

// refuse answers with an error and what can be done about it.
func (s *Server) refuse(w http.ResponseWriter, err error, code int) {
	s.page.answers.Refuse(w, oneWarning(err), err, code)
}

// build makes a prompt unless the browser has lost interest meanwhile, as it does
// while a slider moves.
func (s *Server) build(ctx context.Context, d Draft) (*Question, *prompt.Prompt, error) {
	s.building.Lock()
	defer s.building.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	q, err := s.page.content.Question(d)
	if err != nil {
		return nil, nil, err
	}
	p, err := q.Prompt()
	return q, p, err
}

// question returns what a draft's prompts are made of.
func (s *Server) question(d Draft) (*Question, error) {
	s.building.Lock()
	defer s.building.Unlock()
	return s.page.content.Question(d)
}

// ask streams the model's answer as JSON, a line for each event.
func (s *Server) ask(w http.ResponseWriter, r *http.Request) {
	d, ok := readDraft(w, r)
	if !ok {
		return
	}
	switch {
	case s.model == nil:
		s.refuse(w, ErrNoModel, http.StatusConflict)
		return
	case d.Question == "":
		http.Error(w, "missing question", http.StatusUnprocessableEntity)
		return
	}
	q, err := s.question(d)
	if err != nil {
		s.refuse(w, err, http.StatusUnprocessableEntity)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := &events{w: w, page: s.page, flush: http.NewResponseController(w).Flush}
	notes, err := s.model.Ask(r.Context(), q, out)
	end := event{Done: true, Notes: notes, Citations: s.page.cited(out.said.String(), strings.Join(out.sent, "\n"))}
	if err != nil {
		end.Error = oneWarning(err)
	}
	out.send(end)
}

// readDraft reads a request's draft, or answers what is wrong with it.
func readDraft(w http.ResponseWriter, r *http.Request) (d Draft, ok bool) {
	ok = site.ReadBody(w, r, "draft", &d)
	return d, ok
}

func (s *Server) writeJSON(w http.ResponseWriter, v any) { s.page.answers.Write(w, v) }
