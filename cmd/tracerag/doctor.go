package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"tracerag/llm"
	"tracerag/source"
	"tracerag/trace"
	"tracerag/trace/binary"
	"tracerag/trace/target"
)

const doctorHelp = `
doctor says what this machine, a program and this configuration can do, and what
is missing. It sends nothing and runs nothing.

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
	var found []finding
	found = append(found, finding{"tracerag", "ok", version() + " on " + runtime.GOOS + "/" + runtime.GOARCH, ""})
	can, machine := a.doctorMachine()
	found = append(found, machine...)
	if f.NArg() > 0 {
		ok, program := a.doctorProgram(f.Args())
		can = can && ok
		found = append(found, program...)
	} else {
		found = append(found, finding{"program", "note", "none was named", "tracerag doctor ./app looks at one"})
	}
	found = append(found, a.doctorStore(), a.doctorModel(&m, p.model))
	if *asJSON {
		if err := a.printJSON(found); err != nil {
			return a.fail(err)
		}
	} else {
		for _, x := range found {
			fmt.Fprintf(a.stdout, "%-8s %-9s %s\n", x.Status, x.Subject, x.Text)
			for line := range strings.Lines(x.Remedy) {
				fmt.Fprintf(a.stdout, "%19s%s\n", "", strings.TrimRight(line, "\n"))
			}
		}
	}
	if !can {
		return exitFailure
	}
	return exitOK
}

// doctorMachine looks at what recording needs of the system.
func (a *app) doctorMachine() (can bool, out []finding) {
	switch runtime.GOOS {
	case "linux":
		scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
		s := strings.TrimSpace(string(scope))
		switch {
		case err != nil:
			out = append(out, finding{"ptrace", "ok", "the kernel has no Yama restrictions", ""})
		case s == "3":
			return false, append(out, finding{"ptrace", "missing", "Yama forbids it altogether (ptrace_scope 3)",
				"it can only be changed at boot: kernel.yama.ptrace_scope = 1 in /etc/sysctl.conf, then reboot"})
		default:
			out = append(out, finding{"ptrace", "ok", "allowed for programs that tracerag starts (ptrace_scope " + s + ")", ""})
		}
	case "darwin":
		out = append(out, finding{"debugger", "note", "macOS: recording uses debugserver", "xcode-select --install brings it; DevToolsSecurity -enable avoids the password"})
	case "windows":
		out = append(out, finding{"debugger", "ok", "Windows: recording uses the debugging interface", ""})
	default:
		return false, append(out, finding{"recorder", "missing", "none for " + runtime.GOOS, "record on linux, and import the trace"})
	}
	return true, append(out, finding{"recorder", "ok", "breakpoint: any call costs 0.1 to 1 ms until a function is let go", ""})
}

// doctorProgram looks at a program as run would.
func (a *app) doctorProgram(args []string) (can bool, out []finding) {
	t, err := target.Find(args, a.cwd, nil, nil)
	if err != nil {
		return false, append(out, finding{"program", "missing", err.Error(), ""})
	}
	b := t.Binary
	out = append(out, finding{"program", "ok", fmt.Sprintf("%s: %s %s/%s, %s", t.Path, b.GoVersion, b.GOOS, b.GOARCH, buildKinds(b)), ""})
	if b.GOOS != runtime.GOOS || b.GOARCH != runtime.GOARCH {
		can = false
		out = append(out, finding{"program", "missing", "it is not for this machine (" + runtime.GOOS + "/" + runtime.GOARCH + ")", "build it for this one"})
	} else {
		can = true
	}
	all, rec, asm := 0, 0, 0
	for i := range b.Funcs {
		fn := &b.Funcs[i]
		all++
		if t.Records(fn.Package) {
			rec++
			if fn.Asm {
				asm++
			}
		}
	}
	text := fmt.Sprintf("%s of %s would be recorded", plural(rec-asm, "function", "functions"), number(int64(all)))
	if asm > 0 {
		text += fmt.Sprintf("; %s in assembly cannot", number(int64(asm)))
	}
	out = append(out, finding{"functions", "ok", text, ""})
	return can, append(out, a.doctorSources(t))
}

func buildKinds(b *binary.File) string {
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
	c := source.New(sourceConfig(tr, nil)).Whole()
	f := finding{"sources", "ok", fmt.Sprintf("%s here, %s lines of Go", plural(c.Modules, "module", "modules"), number(int64(c.Lines))), ""}
	if len(c.Missing) > 0 {
		f.Status = "note"
		f.Text += fmt.Sprintf("; %s not: %s", number(int64(len(c.Missing))), strings.Join(c.Missing[:min(3, len(c.Missing))], ", "))
		f.Remedy = "go mod download MODULE@VERSION brings a dependency; for the program's own module run tracerag in its directory"
	}
	return f
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
	return finding{"traces", "ok", fmt.Sprintf("%s in %s (%s kB)", plural(len(list), "trace", "traces"), s.Dir(), number(bytes/1000)), ""}
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
