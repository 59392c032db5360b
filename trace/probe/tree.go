package probe

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tracerag/trace"
	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/payload"
	"tracerag/trace/target"
)

// converter turns the target's tree of physical calls into the trace's tree of
// source-level ones.
type converter struct {
	t    *target.Target
	bin  *executable.File
	plan *plan.Plan
	code code
	tr   *trace.Trace
	b    *trace.Builder

	nodes   []payload.Node
	places  []place // by number of the node
	ids     map[string]trace.FuncID
	frames  map[uint64][]frame // by call site
	inlined map[int][]executable.InlinedCall
	folded  map[uint32][]int // calls of functions that were on the path already, by the node that has theirs

	approximate map[trace.NodeID]bool
	goroutines  map[trace.NodeID]uint32   // roots, by the site of their go statement
	creators    map[uint32][]trace.NodeID // nodes that ran a go statement, by its site
	attached    bool                      // the target had begun when it was attached to
	lost        uint64                    // calls whose place is not known
	starts      []*startCall              // of other programs, in order
}

// place is where calls made by a node belong.
type place struct {
	known bool
	root  *trace.Root // set as long as no recorded function has been called
	node  trace.NodeID
	stmt  uint32 // with root: site of the go statement
	fn    int    // index of the physical function, -1 of a goroutine's root
	main  bool   // of the main goroutine: its first function tells whether it initialises packages
	// Of a function that is not part of the tree: its caller's line, and
	// whether calls made by it are via others.
	hidden bool
	line   int
	via    bool
}

// frame is a logical frame at a call site.
type frame struct {
	id   trace.FuncID // meaningless unless kind is recorded
	line int
	kind frameKind
}

type frameKind uint8

const (
	recorded frameKind = iota
	skipped            // of a package that is not recorded
	hidden             // made by the compiler: as if it were not there
)

// Convert adds the calls of a tree to a trace, for another recorder that keeps its calls as the payload does. Of the plan
// it needs the functions of the hooks, and which functions have none. It returns the trace's node of each of the tree's.
func Convert(t *target.Target, plan *plan.Plan, tree *payload.Tree, tr *trace.Trace) []trace.NodeID {
	places := convert(t, plan, newCode(t.Binary), tree, false, nil, tr)
	nodes := make([]trace.NodeID, len(places))
	for i, p := range places {
		nodes[i] = trace.NoNode
		if p.known && p.root == nil && !p.hidden {
			nodes[i] = p.node
		}
	}
	return nodes
}

// convert adds what the target's tree holds to tr.
func convert(t *target.Target, plan *plan.Plan, text code, tree *payload.Tree, attached bool, starts []*startCall, tr *trace.Trace) []place {
	c := &converter{
		t: t, bin: t.Binary, plan: plan, code: text, tr: tr, b: trace.NewBuilder(tr), nodes: tree.Nodes, places: make([]place, len(tree.Nodes)),
		attached: attached, starts: starts, ids: map[string]trace.FuncID{}, frames: map[uint64][]frame{}, inlined: map[int][]executable.InlinedCall{},
		approximate: map[trace.NodeID]bool{}, goroutines: map[trace.NodeID]uint32{}, creators: map[uint32][]trace.NodeID{},
	}
	c.b.Grow(len(c.nodes))
	for i := range tree.Nodes {
		c.startsUntil(uint64(i))
		if n := &c.nodes[i]; n.Hook != 0 && i > 1 {
			c.add(i, n)
		}
	}
	c.startsUntil(math.MaxUint64)
	for id := range c.approximate {
		tr.Nodes[id].Flags |= trace.Approximate
	}
	c.attach()
	c.losses(tree)
	c.b.AttachGoroutines()
	c.b.Finish()
	return c.places
}

// add places one node.
func (c *converter) add(i int, n *payload.Node) {
	if n.Hook&payload.Root != 0 {
		c.places[i] = c.root(n)
		// In a window there are goroutines that began before it.
		c.tr.Goroutines += int64(max(n.Calls, 1))
		return
	}
	id := int(n.Hook&^payload.Unpushed) - 1
	p := &c.places[n.Parent]
	if !p.known || id < 0 || id >= len(c.plan.Hooks) {
		c.lost += n.Calls
		return
	}
	h := &c.plan.Hooks[id]
	switch h.Kind {
	case plan.Block:
		if p.fn != h.Func {
			c.lost += n.Calls // its host's own call had no room
			return
		}
		c.begin(h, p, int64(n.Calls))
	case plan.Go:
		if cur := c.caller(i); cur.root == nil {
			c.creators[n.Site] = append(c.creators[n.Site], cur.node)
		}
	default:
		c.places[i] = c.call(h, i)
		c.begin(h, &c.places[i], int64(n.Calls))
	}
}

