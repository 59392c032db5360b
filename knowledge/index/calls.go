package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tracerag/code"
	"tracerag/code/calls"
	"tracerag/knowledge"
	"tracerag/phrase"
)

// CallsFunc returns the static and interface calls of a repository's own code, and a line for
// each part of it whose calls are not known.
type CallsFunc func(ctx context.Context, l *code.Listing) (calls []knowledge.Call, gaps []string, err error)

// updateCalls makes the calls anew if anything changed that they depend on.
func (p *plan) updateCalls(ctx context.Context, w Store, id int64, make CallsFunc, r *Result) error {
	files, err := w.Stored(ctx, id)
	if err != nil {
		return err
	}
	key := callKey(p.listing, files)
	was, err := w.CallKey(ctx, id)
	if err != nil || was == key {
		return err
	}
	list, gaps, err := make(ctx, p.listing)
	if left, ok := errors.AsType[*CallsLeftError](err); ok {
		r.CallsLeft = left.Takes
		return nil
	}
	if err != nil {
		return err
	}
	// The files were read again for that.
	if now, err := look(ctx, w, p.listing.Root, nil); err != nil || now.moved() {
		r.CallGaps = append(gaps, "files changed while the calls were made: index again")
		return err
	}
	list, left := ofStored(list, files)
	r.CallGaps, r.CallsMade = append(gaps, left...), true
	return w.SetCalls(ctx, id, key, list)
}

// ofStored leaves out the calls of and to files that are not in the store, and says which files
// these are. The go command also builds what git ignores (generated code, as a rule), what a link
// leads to, and what is too large to be taken for code.
func ofStored(list []knowledge.Call, files []knowledge.Stored) (kept []knowledge.Call, gaps []string) {
	has := make(map[string]bool, len(files))
	for _, f := range files {
		has[f.Path] = f.Problem == ""
	}
	without := map[string]bool{}
	kept = slices.DeleteFunc(list, func(c knowledge.Call) bool {
		for _, path := range []string{c.Caller.Path, c.Callee.Path} {
			if !has[path] {
				without[path] = true
			}
		}
		return !has[c.Caller.Path] || !has[c.Callee.Path]
	})
	for _, path := range slices.Sorted(maps.Keys(without)) {
		gaps = append(gaps, path+": it is not in the index (ignored by git, a link, or too large), and its calls are left out")
	}
	return kept, gaps
}

// moved reports whether files changed. Those whose time can't tell are taken for unchanged.
func (p *plan) moved() bool {
	return len(p.gone) > 0 || p.modules || slices.ContainsFunc(p.read, func(e code.Entry) bool {
		f, ok := p.files[e.Path]
		return !ok || f.Problem == "" && (f.Size != e.Size || !f.Time.IsZero())
	})
}

// TypedCalls makes the calls of all modules of a repository with package code/calls. A module whose
// calls can't be made is a gap.
func TypedCalls(ctx context.Context, l *code.Listing) (made []knowledge.Call, gaps []string, err error) {
	if path := pipe(l.Root); path != "" {
		return nil, []string{path + ": it is not a regular file, and the go command would wait for it: remove it"}, nil
	}
	for _, m := range l.Modules {
		if m.Testdata {
			continue
		}
		g, err := calls.Load(ctx, calls.Config{Dir: filepath.Join(l.Root, filepath.FromSlash(m.Dir)), Root: l.Root, Tests: true})
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			gaps = append(gaps, fmt.Sprintf("module %s: %v", m.Path, err))
			continue
		}
		for _, e := range g.Edges() {
			kind := knowledge.Interface
			if e.Kind == calls.Static {
				kind = knowledge.Static
			}
			made = append(made, knowledge.Call{Kind: kind, Site: e.Site,
				Caller: knowledge.Place{Path: e.Caller.File, Symbol: e.Caller.Symbol}, Callee: knowledge.Place{Path: e.Callee.File, Symbol: e.Callee.Symbol}})
		}
		for _, gap := range g.AllGaps() {
			gaps = append(gaps, gap.String())
		}
	}
	return made, gaps, nil
}

// pipe returns the path of a file that the go command would open and that is a named pipe or a
// device, for which it would wait for ever; "" if there is none. It also reads what git ignores.
func pipe(root string) string {
	found := ""
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || e.Type().IsRegular():
			return nil // the go command says what it can't read
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case e.IsDir() || !slices.Contains(goReads, filepath.Ext(path)):
			return nil
		}
		if info, err := os.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			if rel, err := filepath.Rel(root, path); err == nil {
				found = filepath.ToSlash(rel)
			}
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// goReads are the ends of the names of files that the go command opens to list packages: those
// of go.mod and vendor/modules.txt, and what go/build knows.
var goReads = []string{".mod", ".sum", ".work", ".txt", ".go", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".m", ".f", ".F", ".for", ".f90",
	".s", ".S", ".sx", ".swig", ".swigcxx", ".syso"}

// callsASecond is how many bytes of own source code are type-checked and analysed in a second on
// two processors, dependencies compiled before: the 4.9 MB of esbuild take 8 seconds of processor
// time.
const callsASecond = 600_000

// CallsTake estimates how long the calls of a repository take.
func CallsTake(l *code.Listing) time.Duration {
	var bytes int64
	for _, e := range l.Files {
		if !e.Vendored && !e.Testdata && !e.TooLarge && e.Module >= 0 {
			bytes += e.Size
		}
	}
	return time.Duration(bytes) * time.Second / callsASecond
}

// CallsLeftError says that calls are not made since that takes long.
type CallsLeftError struct{ Takes time.Duration }

func (e *CallsLeftError) Error() string {
	return "they take about " + phrase.Duration(e.Takes.Round(time.Second))
}

// CallsWithin is [TypedCalls] for repositories of which they take less than a time. Of others the calls
// that are in the store stay: see [Result].CallsLeft.
func CallsWithin(limit time.Duration) CallsFunc {
	return func(ctx context.Context, l *code.Listing) ([]knowledge.Call, []string, error) {
		if takes := CallsTake(l); takes > limit {
			return nil, nil, &CallsLeftError{takes}
		}
		return TypedCalls(ctx, l)
	}
}
