package machine

import (
	"fmt"
	"io"
	"math/bits"
	"slices"
)

// The header, at the beginning of the shared memory; offsets in bytes. The
// recorder's source has the same numbers.
const (
	nextOff    = 0  // address of the next free byte of the arena
	endOff     = 8  // address of the arena's end
	cellOff    = 16 // number of the next free cell
	droppedOff = 24
	statesOff  = 32
	fullOff    = 40
	orderOff   = 48 // the next number in the order of first calls
	walkedOff  = 56

	overflowOff = 64 // a slot that stands for all nodes that had no room
	headerSize  = 4096

	unknownSite = 1

	slotSize  = 32
	nodeSize  = 16
	orderSize = 4
	innerSize = 4
)

// nameBits is how far a cell is shifted to make the name of its node: by the size of a
// counter.
const nameBits = 3

// The node of all calls that had no node for want of room: its cell, and its number.
const overflowNode = 1

// Layout is how the shared memory is divided. It is mapped at the address Base
// in the target.
//
// A node has a cell, which is its place in the tables of nodes and counters. Behind
// it are as many more as its function has hooks inside, so that a block finds its
// counter without a search.
type Layout struct {
	Base     uint64
	Inner    []uint32 // by hook, of which the first is number 1: hooks inside the function that it enters
	Slots    uint64   // of the far table, for what finds no room in the near one; a power of two
	MaxCells uint64   // cells have smaller numbers than this
	Rows     uint64   // of counters that belong to a P; a P with a higher id shares the last row
	Arena    uint64   // bytes
}

// Bounds of the tables' sizes.
const (
	leastSlots = 1 << 15 // where memory is scarce
	minSlots   = 1 << 17
	maxSlots   = 1 << 24
	rows       = 256
)

// NewLayout chooses sizes for a program with these hooks (see Layout.Inner). Where
// memory is not zero it is the number of bytes that tables, nodes and counters of one
// P may use at most.
func NewLayout(inner []uint32, memory uint64) Layout {
	// Programs of 1,000 to 60,000 hooks had 0.5 to 10 cells for each hook and direct
	// call. Those inside others are counted twice here, which does no harm.
	n := uint64(len(inner))
	for _, in := range inner {
		n += uint64(in)
	}
	slots := uint64(1) << bits.Len64(max(n, 1)*48)
	slots = min(max(slots, minSlots), maxSlots)
	if memory > 0 {
		slots = maxSlots
		for slots > leastSlots && tableBytes(slots) > memory {
			slots /= 2
		}
	}
	l := Layout{Inner: inner, Slots: slots, Rows: rows, Arena: 4 << 30}
	l.fit()
	return l
}

// fit sets what follows from Slots. Linear probing is quick until the table is
// nearly full.
func (l *Layout) fit() { l.MaxCells = l.Slots / 8 * 7 }

// Limit makes the tables so small that they will be full: so many cells, beside those
// that every target has, and slots, and bytes of the arena, where these are not 0.
// Tests force with it what programs with millions of contexts do.
func (l *Layout) Limit(cells, slots, arena uint64) {
	if slots > 0 {
		l.Slots = min(l.Slots, slots)
		l.fit()
	}
	if arena > 0 {
		l.Arena = min(l.Arena, arena)
	}
	l.MaxCells = min(l.MaxCells, l.firstCell()+cells)
}

// tableBytes is what so many slots take with all that there are as many of.
func tableBytes(slots uint64) uint64 {
	return slots * (cellSlots*slotSize + slotSize + nodeSize + orderSize + 8)
}

// The near table has two slots a cell, and some behind it for what belongs to the
// last ones: the window, and more than a search looks at.
const (
	cellSlots = 2
	nearSpare = 1024
)

func pages(n uint64) uint64 { return (n + 4095) &^ 4095 }

func (l Layout) near() uint64      { return l.Slots*cellSlots + nearSpare }
func (l Layout) rowBytes() uint64  { return l.Slots * 8 }
func (l Layout) innerOff() uint64  { return headerSize }
func (l Layout) tableOff() uint64  { return l.innerOff() + pages(uint64(len(l.Inner)+1)*innerSize) }
func (l Layout) farOff() uint64    { return l.tableOff() + l.near()*slotSize }
func (l Layout) nodesOff() uint64  { return l.farOff() + l.Slots*slotSize }
func (l Layout) ordersOff() uint64 { return l.nodesOff() + l.Slots*nodeSize }
func (l Layout) countsOff() uint64 { return l.ordersOff() + pages(l.Slots*orderSize) }
func (l Layout) arenaOff() uint64  { return l.countsOff() + (l.Rows+1)*l.rowBytes() }

