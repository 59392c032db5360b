package payload

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// The tests of this file have the memory for nodes end in the midst of random programs
// with every kind of hook. The calls must be counted all the same, somewhere, and
// whatever got a node before must have its exact count.

// tiny has room for so many cells of nodes.
func tiny(cells uint64) Layout {
	l := Layout{inner: inner(16), slots: 1 << 10, rows: 4, arena: 1 << 20}
	l.maxCells = l.firstCell() + cells
	return l
}

// randomScript is of a program that is deep, or broad, or has many goroutines.
func randomScript(r *rand.Rand, steps int) []byte {
	weights := [16]byte{}
	for i := range weights {
		weights[i] = byte(r.IntN(16))
	}
	script := make([]byte, 2*r.IntN(steps))
	for i := range script {
		script[i] = byte(r.IntN(256))
		if i%2 == 0 && r.IntN(2) == 0 {
			script[i] = weights[r.IntN(16)]
		}
	}
	return script
}

// TestFullTables has room for 0 to 64 cells.
func TestFullTables(t *testing.T) {
	rounds := uint64(4)
	if testing.Short() {
		rounds = 1
	}
	for cells := range uint64(65) {
		t.Run(fmt.Sprint(cells), func(t *testing.T) {
			for seed := range rounds {
				s := newSimulation(t, tiny(cells))
				s.run(randomScript(rand.New(rand.NewPCG(cells, seed)), 4000))
				s.check()
			}
		})
	}
}

func FuzzFullTables(f *testing.F) {
	f.Add(uint8(0), []byte{0, 0, 0, 1, 0, 2, 13, 2, 0, 2, 11, 0, 12, 0, 15, 99, 0, 3})
	f.Add(uint8(20), []byte{0, 7, 0, 0, 0, 10, 0, 1, 14, 133, 0, 1, 14, 255, 0, 0})
	f.Fuzz(func(t *testing.T, cells uint8, script []byte) {
		if len(script) > 20_000 {
			t.Skip("longer than the table has room for")
		}
		s := newSimulation(t, tiny(uint64(cells)))
		s.run(script)
		s.check()
	})
}

// TestFullTablesOfThreads has threads run random programs of their own at the same time,
// with one table.
func TestFullTablesOfThreads(t *testing.T) {
	const threads = 4
	for _, cells := range []uint64{0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 64, 300} {
		t.Run(fmt.Sprint(cells), func(t *testing.T) {
			first := newSimulation(t, tiny(cells))
			all := []*simulation{first}
			for range threads - 1 {
				all = append(all, first.beside())
			}
			var wg sync.WaitGroup
			for i, s := range all {
				for k := range s.ps { // a P runs one thread at a time
					if s.ps[k] != nil {
						s.ps[k] = processor(t, uint32(i+k*threads))
					}
				}
				s.th.on(s.ps[0])
				script := randomScript(rand.New(rand.NewPCG(cells, uint64(i))), 8000)
				wg.Go(func() { s.run(script) })
			}
			wg.Wait()
			calls := uint64(0)
			for _, s := range all {
				calls += s.calls
			}
			tree := first.tg.tree(t)
			if got := tree.sum(); got != calls || tree.Dropped != 0 {
				t.Errorf("%d calls are counted, %d dropped; want %d", got, tree.Dropped, calls)
			}
		})
	}
}

// TestStop has the tracer end the tree's growth in the midst of a program: what had a node
// is counted exactly on, all else in the overflow.
func TestStop(t *testing.T) {
	for seed := range uint64(40) {
		s := newSimulation(t, small)
		r := rand.New(rand.NewPCG(7, seed))
		s.run(randomScript(r, 2000))
		s.tg.layout.Stop(s.tg.mem)
		s.tg.layout.Stop(s.tg.mem) // again changes nothing
		s.cells = stopped
		s.run(randomScript(r, 4000))
		tree := s.tg.tree(t)
		if !tree.Stopped || tree.arena > 16<<10 {
			t.Errorf("stopped %t, %d bytes of stacks", tree.Stopped, tree.arena)
		}
		if tree.Dropped > 0 {
			continue // deep stacks: what they called is elsewhere
		}
		s.check()
	}
}

// sum is of all calls that are counted.
func (t *Tree) sum() (calls uint64) {
	for _, n := range t.Nodes {
		calls += n.Calls
	}
	return calls
}
