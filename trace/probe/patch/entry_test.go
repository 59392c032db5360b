package patch

import (
	"encoding/hex"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/patchtest"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/stubs"
	"tracerag/trace/probe/patch/x86"
)

// testEntry is where the functions of the tables lie.
const testEntry = 0x401000

// padded fills the code with int3, as the linker does.
func padded(code []byte) []byte {
	for len(code)%32 != 0 {
		code = append(code, x86.Int3)
	}
	return code
}

// planned plans one function. Inlined calls are of package "p".
func planned(code []byte, calls []executable.InlinedCall, pcs []uint64, data stretches) (fn *function, r result) {
	var w worker
	m := &maker{
		panics:  map[uint64]bool{testPanic: true},
		record:  func(string) bool { return true },
		records: map[string]bool{},
	}
	word := func(addr uint64) (uint64, bool) {
		d := data.at(addr)
		if len(d) < 8 {
			return 0, false
		}
		return le.Uint64(d), true
	}
	b := &w.fn
	if r.why = b.Disassemble(testEntry, code, word); r.why != "" {
		return b, r
	}
	if r.why = b.unsafe(); r.why != "" {
		return b, r
	}
	r.inside = b.goHooks(0, testNewproc)
	r.entry, r.why = b.entryHook(map[uint64]bool{testMore: true})
	r.calls = b.directCalls(&r.entry, map[uint64]int{testEntry: 0})
	w.blockHooks(m, 0, calls, pcs, &r)
	return b, r
}

// Functions that others call.
const (
	testMore    = 0x400100 // runtime.morestack
	testPanic   = 0x400200 // one that never returns
	testNewproc = 0x400300
	testCallee  = 0x400400
)

// judgeOne compares a planned function with the original. It returns what is
// different. With a body, the function has marks as well. Strict is for code that a compiler might have made.
func judgeOne(code []byte, b *function, r result, data image, strict bool) error {
	p := &plan.Plan{}
	if r.entry.Kind != 0 {
		p.Hooks = append(p.Hooks, r.entry)
	}
	p.Hooks = append(p.Hooks, r.inside...)
	p.Calls = ownCalls(&r)
	if b != nil {
		name := func(addr uint64) string {
			if addr == testCallee {
				return "p.callee"
			}
			return ""
		}
		withMarks(p, b, &r.entry, name, func(addr uint64) bool { return addr == testPanic })
	}
	j := judge{entry: testEntry, noReturn: map[uint64]bool{testPanic: true}, more: map[uint64]bool{testMore: true}, strict: strict}
	return j.plan(p, code, data)
}

// ownCalls are the direct calls that a function makes of itself, its hook the first.
func ownCalls(r *result) []plan.Call {
	var out []plan.Call
	for _, c := range r.calls {
		if r.entry.LedTo() {
			out = append(out, plan.Call{At: c.at})
		}
	}
	return out
}

// plan emits a plan for one function and compares it with the original.
func (j *judge) plan(p *plan.Plan, code []byte, data image) error {
	if len(p.Hooks)+len(p.Marks) == 0 {
		return nil
	}
	j.end = j.entry + uint64(len(code))
	j.inside, j.leads, j.calls = map[uint32]bool{}, map[uint32]uint64{}, map[uint64]ledCall{}
	for i, c := range p.Calls {
		j.calls[c.At] = ledCall{j.entry, uint32(c.Callee + 1), uint32(len(p.Hooks) + i)}
	}
	for i := range p.Hooks {
		switch h, id := &p.Hooks[i], uint32(i+1); h.Kind {
		case plan.Go:
			j.leads[id|stubs.Inside] = h.Callee
		case plan.Block:
			j.inside[id-j.hook] = true
		default:
			j.hook, j.bare = id, h.Kind == plan.Leaf
		}
	}
	const base = 0x10000000
	j.entries = stubs.Entries{Enter: base - 0x1000, Go: base - 0x800, Block: base - 0x400, Bare: base - 0x300, Call: base - 0x200, Marks: base - 0x100000, Writable: true}
	j.marks = p.Marks
	stubs, patches, err := stubs.Emit(p, base, 0, j.entries)
	if err != nil {
		if j.strict {
			return err
		}
		return nil // random displacements: too far away
	}
	if j.tamper != nil {
		j.tamper(stubs)
	}
	if err := disjoint(patches); err != nil {
		return err
	}
	plain := stretches{{j.entry, code}}
	patched, err := plain.with(patches)
	if err != nil {
		return err
	}
	j.plain, j.patched = plain, append(patched, stretch{base, stubs})
	j.stubs = [2]uint64{base, base + uint64(len(stubs))}
	j.targets = j.tables(data)
	return j.judge()
}

