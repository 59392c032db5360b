package executable

import (
	"bytes"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// The program's own runtime is the first witness: it reads the same tables,
// but in memory, with its own code, after relocation.
func TestAgreesWithTheRuntime(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" && runtime.GOOS != "windows" {
		t.Skip("the program may be in a format that is not read")
	}
	configs := []struct {
		name, config string
		c            bool
	}{
		{"default", "", false},
		{"stripped", "-ldflags=-s", false},
		{"trimmed", "-trimpath", false},
		{"pie", "-buildmode=pie", true},
		{"no inlining", "-gcflags=-l", false},
		{"external linker", "CGO_ENABLED=1 -ldflags=-linkmode=external", true},
		{"external linker, pie", "CGO_ENABLED=1 -buildmode=pie -ldflags=-linkmode=external", true},
	}
	for _, c := range configs {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.c {
				needC(t)
			}
			path := build(t, "zoo", c.config)
			f := mustOpen(t, path)
			start := function(t, f, "main.main").Entry

			// Every place where something changes in the program's own
			// code, and the middle of every function of the rest.
			var pcs []uint64
			var in bytes.Buffer
			ask := func(pc uint64) {
				pcs = append(pcs, pc)
				fmt.Fprintf(&in, "%d\n", int64(pc-start))
			}
			for i := range f.Funcs {
				fn := &f.Funcs[i]
				if strings.HasPrefix(fn.Name, "go:") {
					continue // a marker: no code that could call
				}
				if f.Std(fn.Package) {
					ask(fn.Entry + (fn.End-fn.Entry)/2)
					continue
				}
				// A return address at the very end would be the next function's.
				for pc := fn.Entry; pc < fn.End-1; pc++ {
					ask(pc)
				}
			}
			own, stack := runZoo(t, path, &in)
			if len(own) != len(pcs) {
				t.Fatalf("asked the program about %d pcs, got %d answers", len(pcs), len(own))
			}
			inlined := 0
			for i, pc := range pcs {
				frames := f.Frames(pc)
				if len(frames) == 0 {
					t.Fatalf("no frames at %#x, the program has %v", pc, own[i])
				}
				want := own[i]
				if want.name == "" { // the runtime takes name offset 0 for no name
					want.name = shorten(f.tab.name(0))
				}
				if want.file == "?" { // padding
					want.file = ""
				}
				got := told{want.pc, want.entry, shorten(frames[0].Name), frames[0].File, frames[0].Line}
				if got != want {
					t.Errorf("at %#x:\n got %v\nwant %v", pc, got, want)
				}
				if fn := f.Func(pc); int64(fn.Entry-start) != own[i].entry {
					t.Errorf("entry of %s is at %d from main.main, want %d", fn.Name, int64(fn.Entry-start), own[i].entry)
				}
				if frames[0].Inlined {
					inlined++
				}
			}
			if inlined == 0 {
				t.Error("no inlined code was compared")
			}
			compareStack(t, f, start, stack)
		})
	}
}

// compareStack compares a real stack, whose inlined frames have entries of
// their own, with the frames at its innermost and its return addresses.
func compareStack(t *testing.T, f *File, start uint64, stack []told) {
	var want, got []string
	last := int64(-1)
	for _, s := range stack {
		want = append(want, fmt.Sprintf("%s %s:%d", s.name, s.file, s.line))
		if s.entry == last {
			continue // inlined into the function seen before
		}
		last = s.entry
		for _, fr := range f.Frames(start + uint64(s.pc)) {
			got = append(got, fmt.Sprintf("%s %s:%d", shorten(fr.Name), fr.File, fr.Line))
		}
	}
	// A traceback leaves out compiler-made wrappers between two frames.
	w, g := strings.Join(want, "\n"), strings.Join(got, "\n")
	if g != w {
		t.Errorf("stack:\ngot\n%s\nwant\n%s", g, w)
	}
	if !strings.Contains(w, "main.middle") {
		t.Errorf("the stack does not have the call it should:\n%s", w)
	}
}

// shorten leaves out type arguments, as the runtime does when it prints.
func shorten(name string) string {
	i, j := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if i < 0 || j < i {
		return name
	}
	return name[:i] + "[...]" + name[j+1:]
}

// told is what the program says of a pc; pc and entry count from main.main.
type told struct {
	pc, entry int64
	name      string
	file      string
	line      int
}

func runZoo(t *testing.T, path string, in *bytes.Buffer) (own, stack []told) {
	cmd := exec.Command(path)
	cmd.Stdin = in
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	list := &own
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if line == "stack" {
			list = &stack
			continue
		}
		p := strings.Split(line, "\t")
		if len(p) != 5 {
			t.Fatalf("the program said %q", line)
		}
		*list = append(*list, told{num(t, p[0]), num(t, p[1]), p[2], p[3], int(num(t, p[4]))})
	}
	return own, stack
}

func num(t *testing.T, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