// root tells what made a goroutine.
func (c *converter) root(n *payload.Node) place {
	p := place{known: true, fn: -1, stmt: n.Site, root: &trace.Root{Kind: trace.RootCallback}}
	if n.Site == 0 {
		return p // a thread of C, or the runtime's own stack
	}
	// Wrappers are not source: the statement is in what they wrap.
	fs := c.bin.Frames(c.bin.TextStart + uint64(n.Site) - 1)
	if len(fs) == 0 {
		return p
	}
	switch name := fs[0].Name; {
	case strings.HasPrefix(name, "runtime.rt0_go"), name == "runtime.newproc":
		// Started by assembly, directly or through the wrapper of newproc.
		p.main = true
	case strings.HasPrefix(name, "runtime."):
		// The runtime's own goroutines call finalizers and cleanups.
	default:
		p.root = &trace.Root{Kind: trace.RootGoroutine, Go: trace.GoStmt{Func: name, File: fs[0].File, Line: fs[0].Line}}
	}
	return p
}

// call places a call of a function.
func (c *converter) call(h *plan.Hook, i int) place {
	fn := &c.bin.Funcs[h.Func]
	n, cur := &c.nodes[i], c.caller(i)
	cur.fn = h.Func
	switch {
	case c.kind(fn.Name, fn.Package, fn.Wrapper) == hidden:
		cur.hidden = true
	case !c.t.Records(fn.Package):
		// main.main has a hook in any case, because it ends initialisation.
		cur.hidden, cur.via = true, true
		if fn.Name == "main.main" && cur.root != nil && cur.main {
			cur.root, cur.main = &trace.Root{Kind: trace.RootMain}, false
		}
	default:
		c.enter(&cur, trace.Frame{Func: c.id(fn.Name, fn.Package, fn.File, fn.StartLine), CallLine: cur.line, Via: cur.via}, int64(n.Calls))
		if h.Partial {
			c.tr.Nodes[cur.node].Flags |= trace.Floor
		}
	}
	return cur
}

// enter makes the node of a call below cur, and makes it cur.
func (c *converter) enter(cur *place, f trace.Frame, calls int64) {
	if cur.root == nil {
		cur.node = c.b.Child(cur.node, f, calls)
	} else {
		root := *cur.root
		if cur.main {
			root.Kind = trace.RootInit
			if c.attached || c.tr.Functions[f.Func].Name == "main.main" || c.tr.Functions[f.Func].Name == c.bin.MainPath+".main" {
				root.Kind = trace.RootMain
			}
		}
		cur.node = c.b.Root(root, f, calls)
		cur.root = nil
		if root.Kind == trace.RootGoroutine {
			c.goroutines[cur.node] = cur.stmt
		}
	}
	cur.hidden, cur.via, cur.line = false, false, 0
}

// caller returns where a call belongs: below its parent, inside the inlined calls
// that its site is in. Its line and via are those of the call.
func (c *converter) caller(i int) place {
	if h := c.replaced(i); h != 0 {
		cur := c.caller(h)
		cur.via = cur.via || !c.at(c.nodes[i].Site).Wrapper
		return cur
	}
	n := &c.nodes[i]
	p := &c.places[n.Parent]
	cur := *p
	cur.via = p.hidden && p.via
	if cur.fn < 0 { // the goroutine's root: the return address is in who called
		// Where the function that initialises variables has no hook, it is what called.
		if fn := c.at(n.Site); fn == nil || !startsGoroutines(fn.Name) && !fn.Wrapper {
			cur.via = true
		}
		return cur
	}
	host := &c.bin.Funcs[cur.fn]
	pc := c.bin.TextStart + uint64(n.Site)
	via := n.Via && !c.callsDeferred(pc)
	if n.Site == 0 || pc <= host.Entry || pc > host.End {
		cur.via, cur.line = true, 0
		return cur
	}
	fs := c.logical(pc - 1)
	for i := len(fs) - 1; i >= 0; i-- {
		switch f := fs[i]; {
		case i == len(fs)-1: // the host itself, which is cur
			if !p.hidden {
				cur.line = f.line
			}
		case f.kind == skipped:
			cur.via = true
		case f.kind == recorded:
			c.enter(&cur, trace.Frame{Func: f.id, CallLine: cur.line, Inlined: !cur.via && cur.root == nil, Via: cur.via}, 0)
			cur.line = f.line
		}
	}
	cur.via = cur.via || via
	return cur
}

