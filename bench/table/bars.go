package main

import (
	"fmt"
	"slices"
	"strconv"
)

// A benchmark's heading, and its units from left to right. A unit that is not
// here comes last.
var layouts = map[string]struct {
	heading string
	units   []string
}{
	"Call": {"What a call costs more than alone (fib)",
		[]string{"min-added-ns/call", "median-added-ns/call", "calls"}},
	"Run": {"A program's run, everything outside the standard library recorded, inlined calls too",
		[]string{"alone-ms", "recorded-ms", "ratio", "ratio-of-minima", "cpu-ratio", "Mcalls", "nodes", "shared-MiB", "tracerag-MiB"}},
	"Rebuild": {"The recorder by rebuilding beside the probe: a program's processor time, everything outside the standard library recorded",
		[]string{"alone-ms", "cpu-ratio", "probe-cpu-ratio", "not-inlined-cpu-ratio", "Mcalls", "nodes"}},
	"RebuildCall": {"What a call costs more than alone, by rebuilding and by the probe (fib)",
		[]string{"min-added-ns/call", "median-added-ns/call", "calls"}},
	"Executions": {"tracerag executed FUNC over a team's traces, by the number of modules",
		[]string{"Mrows", "median-ms", "p95-ms", "everywhere-ms"}},
	"TeamLocate": {"tracerag locate in PostgreSQL, 8 clients at once, by the number of repositories",
		[]string{"one-client-ms", "median-ms", "p95-ms"}},
	"Values": {"What values cost more than counting alone, of calls that are kept and of those that are not",
		[]string{"kept-us/call", "not-kept-ns/call", "kept", "not-kept"}},
	"Whole": {"tracerag run as a whole, beyond the program's own run",
		[]string{"alone-ms", "added-cold-ms", "added-warm-ms", "over-alone-ms", "prompt-ms"}},
	"Wait": {"What somebody waits for: beyond the program's own run, with a plan that is kept, and prompt and rank as a whole",
		[]string{"alone-ms", "added-ms", "last-lines-ms", "first-plan-ms", "tracerag-MiB", "prompt-ms", "rank-ms"}},
	"Stages": {"Where the time of a recording goes",
		[]string{"find-ms", "setup-cold-ms", "setup-warm-ms", "run-ms", "convert-ms", "save-ms"}},
	"View": {"tracerag view of a large trace: until its server listens, until the browser has painted the tree, until it has the prompt",
		[]string{"nodes", "listen-ms", "paint-ms", "first-paint-ms", "cpu-ms", "prompt-ms", "server-MiB"}},
	"Fit": {"A prompt within 8,000 tokens, for traces of so many functions",
		[]string{"nodes", "source-MB", "find-ms", "rank-ms", "fit-ms", "rank-and-fit-ms", "rank-and-fit-cpu-ms", "tracerag-MiB", "tokens"}},
	"Index": {"tracerag index of a module of 1.6 million lines; again when nothing and when one file changed; three of them searched, and located in by the whole command",
		[]string{"files", "lines", "functions", "ms/100k-lines", "cpu-ms/100k-lines", "again-ms", "edit-ms", "search-ms", "search-cpu-ms", "locate-ms", "locate-ms/100k-functions", "locate-cpu-ms", "tracerag-MiB", "store-MiB"}},
	"Seen": {"Source-level calls seen in a program as it is, of those made by a build without inlining",
		[]string{"calls", "%seen", "%no-code", "%seen-of-code", "%over", "%noise", "%seen-without-inlined", "functions", "never-seen", "never-seen-without-inlined"}},
}

// A bar is what a figure has to be: at most a value, or at least.
type bar struct {
	benchmark, row, unit string
	most, least          float64
}

