package record

import (
	"tracerag/trace"
)

// startUp is the part of what ran before a window that is start-up: package
// initialisation, and what the main goroutine called, had finished and did not do again
// in the window. It is what the window's tree is pruned by. What goroutines did
// before is none of it, nor is what main calls again and again: on a server that had
// traffic it is the very thing that the window was opened for.
//
// Nil if there is nothing of the kind.
func startUp(before, window *trace.Trace) *trace.Trace {
	type place struct {
		parent trace.NodeID
		fn     string
		root   trace.RootKind
	}
	in := make(map[place]trace.NodeID, len(window.Nodes)) // the window's nodes
	for i := range window.Nodes {
		n := &window.Nodes[i]
		in[place{n.Parent, window.Func(trace.NodeID(i)).Name, n.Root}] = trace.NodeID(i)
	}

	out := *before
	out.Name, out.Nodes, out.Activations, out.Lines = trace.StartUp, nil, nil, nil
	const (
		left    = iota
		running // when the window began: it is above what the window has
		done
	)
	state := make([]int, len(before.Nodes))
	same := make([]trace.NodeID, len(before.Nodes)) // the window's, of one that was running
	kept := make([]trace.NodeID, len(before.Nodes)) // in out
	finished := 0
	for i := range before.Nodes {
		n := before.Nodes[i]
		above, parent := running, trace.NoNode
		if n.Parent != trace.NoNode {
			above = state[n.Parent]
			parent = same[n.Parent]
		}
		w, again := in[place{parent, before.Func(trace.NodeID(i)).Name, n.Root}]
		same[i] = trace.NoNode
		switch {
		case above == left, n.Root == trace.RootGoroutine, n.Root == trace.RootCallback:
			continue
		case above == done, n.Root == trace.RootInit, !again:
			state[i] = done
			finished++
		case window.Nodes[w].Calls == 0:
			state[i], same[i] = running, w
		default:
			continue
		}
		if n.Parent != trace.NoNode {
			n.Parent = kept[n.Parent]
		}
		kept[i] = trace.NodeID(len(out.Nodes))
		out.Nodes = append(out.Nodes, n)
	}
	if finished == 0 {
		return nil
	}
	return &out
}
