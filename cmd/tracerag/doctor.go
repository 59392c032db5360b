package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"tracerag/doctor"
	"tracerag/llm"
	"tracerag/repair/sandbox"
)

const doctorHelp = `
doctor checks what this machine, a program and this configuration can do, and what
is missing. It starts the program, or else tracerag itself, prepares it for recording,
and ends it before its first instruction. It sends nothing.

Exit code: 0 when a program can be recorded here, 1 when not.`

func runDoctor(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, doctorHelp)
	asJSON := f.Bool("json", false, "print the findings as JSON")
	var m modelFlags
	var p promptFlags
	p.addModel(f)
	m.add(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	can, recording := doctor.Recording(f.Args(), a.cwd)
	found := append([]doctor.Finding{{Subject: "tracerag", Status: "ok", Text: version() + " on " + runtime.GOOS + "/" + runtime.GOARCH}}, recording...)
	box := sandbox.New(nil)
	if exe, err := os.Executable(); err == nil {
		box = sandbox.New([]string{exe, sandboxArg})
	}
	found = append(found, doctor.Sandbox(ctx, box), doctor.Traces(a.store()), a.doctorModel(&m, p.model))
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

func (a *app) doctorModel(m *modelFlags, model string) doctor.Finding {
	cfg, err := a.modelConfig(m, model)
	switch {
	case errors.Is(err, llm.ErrNotConfigured):
		return doctor.Finding{Subject: "model", Status: "note", Text: "none is configured: ask prints the prompt instead", Remedy: llm.Hint(err)}
	case err != nil:
		return doctor.Finding{Subject: "model", Status: "missing", Text: err.Error(), Remedy: llm.Hint(err)}
	}
	key := "without a key"
	if cfg.APIKey != "" {
		key = "with a key"
	}
	return doctor.Finding{Subject: "model", Status: "ok", Text: fmt.Sprintf("%s at %s, %s", cfg.Model, server(cfg), key)}
}
