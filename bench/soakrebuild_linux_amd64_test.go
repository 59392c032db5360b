package bench

import (
	"path/filepath"
	"testing"

	"tracerag/fixtures"
	"tracerag/fixtures/real"
)

// TestSoakRebuild runs programs with the recorder in them as often as TRACERAG_SOAK says: they do what they do as they are.
func TestSoakRebuild(t *testing.T) {
	n := soak(t, 0)
	if n == 0 {
		t.Skip("TRACERAG_SOAK=100 runs everything a hundred times")
	}
	type soaked struct {
		name        string
		plain, with run
	}
	data := filepath.Join(fixtures.Dir("tablecat"), "data.csv")
	programs := []soaked{{"tablecat", tablecat(t), run{args: []string{fixtures.Build(t, "tablecat", rebuilt(t, true, false)...), "--csv", data}}}}
	for _, p := range real.Selected() {
		with := run{args: append([]string{real.Install(t, p, rebuilt(t, true, false)...)}, p.Args...), stdin: p.Stdin}
		programs = append(programs, soaked{p.Name, small(t, p.Name), with})
	}
	for _, s := range programs {
		t.Run(s.name, func(t *testing.T) {
			want := s.plain.alone(t, true)
			s.with.dir = s.plain.dir
			failed := 0
			for range n {
				rep, got := s.with.recorded(t, job{Recorder: "rebuild"}, true)
				if got.stdout != want.stdout || got.stderr != want.stderr || got.code != want.code {
					t.Errorf("recorded it ends with %d and prints\n%s%s\nalone with %d, and\n%s%s", got.code, got.stdout, got.stderr, want.code, want.stdout, want.stderr)
					failed++
				}
				readTrace(t, rep.Path) // and checks it
				if failed == 3 {
					t.Fatal("given up")
				}
			}
			t.Logf("%d runs, %d failed", n, failed)
		})
	}
}