// Size is that of the whole shared memory, in bytes, a multiple of the page size.
func (l Layout) Size() uint64 { return l.arenaOff() + l.Arena }

// firstCell is the first one that is not the overflow's: what is called in functions
// that had no room is counted there, too.
func (l Layout) firstCell() uint64 {
	most := uint32(0)
	if len(l.Inner) > 0 {
		most = slices.Max(l.Inner)
	}
	return overflowNode + 1 + uint64(most)
}

// Header returns the bytes that the shared memory must begin with; the rest is
// zero.
func (l Layout) Header() []byte {
	h := make([]byte, headerSize, l.tableOff())
	le.PutUint64(h[nextOff:], l.Base+l.arenaOff())
	le.PutUint64(h[endOff:], l.Base+l.arenaOff()+l.Arena)
	le.PutUint64(h[cellOff:], l.firstCell())
	le.PutUint64(h[orderOff:], overflowNode+1)
	slot := h[overflowOff:]
	le.PutUint64(slot, 1) // no hook has this key
	le.PutUint32(slot[12:], overflowNode)
	le.PutUint32(slot[16:], overflowNode<<nameBits)
	h = le.AppendUint32(h, 0) // there is no hook 0
	for _, n := range l.Inner {
		h = le.AppendUint32(h, n)
	}
	return h
}

// Bits of Node.Hook.
const (
	Unpushed = 1 << 30 // of blocks and go statements: no hooked function is called below them
	via      = 1 << 29
	Root     = 1 << 31 // a goroutine's root; Site is that of its go statement
)

// Node is a call of a hook in one context. Its number is its place in Tree.Nodes,
// which is that of its first call.
type Node struct {
	Parent uint32 // 0: none
	Hook   uint32 // as the stub gave it; 0: the number is not used
	Site   uint32 // return address of the call, from the text's beginning; 0 unknown
	Via    bool   // functions that are not hooked stand between: Site is that of the outermost one's call
	Target uint32 // the node whose children the calls made inside it are: its own number, or a recursive call's ancestor
	Calls  uint64
}

// Tree is what the shared memory holds at a moment.
type Tree struct {
	Nodes   []Node // by number, in the order of the first call; 0 and 1 are no nodes
	Dropped uint64 // calls that were not counted or whose callees were attributed to their caller, for want of room
	Lost    uint64 // calls in contexts that had no room in the table
	Full    uint64 // such contexts
	States  uint64 // goroutine states in use
	Arena   uint64 // bytes of the arena in use
	Walked  uint64 // frames that were passed, from calls to their callers, in walks of many
}

