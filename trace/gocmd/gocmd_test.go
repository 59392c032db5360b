package gocmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The words that Rewrite puts in for the recorder /r with the argument "rec ord".
const inserted = `-exec=/r 'rec ord'|-gcflags=all=-l|-gcflags=std=`

// TestRewrite shows for each form of command what of it is the go command's, and
// what it becomes. Words are separated by |.
func TestRewrite(t *testing.T) {
	for _, test := range []struct {
		in      string
		goflags string
		include string
		want    string // INS represents inserted; "" for a command line that is none of ours
		program string // of go run, the words for the program; "" for all of in
		debug   bool
	}{
		{in: "go|run|.", want: "go|run|INS|."},
		{in: "go|run|./cmd/app|-v|x", want: "go|run|INS|./cmd/app|-v|x", program: "go|run|./cmd/app"},
		{in: "/usr/bin/env", want: ""},
		{in: "go", want: ""},
		{in: "go|build|./...", want: ""},
		{in: "go|-C|dir|build", want: ""},
		{in: "go|-C", want: ""},
		{in: "gofmt|run", want: ""},
		{in: "./app|run|x", want: ""},

		// -C must stay in front.
		{in: "go|-C|dir|run|.", want: "go|-C|dir|run|INS|."},
		{in: "go|-C=dir|test", want: "go|-C=dir|test|INS"},
		{in: "go|run|-C|dir|.|-C|x", want: "go|run|-C|dir|INS|.|-C|x", program: "go|run|-C|dir|."},
		{in: "go|test|--C=dir|.", want: "go|test|--C=dir|INS|."},

		// go run: the first word that is no flag, or all that end in .go, and from
		// there on nothing is the go command's.
		{in: "go|run|a.go|b.go|c|d.go", want: "go|run|INS|a.go|b.go|c|d.go", program: "go|run|a.go|b.go"},
		{in: "go|run|x.org/cmd@v1.2.3|-gcflags=-m", want: "go|run|INS|x.org/cmd@v1.2.3|-gcflags=-m", program: "go|run|x.org/cmd@v1.2.3"},
		{in: "go|run|-race|-tags|a,b|-ldflags=-X main.v=1|.|-exec|y", want: "go|run|INS|-race|-tags|a,b|-ldflags=-X main.v=1|.|-exec|y", program: "go|run|-race|-tags|a,b|-ldflags=-X main.v=1|."},
		{in: "go|run|-p|2|--|.|x", want: "go|run|INS|-p|2|--|.|x", program: "go|run|-p|2|--|."},
		{in: "go|run", want: "go|run|INS"},
		{in: "go|run|-tags", want: "go|run|INS|-tags"},
		{in: "go|run|-nosuchflag|-gcflags=-m|.", want: "go|run|INS|-nosuchflag|-gcflags=-m|.", program: "go|run|-nosuchflag"},

		// The user's -gcflags.
		{in: "go|run|-gcflags=-N|.", want: "go|run|INS|-gcflags=-N -l|."},
		{in: "go|run|--gcflags|-N -m|.|-gcflags=-m", want: "go|run|INS|-gcflags=-N -m -l|.|-gcflags=-m", program: "go|run|--gcflags|-N -m|."},
		{in: "go|run|-gcflags=|.", want: "go|run|INS|-gcflags=-l|."},
		{in: "go|run|-gcflags=-N -l|.", want: "go|run|INS|-gcflags=-N -l|."},
		{in: "go|run|-gcflags=-l=4|.", want: "go|run|INS|-gcflags=-l=4 -l=1|."},
		{in: "go|run|-gcflags=-l -l|.", want: "go|run|INS|-gcflags=-l -l -l=1|."},
		{in: "go|run|-gcflags=x.org/...=-N|-gcflags=./a=-m|.", want: "go|run|INS|-gcflags=x.org/...=-N -l|-gcflags=./a=-m -l|."},
		{in: "go|run|-gcflags=all=-N|.", want: "go|run|INS|-gcflags=all=-N -l|-gcflags=std=-N|."},
		{in: "go|run|-gcflags=all=-N -l|.", want: "go|run|INS|-gcflags=all=-N -l|."},
		{in: "go|run|-gcflags=all=|.", want: "go|run|INS|-gcflags=all=-l|-gcflags=std=|."},
		{in: "go|run|-gcflags=std=-N|.", want: "go|run|INS|-gcflags=std=-N|."},
		{in: "go|run|-gcflags=-d='x y'|.", want: "go|run|INS|-gcflags=-d='x y' -l|."},
		{in: "go|run|-gcflags=wrong|.", want: "go|run|INS|-gcflags=wrong|."},
		{in: "go|run|-gcflags=-d 'x|.", want: "go|run|INS|-gcflags=-d 'x|."},
		{in: "go|run|.", goflags: "-gcflags=-N '-gcflags=all=-m -d=x' -tags=x", want: "go|run|INS|-gcflags=-N -l|-gcflags=all=-m -d=x -l|-gcflags=std=-m -d=x|."},
		{in: "go|run|-gcflags=-m|.", goflags: "-gcflags=-N", want: "go|run|INS|-gcflags=-N -l|-gcflags=-m -l|."},
		{in: "go|run|.", goflags: "'-gcflags=-N", want: "go|run|INS|."},

		// Recording the standard library, or a part of it.
		{in: "go|run|.", include: "./...|x.org/...|main", want: "go|run|INS|."},
		{in: "go|run|.", include: "std", want: "go|run|INS|-gcflags=std=-l|-gcflags=runtime/...=|-gcflags=internal/runtime/...=|."},
		{in: "go|run|-gcflags=all=-N|.", include: "main|all", want: "go|run|INS|-gcflags=std=-l|-gcflags=runtime/...=|-gcflags=internal/runtime/...=|-gcflags=all=-N -l|."},
		{in: "go|run|.", include: "encoding/...", want: "go|run|INS|-gcflags=encoding/...=-l|-gcflags=runtime/...=|-gcflags=internal/runtime/...=|."},

		// go test: flags before and after the packages; of those after an unknown
		// one, some; none after -args, -- or a second list of words.
		{in: "go|test", want: "go|test|INS"},
		{in: "go|test|-run|X|./pkg|-v|-gcflags=-N", want: "go|test|INS|-run|X|./pkg|-v|-gcflags=-N -l"},
		{in: "go|test|./a|./b|-gcflags|-N|./c|-gcflags=-m", want: "go|test|INS|./a|./b|-gcflags=-N -l|./c|-gcflags=-m"},
		{in: "go|test|-gcflags=-N|.|-args|-gcflags=-m", want: "go|test|INS|-gcflags=-N -l|.|-args|-gcflags=-m"},
		{in: "go|test|.|--|-gcflags=-m", want: "go|test|INS|.|--|-gcflags=-m"},
		{in: "go|test|.|-mine|value|-gcflags=-N|word|-gcflags=-m", want: "go|test|INS|.|-mine|value|-gcflags=-N -l|word|-gcflags=-m"},
		{in: "go|test|.|-mine=value|word|-gcflags=-m", want: "go|test|INS|.|-mine=value|word|-gcflags=-m"},
		{in: "go|test|-mine|.|-gcflags=-N", want: "go|test|INS|-mine|.|-gcflags=-N -l"},
		{in: "go|test|-args=x|-gcflags=-N", want: "go|test|INS|-args=x|-gcflags=-N -l"},
		{in: "go|test|-test.run|-gcflags=-m|.", want: "go|test|INS|-test.run|-gcflags=-m|."},
		{in: "go|test|-race|-cover|-json|-vet|off|-o|x|-c=false|-fuzz=|.", want: "go|test|INS|-race|-cover|-json|-vet|off|-o|x|-c=false|-fuzz=|."},

		// With DWARF: what links without it is before ours.
		{debug: true, in: "go|run|.", want: "go|run|INS|-ldflags=-s=false -w=false|."},
		{debug: true, in: "go|test|-ldflags|-X a.b=c|.", want: "go|test|INS|-ldflags=-s=false -w=false|-ldflags=-X a.b=c -s=false -w=false|."},
		{debug: true, in: "go|run|-ldflags=all=-s|-gcflags=-N|.", want: "go|run|INS|-ldflags=-s=false -w=false|-ldflags=all=-s -s=false -w=false|-gcflags=-N -l|.", program: "go|run|-ldflags=all=-s|-gcflags=-N|."},
		{debug: true, in: "go|run|.|-ldflags=-s", goflags: "'-ldflags=-s -w'", want: "go|run|INS|-ldflags=-s=false -w=false|-ldflags=-s -w -s=false -w=false|.|-ldflags=-s", program: "go|run|."},
	} {
		c, err := Parse(strings.Split(test.in, "|"))
		if err != nil {
			t.Errorf("%s: %v", test.in, err)
			continue
		}
		if c == nil || test.want == "" {
			if (c == nil) != (test.want == "") {
				t.Errorf("%s: recognised: %v, want %v", test.in, c != nil, test.want != "")
			}
			continue
		}
		c.Debug = test.debug
		var include []string
		if test.include != "" {
			include = strings.Split(test.include, "|")
		}
		out, err := c.Rewrite([]string{"/r", "rec ord"}, include, test.goflags)
		if err != nil {
			t.Errorf("%s: %v", test.in, err)
			continue
		}
		got := strings.Replace(strings.Join(out, "|"), inserted, "INS", 1)
		if got != test.want {
			t.Errorf("%s\n becomes %s\n    want %s", test.in, got, test.want)
		}
		if test.program == "" {
			test.program = test.in
		}
		if got := strings.Join(c.Program(), "|"); got != test.program {
			t.Errorf("%s: the program is %s, want %s", test.in, got, test.program)
		}
	}
}

