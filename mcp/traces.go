package mcp

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tracerag/prompt"
	"tracerag/rank"
	"tracerag/session"
	"tracerag/trace/store"
)

// Traces is the backend of a session's traces, as trees of some options.
func Traces(s *session.Session, o session.TreeOptions) Backend { return &traces{look: s, tree: o} }

// traces opens traces for an agent.
type traces struct {
	look *session.Session
	tree session.TreeOptions

	mu   sync.Mutex
	kept []keptView // the one used last at the end
}

// keptView is a view that was opened: an agent asks ten times about one trace, and a
// large one takes a second to open.
type keptView struct {
	key  string
	view *View
}

const (
	keptViews = 4
	keptNodes = 1_000_000 // of all together, but for the one that was opened last
)

func (b *traces) keptNodes() (n int) {
	for _, k := range b.kept {
		for _, r := range k.view.Runs {
			n += len(r.Trace.Nodes)
		}
	}
	return n
}

// List implements [Backend].
func (b *traces) List() (int, iter.Seq[Listed], error) {
	entries, err := b.look.Store.List()
	if err != nil {
		return 0, nil, err
	}
	return len(entries), func(yield func(Listed) bool) {
		for _, e := range slices.Backward(entries) {
			sum := b.look.List(e)
			l := Listed{ID: sum.ID, Name: sum.Name, Saved: sum.Saved, Title: sum.Title, Calls: sum.Calls, Functions: sum.Functions, Error: sum.Error}
			switch {
			case sum.Error != "":
			case sum.Exit != nil:
				l.Exit = sum.Exit.String()
			default:
				l.Exit = "samples, not calls"
			}
			if !yield(l) {
				return
			}
		}
	}, nil
}

// Open implements [Backend].
func (b *traces) Open(whole bool, names ...string) (*View, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := fmt.Sprint(whole)
	paths := make([]string, len(names))
	for i, name := range names {
		e, err := b.find(name)
		if err != nil {
			return nil, err
		}
		paths[i] = e.Path
		info, err := os.Stat(e.Path)
		if err != nil {
			return nil, err
		}
		key += fmt.Sprintf("\n%s %d %d", e.Path, info.Size(), info.ModTime().UnixNano())
	}
	if i := slices.IndexFunc(b.kept, func(k keptView) bool { return k.key == key }); i >= 0 {
		k := b.kept[i]
		b.kept = append(slices.Delete(b.kept, i, i+1), k)
		return k.view, nil
	}
	v, err := b.open(whole, paths)
	if err != nil {
		return nil, err
	}
	b.kept = append(b.kept, keptView{key, v})
	b.kept = b.kept[max(0, len(b.kept)-keptViews):]
	for len(b.kept) > 1 && b.keptNodes() > keptNodes {
		b.kept = slices.Delete(b.kept, 0, 1)
	}
	return v, nil
}

// find finds a trace of the store, or the file at an absolute path, which the server
// has looked at before. Nothing else is found: the store itself would take the name of
// any file.
func (b *traces) find(name string) (store.Entry, error) {
	e, err := b.look.Store.Find(name)
	if missing, ok := errors.AsType[*store.NotFoundError](err); ok {
		return e, notFoundForAgent(missing)
	}
	if err != nil || filepath.IsAbs(name) {
		return e, err
	}
	dir, err := filepath.EvalSymlinks(b.look.Store.Dir())
	if err != nil {
		return e, err
	}
	path, err := filepath.EvalSymlinks(e.Path)
	if err != nil {
		return e, err
	}
	if d := filepath.Dir(path); d != dir && d != filepath.Join(dir, filepath.Base(b.look.Store.Processes().Dir())) {
		return e, notFoundForAgent(&store.NotFoundError{Name: name})
	}
	return e, nil
}

// notFoundForAgent says what the store says in the words of an agent's tools.
func notFoundForAgent(e *store.NotFoundError) error {
	switch {
	case len(e.Near) > 0:
		return fmt.Errorf("no trace %s: did you mean %s? list_traces shows all", e.Name, strings.Join(e.Near, " or "))
	case e.Have > 0:
		return fmt.Errorf("no trace %s: list_traces shows all %d", e.Name, e.Have)
	}
	return fmt.Errorf("no trace %s: list_traces shows the saved traces", e.Name)
}

// open opens traces as tracerag tree and the other commands do.
func (b *traces) open(whole bool, paths []string) (*View, error) {
	var warnings []string
	look := *b.look
	look.Warn = func(err error) { warnings = append(warnings, err.Error()) }
	o := b.tree
	if whole {
		o.Baseline = session.NoBaseline
	}
	o.Compared = len(paths) == 2
	views, err := look.Open(paths, o)
	if err != nil {
		return nil, err
	}
	out := &View{
		Rank: func(question string) *rank.Ranking { return b.look.Rank(question, views) },
		Reader: func(question string) (*prompt.Reader, error) {
			in, err := b.look.PromptInput(question, views...)
			if err != nil {
				return nil, err
			}
			return prompt.NewReader(in, prompt.Options{})
		},
		Prompt: func(question string, budget int) (*prompt.Prompt, error) {
			if err := b.look.PromptFits(views); err != nil {
				return nil, err
			}
			return prompt.Build(b.look.Input(question, views...), prompt.Options{Variant: prompt.Ordered, Budget: budget})
		},
	}
	for i, v := range views {
		r := b.look.Run(v)
		if i == 0 {
			r.Notes = append(r.Notes, warnings...)
		}
		out.Runs = append(out.Runs, r)
	}
	return out, nil
}
