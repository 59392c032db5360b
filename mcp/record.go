package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	defaultTimeout = time.Minute
	longestTimeout = 10 * time.Minute
)

type recordArgs struct {
	Command  []string `json:"command" jsonschema:"the program and its arguments, an element each, as in [\"go\",\"test\",\"-run\",\"TestBorder\",\"./table\"] or [\"./app\",\"--csv\",\"data.csv\"]. No shell reads it"`
	Dir      string   `json:"dir,omitempty" jsonschema:"directory to run it in, below the server's working directory, which is the default"`
	Baseline []string `json:"baseline,omitempty" jsonschema:"arguments to run the same program with first, such as [\"--version\"]: what that run does, too, is left out of the tree, so that the feature remains. Default: none, for not every program has such arguments, and by a baseline that fails nothing is left out"`
	Values   []string `json:"values,omitempty" jsonschema:"functions whose arguments and results are to be observed, by name or pattern; [\"own\"] for those of the program's own module. Default: none, for the program is run a second time for them"`
	Timeout  int      `json:"timeout_seconds,omitempty" jsonschema:"seconds after which the program is ended; what ran until then is recorded. Default 60, at most 600: an agent waits for it"`
	budget
}

// ErrNotAllowed is the error of record where [Options.Record] is nil.
var ErrNotAllowed = errors.New("programs are not run: the user has not allowed it")

// recordFacts is the structured content of record.
type recordFacts struct {
	Traces   []string `json:"traces" jsonschema:"ids"`
	ExitCode int      `json:"exit_code"`
	TimedOut bool     `json:"timed_out"`
	Text     string   `json:"text" jsonschema:"what was recorded, and what the program printed"`
}

func (s *server) addRecord(to *sdk.Server) {
	yes := true
	add(s, to, &sdk.Tool{Name: "record", Title: "Run a program and record it", Description: `Runs a compiled Go program, "go test ..." or "go run ...", and records every call that it makes; answers with the trace's id and what the program printed. The program runs with the user's rights, without standard input.
Only if the user allowed it when the server was started.`,
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes}},
		s.record)
}

func (s *server) record(ctx context.Context, in recordArgs) (answer[recordFacts], error) {
	out := answer[recordFacts]{facts: recordFacts{Traces: []string{}}}
	if s.Record == nil {
		return out, ErrNotAllowed
	}
	limit, err := in.limit(defaultTokens)
	if err != nil {
		return out, err
	}
	c, err := s.command(&in)
	if err != nil {
		return out, err
	}
	rec, err := s.Record(ctx, c)
	if err != nil {
		return out, err
	}
	text := s.recordText(rec, c, limit)
	if len(rec.IDs) == 0 {
		return out, errors.New(text)
	}
	out.text = text
	out.facts = recordFacts{Traces: rec.IDs, ExitCode: rec.Code, TimedOut: rec.TimedOut, Text: s.Mask(text)}
	return out, nil
}

// command checks what to run.
func (s *server) command(in *recordArgs) (Command, error) {
	c := Command{Args: in.Command, Baseline: in.Baseline, Values: in.Values, Timeout: defaultTimeout}
	if len(in.Command) == 0 || in.Command[0] == "" {
		return c, errors.New("no command: give the program and its arguments as an array")
	}
	if len(in.Command) == 1 && strings.ContainsAny(in.Command[0], " \t") {
		return c, fmt.Errorf("command has one element, %q, and no shell takes it apart: give each argument as an element of its own", in.Command[0])
	}
	for _, list := range [][]string{in.Command, in.Baseline, in.Values} {
		for _, arg := range list {
			if strings.ContainsRune(arg, 0) {
				return c, errors.New("an argument has a zero byte, which no program can be given")
			}
		}
	}
	if in.Timeout != 0 {
		c.Timeout = time.Duration(in.Timeout) * time.Second
		if in.Timeout < 0 || in.Timeout > int(longestTimeout/time.Second) {
			return c, fmt.Errorf("timeout_seconds=%d: give 1 to %d, or leave it out", in.Timeout, int(longestTimeout/time.Second))
		}
	}
	dir := in.Dir
	if dir == "" {
		dir = "."
	}
	var err error
	c.Dir, err = s.dirName(dir)
	return c, err
}

// recordText says what became of a command.
func (s *server) recordText(rec *Recorded, c Command, limit int) string {
	var b strings.Builder
	if len(rec.IDs) == 0 {
		fmt.Fprintf(&b, "no trace was saved (exit code %d)\n", rec.Code)
	}
	if rec.TimedOut {
		fmt.Fprintf(&b, "ended after %s, the time limit (timeout_seconds): the trace holds what ran until then\n", c.Timeout)
	}
	for i, id := range rec.IDs {
		if i == 10 {
			b.WriteString(clipped(len(rec.IDs)-i, "trace", "list_traces") + "\n")
			break
		}
		r, err := s.openRun(false, id)
		if err != nil {
			fmt.Fprintf(&b, "trace %s: %v\n", id, err)
			continue
		}
		fmt.Fprintf(&b, "%s, %d calls of %d functions; call tree: %d nodes", head(r), r.Trace.Calls(), len(r.Trace.Functions), r.Tree.Size)
		if len(c.Baseline) > 0 && r.Trace.Baseline == "" {
			b.WriteString("; the baseline failed, and nothing is left out by it")
		}
		if r.Pruned > 0 {
			fmt.Fprintf(&b, ", %d more were left out, which the baseline did, too", r.Pruned)
		}
		if len(c.Values) > 0 {
			fmt.Fprintf(&b, "; values of %d calls", len(r.Trace.Activations))
		}
		b.WriteByte('\n')
	}
	if len(rec.IDs) > 0 {
		b.WriteString("next: rank question=... or call_tree\n")
	}
	head := s.clip(limit*2/3, b.String())
	output := strings.TrimRight(rec.Output, "\n")
	if output == "" {
		return head + "it printed nothing\n"
	}
	head += "it printed"
	if rec.LeftOut > 0 {
		head += fmt.Sprintf(", and %d bytes more in the middle that were not kept", rec.LeftOut)
	}
	head += ":\n"
	return head + s.ends(limit-s.count.Count(head), output+"\n")
}

// ends keeps the first and the last lines of a text: a failure is reported at the end, and
// what was done at the beginning.
func (s *server) ends(limit int, text string) string {
	if s.count.Count(text) <= limit {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	return s.fit(limit, len(lines), func(n int) string {
		if n >= len(lines) {
			return text
		}
		first := n / 3
		return strings.Join(lines[:first], "") + fmt.Sprintf("[clipped: %d lines of output, which is not kept: with a larger max_tokens the next run shows more]\n", len(lines)-n) + strings.Join(lines[len(lines)-(n-first):], "")
	})
}