// replaced tells if it was not its parent that made call i but a function without
// a hook which stood in the parent's place, and then returns the parent, else 0.
// Whoever called the one had called the other, by the same instruction. To the
// recorder they look alike, for the return address and the place of the frame are
// the same:
//
//	for _, f := range []func(func(rune) rune, string) string{ours, strings.Map} {
//		f(upper, s) // strings.Map calls upper, where ours had its frame before
//	}
//
// But the site shows it: it is in the function whose frame is there. The same holds
// where a function without a frame met nil in an instruction of its stub: the
// runtime's sigpanic is there then, and what was deferred is called through it.
func (c *converter) replaced(i int) int {
	n := &c.nodes[i]
	p := &c.places[n.Parent]
	if n.Site == 0 || p.fn < 0 {
		return 0
	}
	entry := c.bin.Funcs[p.fn].Entry
	// Assembly may do without a frame, and so may code that checks no stack.
	fn := c.at(n.Site)
	if fn == nil || fn.Entry == entry || fn.Asm || c.bin.StackDepth(c.bin.TextStart+uint64(n.Site)-1) == 0 {
		return 0
	}
	// A recursive function has several nodes whose calls are in one place. It was
	// called here by an instruction that may call others, too.
	if c.folded == nil {
		c.folded = map[uint32][]int{}
		for k := range c.nodes {
			if t := c.nodes[k].Target; t != uint32(k) {
				c.folded[t] = append(c.folded[t], k)
			}
		}
	}
	for _, k := range append([]int{int(n.Parent)}, c.folded[n.Parent]...) {
		if h := &c.nodes[k]; k < i && (h.Via || h.Site == 0 || c.code.callee(c.bin.TextStart+uint64(h.Site)) != entry) {
			return k
		}
	}
	return int(n.Parent)
}

// begin counts the inlined calls that begin at a hook of the function at p.
func (c *converter) begin(h *plan.Hook, p *place, calls int64) {
	if len(h.Begins) == 0 {
		return
	}
	all := c.inlinedCalls(h.Func)
	for _, k := range h.Begins {
		if k >= len(all) {
			continue // the plan's file is damaged
		}
		var path []int
		for i := k; i >= 0; i = all[i].Parent {
			path = append(path, i)
		}
		cur := *p
		if !p.hidden {
			cur.via, cur.line = false, 0
		}
		if !c.t.Records(all[k].Package) {
			continue
		}
		for i := len(path) - 1; i >= 0; i-- {
			in := &all[path[i]]
			if i < len(path)-1 || !p.hidden {
				// The line is that of the call in the innermost frame so far.
				if !cur.via {
					cur.line = in.CallLine
				}
			}
			switch c.kind(in.Name, in.Package, false) {
			case skipped:
				cur.via = true
				continue
			case hidden:
				continue
			}
			n := int64(0)
			if i == 0 {
				n = calls
			}
			inlined := !cur.via && cur.root == nil
			c.enter(&cur, trace.Frame{Func: c.id(in.Name, in.Package, in.File, in.StartLine), CallLine: cur.line, Inlined: inlined, Via: cur.via}, n)
			if i == 0 && h.Approximate {
				c.approximate[cur.node] = true
			}
		}
	}
}

// logical returns the logical frames at a pc, innermost first.
func (c *converter) logical(pc uint64) []frame {
	fs, ok := c.frames[pc]
	if !ok {
		fn := c.bin.Func(pc)
		for _, f := range c.bin.Frames(pc) {
			file := f.File
			if !f.Inlined {
				file = fn.File
			}
			lf := frame{line: f.Line, kind: c.kind(f.Name, f.Package, !f.Inlined && fn.Wrapper)}
			if lf.kind == recorded {
				lf.id = c.id(f.Name, f.Package, file, f.StartLine)
			}
			fs = append(fs, lf)
		}
		c.frames[pc] = fs
	}
	return fs
}

func (c *converter) kind(name, pkg string, wrapper bool) frameKind {
	switch {
	case wrapper:
		return hidden
	case !c.t.Records(pkg):
		return skipped
	}
	return recorded
}

func (c *converter) id(name, pkg, file string, line int) trace.FuncID {
	id, ok := c.ids[name]
	if !ok {
		id = c.b.Func(trace.Function{Name: name, Package: pkg, File: file, StartLine: line})
		c.ids[name] = id
	}
	return id
}

// at returns the function that a call site is in.
func (c *converter) at(site uint32) *executable.Func {
	if site == 0 {
		return nil
	}
	return c.bin.Func(c.bin.TextStart + uint64(site) - 1)
}

// startsGoroutines tells the functions that call the first one of a goroutine,
// of package initialisation, or a program's main.
func startsGoroutines(name string) bool {
	return name == "runtime.goexit" || name == "runtime.main" || strings.HasPrefix(name, "runtime.doInit")
}

