package payload

import (
	"fmt"
	"io"
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
	stopOff    = 64 // the next cell when Stop was called; 0: it was not

	overflowOff = 128 // a slot that stands for all nodes that had no room
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

// The node of all calls that had no node because the tables were full: its cell, and its number.
const overflowNode = 1

// Layout is how the shared memory is divided. It is mapped at the address Base
// in the target.
//
// A node has a cell, which is its place in the tables of nodes and counters. Behind
// it are as many more as its function has hooks inside, so that a block finds its
// counter without a search.
type Layout struct {
	Base     uint64
	inner    []uint32 // by hook, of which the first is number 1: hooks inside the function that it enters
	slots    uint64   // what the tables' sizes follow from; a power of two, more than maxCells
	maxCells uint64   // cells have smaller numbers than this
	rows     uint64   // of counters that belong to a P; a P with a higher id shares the last row
	arena    uint64   // bytes
}

// Bounds of the tables' sizes.
const (
	minSlots = 1 << 10
	maxSlots = 1 << 28 // a name, which is 8 times a cell, has 32 bits
	minRows  = 16
	maxRows  = 256
)

// NewLayout chooses sizes for a program with these hooks (see Layout.Inner) that has up
// to so many Ps. Where memory is not zero it is the number of bytes that tables, nodes
// and counters of one P may use at most; else there is room for 235 million cells, since
// what is not used takes no memory. Programs of 1,000 to 60,000 hooks had 2 to 15 cells
// a node.
func NewLayout(inner []uint32, ps int, memory uint64) Layout {
	l := Layout{inner: inner, slots: maxSlots, rows: minRows, arena: 4 << 30}
	for l.rows < min(uint64(ps), maxRows) {
		l.rows *= 2
	}
	l.fit()
	if memory > 0 {
		l.maxCells = min(l.firstCell()+memory/cellBytes, l.maxCells)
		for l.slots > minSlots && most(l.slots/2) >= l.maxCells {
			l.slots /= 2
		}
	}
	return l
}

// most is how many cells there may be with so many slots. Linear probing is quick until
// the table is nearly full.
func most(slots uint64) uint64 { return slots / 8 * 7 }

// Limit makes the tables so small that they will be full: so many cells, beside those
// that every target has, and slots, and bytes of the arena, where these are not 0.
// Tests force with it what programs with millions of contexts do.
func (l *Layout) Limit(cells, slots, arena uint64) {
	if slots > 0 {
		for l.slots = min(l.slots, slots); most(l.slots) <= l.firstCell(); {
			l.slots *= 2
		}
		l.fit()
	}
	if arena > 0 {
		l.arena = min(l.arena, arena)
	}
	l.maxCells = min(l.maxCells, l.firstCell()+cells)
}

// fit sets what follows from Slots.
func (l *Layout) fit() { l.maxCells = most(l.slots) }

// cellBytes is what a cell takes, with one P, of memory that is given.
const cellBytes = cellSlots*slotSize + slotSize/farShare + nodeSize + orderSize + 8

// The near table has two slots a cell, and some behind it for what belongs to the
// last ones: as much as one search covers, and more. The far one is small: few
// calls go there.
const (
	cellSlots = 2
	nearSpare = 1024
	farShare  = 4 // cells for each of its slots
)

func pages(n uint64) uint64 { return (n + 4095) &^ 4095 }

func (l Layout) near() uint64      { return l.slots*cellSlots + nearSpare }
func (l Layout) far() uint64       { return max(l.slots/farShare, minSlots) }
func (l Layout) rowBytes() uint64  { return l.slots * 8 }
func (l Layout) innerOff() uint64  { return headerSize }
func (l Layout) tableOff() uint64  { return l.innerOff() + pages(uint64(len(l.inner)+1)*innerSize) }
func (l Layout) farOff() uint64    { return l.tableOff() + l.near()*slotSize }
func (l Layout) nodesOff() uint64  { return l.farOff() + l.far()*slotSize }
func (l Layout) ordersOff() uint64 { return l.nodesOff() + l.slots*nodeSize }
func (l Layout) countsOff() uint64 { return l.ordersOff() + pages(l.slots*orderSize) }
func (l Layout) arenaOff() uint64  { return l.countsOff() + (l.rows+1)*l.rowBytes() }

// Stacks is where the goroutines' states and shadow stacks begin, which only the target
// reads and writes. A target that forks has them twice, so its memory there is best private.
func (l Layout) Stacks() uint64 { return l.arenaOff() }

// Size is that of the whole shared memory, in bytes, a multiple of the page size.
func (l Layout) Size() uint64 { return l.arenaOff() + l.arena }

// firstCell is the first one that is not the overflow's: what is called in functions
// that had no room is counted there, too.
func (l Layout) firstCell() uint64 {
	most := uint32(0)
	if len(l.inner) > 0 {
		most = slices.Max(l.inner)
	}
	return overflowNode + 1 + uint64(most)
}

// Header returns the bytes that the shared memory must begin with; the rest is
// zero.
func (l Layout) Header() []byte {
	h := make([]byte, headerSize, l.tableOff())
	le.PutUint64(h[nextOff:], l.Base+l.arenaOff())
	le.PutUint64(h[endOff:], l.Base+l.arenaOff()+l.arena)
	le.PutUint64(h[cellOff:], l.firstCell())
	le.PutUint64(h[orderOff:], overflowNode+1)
	slot := h[overflowOff:]
	le.PutUint64(slot, 1) // no hook has this key
	le.PutUint32(slot[12:], overflowNode)
	le.PutUint32(slot[16:], overflowNode<<nameBits)
	h = le.AppendUint32(h, 0) // there is no hook 0
	for _, n := range l.inner {
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
	Via    bool   // functions that are not hooked are between: Site is that of the outermost one's call
	Target uint32 // the node whose children the calls made inside it are: its own number, or a recursive call's ancestor
	Calls  uint64
}

// Tree is what the shared memory holds at a moment.
type Tree struct {
	Nodes   []Node // by number, in the order of the first call; 0 and 1 are no nodes
	Dropped uint64 // calls that were not counted or whose callees were attributed to their caller, because the tables were full
	Lost    uint64 // calls in contexts that had no room in the table
	Stopped bool   // by Stop
	Damaged uint64 // nodes that cannot be as the recorder wrote them, and are left out, or their counts
	Full    uint64 // such contexts, less those that were called in one of them
	states  uint64 // goroutine states in use
	arena   uint64 // bytes of the arena in use
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
	first, cells, n := l.firstCell(), min(le.Uint64(h[cellOff:]), l.maxCells), le.Uint64(h[orderOff:])
	stop := le.Uint64(h[stopOff:])
	if stop > 0 {
		cells = min(cells, stop)
	}
	if n <= overflowNode || cells < first || n > cells+overflowNode {
		return nil, fmt.Errorf("the recorder's memory was overwritten by the program")
	}
	t := &Tree{
		Nodes: make([]Node, n), Dropped: le.Uint64(h[droppedOff:]), Full: le.Uint64(h[fullOff:]), states: le.Uint64(h[statesOff:]),
		Walked: le.Uint64(h[walkedOff:]), Stopped: stop > 0,
		arena: le.Uint64(h[nextOff:]) - l.Base - l.arenaOff(),
	}
	r := reader{mem: mem, tree: t, cells: cells, text: uint32(text), first: first}
	if err := r.read(l); err != nil {
		return nil, err
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if int64(n.Calls) < 0 {
			n.Calls += 1 << 32 // the target was just about to do so
		}
		if int64(n.Calls) < 0 {
			n.Calls = 0
			t.Damaged++
		}
	}
	t.Lost = t.Nodes[overflowNode].Calls
	return t, nil
}

// Shrink makes the sizes smaller where a limit refuses the present ones, and
// reports whether it could.
func (l *Layout) Shrink() bool {
	switch {
	case l.arena > 64<<20:
		l.arena /= 4
	case l.rows > minRows:
		l.rows /= 2
	case l.slots > manySlots && l.halve():
	case l.arena > 16<<20:
		l.arena /= 4
	default:
		return l.halve()
	}
	return true
}

// manySlots are more than most programs use. Below that a goroutine's room, some 250
// bytes of the arena, is worth as much as a cell.
const manySlots = 1 << 19

// halve halves the tables, if what every target needs still has room.
func (l *Layout) halve() bool {
	if l.slots <= minSlots || most(l.slots/2) <= l.firstCell() {
		return false
	}
	l.slots /= 2
	l.maxCells = min(l.maxCells, most(l.slots))
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
	out.Damaged -= min(out.Damaged, earlier.Damaged)
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

// OwnerOff is where in the header a recorder may keep what it likes: to its end.
const OwnerOff = 2048

// OwnerSize is how many bytes it has there.
const OwnerSize = headerSize - OwnerOff

// States tells how the states of goroutines are found, which lie in the arena. It
// suffices to find those that a recorder has left which is not there any more.
type States struct {
	From, To uint64 // addresses between which a state may begin
	Word     uint64 // offset in a g of the word that leads to its state
	Back     uint64 // offset in a state of the address of its g
}

// States are those of a target whose runtime has this layout.
func (l Layout) States(r Runtime) States {
	const g, header = 64, 96 // in a goroutine's state
	from := l.Base + l.arenaOff()
	return States{From: from, To: from + l.arena - header, Word: uint64(r.State), Back: g}
}

// Leads reports whether the word at an address, a word that the process may write,
// is the one of a g that leads to its state. Read reads a word of the process.
func (s States) Leads(addr, word uint64, read func(addr uint64) uint64) bool {
	return word >= s.From && word <= s.To && word%16 == 0 && read(word+s.Back) == addr-s.Word
}
