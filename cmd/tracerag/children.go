package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tracerag/phrase"
	"tracerag/trace"
	"tracerag/trace/probe"
)

// keeperArg makes tracerag a keeper: see [probe.Keep].
const keeperArg = "__keeper"

func keep() int {
	if err := probe.Keep(); err != nil {
		fmt.Fprintln(os.Stderr, "tracerag:", err)
		return exitRunFailed
	}
	return exitOK
}

// processesNote says which programs the run started.
func (a *app) processesNote(tr *trace.Trace) {
	if len(tr.Processes) == 0 {
		return
	}
	var recorded, reasons counted
	others := map[string]*counted{}
	calls := int64(0)
	for i := range tr.Processes {
		p := &tr.Processes[i]
		name := a.masker().Text(filepath.Base(p.Program))
		if p.Trace == "" {
			reasons.add(p.Why)
			if others[p.Why] == nil {
				others[p.Why] = &counted{}
			}
			others[p.Why].add(name)
			continue
		}
		recorded.add(name)
		calls += p.Calls
	}
	line := fmt.Sprintf("it started %s", phrase.Plural(len(tr.Processes), "process", "processes"))
	if recorded.names != nil {
		line += fmt.Sprintf(": %s, with %s", recorded, phrase.Plural(calls, "call", "calls"))
	}
	a.note("%s", line)
	for _, why := range reasons.names {
		a.note("not recorded: %s: %s", others[why], a.masker().Text(why))
	}
}

// counted are names in the order in which they came first.
type counted struct {
	names []string
	times map[string]int
}

func (c *counted) add(name string) {
	if c.times == nil {
		c.times = map[string]int{}
	}
	if c.times[name]++; c.times[name] == 1 {
		c.names = append(c.names, name)
	}
}

func (c counted) String() string {
	var all []string
	for _, name := range c.names {
		if n := c.times[name]; n > 1 {
			name = fmt.Sprintf("%d %s", n, name)
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}
