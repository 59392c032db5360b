package executable

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tracerag/fixtures"
)

func TestCode(t *testing.T) {
	path := build(t, "zoo", "GOOS=linux GOARCH=amd64")
	f := mustOpen(t, path)
	c, err := f.Code()
	if err != nil {
		t.Fatal(err)
	}
	fn := function(t, f, "main.main")
	e, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	text := e.Section(".text")
	want := make([]byte, fn.End-fn.Entry)
	if _, err := text.ReadAt(want, int64(fn.Entry-text.Addr)); err != nil {
		t.Fatal(err)
	}
	if got := c.Bytes(fn.Entry, fn.End-fn.Entry); !bytes.Equal(got, want) {
		t.Errorf("main.main is % x, want % x", got, want)
	}
	if b := c.Bytes(f.Funcs[len(f.Funcs)-1].End, 1<<40); b != nil {
		t.Errorf("%d bytes behind the code", len(b))
	}
	for _, d := range c.Data() {
		if fn.Entry >= d.Addr && fn.Entry-d.Addr < uint64(len(d.Bytes)) {
			t.Errorf("the data at %#x hold main.main", d.Addr)
		}
	}
}

// TestCodeChanged: the program is built anew between the two reads.
func TestCodeChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app")
	copyFile(t, build(t, "zoo", "GOOS=linux GOARCH=amd64"), path)
	f := mustOpen(t, path)
	copyFile(t, build(t, "zoo", "GOOS=linux GOARCH=amd64 -gcflags=-l"), path)
	if _, err := f.Code(); err == nil || !strings.Contains(err.Error(), "built anew") {
		t.Errorf("error %v", err)
	}
	os.Remove(path)
	if _, err := f.Code(); err == nil || !strings.HasPrefix(err.Error(), path) {
		t.Errorf("error %v", err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestCallPCs: what stands for a call is outside of its body, on the line of the
// call in the caller.
func TestCallPCs(t *testing.T) {
	f := mustOpen(t, build(t, "zoo", "GOOS=linux GOARCH=amd64"))
	n := 0
	for i := range f.Funcs {
		fn := &f.Funcs[i]
		calls, pcs := f.Inlined(fn), f.CallPCs(fn)
		if len(calls) != len(pcs) {
			t.Fatalf("%s: %d calls and %d pcs", fn.Name, len(calls), len(pcs))
		}
		for k, c := range calls {
			n++
			if fr := f.Frames(pcs[k]); len(fr) == 0 || fr[0].Line != c.CallLine {
				t.Errorf("%s: call %d, line %d, is at %#x, %+v", fn.Name, k, c.CallLine, pcs[k], fr)
			}
		}
	}
	if n == 0 {
		t.Error("nothing is inlined")
	}
}

// TestOpenCode reads a program's code and data in parts, and compares them with all of it.
func TestOpenCode(t *testing.T) {
	f, err := Open(fixtures.Build(t, "closures"))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := f.Code()
	if err != nil {
		t.Fatal(err)
	}
	parts, err := f.OpenCode()
	if err != nil {
		t.Fatal(err)
	}
	same := func(addr, n uint64) {
		t.Helper()
		if got, want := parts.Bytes(addr, n), whole.Bytes(addr, n); !bytes.Equal(got, want) || (got == nil) != (want == nil) {
			t.Fatalf("%d bytes at %#x are not those of the file", n, addr)
		}
	}
	for i := range f.Funcs {
		same(f.Funcs[i].Entry, f.Funcs[i].End-f.Funcs[i].Entry)
	}
	for _, g := range whole.im.regions {
		for _, n := range []uint64{0, 1, 5, codeChunk, codeChunk + 1, g.size} {
			same(g.addr, n)
			same(g.addr+codeChunk-2, n)
			same(g.addr+g.size-n, n)
			same(g.addr+g.size-n+1, n)
		}
	}
	if got, want := parts.Data(), whole.Data(); !reflect.DeepEqual(got, want) {
		t.Error("the data are not those of the file")
	}
	if err := parts.Close(); err != nil {
		t.Fatal(err)
	}
	if err := whole.Close(); err != nil {
		t.Fatal(err)
	}
}
