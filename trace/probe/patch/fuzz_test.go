package patch

import (
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/patchtest"
	"tracerag/trace/probe/patch/x86"
)

// FuzzPlan plans hooks for any code. Whatever is planned, the patched function
// does what the original does: see same_test.go for how they are compared.
//
// The code's first byte chooses what it begins with, so that the interesting
// kinds of hooks do not have to be found by chance; shape says where inlined
// bodies are, and where the entries of a jump table lead.
func FuzzPlan(f *testing.F) {
	f.Add([]byte{0}, []byte{})
	f.Add([]byte{0, 0xc3, 0xcc, 0xff}, []byte{}) // what follows a breakpoint is no padding
	for _, text := range []string{checked, `
			55 48 89 e5             ; push rbp; mov rbp, rsp
			48 8b 48 08             ; mov rcx, [rax+8]
			48 85 c9 74 07          ; test rcx, rcx; jz out
			48 01 d8 48 ff c0 90    ; add rax, rbx; inc rax; nop
			5d c3                   ; out: pop rbp; ret
		`, `
			48 83 f8 05 77 14       ; cmp rax, 5; ja out
			48 8d 0d f3 0f 00 00    ; lea rcx, [rip+table]
			ff 24 c1                ; jmp [rcx+rax*8]
			31 c0 c3                ; xor eax, eax; ret
			b8 01 00 00 00 c3       ; mov eax, 1; ret
			48 01 d8 48 ff c0 c3    ; out: add rax, rbx; inc rax; ret
		`, `
			48 85 c0 74 0e          ; test rax, rax; jz out
			b9 00 00 00 00          ; mov ecx, 0
			48 01 d8 48 ff c9 75 f8 ; again: add rax, rbx; dec rcx; jnz again
			c3                      ; ret
			eb fe                   ; out: jmp out
		`} {
		code := patchtest.Assemble(f, text)
		f.Add(append([]byte{0}, code...), []byte{4, 12, 0, 10, 20})
		f.Add(append([]byte{1}, code...), []byte{10, 30, 16})
		f.Add(append([]byte{2}, code...), []byte{8, 8, 20, 8, 0, 40})
	}
	f.Fuzz(func(t *testing.T, in, shape []byte) {
		if len(in) == 0 || len(in) > 400 {
			return
		}
		var code []byte
		switch in[0] % 4 {
		case 1: // a stack check, a frame
			code = []byte{0x49, 0x3b, 0x66, 0x10, 0x0f, 0x86, 0, 0, 0, 0, 0x55, 0x48, 0x89, 0xe5}
		case 2: // a frame
			code = []byte{0x55, 0x48, 0x89, 0xe5}
		case 3: // a short branch, a frame
			code = []byte{0x49, 0x3b, 0x66, 0x10, 0x76, 0x60, 0x55, 0x48, 0x89, 0xe5}
		}
		code = append(code, in[1:]...)
		if in[0]%4 == 1 {
			le.PutUint32(code[6:], uint32(len(code)-10))
			more := len(code) + 5
			code = append(code, 0xe8)
			code = le.AppendUint32(code, uint32(int64(testMore)-int64(testEntry+more)))
			code = append(code, 0xe9)
			code = le.AppendUint32(code, uint32(-(len(code) + 4)))
		}
		code = padded(code)
		if !agreed(code) {
			return
		}
		// The bytes of shape are distances: inlined bodies from there to there,
		// and table entries.
		var calls []executable.InlinedCall
		var pcs []uint64
		table := stretch{addr: testEntry + 0x1000}
		for i := 0; i+2 < len(shape) && len(calls) < 8; i += 3 {
			from := uint64(shape[i])
			to := from + 1 + uint64(shape[i+1])
			c := executable.InlinedCall{Name: "p.f", Package: "p", Parent: -1, Ranges: [][2]uint64{{testEntry + from, testEntry + to}}}
			if n := len(calls); n > 0 && calls[n-1].Ranges[0][1] >= testEntry+to && calls[n-1].Ranges[0][0] <= testEntry+from {
				c.Parent = n - 1
			}
			calls = append(calls, c)
			pcs = append(pcs, testEntry+uint64(shape[i+2]))
			table.bytes = le.AppendUint64(table.bytes, testEntry+uint64(shape[i+2]))
		}
		data := stretches{table}
		b, r := planned(code, calls, pcs, data)
		if err := judgeOne(code, b, r, data, false); err != nil {
			t.Errorf("% x\n%v %s %+v\n%v", code, r.entry.Kind, r.why, r.inside, err)
		}
	})
}

// agreed tells if x86asm takes the code apart as the planner does: where they
// disagree the comparison says nothing. TestDecode tells who is right.
func agreed(code []byte) bool {
	for off := uint32(0); off < uint32(len(code)); {
		in, ok := x86.Decode(code, off)
		if !ok {
			return true // refused
		}
		p := code[off:]
		if !vector(p) {
			x, err := x86asm.Decode(p[:min(len(p), x86.MaxInst)], 64)
			if err != nil || x.Len != int(in.Size) || x.PCRel > 0 && x.PCRelOff != int(in.RelAt) || x.PCRel == 0 && in.RelAt != 0 {
				return false
			}
		}
		off += uint32(in.Size)
	}
	return true
}

// vector tells if an instruction has a VEX or EVEX prefix.
func vector(code []byte) bool { return code[0] == 0xc4 || code[0] == 0xc5 || code[0] == 0x62 }
