package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"tracerag/llm"
	"tracerag/phrase"
	"tracerag/record"
	"tracerag/session"
	"tracerag/trace"
	"tracerag/trace/executable"
	"tracerag/trace/probe"
	"tracerag/trace/target"
)

const doctorHelp = `
doctor checks what this machine, a program and this configuration can do, and what
is missing. It starts the program, or else tracerag itself, prepares it for recording,
and ends it before its first instruction. It sends nothing.

Exit code: 0 when a program can be recorded here, 1 when not.`

// finding is one line of the doctor's report.
type finding struct {
	Subject string `json:"subject"`
	Status  string `json:"status"` // ok, note, or missing
	Text    string `json:"text"`
	Remedy  string `json:"remedy,omitempty"`
}

func runDoctor(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, doctorHelp)
	asJSON := f.Bool("json", false, "print the findings as JSON")
	var m modelFlags
	var p promptFlags
	p.addModel(f)
	m.add(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	found := []finding{{"tracerag", "ok", version() + " on " + runtime.GOOS + "/" + runtime.GOARCH, ""}}
	debugger := doctorDebugger()
	found = append(found, debugger)
	can := debugger.Status != "missing"
	var t *target.Target
	program := []finding{{"program", "note", "none was named", "tracerag doctor ./app looks at one"}}
	if f.NArg() > 0 {
		var ok bool
		t, ok, program = a.doctorProgram(f.Args())
		can = can && ok
	}
	if can {
		ok, recorders := a.doctorRecorders(t)
		can = ok
		found = append(found, recorders...)
	}
	found = append(found, program...)
	found = append(found, doctorPlans(), a.doctorStore(), a.doctorModel(&m, p.model))
	if *asJSON {
		if err := a.printJSON(found); err != nil {
			return a.fail(err)
		}
	} else {
		for _, x := range found {
			fmt.Fprintf(a.stdout, "%-8s %-10s %s\n", x.Status, x.Subject, x.Text)
			for line := range strings.Lines(x.Remedy) {
				fmt.Fprintf(a.stdout, "%20s%s\n", "", strings.TrimRight(line, "\n"))
			}
		}
	}
	if !can {
		return exitFailure
	}
	return exitOK
}

// doctorRecorders tries what "run" would do with a program, nil for none. It is
// for machines that have what recorders need.
func (a *app) doctorRecorders(t *target.Target) (can bool, out []finding) {
	slow := finding{"breakpoint", "ok", "for programs that the probe can't handle: the first calls of each function, at 0.1 to 1 ms each", ""}
	name := "tracerag itself"
	if t != nil {
		name = phrase.Quote(t.Args[0])
	} else {
		exe, err := os.Executable()
		if err == nil {
			t, err = target.Find([]string{exe}, a.cwd, nil, nil)
		}
		if err != nil {
			return true, []finding{{"probe", "note", "not tried: " + err.Error(), ""}, slow}
		}
	}
	silent := *t
	silent.Silent = true
	fast := finding{"probe", "ok", "every call at nearly full speed; tried with " + name, ""}
	if err := probe.Suits(&silent, probe.Options{CacheDir: record.PlanCache()}); err != nil {
		why, remedy, _ := strings.Cut(err.Error(), "\n")
		var unsuitable *probe.Unsuitable
		if !errors.As(err, &unsuitable) {
			return false, []finding{{"recorder", "missing", "none can handle " + name + ": " + why, remedy}}
		}
		fast = finding{"probe", "note", "it can't handle " + name + ": " + why, remedy}
	}
	return true, []finding{fast, slow}
}

// doctorProgram looks at a program as run would.
func (a *app) doctorProgram(args []string) (t *target.Target, can bool, out []finding) {
	t, err := target.Find(args, a.cwd, nil, nil)
	if err != nil {
		return nil, false, append(out, finding{"program", "missing", err.Error(), ""})
	}
	b := t.Binary
	out = append(out, finding{"program", "ok", fmt.Sprintf("%s: %s %s/%s, %s", t.Path, b.GoVersion, b.GOOS, b.GOARCH, buildKinds(b)), ""})
	can = b.GOOS == runtime.GOOS && b.GOARCH == runtime.GOARCH
	if !can {
		out = append(out, finding{"program", "missing", "it is not for this machine (" + runtime.GOOS + "/" + runtime.GOARCH + ")", "build it for this one"})
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
	out = append(out, finding{"functions", "ok", text, ""})
	return t, can, append(out, a.doctorSources(t))
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

// doctorSources says whether the program's sources are on this machine.
func (a *app) doctorSources(t *target.Target) finding {
	tr := t.NewTrace("")
	for i := range t.Binary.Funcs {
		fn := &t.Binary.Funcs[i]
		tr.Functions = append(tr.Functions, trace.Function{Name: fn.Name, Package: fn.Package, File: fn.File})
	}
	c := session.Sources(tr, nil).Whole()
	f := finding{"sources", "ok", fmt.Sprintf("%s here, %s lines of Go", phrase.Plural(c.Modules, "module", "modules"), phrase.Number(c.Lines)), ""}
	if len(c.Missing) > 0 {
		f.Status = "note"
		f.Text += fmt.Sprintf("; %s not: %s", phrase.Number(len(c.Missing)), strings.Join(c.Missing[:min(3, len(c.Missing))], ", "))
		f.Remedy = "go mod download MODULE@VERSION brings a dependency; for the program's own module run tracerag in its directory"
	}
	return f
}

// doctorPlans says where the probe keeps what it has prepared.
func doctorPlans() finding {
	dir := record.PlanCache()
	if dir == "" {
		return finding{"plans", "note", "no directory to keep them, so the probe prepares each run anew", "set HOME or XDG_CACHE_HOME"}
	}
	if err := probe.UsablePlans(dir); err != nil {
		return finding{"plans", "note", "the probe prepares each run anew: " + err.Error(), "plans are kept in a directory that is yours and that only you can write: chmod 700 " + dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return finding{"plans", "note", "the probe prepares each run anew: " + err.Error(), ""}
	}
	var bytes int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			bytes += info.Size()
		}
	}
	return finding{"plans", "ok", fmt.Sprintf("%s of the probe in %s (%s kB)", phrase.Plural(len(entries), "plan", "plans"), dir, phrase.Number(bytes/1000)), ""}
}

func (a *app) doctorStore() finding {
	s, err := a.store()
	if err != nil {
		return finding{"traces", "missing", err.Error(), ""}
	}
	list, err := s.List()
	if err != nil {
		return finding{"traces", "missing", err.Error(), ""}
	}
	var bytes int64
	for _, e := range list {
		bytes += e.Size
	}
	return finding{"traces", "ok", fmt.Sprintf("%s in %s (%s kB)", phrase.Plural(len(list), "trace", "traces"), s.Dir(), phrase.Number(bytes/1000)), ""}
}

func (a *app) doctorModel(m *modelFlags, model string) finding {
	cfg, err := a.modelConfig(m, model)
	switch {
	case errors.Is(err, llm.ErrNotConfigured):
		return finding{"model", "note", "none is configured: ask prints the prompt instead", llm.Hint(err)}
	case err != nil:
		return finding{"model", "missing", err.Error(), llm.Hint(err)}
	}
	key := "without a key"
	if cfg.APIKey != "" {
		key = "with a key"
	}
	return finding{"model", "ok", fmt.Sprintf("%s at %s, %s", cfg.Model, server(cfg), key), ""}
}
