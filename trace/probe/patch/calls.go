package patch

// callAt is a direct call: its address, and the index of the function called.
type callAt struct {
	at uint64
	to int
}

// directCalls finds the direct calls in a function that has this entry hook, of functions
// at these entries, if the frame pointer is the function's own at all of them: by it the
// recorder finds the function's entry on the shadow stack.
func (b *body) directCalls(entry *Hook, of map[uint64]int) []callAt {
	frame := 0
	switch entry.Kind {
	case Check:
		frame = b.index(int64(entry.At-b.entry)) + 1
	case Frame:
	default:
		return nil
	}
	if !b.startsFrame(frame) {
		return nil
	}
	var out []callAt
	for _, i := range b.calls {
		in := &b.ins[i]
		if callee, ok := of[b.entry+uint64(in.target)]; ok && in.size == jumpSize && in.relAt == 1 {
			out = append(out, callAt{b.entry + uint64(in.off), callee})
		}
	}
	return out
}

// copies tells if the instructions from..to do the same in a stub, and nothing but
// the function's entry leads to them.
func (b *body) copies(from, to int) bool {
	for i := from; i < to; i++ {
		if in := &b.ins[i]; !in.is(movable) || in.flow != flowNext || in.relAt != 0 || b.enter[i] && i > 0 {
			return false
		}
	}
	return from < to
}

// ledTo tells if the calls of a function with this hook may be led to stubs of their
// own. Functions that call nothing have cheaper ones.
func ledTo(h *Hook) bool {
	return h.Kind == Check && h.lead != nil || h.Kind == Frame
}

// ledCalls chooses the direct calls that have stubs of their own.
func ledCalls(hooks []Hook, results []result) []Call {
	entry := map[int]int{} // hooks, by function
	for i := range hooks {
		if hooks[i].Kind.Entry() {
			entry[hooks[i].Func] = i
		}
	}
	var out []Call
	for i := range results {
		for _, c := range results[i].calls {
			if callee, ok := entry[c.to]; ok && ledTo(&hooks[callee]) {
				out = append(out, Call{Host: entry[results[i].entry.Func], Callee: callee, At: c.at})
			}
		}
	}
	return out
}
