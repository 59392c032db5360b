package gocmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSelect: which tests of a listing are run, and by which arguments each alone.
func TestSelect(t *testing.T) {
	const listing = "connecting to nothing\nTestA\nTestAB\nTest\nTesting\nTest me\nExampleA\nFuzzA\nBenchmarkA\nok\tnothing\n"
	for _, test := range []struct{ args, want string }{
		{"", "TestA:^TestA$ TestAB:^TestAB$ Test:^Test$ ExampleA:^ExampleA$ FuzzA:^FuzzA$"},
		{"-test.run=A$", "TestA:^TestA$ ExampleA:^ExampleA$ FuzzA:^FuzzA$"},
		{"-test.run=", "TestA:^TestA$ TestAB:^TestAB$ Test:^Test$ ExampleA:^ExampleA$ FuzzA:^FuzzA$"},
		{"-test.run=TestA/x/y", "TestA:^TestA$/x/y TestAB:^TestAB$/x/y"},
		{"-test.run=^TestA$|TestA/x|AB", "TestA:^TestA$|^TestA$/x TestAB:^TestAB$/x|^TestAB$"},
		{"-test.run=Test(A|AB)$/[/|]/(c/d)", "TestA:^TestA$/[/|]/(c/d) TestAB:^TestAB$/[/|]/(c/d)"},
		{`-test.run=TestA\|x|Fuzz`, "FuzzA:^FuzzA$"},
		{"-test.run=A$ -test.run=Fuzz", "FuzzA:^FuzzA$"},
		{"-test.run Fuzz", "FuzzA:^FuzzA$"},
		{"-test.skip=^TestA$|Fuzz|Example/sub", "TestAB:^TestAB$ Test:^Test$ ExampleA:^ExampleA$"},
		{"-test.run=None", ""},
		{"-test.run=^$ -test.bench=.", "BenchmarkA:^$:^BenchmarkA$"},
		{"-test.run=Fuzz -test.bench=A/x", "FuzzA:^FuzzA$ BenchmarkA:^$:^BenchmarkA$/x"},
		{"-test.run=Fuzz -- -test.run=None", "FuzzA:^FuzzA$"},
	} {
		tests, err := Select(strings.Fields(test.args), []byte(listing))
		if err != nil {
			t.Errorf("%s: %v", test.args, err)
		}
		var got []string
		for _, x := range tests {
			words := []string{x.Name}
			for _, arg := range x.Args(nil) {
				_, value, _ := strings.Cut(arg, "=")
				words = append(words, value)
			}
			got = append(got, strings.Join(words, ":"))
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%s selects %s\nwant %s", test.args, got, test.want)
		}
	}
	if _, err := Select([]string{"-test.skip=("}, nil); err == nil || !strings.Contains(err.Error(), "go test -skip: ") {
		t.Errorf("a pattern that is none: error %v", err)
	}
}

// TestSelectAsTesting asks the real thing: what a test program runs by a pattern, and
// what it runs by the patterns made of it, is the same.
func TestSelectAsTesting(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/s\n\ngo 1.22\n")
	write("s_test.go", `package s

import "testing"

func sub(t *testing.T) {
	for _, name := range []string{"x", "y"} {
		t.Run(name, func(t *testing.T) { t.Run("deep", func(*testing.T) {}) })
	}
}

func TestA(t *testing.T)  { sub(t) }
func TestAB(t *testing.T) { sub(t) }
func TestC(t *testing.T)  { sub(t) }
func FuzzA(f *testing.F) {
	f.Add(1)
	f.Fuzz(func(*testing.T, int) {})
}
`)
	program := filepath.Join(dir, "s.test")
	build := exec.Command("go", "test", "-c", "-o", program)
	build.Dir = dir
	build.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ran := func(args []string) (names []string) {
		out, err := exec.Command(program, args...).Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		for line := range strings.Lines(string(out)) {
			if name, ok := strings.CutPrefix(line, "=== RUN   "); ok {
				names = append(names, strings.TrimSpace(name))
			}
		}
		return names
	}
	listing, err := exec.Command(program, ListArgs(nil)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"", "-test.run=A", "-test.run=^TestA$", "-test.run=A/x", "-test.run=/y", "-test.run=TestA$/x|TestC/y/deep|Fuzz", "-test.run=Test(A|C)$/[xz]",
		"-test.run=A -test.skip=AB", "-test.skip=A/x", "-test.skip=TestA/x|TestC", "-test.run=None",
	} {
		args := append(strings.Fields(line), "-test.v")
		want := ran(args)
		tests, err := Select(args, listing)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range tests {
			got = append(got, ran(x.Args(args))...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: each alone runs %q\nall together %q", line, got, want)
		}
	}
	if none := ran(Test{}.Args([]string{"-test.v", "-test.run=A"})); none != nil {
		t.Errorf("the zero Test runs %q", none)
	}
}

// TestOnly: the command line for one test is one that can be typed.
func TestOnly(t *testing.T) {
	for in, want := range map[string]string{
		"go test ./...": "go test -run=^TestA$ ./...",
		"go -C dir test -v -run A -count=2 ./a ./b -mine x": "go -C dir test -run=^TestA$ -v -count=2 ./a ./b -mine x",
		"go test . -test.run=A -bench . -args -run=B":       "go test -run=^TestA$ . -args -run=B",
	} {
		c, err := Parse(strings.Fields(in))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Each(); err != nil {
			t.Error(err)
		}
		if got := strings.Join(c.Only(Test{Name: "TestA", run: "^TestA$"}), " "); got != want {
			t.Errorf("%s\n is %s\nwant %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"go test ./a":                          "go test -timeout=0 ./a 10m0s",
		"go test -timeout 90s ./a -timeout=2h": "go test -timeout=0 ./a 2h0m0s",
		"go test ./a -test.timeout=0":          "go test -timeout=0 ./a 0s",
		"go test ./a -args -timeout=5s":        "go test -timeout=0 ./a -args -timeout=5s 20m0s",
	} {
		c, err := Parse(strings.Fields(in))
		if err != nil {
			t.Fatal(err)
		}
		goflags := ""
		if strings.Contains(in, "-args") {
			goflags = "-v -timeout=20m"
		}
		u, limit, err := c.Unlimited(goflags)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(u.Args, " ") + " " + limit.String(); got != want {
			t.Errorf("%s\n is %s\nwant %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"go run .":                          "go run has no tests",
		"go test -list . ./pkg":             "leave -list out",
		"go test ./pkg -coverprofile=c.out": "leave -coverprofile out",
	} {
		c, err := Parse(strings.Fields(in))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Each(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %q", in, err, want)
		}
	}
}
