package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"tracerag/jobs"
	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/postgres"
	"tracerag/knowledge/stores"
	"tracerag/trace"
	"tracerag/trace/store"
	"tracerag/viewer/catalog"
	"tracerag/viewer/guard"
)

// baseFlags are of the page of a knowledge base.
type baseFlags struct {
	shown          bool // it is what is shown, and no run
	listen, origin string
}

func (b *baseFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&b.shown, "repositories", false, "show the repositories of the knowledge base, and no run")
	f.StringVar(&b.listen, "listen", "", "serve that page at `ADDR`: a port of this machine alone, or HOST:PORT (default: a free port)")
	f.StringVar(&b.origin, "origin", "", "browsers find the page at `URL`, that of a proxy: https://code.example.com")
}

// ofBase are the flags of view that the page of a knowledge base takes.
var ofBase = []string{"repositories", "listen", "origin", "knowledge", "model", "no-open", "no-redact", "dir", "quiet", "no-pager"}

// check decides what is shown, and says what is wrong with the flags; "" if nothing is.
func (b *baseFlags) check(f *pflag.FlagSet, knowledgeSaid bool) string {
	trace := f.NArg() > 0
	for _, name := range []string{"repositories", "listen", "origin"} {
		if trace && f.Changed(name) {
			return fmt.Sprintf("--%s is for the repositories of the knowledge base: leave the trace out", name)
		}
	}
	b.shown = !trace && (b.shown || knowledgeSaid)
	if !b.shown && (b.listen != "" || b.origin != "") {
		return "--listen and --origin are for the repositories of the knowledge base: add --repositories"
	}
	other := ""
	if b.shown {
		f.Visit(func(flag *pflag.Flag) {
			if !slices.Contains(ofBase, flag.Name) {
				other = cmp.Or(other, flag.Name)
			}
		})
	}
	if other != "" {
		return fmt.Sprintf("--%s is for a run, and --knowledge without a trace shows the repositories: name the trace, such as @last", other)
	}
	return ""
}

// address is what --listen says: a port is one of the loopback interface, as is one without a host.
func (b *baseFlags) address() string {
	at := cmp.Or(b.listen, "0")
	if !strings.Contains(at, ":") {
		at = ":" + at
	}
	if strings.HasPrefix(at, ":") {
		at = "127.0.0.1" + at
	}
	return at
}

// hosts are the names by which browsers know a listener without a proxy.
func hosts(l net.Listener) ([]string, error) {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil || guard.IsLoopback(l.Addr()) {
		return guard.Loopback(port), err
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return nil, nil // it is called by any name: --origin says which
	}
	return []string{net.JoinHostPort(host, port)}, nil
}

// serveBase shows a knowledge base until Ctrl-C.
func (a *app) serveBase(ctx context.Context, b *baseFlags, k *knowledgeFlags, traces *store.Store, model string, open bool) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	origin := ""
	if b.origin != "" {
		var err error
		if origin, err = guard.ParseOrigin(b.origin); err != nil {
			return fmt.Errorf("--origin: %w", err)
		}
	}
	place, err := a.place(k, traces.Dir())
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", b.address())
	if err != nil {
		return fmt.Errorf("--listen=%s: %w\nit takes a port, or HOST:PORT", b.listen, err)
	}
	defer l.Close() // unless it is served
	public := origin != "" || !guard.IsLoopback(l.Addr())
	names, err := hosts(l)
	if err != nil {
		return err
	}
	if names == nil && origin == "" {
		return fmt.Errorf("--listen=%s: pages are refused to names that nobody knows: say how browsers find this one\n--origin https://code.example.com", b.listen)
	}
	if public && !place.IsDatabase() {
		return errors.New("the page is for others, so they need tokens, and these are kept in a database: the knowledge base is a file\nname a database with --knowledge, or leave --origin out and listen on this machine alone")
	}
	s, err := place.OpenRead(ctx)
	if errors.Is(err, knowledge.ErrNotIndexed) {
		return fmt.Errorf("%s: %w\ntracerag index makes it", place, knowledge.ErrNotIndexed)
	}
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	c := a.baseContent(ctx, place, s, traces, model)
	c.Failed = a.sometimes("the page can't answer")
	wayIn := "open the URL that tracerag view printed"
	if public {
		wayIn = "ask for one, which tracerag token add makes"
	}
	holder, url, end, err := a.holders(ctx, k, place, &c, public, l)
	if err != nil {
		return err
	}
	defer end()
	server := catalog.New(c, l, guard.New(guard.Options{Hosts: names, Origin: origin, Holder: holder, WayIn: wayIn}))
	if public {
		url, open = cmp.Or(origin, url), false
		a.note("listening on %s", l.Addr())
		if !strings.HasPrefix(origin, "https://") {
			a.complain("without TLS everyone on the way can read tokens and sources: put a proxy before it, and name it with --origin https://...")
		}
	}
	a.opened(url, open)
	return server.Serve(ctx)
}