// callsDeferred tells if the call that returns to pc is the one by which a
// function runs what it deferred: the runtime's part in that is not shown.
func (c *converter) callsDeferred(pc uint64) bool {
	callee := c.code.callee(pc)
	if callee == 0 {
		return false
	}
	fn := c.bin.Func(callee)
	return fn != nil && fn.Name == "runtime.deferreturn"
}

// attach hangs goroutines below the node that ran their go statement, where
// only one did.
func (c *converter) attach() {
	for i := range c.tr.Nodes {
		site, ok := c.goroutines[trace.NodeID(i)]
		if !ok {
			continue
		}
		if by := c.creators[site]; len(by) > 0 && !slices.ContainsFunc(by, func(other trace.NodeID) bool { return other != by[0] }) {
			c.create(trace.NodeID(i), by[0])
		}
	}
}

// create sets the creator of a goroutine's root, unless the goroutine itself, by
// what it called and started, is where the creator is.
func (c *converter) create(root, creator trace.NodeID) {
	for id := creator; id != trace.NoNode; {
		if id == root {
			return
		}
		if n := &c.tr.Nodes[id]; n.Parent != trace.NoNode {
			id = n.Parent
		} else {
			id = n.Go.Creator.Node()
		}
	}
	c.tr.Nodes[root].Go.Creator = creator.Ref()
}

// losses says what was not seen.
func (c *converter) losses(tree *payload.Tree) {
	add := func(l trace.Loss) { c.tr.Losses = append(c.tr.Losses, l) }
	for _, u := range c.plan.Unhooked {
		if fn := &c.bin.Funcs[u.Func]; !fn.Wrapper && c.t.Records(fn.Package) {
			add(trace.Loss{Kind: trace.LossNotHooked, Function: fn.Name, Detail: u.Why})
		}
	}
	for i := range c.plan.Hooks {
		if h := &c.plan.Hooks[i]; h.Partial {
			add(trace.Loss{Kind: trace.LossNotHooked, Function: c.bin.Funcs[h.Func].Name, Detail: "calls through a function value or from assembly are missing"})
		}
	}
	c.tr.Losses = append(c.tr.Losses, c.missed()...)
	if tree.Lost > 0 {
		why := "the recorder's tables were full"
		if tree.Stopped {
			why = "the machine's memory was getting scarce"
		}
		if tree.Full > 0 {
			why += fmt.Sprintf("; %d new contexts, and what was called in them, have no nodes", tree.Full)
		}
		add(trace.Loss{Kind: trace.LossOverflow, Count: int64(tree.Lost), Nodes: int64(len(c.tr.Nodes)), Detail: why})
	}
	if tree.Damaged > 0 {
		add(trace.Loss{Kind: trace.LossOther, Count: int64(c.lost), Detail: fmt.Sprintf("the recorder's memory was written over: by the program, or because it forked without starting another program. %d contexts are missing, with the calls made in them, and counts are not exact", tree.Damaged)})
		c.lost = 0
	}
	if n := tree.Dropped + c.lost; n > 0 {
		add(trace.Loss{Kind: trace.LossOverflow, Count: int64(n), Detail: "the memory for stacks was full, so their callers are not known"})
	}
}

// missed says which inlined calls were not seen, by the function that is called.
// In a large program many have no hook; those in functions that did not run are
// no loss.
func (c *converter) missed() []trace.Loss {
	ran := map[int]bool{}
	for _, p := range c.places {
		if p.known {
			ran[p.fn] = true
		}
	}
	hooked := map[int]bool{}
	for i := range c.plan.Hooks {
		if h := &c.plan.Hooks[i]; h.Kind.Entry() {
			hooked[h.Func] = true
		}
	}
	var out []trace.Loss
	at := map[string]int{}
	for _, m := range c.plan.Missed {
		if hooked[m.Func] && !ran[m.Func] {
			continue
		}
		all := c.inlinedCalls(m.Func)
		if m.Call >= len(all) {
			continue // the plan's file is damaged
		}
		name := all[m.Call].Name
		i, ok := at[name]
		if !ok {
			i = len(out)
			at[name] = i
			out = append(out, trace.Loss{Kind: trace.LossNotHooked, Function: name, Detail: "inlined with no room for a hook; what it calls from there is recorded"})
		}
		out[i].Count++
	}
	return out
}

// inlinedCalls returns the calls that were inlined into a function.
func (c *converter) inlinedCalls(fn int) []executable.InlinedCall {
	all, ok := c.inlined[fn]
	if !ok {
		all = c.bin.Inlined(&c.bin.Funcs[fn])
		c.inlined[fn] = all
	}
	return all
}
