// Package doctor finds out what a machine and a program can do, and what is missing, by
// trying it: the program is started, prepared for recording, and ended before its first
// instruction. What is set somewhere does not tell: a container's seccomp filter cannot
// be read.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"tracerag/phrase"
	"tracerag/record"
	"tracerag/repair/sandbox"
	"tracerag/session"
	"tracerag/trace"
	"tracerag/trace/executable"
	"tracerag/trace/probe"
	"tracerag/trace/store"
	"tracerag/trace/target"
)

// Finding is one line of the report.
type Finding struct {
	Subject string `json:"subject"`
	Status  string `json:"status"` // ok, note, or missing
	Text    string `json:"text"`
	Remedy  string `json:"remedy,omitempty"`
}

// Recording says whether a program can be recorded here, nil arguments for none in
// particular. It is found in the directory dir.
func Recording(args []string, dir string) (can bool, found []Finding) {
	debugger := debugger()
	found = append(found, debugger)
	can = debugger.Status != "missing"
	var t *target.Target
	about := []Finding{{"program", "note", "none was named", "tracerag doctor ./app looks at one"}}
	if len(args) > 0 {
		var ok bool
		t, ok, about = program(args, dir)
		can = can && ok
	}
	if can {
		ok, recorders := recorders(t, dir)
		can = ok
		found = append(found, recorders...)
	}
	ok, rebuilding := rebuilding(dir)
	found = append(found, rebuilding)
	can = can || ok && len(args) == 0
	return can, append(append(found, about...), plans())
}

// Sandbox says within which limits this machine can run code that nobody has read.
func Sandbox(ctx context.Context, s *sandbox.Sandbox) Finding {
	name, limits, refused := s.Check(ctx)
	var lacks []string
	f := Finding{"sandbox", "ok", "code that nobody has read runs within limits, by " + name, ""}
	if name == "" {
		f.Text = "code that nobody has read runs with limits on time and output alone"
	}
	for _, l := range limits {
		if l.By == "" || !l.Holds && l.Lacks != "" {
			f.Status = "note"
		}
		if l.By == "" {
			lacks = append(lacks, l.Limit)
		}
	}
	if len(lacks) > 0 {
		f.Text += "; not limited: " + strings.Join(lacks, ", ")
	}
	for _, err := range refused {
		f.Remedy += strings.TrimPrefix(err.Error(), "sandbox: ") + "\n"
	}
	if f.Remedy != "" {
		f.Remedy += "docs/sandbox.md says what each mechanism limits, and what it needs"
	}
	return f
}

// Traces says what a store holds.
func Traces(s *store.Store, err error) Finding {
	var list []store.Entry
	if err == nil {
		list, err = s.List()
	}
	if err != nil {
		return Finding{"traces", "missing", err.Error(), ""}
	}
	var bytes int64
	for _, e := range list {
		bytes += e.Size
	}
	return Finding{"traces", "ok", fmt.Sprintf("%s in %s (%s kB)", phrase.Plural(len(list), "trace", "traces"), s.Dir(), phrase.Number(bytes/1000)), ""}
}

// recorders tries what "run" would do with a program, nil for none. It is
// for machines that have what recorders need.
func recorders(t *target.Target, dir string) (can bool, out []Finding) {
	slow := Finding{"breakpoint", "ok", "for programs that the probe can't handle: the first calls of each function, at 0.1 to 1 ms each", ""}
	name := "tracerag itself"
	if t != nil {
		name = phrase.Quote(t.Args[0])
	} else {
		exe, err := os.Executable()
		if err == nil {
			t, err = target.Find([]string{exe}, dir, nil, nil)
		}
		if err != nil {
			return true, []Finding{{"probe", "note", "not tried: " + err.Error(), ""}, slow}
		}
	}
	silent := *t
	silent.Silent = true
	fast := Finding{"probe", "ok", "every call at nearly full speed; tried with " + name, ""}
	if err := probe.Suits(&silent, probe.Options{CacheDir: record.PlanCache()}); err != nil {
		why, remedy, _ := strings.Cut(err.Error(), "\n")
		if _, ok := errors.AsType[*probe.Unsuitable](err); !ok {
			return false, []Finding{{"recorder", "missing", "none can handle " + name + ": " + why, remedy}}
		}
		fast = Finding{"probe", "note", "it can't handle " + name + ": " + why, remedy}
	}
	return true, []Finding{fast, slow}
}