// displaced describes a hook: its kind, where it is, and the displaced
// instructions in the order in which the stub runs them, with "|" where the
// recorder is called.
func displaced(h plan.Hook) string {
	var before, after, ahead []string
	for off := 0; off < len(h.Code); {
		x, err := x86asm.Decode(h.Code[off:], 64)
		if err != nil {
			return err.Error()
		}
		text := strings.ToLower(x86asm.IntelSyntax(x, h.At+uint64(off), nil))
		switch {
		case off < h.Before:
			before = append(before, text)
		case h.Ahead > 0 && off >= h.Ahead:
			ahead = append(ahead, text)
		default:
			after = append(after, text)
		}
		off += x.Len
	}
	all := append(append(append(before, "|"), ahead...), after...)
	return h.Kind.String() + "+" + hex.EncodeToString([]byte{byte(h.At - testEntry)}) + ": " + strings.Join(all, "; ")
}

const (
	checked = `
		49 3b 66 10       ; cmp rsp, [r14+16]
		76 19             ; jbe more
		55                ; push rbp
		48 89 e5          ; mov rbp, rsp
		48 83 ec 10       ; sub rsp, 16
		48 8b 40 08       ; mov rax, [rax+8]
		e8 e9 f3 ff ff    ; call callee
		48 83 c4 10       ; add rsp, 16
		5d                ; pop rbp
		c3                ; ret
		90 90             ; nop
		48 89 44 24 08    ; more: mov [rsp+8], rax
		e8 d7 f0 ff ff    ; call runtime.morestack
		48 8b 44 24 08    ; mov rax, [rsp+8]
		eb d0             ; jmp entry
	`
)

