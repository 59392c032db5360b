package patch

import (
	"bytes"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"tracerag/fixtures"
	"tracerag/trace/binary"
)

// open returns a fixture for linux/amd64 and its code.
func open(t testing.TB, name string, flags ...string) (*binary.File, *binary.Code) {
	t.Helper()
	t.Setenv("GOOS", "linux")
	t.Setenv("GOARCH", "amd64")
	f, err := binary.Open(fixtures.Build(t, name, flags...))
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Code()
	if err != nil {
		t.Fatal(err)
	}
	return f, c
}

// TestDecodeProgram decodes all code of a program, the runtime's and assembly
// included, and compares it with golang.org/x/arch.
func TestDecodeProgram(t *testing.T) {
	f, c := open(t, "tablecat")
	n := 0
	for i := range f.Funcs {
		fn := &f.Funcs[i]
		code := c.Bytes(fn.Entry, fn.End-fn.Entry)
		for off := uint32(0); off < uint32(len(code)); {
			in, ok := decode(code, off)
			if !ok {
				t.Errorf("%s+%#x: % x is not understood", fn.Name, off, code[off:min(len(code), int(off)+maxInst)])
				break
			}
			compare(t, code[off:off+uint32(in.size)], in)
			off += uint32(in.size)
			n++
		}
	}
	if n < 100000 {
		t.Errorf("%d instructions are too few for a program", n)
	}
}

// compare compares a decoded instruction with x86asm's idea of it, where that is
// known to be right.
func compare(t *testing.T, code []byte, in inst) {
	t.Helper()
	if vector(code) || bytes.Contains(code, []byte{0x0f, 0x38, 0xf6}) {
		return // wrong lengths: vzeroupper, adcx, adox
	}
	x, err := x86asm.Decode(code, 64)
	if err != nil {
		t.Errorf("% x: x86asm: %v", code, err)
		return
	}
	if x.Len != int(in.size) {
		t.Errorf("% x: %d bytes, x86asm says %d: %v", code, in.size, x.Len, x)
	}
	if x.PCRel > 0 && x.PCRelOff != int(in.relAt) || x.PCRel == 0 && in.relAt != 0 {
		t.Errorf("% x: displacement at %d, x86asm says %d: %v", code, in.relAt, x.PCRelOff, x)
	}
	if rel, ok := x.Args[0].(x86asm.Rel); ok && in.target != int64(in.end())+int64(rel) {
		t.Errorf("% x: target %#x, x86asm says %v", code, in.target, x)
	}
}

// vector tells if an instruction has a VEX or EVEX prefix.
func vector(code []byte) bool {
	return code[0] == 0xc4 || code[0] == 0xc5 || code[0] == 0x62
}
