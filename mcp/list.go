package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

type listArgs struct {
	Skip int `json:"skip,omitempty" jsonschema:"leave out this many of the newest. Default 0"`
	budget
}

// tracesFacts is the structured content of list_traces.
type tracesFacts struct {
	Total  int          `json:"total" jsonschema:"saved traces, listed or not"`
	Traces []traceFacts `json:"traces"`
}

type traceFacts struct {
	ID        string `json:"id"`
	Name      string `json:"name,omitempty"`
	Saved     string `json:"saved" jsonschema:"UTC, RFC 3339"`
	Command   string `json:"command,omitempty"`
	Exit      string `json:"exit,omitempty"`
	Calls     int64  `json:"calls"`
	Functions int    `json:"functions"`
	Repeat    int    `json:"repeat,omitempty" jsonschema:"2 for the run before the newest of the same command, and so on"`
	Error     string `json:"error,omitempty" jsonschema:"why the trace cannot be read"`
}

// ErrNoTraces is what list_traces says of an empty store.
var ErrNoTraces = errors.New("no traces yet: record makes one, if the user allowed it")

func (s *server) addListTraces(to *sdk.Server) {
	add(s, to, &sdk.Tool{Name: "list_traces", Title: "List traces", Description: `The recorded runs, the newest first: id, when, calls, functions, how the program ended, its command line. Every tool takes an id, or its first two digits or more; @last and @prev are the first two of this list.`},
		s.listTraces)
}

func (s *server) listTraces(_ context.Context, in listArgs) (answer[tracesFacts], error) {
	out := answer[tracesFacts]{facts: tracesFacts{Traces: []traceFacts{}}}
	limit, err := in.limit(defaultTokens)
	if err != nil {
		return out, err
	}
	if in.Skip < 0 {
		return out, fmt.Errorf("skip=%d: give a number of traces, or leave it out", in.Skip)
	}
	total, traces, err := s.Backend.List()
	if err != nil {
		return out, err
	}
	out.facts.Total = total
	if total == 0 {
		out.text = s.withWayOut(ErrNoTraces) + "\n"
		return out, nil
	}
	var b strings.Builder
	room := limit - 40 // for the mark
	structured := room
	i := 0
	seen := map[string]int{}
	for t := range traces {
		seen[t.Title]++
		if i++; i <= in.Skip {
			continue
		}
		before := seen[t.Title]
		t.Title, t.Name, t.Error = s.Mask(t.Title), s.Mask(t.Name), s.Mask(t.Error)
		line, facts := listLine(t, i, before)
		room -= s.count.Count(line) + 1
		structured -= s.factsTokens(facts)
		if room < 0 || structured < 0 {
			i--
			break
		}
		b.WriteString(line)
		out.facts.Traces = append(out.facts.Traces, facts)
	}
	switch {
	case i < total:
		b.WriteString(clipped(total-i, "trace", fmt.Sprintf("list_traces skip=%d", i)) + "\n")
	case in.Skip >= total:
		fmt.Fprintf(&b, "skip=%d leaves out all %d traces\n", in.Skip, total)
	}
	out.text = b.String()
	return out, nil
}

// factsTokens is what an entry of structured content takes: an agent may be shown that
// in place of the text, so that the budget holds for it, too.
func (s *server) factsTokens(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		return 0 // and the answer fails on it
	}
	return s.count.Count(string(data)) + 1
}

// listLine is a trace's line. Repeated runs of one command differ by their number, counted
// back from the newest.
func listLine(t Listed, i, repeat int) (string, traceFacts) {
	facts := traceFacts{
		ID: t.ID, Name: t.Name, Saved: t.Saved.UTC().Format(time.RFC3339), Command: cutText(t.Title, 200), Exit: t.Exit,
		Calls: t.Calls, Functions: t.Functions, Error: cutText(t.Error, 200),
	}
	name := ""
	switch i {
	case 1:
		name = " @last"
	case 2:
		name = " @prev"
	}
	if t.Name != "" {
		name += " " + t.Name
	}
	when := t.Saved.UTC().Format(time.DateTime)
	if t.Error != "" {
		return fmt.Sprintf("%s%s  %s  cannot be read: %s\n", t.ID, name, when, facts.Error), facts
	}
	again := ""
	if repeat > 1 {
		facts.Repeat = repeat
		again = fmt.Sprintf(" (run %d of this command, counted back)", repeat)
	}
	return fmt.Sprintf("%s%s  %s  %d calls of %d functions, %s: %s%s\n", t.ID, name, when, t.Calls, t.Functions, t.Exit, facts.Command, again), facts
}
