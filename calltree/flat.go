package calltree

// shape is a forest laid out in preorder: entry i is followed by the size[i]-1
// entries below it. Passes over it are loops, and going backwards meets
// children before their parent.
type shape struct {
	parent []int // index; -1 for a root
	size   []int // entries of the subtree, itself included
	depth  []int // 0 for a root
}

// open adds an entry, and its index; close must follow the entries below it.
func (s *shape) open(parent int) int {
	depth := 0
	if parent >= 0 {
		depth = s.depth[parent] + 1
	}
	s.parent = append(s.parent, parent)
	s.depth = append(s.depth, depth)
	s.size = append(s.size, 1)
	return len(s.size) - 1
}

// close sets the size of entry i once all below it are added.
func (s *shape) close(i int) { s.size[i] = len(s.size) - i }

// children calls f for the entries directly below i; below -1 are the roots.
func (s *shape) children(i int, f func(child int)) {
	end := len(s.size)
	if i >= 0 {
		end = i + s.size[i]
	}
	for c := i + 1; c < end; c += s.size[c] {
		f(c)
	}
}

// fill chooses the entries to show: breadth first, so that the upper levels
// are whole before the lower ones begin, down to depth levels and up to limit
// entries (0: no limit, of either). What is left out of a parent's children
// is always the last of them. skip, if not nil, takes entries, with all below
// them, out of the choice at no cost.
func (s *shape) fill(depth, limit int, skip func(i int) bool) []bool {
	shown := make([]bool, len(s.size))
	queue := []int{-1}
	n := 0
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		s.children(at, func(c int) {
			if skip != nil && skip(c) || depth > 0 && s.depth[c] >= depth || limit > 0 && n >= limit {
				return
			}
			n++
			shown[c] = true
			queue = append(queue, c)
		})
	}
	return shown
}

// flat is a tree laid out in preorder.
type flat struct {
	shape
	nodes []*Node
	ids   []int // of nodes, ascending, once they are needed
}

func flatten(t *Tree) *flat { return flattenBelow(t.Roots, t.Size) }

// flattenBelow lays out nodes with what is below them, about size of them.
func flattenBelow(tops []*Node, size int) *flat {
	f := &flat{nodes: make([]*Node, 0, size)}
	var add func(nodes []*Node, parent int)
	add = func(nodes []*Node, parent int) {
		for _, n := range nodes {
			i := f.open(parent)
			f.nodes = append(f.nodes, n)
			add(n.Children, i)
			f.close(i)
		}
	}
	add(tops, -1)
	return f
}