// rebuilding says whether what the go command builds is recorded by rebuilding. ok: it is, and needs nothing else.
func rebuilding(dir string) (ok bool, f Finding) {
	byDefault, err := record.Rebuilds(context.Background(), dir)
	if err != nil {
		return false, Finding{"rebuild", "note", "nothing is rebuilt: " + err.Error(), ""}
	}
	f = Finding{"rebuild", "ok", "every call of what the go command builds (a package, go run, go test): for values and windows, or if asked for, since this system has a probe", ""}
	if byDefault {
		f.Text = "every call of what the go command builds (a package, go run, go test), by default"
	}
	return byDefault, f
}

// program looks at a program as run would.
func program(args []string, dir string) (t *target.Target, can bool, out []Finding) {
	t, err := target.Find(args, dir, nil, nil)
	if err != nil {
		return nil, false, append(out, Finding{"program", "missing", err.Error(), ""})
	}
	b := t.Binary
	out = append(out, Finding{"program", "ok", fmt.Sprintf("%s: %s %s/%s, %s", t.Path, b.GoVersion, b.GOOS, b.GOARCH, buildKinds(b)), ""})
	can = b.GOOS == runtime.GOOS && b.GOARCH == runtime.GOARCH
	if !can {
		out = append(out, Finding{"program", "missing", "it is not for this machine (" + runtime.GOOS + "/" + runtime.GOARCH + ")", "build it for this one"})
	}
	rec, asm := 0, 0
	for i := range b.Funcs {
		if fn := &b.Funcs[i]; t.Records(fn.Package) {
			rec++
			if fn.Asm {
				asm++
			}
		}
	}
	text := fmt.Sprintf("%s of %s would be recorded", phrase.Number(rec), phrase.Plural(len(b.Funcs), "function", "functions"))
	if asm > 0 {
		text += fmt.Sprintf("; of %s in assembly the probe sees direct calls only, breakpoints none", phrase.Number(asm))
	}
	out = append(out, Finding{"functions", "ok", text, ""})
	return t, can, append(out, sources(t))
}

func buildKinds(b *executable.File) string {
	kinds := []string{"position-dependent"}
	if b.PIE {
		kinds[0] = "PIE"
	}
	if b.Stripped {
		kinds = append(kinds, "stripped")
	}
	if b.Race {
		kinds = append(kinds, "race detector")
	}
	if b.Cgo {
		kinds = append(kinds, "cgo")
	}
	return strings.Join(kinds, ", ")
}

// sources says whether the program's sources are on this machine.
func sources(t *target.Target) Finding {
	tr := t.NewTrace("")
	for i := range t.Binary.Funcs {
		fn := &t.Binary.Funcs[i]
		tr.Functions = append(tr.Functions, trace.Function{Name: fn.Name, Package: fn.Package, File: fn.File})
	}
	c := session.Sources(tr, nil).Whole()
	f := Finding{"sources", "ok", fmt.Sprintf("%s here, %s lines of Go", phrase.Plural(c.Modules, "module", "modules"), phrase.Number(c.Lines)), ""}
	if len(c.Missing) > 0 {
		f.Status = "note"
		f.Text += fmt.Sprintf("; %s not: %s", phrase.Number(len(c.Missing)), strings.Join(c.Missing[:min(3, len(c.Missing))], ", "))
		f.Remedy = "go mod download MODULE@VERSION brings a dependency; for the program's own module run tracerag in its directory"
	}
	return f
}

// plans says where the probe keeps what it has prepared.
func plans() Finding {
	dir := record.PlanCache()
	if dir == "" {
		return Finding{"plans", "note", "no directory to keep them, so the probe prepares each run anew", "set HOME or XDG_CACHE_HOME"}
	}
	if err := probe.UsablePlans(dir); err != nil {
		return Finding{"plans", "note", "the probe prepares each run anew: " + err.Error(), "plans are kept in a directory that is yours and that only you can write: chmod 700 " + dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Finding{"plans", "note", "the probe prepares each run anew: " + err.Error(), ""}
	}
	var bytes int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			bytes += info.Size()
		}
	}
	return Finding{"plans", "ok", fmt.Sprintf("%s of the probe in %s (%s kB)", phrase.Plural(len(entries), "plan", "plans"), dir, phrase.Number(bytes/1000)), ""}
}
