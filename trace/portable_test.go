package trace_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"tracerag/trace"
)

// TestPortable: what two machines did alike is the same file, and nothing in it says
// where they keep their sources.
func TestPortable(t *testing.T) {
	made := func(home, id string, at time.Time) *trace.Trace {
		tr := &trace.Trace{
			Name: "TestA", Recorder: "probe", Command: []string{"go", "test", "./a"}, Dir: home + "/m/a", Start: at, Duration: time.Since(at), Baseline: id,
			Exit: trace.Exit{Code: 1}, Include: []string{"example.com/..."},
			Program: trace.Program{
				Path: home + "/tmp/a.test", BuildID: id, ModTime: at, GoVersion: "go1.26.0", GOOS: "linux", MainPath: "example.com/m/a.test",
				Main:     trace.Module{Path: "example.com/m"},
				Deps:     []trace.Module{{Path: "example.com/dep", Version: "v1.2.3"}, {Path: "example.com/dep/v2", Version: "v2.0.0"}, {Path: "example.com/here", Replace: &trace.Module{Path: home + "/here"}}},
				Settings: []trace.Setting{{Key: "CGO_CFLAGS", Value: "-I" + home}},
			},
		}
		b := trace.NewBuilder(tr)
		var stack []trace.Frame
		for _, f := range []struct{ name, file string }{
			{"main.main", "_testmain.go"},
			{"example.com/m/a.TestA", home + "/m/a/a_test.go"},
			{"example.com/m/a_test.TestB", home + "/m/a/b_test.go"},
			{"example.com/dep/x.F", home + "/mod/example.com/dep@v1.2.3/x/x.go"},
			{"example.com/dep/v2.F", strings.ReplaceAll(home, "/", `\`) + `\mod\example.com\dep\v2@v2.0.0\v2.go`},
			{"example.com/here.F", home + "/here/h.go"},
			{"fmt.Println", home + "/go/src/fmt/print.go"},
			{"example.com/m/a.nowhere", ""},
		} {
			stack = append(stack, trace.Frame{Func: b.Func(trace.Function{Name: f.name, Package: tr.Program.PackageOf(f.name), File: f.file, StartLine: 7}), CallLine: 9})
			b.Call(trace.Root{Kind: trace.RootMain}, stack, 3)
		}
		b.Call(trace.Root{Kind: trace.RootGoroutine, Go: trace.GoStmt{Func: "example.com/m/a.TestA", File: home + "/m/a/a_test.go", Line: 3}}, stack[:1], 1)
		return b.Finish()
	}
	write := func(tr *trace.Trace) string {
		var out bytes.Buffer
		if err := tr.Write(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	one, other := made("/home/you", "1", time.Unix(1, 0)), made("/ci/work", "2", time.Unix(99, 0))
	before := write(one)
	portable := one.Portable()
	if write(portable) != write(other.Portable()) {
		t.Error("the same run of two machines differs")
	}
	if write(one) != before {
		t.Error("the trace itself was changed")
	}
	var files []string
	for _, f := range portable.Functions {
		files = append(files, f.File)
	}
	const want = "example.com/m/a.test/_testmain.go example.com/m/a/a_test.go example.com/m/a/b_test.go example.com/dep@v1.2.3/x/x.go example.com/dep/v2@v2.0.0/v2.go example.com/here/h.go fmt/print.go "
	if got := strings.Join(files, " "); got != want {
		t.Errorf("files %s\n want %s", got, want)
	}
	if portable.Calls() != one.Calls() || portable.Exit != one.Exit || portable.Name != "TestA" || len(portable.Command) != 3 || portable.Program.GoVersion == "" {
		t.Errorf("what the program did is not in %+v", portable)
	}
}
