package x86

import (
	"bufio"
	"bytes"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/patchtest"
)

// TestDecodeProgram decodes all code of a program, the runtime's and assembly
// included, and compares it with golang.org/x/arch.
func TestDecodeProgram(t *testing.T) {
	f, c := patchtest.Open(t, "tablecat")
	n := 0
	for i := 0; i < len(f.Funcs); i += patchtest.Sample {
		fn := &f.Funcs[i]
		code := c.Bytes(fn.Entry, fn.End-fn.Entry)
		for off := uint32(0); off < uint32(len(code)); {
			in, ok := Decode(code, off)
			if !ok {
				t.Errorf("%s+%#x: % x is not understood", fn.Name, off, code[off:min(len(code), int(off)+MaxInst)])
				break
			}
			compare(t, code[off:off+uint32(in.Size)], in)
			off += uint32(in.Size)
			n++
		}
	}
	if n < 100000/patchtest.Sample {
		t.Errorf("%d instructions are too few for a program", n)
	}
}

// compare compares a decoded instruction with x86asm's idea of it, where that is
// known to be right.
func compare(t *testing.T, code []byte, in Inst) {
	t.Helper()
	if vector(code) || bytes.Contains(code, []byte{0x0f, 0x38, 0xf6}) {
		return // wrong lengths: vzeroupper, adcx, adox
	}
	x, err := x86asm.Decode(code, 64)
	if err != nil {
		t.Errorf("% x: x86asm: %v", code, err)
		return
	}
	if x.Len != int(in.Size) {
		t.Errorf("% x: %d bytes, x86asm says %d: %v", code, in.Size, x.Len, x)
	}
	if x.PCRel > 0 && x.PCRelOff != int(in.RelAt) || x.PCRel == 0 && in.RelAt != 0 {
		t.Errorf("% x: displacement at %d, x86asm says %d: %v", code, in.RelAt, x.PCRelOff, x)
	}
	if rel, ok := x.Args[0].(x86asm.Rel); ok && in.Target != int64(in.End())+int64(rel) {
		t.Errorf("% x: target %#x, x86asm says %v", code, in.Target, x)
	}
}

// vector tells if an instruction has a VEX or EVEX prefix.
func vector(code []byte) bool {
	return code[0] == 0xc4 || code[0] == 0xc5 || code[0] == 0x62
}

