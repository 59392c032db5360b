package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracerag/trace"
	"tracerag/trace/store"
)

// TestOtherTools opens exports in the tools that they are for. go tool pprof is
// always there. Graphviz is if dot is in PATH, and the tools of npm if
// TRACERAG_NODE_MODULES names a directory that has them: testdata/tools.mjs says
// which. Speedscope's importer and Perfetto run in browsers alone; docs/exports.md
// says how they were tried.
func TestOtherTools(t *testing.T) {
	dir, self := leaky(t), commandPath(t)
	// A run of this repository's own, with names that are hard on drawing programs.
	hard, err := makeTrace("csv", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"main.F[struct { A int; B \"x\" }]", "main.end", "example.com/app/internal/table.(*Set[go.shape.string]).Add", "main.a%%b#c;d<e>&`"} {
		hard.Functions[3+i].Name = name
	}
	hard.Name, hard.Test = "first", trace.Test{Package: "example.com/app", Name: "TestDraw"}
	hard.Activations = []trace.Activation{{Node: 2, Returned: true, Args: []trace.Value{{Name: "s", Type: "string", Text: `"a;b<c>"`}}, Results: []trace.Value{{Type: "error", Unread: "optimised away"}}}}
	entry, err := store.Open(filepath.Join(dir, ".tracerag")).Save(hard)
	if err != nil {
		t.Fatal(err)
	}
	export := func(t *testing.T, format string, args ...string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "run."+format)
		cmd := exec.Command(self, append([]string{"export", "--quiet", "--format", format, "-o", path, entry.ID}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GORACE="+goRace)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("export: %v\n%s", err, out)
		}
		return path
	}
	run := func(t *testing.T, name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%.2000s", name, err, out)
		}
		return string(out)
	}
	t.Run("pprof", func(t *testing.T) {
		if out := run(t, "go", "tool", "pprof", "-top", export(t, "pprof")); !strings.Contains(out, "table.pad") {
			t.Errorf("pprof shows no table.pad:\n%s", out)
		}
	})
	t.Run("dot", func(t *testing.T) {
		dot, err := exec.LookPath("dot")
		if err != nil {
			t.Skip("Graphviz is not installed")
		}
		if out := run(t, dot, "-Tsvg", export(t, "dot", "--nodes=5")); !strings.Contains(out, "more nodes") {
			t.Errorf("the drawing has no mark for what was left out:\n%s", out)
		}
	})
	for _, format := range []string{"speedscope", "jsonl", "mermaid", "sequence", "appmap"} {
		t.Run(format, func(t *testing.T) {
			modules := os.Getenv("TRACERAG_NODE_MODULES")
			if modules == "" {
				t.Skip("TRACERAG_NODE_MODULES names no directory of npm packages: see testdata/tools.mjs")
			}
			run(t, "node", filepath.Join("testdata", "tools.mjs"), modules, format, export(t, format), filepath.Join(root, "docs", "schema", "trace-1.json"))
		})
	}
}