func TestEntryHook(t *testing.T) {
	for _, test := range []struct {
		name, code, want string
	}{
		{"stack check", checked, "check+04: jbe 0x40101f; |; push rbp; mov rbp, rsp"},
		{"stack check of a large frame", `
			4c 8d a4 24 00 ff ff ff  ; lea r12, [rsp-256]
			4d 3b 66 10              ; cmp r12, [r14+16]
			0f 86 06 00 00 00        ; jbe more
			55                       ; push rbp
			48 89 e5                 ; mov rbp, rsp
			5d                       ; pop rbp
			c3                       ; ret
			e8 e3 f0 ff ff           ; more: call runtime.morestack
			eb e1                    ; jmp entry
		`, "check+0c: jbe 0x401018; |"},
		{"frame without a check", `
			55                ; push rbp
			48 89 e5          ; mov rbp, rsp
			48 83 ec 10       ; sub rsp, 16
			e8 f3 f3 ff ff    ; call callee
			48 83 c4 10       ; add rsp, 16
			5d                ; pop rbp
			c3                ; ret
		`, "frame+00: |; push rbp; mov rbp, rsp; sub rsp, 0x10"},
		{"frame, then a load that may fault: it runs ahead", `
			55                ; push rbp
			48 89 e5          ; mov rbp, rsp
			48 8b 48 08       ; mov rcx, [rax+8]
			e8 f3 f3 ff ff    ; call callee
			5d                ; pop rbp
			c3                ; ret
		`, "frame+00: |; mov rcx, qword ptr [rax+0x8]; push rbp; mov rbp, rsp"},
		{"frame, then a load from the closure: it cannot fault", `
			55                ; push rbp
			48 89 e5          ; mov rbp, rsp
			48 8b 4a 08       ; mov rcx, [rdx+8]
			e8 f3 f3 ff ff    ; call callee
			5d                ; pop rbp
			c3                ; ret
		`, "frame+00: |; push rbp; mov rbp, rsp; mov rcx, qword ptr [rdx+0x8]"},
		{"leaf", `
			48 01 d8          ; add rax, rbx
			48 ff c0          ; inc rax
			c3                ; ret
		`, "leaf+00: |; add rax, rbx; inc rax"},
		{"leaf with a global variable", `
			48 8b 05 10 00 00 00 ; mov rax, [rip+16]
			c3                   ; ret
		`, "leaf+00: |; mov rax, qword ptr [rip+0x10]"},
		{"leaf that is shorter than a jump, with padding", `
			31 c0             ; xor eax, eax
			c3                ; ret
		`, "leaf+00: |; xor eax, eax; ret"},
		{"leaf with a load that may fault", `
			48 8b 40 08       ; mov rax, [rax+8]
			c3                ; ret
		`, "leaf+00: |; mov rax, qword ptr [rax+0x8]; ret"},
		{"leaf with a branch", `
			48 85 c0          ; test rax, rax
			74 04             ; jz zero
			b8 01 00 00 00    ; mov eax, 1 (not reached by the branch: into its middle)
			c3                ; ret
		`, "refused: a branch into an instruction"},
		{"leaf with a short branch forward", `
			48 85 c0          ; test rax, rax
			74 06             ; jz zero
			b8 01 00 00 00    ; mov eax, 1
			c3                ; ret
			31 c0             ; zero: xor eax, eax
			c3                ; ret
		`, "leaf+00: |; test rax, rax; jz 0x40100b"},
		{"tail call", `
			e9 fb f3 ff ff    ; jmp callee
		`, "leaf+00: |; jmp 0x400400"},
		{"loop to the entry", `
			48 ff c8          ; dec rax
			48 ff c3          ; inc rbx
			75 f8             ; jnz entry
			c3                ; ret
		`, "refused: a loop begins with it"},
		{"loop into the first bytes", `
			31 c9             ; xor ecx, ecx
			48 ff c8          ; again: dec rax
			75 fb             ; jnz again
			c3                ; ret
		`, "refused: a branch into its first instructions"},
		{"call among the first bytes", `
			50                ; push rax
			e8 fa f3 ff ff    ; call callee
			58                ; pop rax
			c3                ; ret
		`, "refused: its first instructions cannot be moved"},
		{"system call among the first bytes", `
			31 c0             ; xor eax, eax
			0f 05             ; syscall
			c3                ; ret
		`, "refused: its first instructions cannot be moved"},
		{"trap", `
			0f 0b             ; ud2
		`, "refused: its first instructions cannot be moved"},
		{"load that may fault with a pushed register", `
			50                ; push rax
			48 8b 40 08       ; mov rax, [rax+8]
			58                ; pop rax
			c3                ; ret
		`, "refused: its first instructions cannot be moved"},
		{"division", `
			48 f7 f1          ; div rcx
			48 ff c0          ; inc rax
			c3                ; ret
		`, "leaf+00: |; div rcx; inc rax"},
		{"uses R12 at its beginning", `
			4d 89 e5          ; mov r13, r12
			48 ff c0          ; inc rax
			c3                ; ret
		`, "refused: its first instructions cannot be moved"},
		{"short, and not the last code", `
			eb 01             ; jmp over
			c3                ; ret
			31 c0             ; over: xor eax, eax
			c3                ; ret
		`, "refused: too short"},
		{"jump to a computed address", `
			48 01 d8          ; add rax, rbx
			48 ff c0          ; inc rax
			ff e0             ; jmp rax
		`, "refused: a jump to a computed address"},
		{"below the stack pointer, elsewhere than at an entry", `
			55                ; push rbp
			48 89 e5          ; mov rbp, rsp
			48 83 ec 40       ; sub rsp, 64
			48 89 6c 24 f0    ; mov [rsp-16], rbp
			48 8d 6c 24 f0    ; lea rbp, [rsp-16]
			e8 00 00 00 00    ; call next
			48 8b 6d 00       ; mov rbp, [rbp]
			48 83 c4 40       ; add rsp, 64
			5d                ; pop rbp
			c3                ; ret
		`, "frame+00: |; push rbp; mov rbp, rsp; sub rsp, 0x40"},
		{"below the stack pointer", `
			48 89 44 24 f8    ; mov [rsp-8], rax
			c3                ; ret
		`, "refused: uses memory below the stack pointer"},
		{"stack pointer exchanged, then a load that may fault", `
			48 94             ; xchg rax, rsp
			48 8b 09          ; mov rcx, [rcx]
			48 94             ; xchg rax, rsp
			c3                ; ret
		`, "refused: its first instructions cannot be moved"},
		{"frame, then a division by what the closure holds", `
			55                ; push rbp
			48 89 e5          ; mov rbp, rsp
			48 f7 72 08       ; div qword [rdx+8]
			5d                ; pop rbp
			c3                ; ret
		`, "frame+00: |; div qword ptr [rdx+0x8]; push rbp; mov rbp, rsp"},
		{"branch into the code that starts again", `
			49 3b 66 10       ; cmp rsp, [r14+16]
			76 08             ; jbe more
			55                ; push rbp
			48 89 e5          ; mov rbp, rsp
			74 07             ; jz again
			5d                ; pop rbp
			c3                ; ret
			e8 ed f0 ff ff    ; more: call runtime.morestack
			eb e7             ; again: jmp entry
		`, "refused: an unusual stack check"},
		{"called from assembly", `
			64 4c 8b 34 25 f8 ff ff ff ; mov r14, fs:[-8]
			e8 f2 f3 ff ff             ; call callee
			c3                         ; ret
		`, "refused: called from assembly"},
		{"stack check that does not start again", `
			49 3b 66 10       ; cmp rsp, [r14+16]
			76 06             ; jbe more
			55                ; push rbp
			48 89 e5          ; mov rbp, rsp
			5d                ; pop rbp
			c3                ; ret
			e8 ef f0 ff ff    ; more: call
			c3                ; ret
		`, "refused: an unusual stack check"},
		{"not an instruction", `
			06                ; push es
			c3                ; ret
		`, "refused: an instruction that is not understood"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code := padded(patchtest.Assemble(t, test.code))
			b, r := planned(code, nil, nil, nil)
			got := "refused: " + r.why
			if r.entry.Kind != 0 {
				got = displaced(r.entry)
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if err := judgeOne(code, b, r, stretches(nil), true); err != nil {
				t.Error(err)
			}
		})
	}
}