// TestDecodeLength holds what golang.org/x/arch does not know or gets wrong, and
// what is no instruction (size 0). Lengths are those of GNU objdump.
func TestDecodeLength(t *testing.T) {
	for _, test := range []struct {
		code  string
		size  int
		relAt int
	}{
		{"c5 f8 77", 3, 0},                          // vzeroupper
		{"c5 fe 6f 06", 4, 0},                       // vmovdqu ymm0, [rsi]
		{"c5 7e 7f 64 24 20", 6, 0},                 // vmovdqu [rsp+32], ymm12
		{"c5 fd 6f 05 10 00 00 00", 8, 4},           // vmovdqa ymm0, [rip+16]
		{"c5 f9 70 c0 4e", 5, 0},                    // vpshufd xmm0, xmm0, 0x4e
		{"c5 f1 73 d8 04", 5, 0},                    // vpsrldq xmm1, xmm0, 4
		{"c4 e2 7d 78 06", 5, 0},                    // vpbroadcastb ymm0, [rsi]
		{"c4 e3 7d 39 c1 01", 6, 0},                 // vextracti128 xmm1, ymm0, 1
		{"c4 e3 75 46 05 10 00 00 00 20", 10, 5},    // vperm2i128 ymm0, ymm1, [rip+16], 0x20
		{"c4 e2 f8 f2 c1", 5, 0},                    // andn rax, rax, rcx
		{"c4 e2 f9 f7 c3", 5, 0},                    // shlx rax, rbx, rax
		{"c4 e3 fb f0 c0 07", 6, 0},                 // rorx rax, rax, 7
		{"c4 c2 8b f6 59 08", 6, 0},                 // mulx rbx, r14, [r9+8]
		{"62 f1 fe 48 6f 06", 6, 0},                 // vmovdqu64 zmm0, [rsi]
		{"62 f1 fe 48 6f 46 01", 7, 0},              // vmovdqu64 zmm0, [rsi+64]
		{"62 f1 fd 48 6f 05 10 00 00 00", 10, 6},    // vmovdqa64 zmm0, [rip+16]
		{"62 f3 75 48 25 c2 96", 7, 0},              // vpternlogd zmm0, zmm1, zmm2, 0x96
		{"66 4c 0f 38 f6 eb", 6, 0},                 // adcx r13, rbx
		{"f3 4d 0f 38 f6 70 08", 7, 0},              // adox r14, [r8+8]
		{"66 66 2e 0f 1f 84 00 00 00 00 00", 11, 0}, // nop
		{"48 b8 01 02 03 04 05 06 07 08", 10, 0},    // mov rax, imm64
		{"66 c7 00 34 12", 5, 0},                    // mov word [rax], 0x1234
		{"48 f7 05 10 00 00 00 01 00 00 00", 11, 3}, // test qword [rip+16], 1
		{"80 3d 10 00 00 00 01", 7, 2},              // cmp byte [rip+16], 1
		{"f0 48 0f b1 0d 10 00 00 00", 9, 5},        // lock cmpxchg [rip+16], rcx
		{"42 ff 24 d2", 4, 0},                       // jmp [rdx+r10*8]
		{"48 a1 01 02 03 04 05 06 07 08", 10, 0},    // movabs rax, [...]

		{"06", 0, 0},                // push es: not in 64-bit mode
		{"66 e9 00 00 00 00", 0, 0}, // processors disagree
		{"8f e8 78 c0 c1 00", 0, 0}, // AMD's XOP
		{"62 f1 7a 48 6f 06", 0, 0}, // EVEX with its fixed bit clear
		{"48 c5 f8 77", 0, 0},       // VEX behind REX
		{"67 8b 00", 0, 0},          // 32-bit addresses
		{"d5 00 01 c0", 0, 0},       // APX
		{"0f 0f c0 0d", 0, 0},       // 3DNow!
		{"48 66 01 c0", 0, 0},       // REX is not the last prefix
		{"48 8b", 0, 0},             // cut off
		{"48 c7 c0 01 02 03", 0, 0}, //
		{"c4 e2 7d", 0, 0},          //
		{"f2 f2 f2 f2 f2 f2 f2 f2 f2 f2 f2 f2 f2 f2 f2 90", 0, 0}, // too long
	} {
		code := patchtest.Assemble(t, test.code)
		in, ok := Decode(code, 0)
		if ok != (test.size > 0) || int(in.Size) != test.size || int(in.RelAt) != test.relAt {
			t.Errorf("%s: %v, %d bytes, displacement at %d; want %d and %d", test.code, ok, in.Size, in.RelAt, test.size, test.relAt)
		}
		for i := range code[:max(0, test.size-1)] { // no prefix of an instruction is one that reads on
			if in, ok := Decode(code[:i], 0); ok && int(in.Size) > i {
				t.Errorf("%s: %d bytes of %d are decoded", test.code, in.Size, i)
			}
		}
	}
}

// TestDecodeObjdump compares the decoder with objdump on all code of a program.
func TestDecodeObjdump(t *testing.T) {
	objdump, err := exec.LookPath("objdump")
	if err != nil {
		t.Skip("no objdump")
	}
	f, c := patchtest.Open(t, "values")
	cmd := exec.Command(objdump, "-d", "-w", "-j", ".text", f.Path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	n, vectors := 0, 0
	var fn *executable.Func
	for lines := bufio.NewScanner(out); lines.Scan(); {
		// "  401000:\t49 3b 66 10          \tcmp    0x10(%r14),%rsp"
		addr, rest, ok := strings.Cut(strings.TrimSpace(lines.Text()), ":\t")
		pc, err := strconv.ParseUint(addr, 16, 64)
		if !ok || err != nil {
			continue
		}
		code, text, _ := strings.Cut(rest, "\t")
		raw := patchtest.Assemble(t, code)
		if fn == nil || pc >= fn.End || pc < fn.Entry {
			fn = f.Func(pc)
		}
		if fn == nil || strings.Contains(text, "(bad)") {
			continue
		}
		n++
		if vector(raw) {
			vectors++
		}
		in, ok := Decode(c.Bytes(pc, fn.End-pc), 0)
		if !ok || int(in.Size) != len(raw) {
			t.Errorf("%x in %s: %q: %v, %d bytes", pc, fn.Name, rest, ok, in.Size)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Skip(err)
	}
	t.Logf("%d instructions, %d of them VEX or EVEX", n, vectors)
	if n < 50000 || vectors < 100 {
		t.Error("too few instructions")
	}
}
