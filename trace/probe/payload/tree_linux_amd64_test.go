package payload

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestRandomPrograms runs programs of random steps. The recorder's tree must be
// that of the simulation, node for node, in the same order, with the same counts.
func TestRandomPrograms(t *testing.T) {
	n := 150
	if testing.Short() {
		n = 20
	}
	for seed := range n {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(seed)))
			script := randomScript(r, 4000)
			s := newSimulation(t, small)
			s.run(script)
			s.check()
		})
	}
}

func FuzzTree(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0, 2, 13, 2, 0, 2, 11, 0, 12, 0, 15, 99, 0, 3})
	f.Add([]byte{0, 7, 0, 0, 0, 10, 0, 1, 14, 133, 0, 1, 14, 255, 0, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 20_000 {
			t.Skip("longer than the table has room for")
		}
		s := newSimulation(t, small)
		s.run(script)
		s.check()
	})
}
