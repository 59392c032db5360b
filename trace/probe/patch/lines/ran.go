package lines

import (
	"slices"

	"tracerag/trace/probe/patch/flow"
	"tracerag/trace/probe/patch/x86"
)

// Fate is what became of a block, or of a line.
type Fate uint8

const (
	Unknown Fate = iota
	Ran
	NotRun
)

// Spread finds the fates that follow from the known ones. Where instructions
// faulted a block may have run without any of its successors; without whole, one may
// have run without any that leads to it. A goroutine that the program's end, or a look
// at the running program, finds between two instructions counts as one that came on.
func Spread(g *flow.Graph, fates []Fate, faults, whole bool) {
	// Each node is looked at once, and again when something changes that it depends on. To
	// go through all of them until nothing changes any more would take a pass for each call
	// in a long row of them.
	due := slices.Clone(g.Order)
	slices.Reverse(due) // it is taken from the end
	waits := make([]bool, len(g.Nodes))
	for _, k := range due {
		waits[k] = true
	}
	look := func(k int32) {
		if g.Hot(k) && !waits[k] {
			waits[k] = true
			due = append(due, k)
		}
	}
	var dominated [][]int32
	if whole {
		dominated = make([][]int32, len(g.Nodes))
		for _, k := range g.Order {
			if k > 0 {
				dominated[g.Nodes[k].Idom] = append(dominated[g.Nodes[k].Idom], k)
			}
		}
	}
	set := func(k int32, f Fate) {
		if fates[k] != Unknown {
			return
		}
		fates[k] = f
		look(k)
		n := &g.Nodes[k]
		for _, p := range n.Pred {
			look(p)
		}
		for _, s := range n.Succ {
			look(s)
		}
		if whole && f == NotRun {
			for _, d := range dominated[k] {
				look(d)
			}
		}
	}
	for len(due) > 0 {
		k := due[len(due)-1]
		due = due[:len(due)-1]
		waits[k] = false
		n := &g.Nodes[k]
		if whole && k > 0 {
			// Nobody comes here but by the dominator, and by a predecessor.
			switch {
			case fates[k] == Ran:
				set(n.Idom, Ran)
			case fates[n.Idom] == NotRun || all(g, n.Pred, fates, NotRun):
				set(k, NotRun)
			}
		}
		if !endsIn(g, n) || faults && mayFault(g, n) {
			continue
		}
		// From here on it is one of the successors.
		if all(g, n.Succ, fates, NotRun) {
			set(k, NotRun)
		}
		if fates[k] == Ran {
			if s := last(g, n.Succ, fates); s >= 0 {
				set(s, Ran)
			}
		}
	}
}

// endsIn tells if control that came to a node goes on to one of its successors.
func endsIn(g *flow.Graph, n *flow.Node) bool {
	last := &g.Body.Ins[n.To-1]
	switch {
	case n.Calls || len(n.Succ) == 0:
		return false
	case last.Flow == x86.CondJump:
		return len(n.Succ) == 2
	}
	return true
}

func mayFault(g *flow.Graph, n *flow.Node) bool {
	for i := n.From; i < n.To; i++ {
		if g.Body.Ins[i].Is(x86.MayFault) {
			return true
		}
	}
	return false
}

// all tells if all nodes of a list that are reached have a fate.
func all(g *flow.Graph, nodes []int32, fates []Fate, f Fate) bool {
	for _, k := range nodes {
		if g.Hot(k) && fates[k] != f {
			return false
		}
	}
	return true
}

// last is the only node of a list that may have run, or -1.
func last(g *flow.Graph, nodes []int32, fates []Fate) int32 {
	found := int32(-1)
	for _, k := range nodes {
		if fates[k] == NotRun || k == found {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = k
	}
	return found
}
