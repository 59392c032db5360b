package payload

import (
	"fmt"
	"io"
)

// A reader makes a tree of what the shared memory holds: of so many cells, a part at a
// time, since there may be hundreds of millions.
type reader struct {
	mem          io.ReaderAt
	tree         *Tree
	first, cells uint64
	text         uint32
	orders       []byte   // by cell: the number of its node
	leads        []uint32 // by cell of a direct call: that of the node that it leads to
}

const partCells = 1 << 16

func (r *reader) read(l Layout) error {
	r.orders, r.leads = make([]byte, r.cells*orderSize), make([]uint32, r.cells)
	if _, err := r.mem.ReadAt(r.orders, int64(l.ordersOff())); err != nil {
		return fmt.Errorf("reading the recorder's nodes: %w", err)
	}
	if err := r.parts(l.nodesOff(), nodeSize, "nodes", r.nodes); err != nil {
		return err
	}
	for row := range l.rows + 1 {
		if err := r.parts(l.countsOff()+row*l.rowBytes(), 8, "counters", r.counts); err != nil {
			return err
		}
	}
	return nil
}

// parts calls do for the cells' entries of so many bytes that begin at off, some at a
// time. Entries that were never written are left out.
func (r *reader) parts(off uint64, size uint64, what string, do func(cell uint64, b []byte) error) error {
	buf := make([]byte, min(r.cells, partCells)*size)
	for cell := uint64(0); cell < r.cells; {
		n := min(r.cells-cell, partCells)
		at := int64(off + cell*size)
		if u, ok := r.mem.(interface{ NextUsed(off, n int64) int64 }); ok {
			all := int64((r.cells - cell) * size)
			next := u.NextUsed(at, all)
			if next >= at+all {
				return nil
			}
			if skip := uint64(next-at) / size; skip >= n {
				cell += skip
				continue
			}
		}
		b := buf[:n*size]
		if _, err := r.mem.ReadAt(b, at); err != nil {
			return fmt.Errorf("reading the recorder's %s: %w", what, err)
		}
		if err := do(cell, b); err != nil {
			return err
		}
		cell += n
	}
	return nil
}

// number is that of the node in a cell; 0: none.
func (r *reader) number(cell uint32) uint32 {
	if uint64(cell) >= r.cells {
		return 0
	}
	if k := le.Uint32(r.orders[uint64(cell)*orderSize:]); uint64(k) < uint64(len(r.tree.Nodes)) {
		return k
	}
	return 0
}

// nodes reads the nodes in the cells from one on.
func (r *reader) nodes(cell uint64, b []byte) error {
	for ; len(b) > 0; cell, b = cell+1, b[nodeSize:] {
		if cell < r.first {
			continue
		}
		hook, site := le.Uint32(b[4:]), le.Uint32(b[8:])
		if hook == 0 {
			r.leads[cell] = le.Uint32(b[12:])
		}
		k := r.number(uint32(cell))
		if k <= overflowNode || hook == 0 {
			continue
		}
		switch site {
		case 0, unknownSite:
			site = 0
		default:
			site -= r.text // the recorder keeps the low half of the address
		}
		parent, target := r.number(le.Uint32(b)), r.number(le.Uint32(b[12:]))
		if le.Uint32(b) == overflowNode {
			parent = overflowNode
		}
		if target == 0 || parent >= k || parent == 0 && hook&Root == 0 {
			r.tree.Damaged++
			continue
		}
		r.tree.Nodes[k] = Node{Parent: parent, Hook: hook &^ via, Site: site, Via: hook&Root == 0 && hook&via != 0, Target: target}
	}
	return nil
}

// counts reads one row's counters of the cells from one on.
func (r *reader) counts(cell uint64, b []byte) error {
	nodes := r.tree.Nodes
	for ; len(b) > 0; cell, b = cell+1, b[8:] {
		calls := -le.Uint64(b) // counters go down
		if calls == 0 {
			continue
		}
		if cell < r.first {
			nodes[overflowNode].Calls += calls
			continue
		}
		k := r.number(uint32(cell))
		if k == 0 && r.leads[cell] != 0 {
			// A direct call: its node is elsewhere, and has what is above these bits.
			k, calls = r.number(r.leads[cell]), -uint64(le.Uint32(b))
		}
		if k > overflowNode && nodes[k].Hook != 0 {
			nodes[k].Calls += calls
		}
	}
	return nil
}