// Read reads the tree from the shared memory of a target whose text begins at
// this run-time address. The target may be running: then counts are as they were
// at some moment during the read.
func (l Layout) Read(mem io.ReaderAt, text uint64) (*Tree, error) {
	h := make([]byte, headerSize)
	if _, err := mem.ReadAt(h, 0); err != nil {
		return nil, fmt.Errorf("reading the recorder's memory: %w", err)
	}
	// What was called first after this is left out, so that of what is there the
	// callers are, too.
	first, cells, n := l.firstCell(), min(le.Uint64(h[cellOff:]), l.MaxCells), le.Uint64(h[orderOff:])
	if n <= overflowNode || cells < first || n > cells+overflowNode {
		return nil, fmt.Errorf("the recorder's memory was overwritten by the program")
	}
	t := &Tree{
		Nodes: make([]Node, n), Dropped: le.Uint64(h[droppedOff:]), Full: le.Uint64(h[fullOff:]), States: le.Uint64(h[statesOff:]),
		Walked: le.Uint64(h[walkedOff:]),
		Arena:  le.Uint64(h[nextOff:]) - l.Base - l.arenaOff(),
	}
	b, orders := make([]byte, cells*nodeSize), make([]byte, cells*orderSize)
	if _, err := mem.ReadAt(b, int64(l.nodesOff())); err != nil {
		return nil, fmt.Errorf("reading the recorder's nodes: %w", err)
	}
	if _, err := mem.ReadAt(orders, int64(l.ordersOff())); err != nil {
		return nil, fmt.Errorf("reading the recorder's nodes: %w", err)
	}
	// number is that of the node in a cell; 0: none.
	number := func(cell uint32) uint32 {
		if uint64(cell) >= cells {
			return 0
		}
		if k := le.Uint32(orders[cell*orderSize:]); uint64(k) < n {
			return k
		}
		return 0
	}
	leads := make([]uint32, cells) // by cell of a direct call: that of the node that it leads to
	for i := first; i < cells; i++ {
		r := b[i*nodeSize:]
		if le.Uint32(r[4:]) == 0 {
			leads[i] = le.Uint32(r[12:])
		}
		k, hook := number(uint32(i)), le.Uint32(r[4:])
		if k <= overflowNode || hook == 0 {
			continue
		}
		site := le.Uint32(r[8:])
		switch site {
		case 0, unknownSite:
			site = 0
		default:
			site -= uint32(text) // the recorder keeps the low half of the address
		}
		parent, target := number(le.Uint32(r)), number(le.Uint32(r[12:]))
		if le.Uint32(r) == overflowNode {
			parent = overflowNode
		}
		t.Nodes[k] = Node{Parent: parent, Hook: hook &^ via, Site: site, Via: hook&Root == 0 && hook&via != 0, Target: target}
		if target == 0 || parent >= k || parent == 0 && hook&Root == 0 {
			return nil, fmt.Errorf("the recorder's memory was overwritten by the program: node %d is damaged", k)
		}
	}
	row := b[:cells*8]
	for r := range l.Rows + 1 {
		if u, ok := mem.(interface{ Used(off, n int64) bool }); ok && !u.Used(int64(l.countsOff()+r*l.rowBytes()), int64(len(row))) {
			continue // no P with this number has called anything
		}
		// Reading what was not written gives zeros and takes no memory.
		if _, err := mem.ReadAt(row, int64(l.countsOff()+r*l.rowBytes())); err != nil {
			return nil, fmt.Errorf("reading the recorder's counters: %w", err)
		}
		for i := range cells {
			calls := -le.Uint64(row[i*8:]) // counters go down
			if calls == 0 {
				continue
			}
			if i < first {
				t.Nodes[overflowNode].Calls += calls
				continue
			}
			k := number(uint32(i))
			if k == 0 && leads[i] != 0 {
				// A direct call: its node is elsewhere, and has what is above these bits.
				k, calls = number(leads[i]), -uint64(le.Uint32(row[i*8:]))
			}
			if k > overflowNode && t.Nodes[k].Hook != 0 {
				t.Nodes[k].Calls += calls
			}
		}
	}
	for i := range t.Nodes {
		if n := &t.Nodes[i]; int64(n.Calls) < 0 {
			n.Calls += 1 << 32 // the target was just about to do so
		}
	}
	t.Lost = t.Nodes[overflowNode].Calls
	return t, nil
}

// Shrink makes the sizes smaller where a limit refuses the present ones, and
// reports whether it could.
func (l *Layout) Shrink() bool {
	switch {
	case l.Arena > 64<<20:
		l.Arena /= 4
	case l.Rows > 16:
		l.Rows /= 4
	case l.Arena > 16<<20:
		l.Arena /= 4
	case l.Slots > leastSlots:
		l.Slots /= 2
		l.fit()
	default:
		return false
	}
	return true
}

// Since returns what was called between an earlier tree of the same target and
// this one: nodes that were not called in between are left out, but for those
// above others that were.
func (t *Tree) Since(earlier *Tree) *Tree {
	out := *t
	out.Dropped -= earlier.Dropped
	out.Lost -= earlier.Lost
	out.Full -= earlier.Full
	out.Nodes = slices.Clone(t.Nodes)
	for i := range earlier.Nodes {
		out.Nodes[i].Calls -= earlier.Nodes[i].Calls
	}
	needed := make([]bool, len(out.Nodes))
	for i := len(out.Nodes) - 1; i > overflowNode; i-- {
		n := &out.Nodes[i]
		if needed[i] = needed[i] || n.Calls > 0; needed[i] {
			needed[n.Parent] = true
		} else {
			*n = Node{}
		}
	}
	return &out
}

// State reports whether the word at an address, a word that the process may
// write, is the one of a g that leads to its state: mem is the shared memory, r
// the runtime's layout.
func (l Layout) State(r Runtime, mem []byte, addr, word uint64) bool {
	const g, header = 64, 96 // in a goroutine's state
	from := l.Base + l.arenaOff()
	if word < from || word-from > l.Arena-header || word%16 != 0 {
		return false
	}
	return le.Uint64(mem[word-l.Base+g:]) == addr-uint64(r.State)
}
