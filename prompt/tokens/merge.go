package tokens

import "container/heap"

// merge is a piece while its parts are merged, in time that grows with its length and the
// logarithm of that: a run of one character has thousands of parts.
type merge struct {
	piece []byte
	// By the byte that a part begins at: where the next part and the one before begin, and
	// the rank of what this part and the next one are together, noRank if that is no token
	// or the part is none any more.
	next, prev []int32
	ranks      []uint32
	queue      pairs
}

// pairs are a heap of parts with their successors: the rank, and where the part begins.
type pairs []uint64

func (p pairs) Len() int           { return len(p) }
func (p pairs) Less(i, j int) bool { return p[i] < p[j] }
func (p pairs) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *pairs) Push(x any)        { *p = append(*p, x.(uint64)) }
func (p *pairs) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// countLong is count for a long piece.
func (t *table) countLong(piece []byte) int {
	n := len(piece)
	m := &merge{piece: piece, next: make([]int32, n), prev: make([]int32, n), ranks: make([]uint32, n), queue: make(pairs, 0, n)}
	for i := range n {
		m.next[i], m.prev[i] = int32(i+1), int32(i-1)
	}
	for i := range n {
		if m.join(t, i); m.ranks[i] != noRank {
			m.queue = append(m.queue, m.key(i))
		}
	}
	heap.Init(&m.queue)
	parts := n
	for len(m.queue) > 0 {
		key := heap.Pop(&m.queue).(uint64)
		at := int(uint32(key))
		// A pair that was merged, or one of whose parts was, has another rank now: the bytes
		// of the two parts became more.
		if m.ranks[at] != uint32(key>>32) {
			continue
		}
		gone := int(m.next[at])
		m.ranks[gone] = noRank
		m.next[at] = m.next[gone]
		if after := int(m.next[at]); after < n {
			m.prev[after] = int32(at)
		}
		parts--
		for _, i := range []int{at, int(m.prev[at])} {
			if i < 0 {
				continue
			}
			if m.join(t, i); m.ranks[i] != noRank {
				heap.Push(&m.queue, m.key(i))
			}
		}
	}
	return parts
}

// join sets the rank of a part with the next one.
func (m *merge) join(t *table, i int) {
	m.ranks[i] = noRank
	if next := int(m.next[i]); next < len(m.piece) {
		if end := int(m.next[next]); end-i <= t.longest {
			m.ranks[i] = t.rank(m.piece[i:end])
		}
	}
}

func (m *merge) key(i int) uint64 { return uint64(m.ranks[i])<<32 | uint64(i) }