// A program of tablecat's size is to be recorded quickly the first time, too; one of
// hugo's size once its plan is in the cache.
var bars = []bar{
	{benchmark: "Call", row: "probe", unit: "median-added-ns/call", most: 4},
	{benchmark: "Run", row: "gojq", unit: "ratio", most: 1.15},
	{benchmark: "Run", row: "hugo", unit: "ratio", most: 1.4},
	{benchmark: "Run", row: "esbuild", unit: "ratio", most: 1.5},
	{benchmark: "RebuildCall", row: "rebuild", unit: "median-added-ns/call", most: 8},
	{benchmark: "Rebuild", row: "gojq", unit: "cpu-ratio", most: 1.3},
	{benchmark: "Rebuild", row: "hugo", unit: "cpu-ratio", most: 2},
	{benchmark: "Rebuild", row: "esbuild", unit: "cpu-ratio", most: 2},
	{benchmark: "TeamLocate", row: "200", unit: "p95-ms", most: 1500},
	{benchmark: "Executions", row: "200", unit: "p95-ms", most: 1000},
	{benchmark: "Values", row: "many", unit: "kept-us/call", most: 2},
	{benchmark: "Values", row: "many", unit: "not-kept-ns/call", most: 5},
	{benchmark: "Values", row: "fib", unit: "not-kept-ns/call", most: 5},
	{benchmark: "Whole", row: "tablecat", unit: "added-cold-ms", most: 150},
	{benchmark: "Whole", row: "hugo", unit: "added-warm-ms", most: 1000},
	{benchmark: "Wait", row: "tablecat", unit: "added-ms", most: 50},
	{benchmark: "Wait", row: "tablecat", unit: "last-lines-ms", most: 50},
	{benchmark: "Wait", row: "tablecat", unit: "prompt-ms", most: 120},
	{benchmark: "Wait", row: "tablecat", unit: "rank-ms", most: 120},
	{benchmark: "Wait", row: "opa", unit: "added-ms", most: 80},
	{benchmark: "Wait", row: "opa", unit: "last-lines-ms", most: 50},
	{benchmark: "Wait", row: "caddy", unit: "added-ms", most: 120},
	{benchmark: "Wait", row: "caddy", unit: "last-lines-ms", most: 50},
	{benchmark: "Wait", row: "rclone", unit: "added-ms", most: 250},
	{benchmark: "Wait", row: "rclone", unit: "last-lines-ms", most: 50},
	{benchmark: "Wait", row: "rclone", unit: "first-plan-ms", most: 2000},
	{benchmark: "Wait", row: "rclone", unit: "tracerag-MiB", most: 150},
	{benchmark: "Stages", row: "hugo", unit: "setup-warm-ms", most: 300},
	{benchmark: "View", row: "generated", unit: "first-paint-ms", most: 1000},
	{benchmark: "View", row: "generated", unit: "server-MiB", most: 300},
	{benchmark: "View", row: "esbuild", unit: "first-paint-ms", most: 1000},
	{benchmark: "View", row: "esbuild", unit: "server-MiB", most: 300},
	{benchmark: "Fit", row: "20000", unit: "rank-and-fit-ms", most: 1000},
	{benchmark: "Fit", row: "20000", unit: "tracerag-MiB", most: 300},
	{benchmark: "Index", row: "kubernetes", unit: "ms/100k-lines", most: 1000},
	{benchmark: "Index", row: "kubernetes", unit: "edit-ms", most: 300},
	{benchmark: "Index", row: "kubernetes", unit: "tracerag-MiB", most: 400},
	{benchmark: "Index", row: "3-kubernetes", unit: "search-ms", most: 300},
	{benchmark: "Index", row: "3-kubernetes", unit: "locate-ms/100k-functions", most: 300},
	{benchmark: "Seen", row: "gojq", unit: "%seen", least: 90},
	{benchmark: "Seen", row: "gojq", unit: "%over", most: 3},
	{benchmark: "Seen", row: "esbuild", unit: "%seen", least: 90},
	{benchmark: "Seen", row: "esbuild", unit: "%over", most: 3},
	{benchmark: "Seen", row: "hugo", unit: "%seen", least: 90},
	{benchmark: "Seen", row: "hugo", unit: "%over", most: 3},
}

func heading(benchmark string) string {
	if h := layouts[benchmark].heading; h != "" {
		return h
	}
	return benchmark
}

// rank is a unit's place among the columns.
func rank(benchmark, unit string) int {
	units := layouts[benchmark].units
	if i := slices.Index(units, unit); i >= 0 {
		return i
	}
	return len(units)
}

// verdict says of each bar for a row whether it is met.
func verdict(benchmark string, r row) []string {
	var lines []string
	for _, b := range bars {
		x, err := strconv.ParseFloat(r.values[b.unit], 64)
		if b.benchmark != benchmark || b.row != r.name || err != nil {
			continue
		}
		met, want := x <= b.most, fmt.Sprintf("at most %v", b.most)
		if b.most == 0 {
			met, want = x >= b.least, fmt.Sprintf("at least %v", b.least)
		}
		word := "met"
		if !met {
			word = "MISSED"
		}
		lines = append(lines, fmt.Sprintf("  bar %s: %s %s is %s: %s", word, r.name, b.unit, readable(r.values[b.unit]), want))
	}
	return lines
}