// TestBuild: what is built again is built as it was, and neither run nor listed.
func TestBuild(t *testing.T) {
	for in, want := range map[string]string{
		"go run -race -tags a ./cmd/app -tags b":                   "go build -o=out -gcflags=all=-l -gcflags=std= -toolexec=tool -race -tags a ./cmd/app",
		"go -C dir test -v ./a ./b -run X -o=y -args z":            "go -C dir test -o=out -c -gcflags=all=-l -gcflags=std= -toolexec=tool -v -run X example.com/a",
		"go test -C dir -json -gcflags=-N -coverprofile c.out ./a": "go test -C dir -o=out -c -gcflags=all=-l -gcflags=std= -toolexec=tool -gcflags=-N -l -coverprofile c.out example.com/a",
	} {
		c, err := Parse(strings.Fields(in))
		if err != nil {
			t.Fatal(err)
		}
		c.Tool = []string{"tool"}
		got, err := c.Build("out", "example.com/a", nil, "")
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v\n got %s\nwant %s", in, err, strings.Join(got, " "), want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for in, want := range map[string]string{
		"go run -exec sudo .":       "go run -exec cannot be recorded",
		"go test . -exec=sudo":      "go test -exec cannot be recorded",
		"go test -c .":              "does not run it",
		"go test -fuzz FuzzX .":     "go test -run 'FuzzX'",
		"go test . -test.fuzz=F -v": "go test -run 'F'",
	} {
		if _, err := Parse(strings.Fields(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %q", in, err, want)
		}
	}
	c, err := Parse([]string{"go", "run", "."})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Rewrite([]string{"/r"}, nil, "-exec=sudo"); err == nil || !strings.Contains(err.Error(), "-exec in GOFLAGS") {
		t.Errorf("-exec in GOFLAGS: error %v", err)
	}
	if _, err := c.Rewrite([]string{`/it's "r"`}, nil, ""); err == nil {
		t.Error("a recorder that cannot be quoted: no error")
	}
}

// TestFlagsOfTheGoCommand compares the tables with the help of the go command that
// is installed: a flag that a new release adds must be known with its value, or the
// words after it are misread.
func TestFlagsOfTheGoCommand(t *testing.T) {
	// -args is no flag to the tables, but ends the go command's part.
	special := []string{"args"}
	// Flags that the help does not list under a heading of their own.
	unlisted := []string{"exec", "debug-actiongraph", "debug-runtime-trace", "debug-trace"}

	line := regexp.MustCompile(`(?m)^\t-([a-z-]+|C)( .+)?$`)
	listed := map[string]bool{}
	for topic, table := range map[string]map[string]arity{"build": runFlags, "testflag": testFlags, "test": testFlags} {
		help, err := exec.Command("go", "help", topic).Output()
		if err != nil {
			t.Fatal(err)
		}
		found := line.FindAllSubmatch(help, -1)
		if len(found) < 4 {
			t.Errorf("go help %s lists %d flags: its form has changed", topic, len(found))
		}
		for _, m := range found {
			name, takes := string(m[1]), arity(len(m[2]) > 0)
			listed[name] = true
			if slices.Contains(special, name) {
				continue
			}
			a, ok := table[name]
			if !ok {
				t.Errorf("go help %s: -%s is not in the table", topic, name)
			} else if a != takes {
				t.Errorf("go help %s: -%s takes a value: %v; in the table: %v", topic, name, takes, a)
			}
		}
	}
	for name := range testFlags {
		if !listed[strings.TrimPrefix(name, "test.")] && !slices.Contains(unlisted, name) {
			t.Errorf("-%s is in no help any more", name)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod":           "module example.com/m\n\ngo 1.21\n",
		"cmd/app/main.go":  "package main\n\nfunc main() {}\n",
		"lib/lib.go":       "package lib\n",
		"empty/README":     "",
		"tests/x_test.go":  "package tests\n",
		"sh/main.go":       "package main\n\nfunc main() {}\n", // as a program in PATH is called
		"program":          "",
		"sub dir/main.go":  "package main\n\nfunc main() {}\n",
		"dotted.d/main.go": "package main\n\nfunc main() {}\n",
	})
	for name, want := range map[string]string{
		"./cmd/app":                         "./cmd/app",
		"cmd/app":                           "./cmd/app",
		"cmd/app/":                          "./cmd/app/",
		filepath.Join(dir, "cmd/app"):       filepath.Join(dir, "cmd/app"),
		"./sub dir":                         "./sub dir",
		"dotted.d":                          "./dotted.d",
		"./lib":                             "./lib", // the go command says that it is no main package
		"example.com/m/cmd/app":             "example.com/m/cmd/app",
		"golang.org/x/tools/cmd/x@latest":   "golang.org/x/tools/cmd/x@latest",
		"example.com/m/lib":                 "",
		"example.com/m/none":                "",
		"example.com/m/...":                 "",
		"user@host":                         "",
		"./empty":                           "",
		"./tests":                           "",
		"./none":                            "",
		"cmd/app/main.go":                   "cmd/app/main.go",
		"cmd/app/none.go":                   "",
		"program":                           "",
		"sh":                                "",
		"nosuchprogram":                     "",
		"/nosuchdirectory/nosuchprogram":    "",
		"./cmd/...":                         "",
		"../" + filepath.Base(dir) + "/lib": "../" + filepath.Base(dir) + "/lib",
	} {
		c, err := Find(t.Context(), []string{name, "x"}, dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := ""
		if c != nil {
			got = c.Subject()
			if !c.Package || !slices.Equal(c.Args, []string{"go", "run", got, "x"}) {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if got != want {
			t.Errorf("%s is package %q, want %q", name, got, want)
		}
	}
}

func TestGorootWithJSON(t *testing.T) {
	c, err := Parse([]string{"go", "test", "."})
	if err != nil {
		t.Fatal(err)
	}
	want := c.Goroot(t.Context(), ".")
	t.Setenv("GOFLAGS", strings.TrimSpace(os.Getenv("GOFLAGS")+" -json"))
	if got := c.Goroot(t.Context(), "."); got != want || strings.Contains(got, "\n") {
		t.Errorf("GOROOT is %q, without -json in GOFLAGS %q", got, want)
	}
	if got := c.Goflags(t.Context(), "."); got != os.Getenv("GOFLAGS") {
		t.Errorf("GOFLAGS is %q", got)
	}
}

func TestGoflags(t *testing.T) {
	t.Setenv("GOFLAGS", "-tags=x '-gcflags=all=-N -m'")
	c, err := Parse([]string{"go", "-C", "..", "test"})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Goflags(t.Context(), "."); got != os.Getenv("GOFLAGS") {
		t.Errorf("GOFLAGS is %q", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("go\x00test\x00./a\x00-gcflags\x00-N\x00-args\x00x")
	f.Add("go\x00run\x00-C\x00d\x00a.go\x00b.go\x00c")
	f.Fuzz(func(t *testing.T, line string) {
		c, err := Parse(strings.Split(line, "\x00"))
		if c == nil || err != nil {
			return
		}
		out, err := c.Rewrite([]string{"/r", "rec ord"}, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		// Without what was put in and all -gcflags, the words are those of before.
		at := c.start
		if !strings.HasPrefix(strings.Join(out[at:], "|"), inserted) {
			t.Fatalf("%q: nothing put in at %d: %q", line, at, out)
		}
		var before []string
		gcflags := 0
		for i := 0; i < len(c.Args); {
			if k := slices.IndexFunc(c.flags, func(f flag) bool { return f.at == i && f.name == "gcflags" }); k >= 0 {
				i += c.flags[k].words
				gcflags++
				continue
			}
			before = append(before, c.Args[i])
			i++
		}
		after := slices.Concat(out[:at], out[at+3:])
		if gcflags == 0 && !slices.Equal(before, after) {
			t.Fatalf("%q becomes %q", before, after)
		}
		if len(after) < len(before) {
			t.Fatalf("%q becomes %q: words are lost", before, after)
		}
	})
}

func FuzzQuoted(f *testing.F) {
	f.Add("a\x00b c\x00")
	f.Add(`it's` + "\x00" + `"x"`)
	f.Fuzz(func(t *testing.T, list string) {
		words := strings.Split(list, "\x00")
		s, err := joinQuoted(words)
		if err != nil {
			return
		}
		if got, err := splitQuoted(s); err != nil || !slices.Equal(got, words) {
			t.Fatalf("%q joined is %q, split again %q, %v", words, s, got, err)
		}
	})
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMark: each package outside the standard library gets the mark, whichever flag of the user's it is compiled with.
func TestMark(t *testing.T) {
	for in, want := range map[string]string{
		"go run .":                       "-gcflags=all=-l -m=x|-gcflags=std=|.",
		"go run -gcflags=-N .":           "-gcflags=all=-l -m=x|-gcflags=std=|-gcflags=-N -l -m=x|.",
		"go run -gcflags=all=-N .":       "-gcflags=all=-l -m=x|-gcflags=std=|-gcflags=all=-N -l -m=x|-gcflags=std=-N|.",
		"go run -gcflags=std=-N .":       "-gcflags=all=-l -m=x|-gcflags=std=|-gcflags=std=-N|.",
		"go run -gcflags=x.org/...=-l .": "-gcflags=all=-l -m=x|-gcflags=std=|-gcflags=x.org/...=-l -m=x|.",
		"include all: go run .":          "-gcflags=all=-l -m=x|-gcflags=std=|-gcflags=std=-l|-gcflags=runtime/...=|-gcflags=internal/runtime/...=|.",
		"include app/...: go run .":      "-gcflags=all=-l -m=x|-gcflags=std=|-gcflags=app/...=-l -m=x|-gcflags=runtime/...=|-gcflags=internal/runtime/...=|.",
		"include all: go run -gcflags=all=-l .": "-gcflags=all=-l -m=x|-gcflags=std=|-gcflags=std=-l|-gcflags=runtime/...=|-gcflags=internal/runtime/...=|" +
			"-gcflags=all=-l -m=x|-gcflags=std=-l|.",
	} {
		var include []string
		command := in
		if pattern, rest, ok := strings.Cut(in, ": "); ok {
			include, command = []string{strings.TrimPrefix(pattern, "include ")}, rest
		}
		c, err := Parse(strings.Fields(command))
		if err != nil {
			t.Fatal(err)
		}
		c.Mark = "-m=x"
		out, err := c.Rewrite([]string{"/r"}, include, "")
		if got := strings.Join(out, "|"); err != nil || got != "go|run|-exec=/r|"+want {
			t.Errorf("%s becomes %s, want %s (%v)", in, got, want, err)
		}
	}
}
