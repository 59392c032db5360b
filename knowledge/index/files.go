package index

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tracerag/code"
	"tracerag/knowledge"
)

// batchBytes are those of the source files whose rows are one transaction. The terms of each
// are rows of their own, so that many small ones take longer; one of that size takes less than a
// second. After a kill that much is made again twice: while one is written, the next is made.
const batchBytes = 4 << 20

// outcome is what became of a file that was to be read.
type outcome struct {
	parsed *knowledge.Parsed // nil: as it was, or gone
	seen   *knowledge.Stored // only size or time differ
	gone   string
	size   int64
	lines  int
	n      int // in plan.read
}

// writeFiles reads the files that may have changed, on all processors, and writes what differs.
func (p *plan) writeFiles(ctx context.Context, w Store, id int64, progress func(done, all int), r *Result) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	todo, done := make(chan int), make(chan outcome, 64)
	go func() {
		defer close(todo)
		for n := range p.read {
			select {
			case todo <- n:
			case <-ctx.Done():
				return
			}
		}
	}()
	var wg sync.WaitGroup
	large := make(chan struct{}, 1) // the tree of a large file takes 30 times its size
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			var make maker
			for n := range todo {
				e := p.read[n]
				if e.Size > 1<<20 {
					large <- struct{}{}
				}
				o := p.file(e, &make)
				o.n = n
				if e.Size > 1<<20 {
					<-large
				}
				select {
				case done <- o:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	go func() {
		wg.Wait()
		close(done)
	}()

	// The files behind a batch are read while it is written.
	batches, written := make(chan knowledge.Change), make(chan error, 1)
	go func() {
		var err error
		for c := range batches {
			if err == nil {
				// Also when the context has ended: what was made is kept.
				if err = w.Write(context.WithoutCancel(ctx), id, c); err != nil {
					cancel()
				}
			}
		}
		written <- err
	}()
	var batch knowledge.Change
	var size int64
	write := func() {
		batches <- batch
		batch, size = knowledge.Change{}, 0
	}
	// They are written in the order of their paths, so that a store that is made twice has
	// the same numbers twice.
	early := map[int]outcome{}
	take := func(o outcome) {
		r.Read++
		size += o.size
		switch {
		case o.gone != "":
			batch.Remove = append(batch.Remove, o.gone)
		case o.seen != nil:
			batch.Seen = append(batch.Seen, *o.seen)
		default:
			batch.Put = append(batch.Put, *o.parsed)
			r.Parsed++
			r.Lines += o.lines
		}
		if size >= batchBytes || len(batch.Seen) >= 2000 {
			write()
		}
		if progress != nil {
			progress(r.Read, len(p.read))
		}
	}
	for o := range done {
		early[o.n] = o
		for {
			next, ok := early[r.Read]
			if !ok {
				break
			}
			delete(early, r.Read)
			take(next)
		}
	}
	write()
	close(batches)
	return cmp.Or(<-written, ctx.Err())
}

// file reads one file, and parses it if it is not the one in the store: with a maker, if what is
// in it is asked for.
func (p *plan) file(e code.Entry, make *maker) outcome {
	text, size, modified, err := []byte(nil), e.Size, e.Time, error(nil)
	if e.TooLarge {
		err = fmt.Errorf("it has %d MB, which is taken for data", e.Size>>20)
	} else {
		text, size, modified, err = read(p.listing.Root, e.Path)
	}
	if errors.Is(err, fs.ErrNotExist) { // removed since
		return outcome{gone: e.Path}
	}
	was, known := p.files[e.Path]
	e.Size, e.Time = size, modified
	st := knowledge.Stored{Path: e.Path, Package: e.Package, Module: e.Module, Class: e.Class, Size: size, Time: modified}
	if err != nil {
		st.Problem = cause(err)
		f := knowledge.File{Entry: e, Problem: st.Problem}
		if known && was.Problem == st.Problem && was.Size == size && !changedPlace(e, was) {
			return outcome{seen: &st}
		}
		return outcome{parsed: &knowledge.Parsed{File: f, Stored: st}, size: 1 << 10}
	}
	st.Hash = code.HashText(text)
	if known && was.Hash == st.Hash && was.Problem == "" && !changedPlace(e, was) {
		return outcome{seen: &st, size: 100}
	}
	st.Blob = p.git.blob(text)
	f := code.Parse(text)
	parsed := &knowledge.Parsed{File: knowledge.File{Entry: e, PackageName: f.Package, Generated: f.Generated, Constraint: f.Constraint, Broken: len(f.Errors), Hash: st.Hash}}
	for _, i := range f.Imports {
		parsed.Imports = append(parsed.Imports, i.Path)
	}
	if !e.Vendored && !e.Ignored { // packages in testdata are imported by tests
		st.Calls = callInput(e.Path, f)
	}
	parsed.Stored, parsed.Text = st, text
	if make == nil {
		return outcome{parsed: parsed}
	}
	parsed.Decls = make.facts(text, &parsed.File, f)
	return outcome{parsed: parsed, size: int64(len(text)), lines: bytes.Count(text, []byte{'\n'})}
}

// changedPlace reports whether a file means something else though its text may be the same.
func changedPlace(e code.Entry, f knowledge.Stored) bool {
	return e.Package != f.Package || e.Module != f.Module || e.Class != f.Class
}

// cause is an error's text without the path, which is shown beside it.
func cause(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// read returns a file's text, and the size and time that belong to it. The time is zero if the
// file may be written again without a change of it.
func read(root, path string) (text []byte, size int64, modified time.Time, err error) {
	for range 3 {
		text, size, modified, err = readOnce(root, path)
		if err != errChanging {
			break
		}
	}
	return text, size, modified, err
}

func readOnce(root, path string) (text []byte, size int64, modified time.Time, err error) {
	f, err := code.Open(root, path)
	if err != nil {
		return nil, 0, time.Time{}, err
	}
	defer func() { _ = f.Close() }()
	before, err := f.Stat()
	if err != nil {
		return nil, 0, time.Time{}, err
	}
	at := time.Now()
	text = make([]byte, before.Size()+1)
	n, err := readFull(f, text)
	if err != nil {
		return nil, 0, time.Time{}, err
	}
	after, err := f.Stat()
	if err != nil {
		return nil, 0, time.Time{}, err
	}
	if int64(n) != before.Size() || after.Size() != before.Size() || !code.Changed(after).Equal(code.Changed(before)) {
		return nil, before.Size(), time.Time{}, errChanging
	}
	modified = code.Changed(after)
	if at.Sub(modified) < grain(modified) {
		modified = time.Time{}
	}
	return text[:n], after.Size(), modified, nil
}

// grain is how long a file's time may stay the same while it is written: Linux takes the
// time of its clock's last tick, and some file systems keep whole seconds.
func grain(t time.Time) time.Duration {
	if t.Nanosecond() == 0 {
		return 2 * time.Second
	}
	return 20 * time.Millisecond
}

func readFull(f *os.File, to []byte) (n int, err error) {
	for n < len(to) {
		m, err := f.Read(to[n:])
		n += m
		if m == 0 || err != nil {
			break
		}
	}
	return n, nil
}

// blob returns git's name for a text.
func (g *git) blob(text []byte) (h knowledge.GitHash) {
	head := fmt.Appendf(nil, "blob %d\x00", len(text))
	if g.sha256 {
		s := sha256.New()
		s.Write(head)
		s.Write(text)
		copy(h[:], s.Sum(nil))
		return h
	}
	s := sha1.New()
	s.Write(head)
	s.Write(text)
	copy(h[:], s.Sum(nil))
	return h
}

// callInput returns a hash of all in a file that calls depend on: the tokens of all its
// declarations, imports, the build constraint, and where it is. Formatting and comments are not
// in it.
func callInput(path string, f *code.File) (h code.Hash) {
	s := sha256.New()
	fmt.Fprintf(s, "%s\x00%s\x00%s\x00%v\x00", path, f.Package, f.Constraint, f.Imports)
	for i := range f.Decls {
		fmt.Fprintf(s, "%s\x00%x\x00", f.Decls[i].Symbol(), f.Decls[i].Tokens)
	}
	for _, e := range f.Errors {
		fmt.Fprintf(s, "%s\x00", e.What)
	}
	copy(h[:], s.Sum(nil))
	return h
}

// moduleFiles say which packages the go command finds.
var moduleFiles = []string{"go.mod", "go.sum", "go.work", "go.work.sum", "vendor/modules.txt"}

// mostOfSums is more than any of them has: the go.sum of kubernetes has 80 kB.
const mostOfSums = 64 << 20

// callKey returns a hash of all that the calls of a repository depend on: also which modules are
// on this machine.
func callKey(l *code.Listing, files []knowledge.Stored) (h code.Hash) {
	s := sha256.New()
	for _, f := range files {
		if f.Calls != (code.Hash{}) {
			s.Write(f.Calls[:])
		}
	}
	dirs := []string{"."}
	for _, m := range l.Modules {
		if !m.Testdata {
			dirs = append(dirs, m.Dir)
		}
	}
	slices.Sort(dirs)
	for _, d := range slices.Compact(dirs) {
		for _, n := range moduleFiles {
			text, err := code.ReadRegular(filepath.Join(l.Root, filepath.FromSlash(d), n), mostOfSums)
			if err == nil {
				sum := sha256.Sum256(text)
				fmt.Fprintf(s, "%s/%s\x00%x\x00", d, n, sum)
				if strings.HasSuffix(n, ".sum") {
					s.Write(missing(text))
				}
			}
		}
	}
	fmt.Fprintf(s, "%s %s %s", runtime.Version(), machine("GOOS", runtime.GOOS), machine("GOARCH", runtime.GOARCH))
	for _, n := range []string{"GOFLAGS", "CGO_ENABLED", "GOEXPERIMENT", "GOWORK"} {
		fmt.Fprintf(s, "\x00%s", os.Getenv(n))
	}
	copy(h[:], s.Sum(nil))
	return h
}

func machine(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}
