package patch

import (
	"fmt"
	"strings"
	"testing"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/patchtest"
	"tracerag/trace/probe/patch/plan"
)

// TestBlockHooks: the lines of an inlined body are marked with "@" and the number
// of the call, several if calls are nested. "mark" and a number are where the
// compiler says that the call is.
func TestBlockHooks(t *testing.T) {
	for _, test := range []struct {
		name, code string
		want       []string
	}{
		{"at the beginning of the function: counted by it", `
			48 01 d8          ; add rax, rbx @0
			48 ff c0          ; inc rax @0
			c3                ; ret
		`, []string{"leaf begins 0"}},
		{"behind a bounds check at the beginning: counted by the function", `
			48 39 d8          ; cmp rax, rbx
			73 08             ; jae panic
			48 01 d8          ; add rax, rbx @0
			48 ff c0          ; inc rax @0
			c3                ; ret
			90                ; nop
			e8 ee f1 ff ff    ; panic: call runtime.panicBounds
		`, []string{"leaf begins 0"}},
		{"in one branch", `
			48 85 c0          ; test rax, rax
			74 07             ; jz out
			48 01 d8          ; add rax, rbx @0
			48 ff c0          ; inc rax @0
			c3                ; ret
			31 c0             ; out: xor eax, eax
			c3                ; ret
		`, []string{"leaf", "block+05: |; add rax, rbx; inc rax begins 0"}},
		{"in a block that is too small: the branch before it is displaced, too", `
			b9 01 00 00 00    ; mov ecx, 1
			48 85 c0          ; test rax, rax
			74 04             ; jz out
			48 01 d8          ; add rax, rbx @0
			c3                ; ret
			31 c0             ; out: xor eax, eax
			c3                ; ret
		`, []string{"leaf", "block+08: jz 0x40100e; |; add rax, rbx begins 0"}},
		{"where the flags are in use at first: behind that", `
			48 85 c0          ; test rax, rax
			75 0f             ; jnz out
			48 01 d8          ; add rax, rbx
			0f 92 c1          ; setb cl @0
			48 ff c3          ; inc rbx @0
			48 8d 04 18       ; lea rax, [rax+rbx] @0
			90                ; nop
			c3                ; ret
			31 c0             ; out: xor eax, eax
			c3                ; ret
		`, []string{"leaf", "block+05: |; add rax, rbx; setb cl begins 0"}},
		{"behind a call: not counted when that does not return", `
			55                ; push rbp
			48 89 e5          ; mov rbp, rsp
			48 83 ec 10       ; sub rsp, 16
			e8 f3 f3 ff ff    ; call callee
			48 01 d8          ; add rax, rbx @0
			48 ff c0          ; inc rax @0
			48 83 c4 10       ; add rsp, 16
			5d                ; pop rbp
			c3                ; ret
		`, []string{"frame", "block+0d: |; add rax, rbx; inc rax begins 0"}},
		{"a loop of its own: counted before it", `
			48 85 c0          ; test rax, rax
			74 0e             ; jz out
			b9 00 00 00 00    ; mov ecx, 0 @0
			48 01 d8          ; again: add rax, rbx @0
			48 ff c9          ; dec rcx @0
			75 f8             ; jnz again @0
			c3                ; ret
			31 c0             ; out: xor eax, eax
			c3                ; ret
		`, []string{"leaf", "block+05: |; mov ecx, 0x0 begins 0"}},
		{"in a loop of the caller: counted inside", `
			48 85 c0          ; test rax, rax
			74 10             ; jz out
			b9 00 00 00 00    ; mov ecx, 0
			48 01 d8          ; again: add rax, rbx @0
			48 31 d8          ; xor rax, rbx @0
			48 ff c9          ; dec rcx
			75 f5             ; jnz again
			c3                ; ret
			31 c0             ; out: xor eax, eax
			c3                ; ret
		`, []string{"leaf", "block+0a: |; add rax, rbx; xor rax, rbx begins 0"}},
		{"a nested call in a branch of the outer one", `
			48 85 c0          ; test rax, rax
			74 10             ; jz out
			48 01 d8          ; add rax, rbx @0
			48 39 d8          ; cmp rax, rbx @0
			74 07             ; jz end @0
			48 01 c8          ; add rax, rcx @0 @1
			48 ff c0          ; inc rax @0 @1
			90                ; nop
			c3                ; end: ret
			31 c0             ; out: xor eax, eax
			c3                ; ret
		`, []string{"leaf", "block+05: |; add rax, rbx; cmp rax, rbx begins 0", "block+0d: |; add rax, rcx; inc rax begins 1"}},
		{"nothing but what the register allocator put elsewhere: not taken for the body", `
			48 85 c0          ; test rax, rax
			74 12             ; jz out
			48 8b 4c 24 08    ; mov rcx, [rsp+8] @0
			48 39 d8          ; cmp rax, rbx
			74 07             ; jz end
			48 01 c8          ; add rax, rcx @0
			48 ff c0          ; inc rax @0
			90                ; nop
			c3                ; end: ret
			31 c0             ; out: xor eax, eax
			c3                ; ret
		`, []string{"leaf", "block+0f: |; add rax, rcx; inc rax begins 0"}},
		{"only what leads to a panic", `
			48 85 c0          ; test rax, rax
			74 02             ; jz bad
			c3                ; ret
			90                ; nop
			48 01 d8          ; bad: add rax, rbx @0
			e8 f1 f1 ff ff    ; call runtime.gopanic @0
		`, []string{"leaf", "missed 0: only on the way to a panic"}},
		{"no room", `
			48 85 c0          ; test rax, rax
			74 0c             ; jz out
			48 8b 00          ; mov rax, [rax] @0
			48 8b 00          ; mov rax, [rax] @0
			48 8b 00          ; mov rax, [rax]
			48 8b 00          ; out: mov rax, [rax]
			c3                ; ret
		`, []string{"leaf", "missed 0: no place for a hook in its block"}},
		{"go statement", `
			55                ; push rbp
			48 89 e5          ; mov rbp, rsp
			48 83 ec 10       ; sub rsp, 16
			e8 f3 f2 ff ff    ; call runtime.newproc
			48 83 c4 10       ; add rsp, 16
			5d                ; pop rbp
			c3                ; ret
		`, []string{"frame", "go+08"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			code := padded(patchtest.Assemble(t, test.code))
			calls := marked(t, test.code)
			b, r := planned(code, calls, make([]uint64, len(calls)), nil)
			got := []string{r.entry.Kind.String() + begins(r.entry)}
			for _, h := range r.inside {
				if h.Kind == plan.Go {
					got = append(got, fmt.Sprintf("go+%02x", h.At-testEntry))
				} else {
					got = append(got, displaced(h)+begins(h))
				}
			}
			for _, m := range r.missed {
				got = append(got, fmt.Sprintf("missed %d: %s", m.Call, m.Why))
			}
			if g, w := strings.Join(got, "\n"), strings.Join(test.want, "\n"); g != w {
				t.Errorf("got\n%s\nwant\n%s", g, w)
			}
			if err := judgeOne(code, b, r, stretches(nil), true); err != nil {
				t.Error(err)
			}
		})
	}
}

func begins(h plan.Hook) string {
	if len(h.Begins) == 0 {
		return ""
	}
	text := fmt.Sprint(" begins ", h.Begins)
	return strings.Trim(strings.ReplaceAll(strings.ReplaceAll(text, "[", ""), "]", ""), "")
}

// marked returns the inlined calls that the lines of a function are marked with.
func marked(t *testing.T, text string) []executable.InlinedCall {
	t.Helper()
	var calls []executable.InlinedCall
	pc := uint64(testEntry)
	for line := range strings.Lines(text) {
		next := pc + uint64(len(patchtest.Assemble(t, line)))
		for i := range 4 {
			if !strings.Contains(line, fmt.Sprintf("@%d", i)) {
				continue
			}
			for len(calls) <= i {
				calls = append(calls, executable.InlinedCall{Name: fmt.Sprintf("p.f%d", len(calls)), Package: "p", Parent: len(calls) - 1})
			}
			rs := calls[i].Ranges
			if n := len(rs); n > 0 && rs[n-1][1] == pc {
				rs[n-1][1] = next
			} else {
				calls[i].Ranges = append(rs, [2]uint64{pc, next})
			}
		}
		pc = next
	}
	return calls
}