// holders returns whose tokens open the page, and has questions noted. Who started it on this machine has a token of that
// start; others have those of the database.
func (a *app) holders(ctx context.Context, k *knowledgeFlags, place *stores.Place, c *catalog.Content, public bool, l net.Listener) (_ guard.Holder, url string, end func(), err error) {
	url, end = "http://"+l.Addr().String(), func() {}
	var own guard.Holder
	if !public {
		token := guard.Token()
		own = guard.Only(token, "") // no guest has this name
		url += "/#" + token
	}
	if !place.IsDatabase() {
		return own, url, end, nil
	}
	guests, end, err := a.guests(ctx, k, "tokens")
	if err != nil && public {
		return nil, "", nil, err
	}
	if err != nil { // who may only read the database sees the page, and nobody else does
		return own, url, func() {}, nil
	}
	failed := a.sometimes("guests can't be let in")
	c.Asked = func(ctx context.Context, q catalog.Question) error {
		if q.Who == "" { // it is a role of the database that asks, as by any command
			return nil
		}
		err := guests.Asked(ctx, knowledge.Question{Who: q.Who, What: q.What, Text: q.Text})
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
		return err
	}
	holder := func(ctx context.Context, token string) (string, error) {
		name, err := guests.Holder(ctx, token)
		switch {
		case errors.Is(err, knowledge.ErrNoToken):
			err = guard.ErrUnknown
		case errors.Is(err, knowledge.ErrRevoked):
			err = guard.ErrRevoked
		case err != nil && ctx.Err() == nil:
			failed(err)
		}
		return name, err
	}
	if own != nil {
		return guard.Either(own, holder), url, end, nil
	}
	return holder, url, end, nil
}

// sometimes returns what says that something fails, and why: once a minute, however often it does.
func (a *app) sometimes(what string) func(error) {
	var mu sync.Mutex
	var last time.Time
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last) > time.Minute {
			last = time.Now()
			a.complain("%s: %v", what, err)
		}
	}
}

// baseContent is what the page of a knowledge base shows.
func (a *app) baseContent(ctx context.Context, place *stores.Place, s knowledge.Store, traces *store.Store, model string) catalog.Content {
	c := catalog.Content{
		Name: baseName(place), Store: s, Secrets: a.masker(), Text: stores.Indexed(ctx, s), Model: cmp.Or(model, a.getenv("TRACERAG_MODEL")),
		Private: place.IsDatabase(), WayOut: faceWayOut,
	}
	session := a.session(traces)
	if db, ok := s.(*postgres.Store); ok {
		here := lookedAt(s)
		c.Watched = followed(db, here)
		c.Trace = func(ctx context.Context, e *knowledge.Execution) (*trace.Trace, error) {
			if e.Size > mostOpened {
				return nil, fmt.Errorf("the trace's file has %d MiB, and a page opens %d MiB: tracerag pull %s fetches it: %w", e.Size>>20, mostOpened>>20, e.ID, catalog.ErrNoTrace)
			}
			file, err := db.TraceFile(ctx, e.ID)
			if isA[*knowledge.NoTraceError](err) {
				return nil, catalog.ErrNoTrace
			}
			if err != nil {
				return nil, err
			}
			t, err := traces.Limit.Read(bytes.NewReader(file))
			if err != nil {
				return nil, err
			}
			return session.Masked(t)
		}
		return c
	}
	c.Watched = lookedAt(s)
	c.Trace = func(_ context.Context, e *knowledge.Execution) (*trace.Trace, error) {
		t, _, err := session.Load(e.ID)
		if errors.Is(err, os.ErrNotExist) || isA[*store.NotFoundError](err) {
			return nil, catalog.ErrNoTrace
		}
		return t, err
	}
	return c
}

// baseName is how the page calls a knowledge base. Where a database is, guests need not know.
func baseName(place *stores.Place) string {
	if at, _ := place.Database(); at != nil {
		return "project " + at.Project
	}
	return place.String()
}

// mostOpened is how large a trace's file may be whose values a page shows.
const mostOpened = 64 << 20

// lookTime is how long a page waits for what became of repositories.
const lookTime = 2 * time.Second

// lookedAt looks at the files of repositories of this machine.
func lookedAt(s knowledge.Store) func(context.Context, []knowledge.Repository) map[string]catalog.Watched {
	return func(ctx context.Context, list []knowledge.Repository) map[string]catalog.Watched {
		ctx, cancel := context.WithTimeout(ctx, lookTime)
		defer cancel()
		out := map[string]catalog.Watched{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		slots := make(chan struct{}, 4)
		for _, r := range list {
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				if r.Elsewhere || ctx.Err() != nil {
					return
				}
				found, err := index.Stale(ctx, s, r)
				if err != nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				w := catalog.Watched{}
				if found.Is() {
					w.Stale = found.String()
				}
				out[r.Name] = w
			})
		}
		wg.Wait()
		return out
	}
}

// followed asks a database which commits workers saw last, and looks at what nobody follows if it is here.
func followed(db *postgres.Store, look func(context.Context, []knowledge.Repository) map[string]catalog.Watched) func(context.Context, []knowledge.Repository) map[string]catalog.Watched {
	return func(ctx context.Context, list []knowledge.Repository) map[string]catalog.Watched {
		ctx, cancel := context.WithTimeout(ctx, lookTime)
		defer cancel()
		out := map[string]catalog.Watched{}
		var urls []jobs.Followed
		if q, err := jobs.Open(db); err == nil {
			urls, _ = q.Followed(ctx) // without an answer nothing is said of them
		}
		var rest []knowledge.Repository
		for _, r := range list {
			i := slices.IndexFunc(urls, func(f jobs.Followed) bool { return f.URL == r.URL })
			if i < 0 || r.URL == "" || urls[i].Checked == nil {
				rest = append(rest, r)
				continue
			}
			f := &urls[i]
			w := catalog.Watched{Checked: f.Checked}
			switch {
			case f.Problem != "":
				w.Stale = f.Problem
			case f.Commit != r.Snapshot.Commit:
				w.Stale = fmt.Sprintf("commit %.12s is there, and not indexed yet", f.Commit)
			}
			out[r.Name] = w
		}
		maps.Copy(out, look(ctx, rest))
		return out
	}
}
