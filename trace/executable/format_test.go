package executable

import (
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// Every format and linker, held against the symbol table as go tool nm reads
// it: the entry and name of each function.
func TestAgreesWithSymbols(t *testing.T) {
	for _, c := range []struct {
		config, goos, goarch string
		pie, c, slow         bool
	}{
		{config: "GOOS=linux GOARCH=amd64", goos: "linux", goarch: "amd64"},
		{config: "GOOS=linux GOARCH=arm64", goos: "linux", goarch: "arm64"},
		{config: "GOOS=darwin GOARCH=arm64", goos: "darwin", goarch: "arm64", pie: true, slow: true},
		{config: "GOOS=windows GOARCH=amd64", goos: "windows", goarch: "amd64", pie: true, slow: true},
		{config: "-buildmode=pie", goos: runtime.GOOS, goarch: runtime.GOARCH, pie: true, c: true},
		{config: "CGO_ENABLED=1 -ldflags=-linkmode=external", goos: runtime.GOOS, goarch: runtime.GOARCH, c: true},
	} {
		t.Run(c.config, func(t *testing.T) {
			t.Parallel()
			if c.slow && testing.Short() {
				t.Skip("compiles a part of the standard library")
			}
			if c.c {
				needC(t)
			}
			path := build(t, "zoo", c.config)
			f := mustOpen(t, path)
			if f.GOOS != c.goos || f.GOARCH != c.goarch || f.PIE != c.pie || f.Stripped {
				t.Errorf("got %s/%s, PIE %v, stripped %v", f.GOOS, f.GOARCH, f.PIE, f.Stripped)
			}
			if want := goBuildID(t, path); f.BuildID != want || want == "" {
				t.Errorf("BuildID = %q, want %q", f.BuildID, want)
			}
			symbols := nm(t, path)
			if names := symbols[f.TextStart]; !names["runtime.text"] {
				t.Errorf("at TextStart, %#x, are the symbols %v", f.TextStart, names)
			}
			missing := 0
			for i, fn := range f.Funcs {
				if i > 0 && fn.Entry < f.Funcs[i-1].Entry {
					t.Fatalf("%s stands after %s", fn.Name, f.Funcs[i-1].Name)
				}
				if strings.HasPrefix(fn.Name, "go:") {
					continue
				}
				names := symbols[fn.Entry]
				if len(names) == 0 {
					missing++
				} else if !names[symbolName(fn.Name)] && !names["_"+fn.Name] { // as Apple's C
					t.Errorf("%#x is %s, the symbols there are %v", fn.Entry, fn.Name, names)
				}
			}
			if missing > 0 {
				t.Errorf("%d of %d functions are at no symbol", missing, len(f.Funcs))
			}
		})
	}
}

// symbolName is a name as the symbol table has it.
func symbolName(name string) string { return strings.ReplaceAll(name, "·", ".") }

// nm returns the names of the text symbols, by address.
func nm(t *testing.T, path string) map[uint64]map[string]bool {
	out, err := exec.Command("go", "tool", "nm", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	symbols := map[uint64]map[string]bool{}
	for line := range strings.Lines(string(out)) {
		p := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(p) < 3 || p[1] != "T" && p[1] != "t" {
			continue
		}
		addr, err := strconv.ParseUint(p[0], 16, 64)
		if err != nil {
			t.Fatalf("go tool nm said %q", line)
		}
		if symbols[addr] == nil {
			symbols[addr] = map[string]bool{}
		}
		name := strings.TrimSuffix(p[2], ".abi0") // assembly, beside the wrapper of the same name
		symbols[addr][symbolName(name)] = true
	}
	return symbols
}

func goBuildID(t *testing.T, path string) string {
	out, err := exec.Command("go", "tool", "buildid", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
