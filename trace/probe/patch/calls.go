package patch

import (
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/x86"
)

// callAt is a direct call: its address, and the index of the function called.
type callAt struct {
	at uint64
	to int
}

// directCalls finds the direct calls in a function that has this entry hook, of functions
// at these entries, if the frame pointer is the function's own at all of them: by it the
// recorder finds the function's entry on the shadow stack.
func (b *function) directCalls(entry *plan.Hook, of map[uint64]int) []callAt {
	frame := 0
	switch entry.Kind {
	case plan.Check:
		frame = b.Index(int64(entry.At-b.Entry)) + 1
	case plan.Frame:
	default:
		return nil
	}
	if !b.startsFrame(frame) {
		return nil
	}
	var out []callAt
	for _, i := range b.Calls {
		in := &b.Ins[i]
		if callee, ok := of[b.Entry+uint64(in.Target)]; ok && in.Size == plan.JumpSize && in.RelAt == 1 {
			out = append(out, callAt{b.Entry + uint64(in.Off), callee})
		}
	}
	return out
}

// copies tells if the instructions from..to do the same in a stub, and nothing but
// the function's entry leads to them.
func (b *function) copies(from, to int) bool {
	for i := from; i < to; i++ {
		if in := &b.Ins[i]; !in.Is(x86.Movable) || in.Flow != x86.Next || in.RelAt != 0 || b.Entered[i] && i > 0 {
			return false
		}
	}
	return from < to
}

// ledCalls chooses the direct calls that have stubs of their own.
func ledCalls(hooks []plan.Hook, results []result) []plan.Call {
	entry := map[int]int{} // hooks, by function
	for i := range hooks {
		if hooks[i].Kind.Entry() {
			entry[hooks[i].Func] = i
		}
	}
	var out []plan.Call
	for i := range results {
		for _, c := range results[i].calls {
			if callee, ok := entry[c.to]; ok && hooks[callee].LedTo() {
				out = append(out, plan.Call{Host: entry[results[i].entry.Func], Callee: callee, At: c.at})
			}
		}
	}
	return out
}
