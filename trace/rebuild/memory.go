package rebuild

import (
	"encoding/binary"
	"fmt"
	"io"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/payload"
)

// The memory that the program shares with its recorder. recorder.go.txt has the same numbers.
const (
	magic      = 0x7472616365726231
	headerSize = 4096
	slotSize   = 32
	nodeSize   = 16

	slotKeep  = 20 // offsets in a slot
	slotFirst = 24

	scratchSize = 16 << 10 // of a record of values at most

	goHook = 1
	via    = 1 << 30
	root   = 1 << 31
	noNode = 1
)

// Fields of the header, each of 8 bytes.
const (
	atMagic = 8 * iota
	atReady
	atText
	atNext
	atLost
	atFull
	atArena
	atSlots
	atMost
	atRows
	atSize
	atKnown
	atFaults
	atFaultsLost

	atKeep
	atWantedCount
	atWanted
	atScratch
	atValuesNext
	atValuesEnd
	atUnkept
	atSlotsAt
)

// layout says how the memory is divided: the header and functions, slots, nodes, counters, what is for values, and the arena with the
// goroutines' states and stacks. Only what is used takes room.
type layout struct {
	slots, most, rows, arena uint64

	keep   uint64      // values of so many calls of each node; 0: of none
	wanted [][2]uint32 // where the functions begin and end of which values are kept, from the beginning of the text, in order
	values uint64      // bytes for them
}

// newLayout has room for two million contexts, or for as many as have room in memory where that is not 0, in a program with
// so many processors.
func newLayout(ps int, memory uint64) layout {
	l := layout{slots: 1 << 22, most: 1 << 21, rows: 8, arena: 4 << 30}
	for l.rows < min(uint64(ps), 256) {
		l.rows *= 2
	}
	const least = 1 << 6
	for memory > 0 && l.most > least && l.slots*slotSize+l.most*(nodeSize+8) > memory {
		l.slots, l.most = l.slots/2, l.most/2
	}
	return l
}

// within makes a layout that takes no more than so much of an address space.
func (l layout) within(most uint64) layout {
	for l.size() > most && l.most > 1<<6 {
		switch {
		case l.arena > 16<<20:
			l.arena /= 4
		case l.values > 1<<20:
			l.values /= 4
		default:
			l.slots, l.most = l.slots/2, l.most/2
		}
	}
	return l
}

func (l layout) slotsAt() uint64 {
	return (headerSize + uint64(len(l.wanted))*8 + headerSize - 1) / headerSize * headerSize
}
func (l layout) nodes() uint64    { return l.slotsAt() + l.slots*slotSize }
func (l layout) counts() uint64   { return l.nodes() + l.most*nodeSize }
func (l layout) wantedAt() uint64 { return headerSize }
func (l layout) scratch() uint64  { return l.counts() + (l.rows+1)*l.most*8 }
func (l layout) valuesAt() uint64 {
	if l.keep == 0 {
		return l.scratch()
	}
	return l.scratch() + l.rows*scratchSize
}
func (l layout) states() uint64 { return l.valuesAt() + l.values }
func (l layout) size() uint64   { return l.states() + l.arena }

var le = binary.LittleEndian

// header is what the memory begins with, and behind it the functions whose values are kept; the rest is zero.
func (l layout) header() []byte {
	h := make([]byte, headerSize)
	for at, n := range map[int]uint64{atMagic: magic, atNext: noNode + 1, atArena: l.states(), atSlots: l.slots, atMost: l.most, atRows: l.rows, atSize: l.size(),
		atKeep: l.keep, atWantedCount: uint64(len(l.wanted)), atWanted: l.wantedAt(), atScratch: l.scratch(), atSlotsAt: l.slotsAt(), atValuesNext: l.valuesAt(), atValuesEnd: l.valuesAt() + l.values} {
		le.PutUint64(h[at:], n)
	}
	for _, f := range l.wanted {
		h = le.AppendUint32(le.AppendUint32(h, f[0]), f[1])
	}
	return h
}

// read returns the tree that the memory holds, as the probe's is, and the functions of the program that its nodes call. The
// program may be running. ok is false if it never began to record.
func (l layout) read(mem io.ReaderAt, bin *executable.File) (tree *payload.Tree, p *plan.Plan, ok bool, err error) {
	h := make([]byte, headerSize)
	if _, err := mem.ReadAt(h, 0); err != nil {
		return nil, nil, false, fmt.Errorf("reading the recorder's memory: %w", err)
	}
	if le.Uint64(h[atReady:]) == 0 {
		return nil, nil, false, nil
	}
	n := min(le.Uint64(h[atNext:]), l.most)
	if le.Uint64(h[atMagic:]) != magic || n <= noNode {
		return nil, nil, true, fmt.Errorf("the recorder's memory was overwritten by the program")
	}
	tree = &payload.Tree{Nodes: make([]payload.Node, n), Dropped: le.Uint64(h[atLost:]), Full: le.Uint64(h[atFull:])}
	b := make([]byte, n*nodeSize)
	if _, err := mem.ReadAt(b, int64(l.nodes())); err != nil {
		return nil, nil, true, fmt.Errorf("reading the recorder's nodes: %w", err)
	}
	p = &plan.Plan{Hooks: []plan.Hook{{Kind: plan.Go, Func: -1}}}
	hooks := map[uint32]uint32{goHook: 1}
	for i := uint64(noNode + 1); i < n; i++ {
		e := b[i*nodeSize:]
		parent, hook, site, target := le.Uint32(e), le.Uint32(e[4:]), le.Uint32(e[8:]), le.Uint32(e[12:])
		if hook == 0 {
			continue // it was just being made
		}
		x := payload.Node{Parent: parent, Site: site, Target: target}
		switch function := hook &^ via; {
		case uint64(parent) >= i || target == 0 || uint64(target) > i:
			tree.Damaged++
			continue
		case hook == root:
			x.Hook = payload.Root
		default:
			x.Via = hook&via != 0
			if x.Hook = hooks[function]; x.Hook == 0 {
				f := bin.Index(bin.TextStart + uint64(function) - 1)
				if f < 0 {
					tree.Damaged++
					continue
				}
				p.Hooks = append(p.Hooks, plan.Hook{Kind: plan.Check, Func: f})
				x.Hook = uint32(len(p.Hooks))
				hooks[function] = x.Hook
			}
			if function == goHook {
				x.Hook |= payload.Unpushed
			}
		}
		tree.Nodes[i] = x
	}
	row := make([]byte, n*8)
	for r := range l.rows + 1 {
		if _, err := mem.ReadAt(row, int64(l.counts()+r*l.most*8)); err != nil {
			return nil, nil, true, fmt.Errorf("reading the recorder's counters: %w", err)
		}
		for i := range tree.Nodes {
			tree.Nodes[i].Calls += le.Uint64(row[8*i:])
		}
	}
	tree.Lost = tree.Nodes[noNode].Calls
	return tree, p, true, nil
}
