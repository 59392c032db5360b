package patch

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"tracerag/trace/probe/patch/patchtest"

	"golang.org/x/arch/x86/x86asm"

	"tracerag/trace/probe/patch/plan"
)

// givesBack is a function with a block that has a mark, in one word.
const givesBack = `
	49 3b 66 10             ; cmp rsp, [r14+16]
	76 16                   ; jbe more
	55 48 89 e5             ; push rbp; mov rbp, rsp
	48 85 c0                ; test rax, rax
	74 0a                   ; jz out
	90                      ; nop
	48 01 d8                ; add rax, rbx
	48 ff c0 48 ff c8       ; inc rax; dec rax
	5d c3                   ; out: pop rbp; ret
	90                      ; nop
	e8 df f0 ff ff          ; more: call runtime.morestack
	eb dd                   ; jmp the beginning
`

// TestSpoiledGivingBack changes what gives the code back, a bit at a time. The judge
// has to see that, but where the instructions remain the same.
func TestSpoiledGivingBack(t *testing.T) {
	code := padded(patchtest.Assemble(t, givesBack))
	judged := func(tamper func([]byte)) (gone bool, err error) {
		b, r := planned(code, nil, nil, nil)
		p := &plan.Plan{Hooks: []plan.Hook{r.entry}}
		withMarks(p, b, &r.entry, func(uint64) string { return "" }, func(uint64) bool { return false })
		var n atomic.Int64
		j := &judge{entry: testEntry, more: map[uint64]bool{testMore: true}, strict: true, thorough: true, tamper: tamper, gone: &n}
		err = j.plan(p, code, nil)
		return n.Load() == 1, err
	}
	var stubs []byte
	if gone, err := judged(func(s []byte) { stubs = bytes.Clone(s) }); err != nil || !gone {
		t.Fatalf("given back: %v, %v", gone, err)
	}
	// What gives the code back begins with pushfq and four pushes, and ends with popfq and ret.
	begin := bytes.Index(stubs, []byte{0x9c, 0x50, 0x51, 0x52, 0x53})
	end := begin + bytes.Index(stubs[begin:], []byte{0x9d, 0xc3}) + 2
	// An index register that is not used, and a comparison with its operands exchanged.
	equal := strings.NewReplacer("REX.WX ", "", "2*Reg(0)", "Reg(0)", "4*Reg(0)", "Reg(0)",
		"CMP [RBX+0x10], RDX", "CMP RDX, [RBX+0x10]", "XOR RDX, [RBX+0x10]", "CMP RDX, [RBX+0x10]")
	text := func(stubs []byte) string {
		return equal.Replace(disassembled(stubs[begin:end]))
	}
	seen := 0
	for at := begin; at < len(stubs); at++ {
		for bit := range 8 {
			spoilt := bytes.Clone(stubs)
			spoilt[at] ^= 1 << bit
			gone, err := judged(func(s []byte) { copy(s, spoilt) })
			switch {
			case err != nil || !gone:
				seen++
			case at >= end || text(spoilt) != text(stubs):
				t.Errorf("%#x in place of %#x at %d is not seen\n%s", spoilt[at], stubs[at], at-begin, text(spoilt))
			}
		}
	}
	t.Logf("%d of %d bits matter", seen, 8*(len(stubs)-begin))
}

func disassembled(code []byte) string {
	var b strings.Builder
	for len(code) > 0 {
		x, err := x86asm.Decode(code, 64)
		if err != nil {
			return b.String() + err.Error()
		}
		fmt.Fprintln(&b, x)
		code = code[x.Len:]
	}
	return b.String()
}
