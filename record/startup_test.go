package record

import (
	"slices"
	"strings"
	"testing"

	"tracerag/trace"
)

// TestStartUp: a window is pruned by what the program did to start, and by nothing that
// it does all the time.
func TestStartUp(t *testing.T) {
	// A path a line, with the number of its calls: main's, or a goroutine's after go.
	record := func(lines string) *trace.Trace {
		tr := &trace.Trace{Name: "checkout"}
		b := trace.NewBuilder(tr)
		for line := range strings.Lines(lines) {
			words := strings.Fields(line)
			if len(words) == 0 {
				continue
			}
			root := trace.Root{Kind: trace.RootKind(words[0])}
			var stack []trace.Frame
			for _, w := range words[2:] {
				stack = append(stack, trace.Frame{Func: b.Func(trace.Function{Name: w, Package: "main"})})
			}
			b.Call(root, stack, int64(words[1][0]-'0'))
		}
		tr = b.Finish()
		if err := tr.Check(); err != nil {
			t.Fatal(err)
		}
		return tr
	}
	before := record(`init 1 main.init
		main 1 main.main
		main 1 main.main main.config
		main 1 main.main main.config main.parse
		main 1 main.main main.serve
		main 1 main.main main.serve main.listen
		main 2 main.main main.serve main.handle
		main 2 main.main main.serve main.handle main.answer
		goroutine 3 main.worker
		goroutine 3 main.worker main.answer
	`)
	for name, tt := range map[string]struct{ window, want string }{
		"a server whose goroutines answer": {
			"goroutine 2 main.worker\ngoroutine 2 main.worker main.answer",
			"main.init main.main main.config main.parse main.serve main.listen main.handle main.answer",
		},
		"one whose main loop does": {
			"main 0 main.main\nmain 0 main.main main.serve\nmain 1 main.main main.serve main.handle\nmain 1 main.main main.serve main.handle main.answer",
			"main.init main.main main.config main.parse main.serve main.listen",
		},
		"one that reads its configuration again": {
			"main 0 main.main\nmain 1 main.main main.config\nmain 1 main.main main.config main.parse",
			"main.init main.main main.serve main.listen main.handle main.answer",
		},
	} {
		base := startUp(before, record(tt.window))
		var got []string
		for i := range base.Nodes {
			got = append(got, base.Func(trace.NodeID(i)).Name)
		}
		slices.Sort(got)
		want := strings.Fields(tt.want)
		slices.Sort(want)
		if err := base.Check(); err != nil || base.Name != trace.StartUp || !slices.Equal(got, want) {
			t.Errorf("%s: %v, named %q, has\n%q, want\n%q", name, err, base.Name, got, want)
		}
	}
	if base := startUp(record("goroutine 3 main.worker"), record("goroutine 1 main.worker")); base != nil {
		t.Errorf("of a program that was attached to, its traffic is start-up: %v", base.Nodes)
	}
}
