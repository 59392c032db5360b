package viewer

// A program that somebody looks at for the first time begins with what all programs
// begin with: it reads its flags, its settings and its terminal. The page opens behind
// that, where the run branches into its work.

// goesOn is the part of a function's work that one call must do to be where the work goes
// on. Of twelve runs (hugo, caddy, opa, rclone, yq, csvq and others), .85 leaves four in the
// code that starts them, caddy and rclone in cmd.Main, and .6 leads five past the function
// that does what the command line says, hugo into its highlighter.
const goesOn = .75

// opening is the node that the page opens at: from the root that does the most, down to
// where the work is no longer that of one call. What a node does is how many functions
// are first called there or below it, since the number of calls, or of nodes, is most of
// all that of loops. A library between the program and its work, such as one that parses
// the command line and calls the command, is gone through; if the work is in a library
// altogether, the page opens at the call of it. It is -1 without nodes.
func (o *overview) opening() int {
	ns := &o.Nodes
	n := len(ns.ID)
	work, own := make([]int, n), make([]bool, n) // own: is the program's own module below?
	parent := make([]int, n)
	seen := map[int]bool{}
	var path []int
	for i := range n {
		path = append(path[:ns.Depth[i]], i)
		parent[i] = -1
		if d := ns.Depth[i]; d > 0 {
			parent[i] = path[d-1]
		}
		if fn := ns.Func[i]; !seen[fn] {
			seen[fn] = true
			work[i] = 1
		}
		own[i] = o.Functions[ns.Func[i]].Main
	}
	most := map[int]int{} // the child that does the most, by node
	for i := n - 1; i >= 0; i-- {
		p := parent[i]
		if p >= 0 {
			work[p] += work[i]
			own[p] = own[p] || own[i]
		}
		if c, ok := most[p]; !ok || work[i] >= work[c] {
			most[p] = i
		}
	}
	if n == 0 {
		return -1
	}
	at := most[-1]
	last := at // the program's own function that was passed last
	for {
		mine := o.Functions[ns.Func[at]].Main
		if mine {
			last = at
		}
		next, ok := most[at]
		if !ok || !own[next] || mine && float64(work[next]) < goesOn*float64(work[at]) {
			break
		}
		at = next
	}
	return last
}
