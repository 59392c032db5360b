package viewer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tracerag/calltree"
	"tracerag/phrase"
	"tracerag/prompt"
	"tracerag/session"
	"tracerag/trace"
	"tracerag/viewer/site"
)

// Draft says which prompt is to be made.
type Draft struct {
	Question string         `json:"question"`
	Variant  prompt.Variant `json:"variant"`
	Budget   int            `json:"budget,omitempty"` // in tokens; 0 none
	// OneShot asks with one prompt, however long.
	OneShot bool `json:"one_shot,omitempty"`
}

// Question is a draft and what its prompts are made of.
type Question struct {
	Draft
	Input   prompt.Input
	Options prompt.Options
}

// Prompt is the one prompt that has everything.
func (q *Question) Prompt() (*prompt.Prompt, error) { return prompt.Build(q.Input, q.Options) }

// Content is what a page shows.
type Content struct {
	Runs []*session.Run // one, or two to compare

	// Draft is what the prompt's fields hold at first.
	Draft Draft
	// Question returns what the prompts of a draft are made of. It is called by one
	// goroutine at a time.
	Question func(Draft) (*Question, error)
	// Rank returns the functions that a question is about, the best first. It is called
	// by one goroutine at a time; nil ranks nothing.
	Rank func(question string) ([]Ranked, error)
	// Sources is what is known of the source, without a run; nil shows nothing of it.
	Sources Sources
	// Mask hides the secrets of a text that is shown in pieces. Nil leaves it as it is.
	Mask func(string) string
	// Clean is applied to all JSON that leaves, a page's data or an answer: it hides
	// secrets, and escapes in the strings what a browser would not show. Nil leaves
	// it as it is.
	Clean func(json []byte) []byte
	// Command is the command line that prints the same prompt, but for the
	// draft's --variant, --budget and question.
	Command string
	// WayOut says what a user can do about an error, such as [ErrNoModel]; "" or nil: nothing.
	WayOut func(error) string
}

// Page is what a browser is given to look at. Making it looks for no source and
// counts no token, since somebody waits for the tree.
type Page struct {
	content   Content
	overview  overview
	functions []owned                   // as overview.Functions has them
	index     map[trace.Function]int    // into functions
	watched   []*watched                // which lines ran, by run
	called    []map[trace.Function]bool // by run
	observed  map[int]observed          // by node
	refs      refs
	answers   site.Answers
}

// owned is a function and the run whose sources have it.
type owned struct {
	run int
	fn  trace.Function
}

// overview is the first that the browser asks for: all but sources and prompts.
type overview struct {
	Title     string           `json:"title"`
	Runs      []runFacts       `json:"runs"`
	Sampled   bool             `json:"sampled,omitempty"`
	Functions []function       `json:"functions"`
	Nodes     nodes            `json:"nodes"`
	Diff      *diffFacts       `json:"diff,omitempty"`
	Variants  []prompt.Variant `json:"variants"`
	Draft     Draft            `json:"draft"`
	Command   string           `json:"command,omitempty"`
	Model     string           `json:"model,omitempty"`     // that answers; "" none
	InSource  bool             `json:"in_source,omitempty"` // the server knows of the source, too
	// Start is the node that the page opens at, -1 if there is none.
	Start int `json:"start"`
}

type runFacts struct {
	ID    string   `json:"id"`
	Title string   `json:"title"`
	Facts []fact   `json:"facts"`
	Notes []string `json:"notes,omitempty"`
}

type fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type function struct {
	Name    string `json:"name"` // short
	Package string `json:"package,omitempty"`
	At      string `json:"at,omitempty"`   // "table.go:12", as compiled
	Main    bool   `json:"main,omitempty"` // of the program's own module
}

// nodes are the nodes of the tree in call order, a parent before its children: a
// column for each fact. Depth tells how they hang together: the children of a
// node are those that follow it one level deeper, up to the next node that is not
// deeper than itself.
type nodes struct {
	ID    []int   `json:"id"` // handle, as tracerag tree --ids has it
	Func  []int   `json:"func"`
	Depth []int   `json:"depth"` // 0 for a root
	Calls []int64 `json:"calls"`
	Marks []int   `json:"marks"` // trace.Marks, and those below
	Lines [][]int `json:"lines"` // of the calls in the parent's file; null none

	// Go says where the go statement of a goroutine is, by node.
	Go map[int]string `json:"go,omitempty"`
	// Process says which process begins at a node, by node: "helper --csv a.csv, and 11 more".
	Process map[int]string `json:"process,omitempty"`

	// Of two runs, what became of each node (calltree.Change), and the calls and
	// the function in the first: Calls and Func are the second's, or the first's
	// of what only that has.
	Change  []int   `json:"change,omitempty"`
	Before  []int64 `json:"before,omitempty"`
	FuncWas []int   `json:"func_was,omitempty"`
	// Other is the first observed value that differs, by node: "width: 80 -> 72".
	Other map[int]string `json:"other,omitempty"`
}

// Marks that a trace keeps as the kind of a root, and that of a node whose values
// were observed.
const (
	markGo       = 1 << 8
	markInit     = 1 << 9
	markCallback = 1 << 10
	markObserved = 1 << 11
)

type diffFacts struct {
	Summary string `json:"summary"`
	// First is the node at which the runs part, -1 if they do not, and Why says
	// where and how.
	First int    `json:"first"`
	Why   string `json:"why,omitempty"`
	// FirstOther is the node of the first value that differs, -1 if none does.
	FirstOther int `json:"first_other"`
}

// New makes a page.
func New(c Content) (*Page, error) {
	if len(c.Runs) < 1 || len(c.Runs) > 2 {
		return nil, fmt.Errorf("a page is about one run or two, not %d", len(c.Runs))
	}
	if c.Question == nil {
		return nil, errors.New("a page without a way to make its prompt")
	}
	if c.Draft.Variant == "" {
		c.Draft.Variant = prompt.Ordered
	}
	p := &Page{content: c, answers: site.Answers{Clean: c.Clean, WayOut: c.WayOut}, index: map[trace.Function]int{}, observed: map[int]observed{}}
	o := &p.overview
	o.Variants, o.Draft, o.Command = prompt.Variants, c.Draft, c.Command
	var titles []string
	for _, r := range c.Runs {
		p.watched = append(p.watched, newWatched(r.Trace))
		called := map[trace.Function]bool{}
		for _, f := range r.Trace.Functions {
			called[f] = true
		}
		p.called = append(p.called, called)
		titles = append(titles, r.Title)
		o.Runs = append(o.Runs, runFacts{r.ID, r.Title, facts(r.Trace, r.Tree), r.Notes})
		o.Sampled = o.Sampled || r.Tree.Sampled
	}
	o.Title = strings.Join(slices.Compact(titles), " and ")
	if len(c.Runs) == 1 {
		p.addTree(c.Runs[0].Tree)
	} else {
		d, err := session.CompareRuns(c.Runs[0], c.Runs[1], "", nil)
		if err != nil {
			return nil, err
		}
		p.addDiff(d)
	}
	o.Start = o.opening()
	return p, nil
}

func (p *Page) addTree(t *calltree.Tree) {
	t.Walk(func(n *calltree.Node, depth int) bool {
		p.observe(nil, n)
		p.overview.Nodes.add(n, depth, p.function(0, n.Func))
		return true
	})
}

// addDiff walks a comparison as addTree walks a tree.
func (p *Page) addDiff(d *calltree.Diff) {
	ns := &p.overview.Nodes
	at := map[*calltree.Node]int{}
	var walk func(list []*calltree.DiffNode, depth int)
	walk = func(list []*calltree.DiffNode, depth int) {
		for _, n := range list {
			i, before, was := len(ns.ID), int64(0), -1
			p.observe(n.A, n.B)
			if n.Values != nil {
				if ns.Other == nil {
					ns.Other = map[int]string{}
				}
				ns.Other[i] = n.Values.String()
			}
			if n.A != nil {
				before, was = n.A.Calls, p.function(0, n.A.Func)
				at[n.A] = i
			}
			if n.B != nil {
				at[n.B] = i
				ns.add(n.B, depth, p.function(1, n.B.Func))
			} else {
				ns.add(n.A, depth, was)
			}
			if _, ok := p.observed[i]; ok {
				ns.Marks[i] |= markObserved // in either run
			}
			ns.Change = append(ns.Change, int(n.Change))
			ns.Before = append(ns.Before, before)
			ns.FuncWas = append(ns.FuncWas, was)
			walk(n.Children, depth+1)
		}
	}
	walk(d.Roots, 0)
	facts := &diffFacts{Summary: d.String(), First: -1, FirstOther: -1}
	if n := d.FirstValues; n != nil {
		facts.FirstOther = at[n.Node()]
	}
	if place, n := d.Matters(); n != nil && d.FirstDivergence != nil {
		facts.First, facts.Why = at[n.Node()], whatMatters(place, n)
		if very := why(d.FirstDivergence); !d.FirstDivergence.IsAt(place) {
			facts.Why += "; the very first: " + very
		}
	} else if f := d.FirstDivergence; f != nil {
		facts.Why = why(f)
		for _, n := range []*calltree.Node{f.B, f.A, f.UnderB, f.UnderA} {
			if i, ok := at[n]; ok && n != nil {
				facts.First = i
				break
			}
		}
	}
	p.overview.Diff = facts
}

// whatMatters says how two runs differ where it matters first.
func whatMatters(p *calltree.Place, n *calltree.DiffNode) string {
	name, where := calltree.ShortName(n.Node().Func.Name), "at the root"
	if p.Under != nil {
		where = "in " + calltree.ShortName(p.Under.Node().Func.Name)
	}
	switch n.Change {
	case calltree.Added:
		return fmt.Sprintf("%s: only the second calls %s", where, name)
	case calltree.Removed:
		return fmt.Sprintf("%s: only the first calls %s", where, name)
	case calltree.Changed:
		return fmt.Sprintf("at %s, which the first calls %d times and the second %d", name, n.A.Calls, n.B.Calls)
	case calltree.Unrecorded:
		return fmt.Sprintf("%s: only one run could record %s", where, name)
	case calltree.Moved:
		return fmt.Sprintf("%s: %s moved there", where, name)
	}
	return fmt.Sprintf("at %s: %s", name, n.Values)
}

// why says how two runs part.
func why(d *calltree.Divergence) string {
	name := func(n *calltree.Node) string {
		if n == nil {
			return "nothing more"
		}
		return calltree.ShortName(n.Func.Name)
	}
	if d.Count {
		return fmt.Sprintf("at %s, which the first calls %d times and the second %d", name(d.B), d.A.Calls, d.B.Calls)
	}
	where := "at the root"
	if d.UnderB != nil {
		where = "in " + name(d.UnderB)
	} else if d.UnderA != nil {
		where = "in " + name(d.UnderA)
	}
	return fmt.Sprintf("%s: the first calls %s, the second %s", where, name(d.A), name(d.B))
}

// function returns the index of a function of a run. One that both have is one,
// with the first's text and lines.
func (p *Page) function(run int, fn *trace.Function) int {
	if i, ok := p.index[*fn]; ok {
		return i
	}
	i := len(p.functions)
	p.index[*fn] = i
	p.functions = append(p.functions, owned{run, *fn})
	f := function{Name: calltree.ShortName(fn.Name), Package: fn.Package, At: base(fn.File)}
	if fn.StartLine > 0 && f.At != "" {
		f.At += ":" + strconv.Itoa(fn.StartLine)
	}
	pr := &p.content.Runs[run].Trace.Program
	f.Main = fn.Package == "main" || fn.Package != "" && (fn.Package == pr.MainPath || fn.Package == pr.Main.Path) ||
		pr.Main.Path != "" && strings.HasPrefix(fn.Package, pr.Main.Path+"/")
	p.overview.Functions = append(p.overview.Functions, f)
	return i
}

func (ns *nodes) add(n *calltree.Node, depth, fn int) {
	marks := int(n.Flags)
	if n.Values != nil {
		marks |= markObserved
	}
	switch n.Root {
	case trace.RootGoroutine:
		marks |= markGo
		if g := n.Go; g != nil && (g.File != "" || g.Func != "") {
			if ns.Go == nil {
				ns.Go = map[int]string{}
			}
			ns.Go[len(ns.ID)] = goStatement(g)
		}
	case trace.RootInit:
		marks |= markInit
	case trace.RootCallback:
		marks |= markCallback
	}
	if n.Process != nil {
		if ns.Process == nil {
			ns.Process = map[int]string{}
		}
		ns.Process[len(ns.ID)] = processStart(n)
	}
	ns.ID = append(ns.ID, n.ID)
	ns.Func = append(ns.Func, fn)
	ns.Depth = append(ns.Depth, depth)
	ns.Calls = append(ns.Calls, n.Calls)
	ns.Marks = append(ns.Marks, marks)
	ns.Lines = append(ns.Lines, n.Lines)
}

// processStart names the process that begins at a node by its command line.
func processStart(n *calltree.Node) string {
	s := base(n.Process.Program)
	if len(n.Process.Command) > 0 {
		s += ": " + phrase.Cut(phrase.CommandLine(n.Process.Command), 200)
	}
	if n.Processes > 1 {
		s += fmt.Sprintf(", and %d more", n.Processes-1)
	}
	return s
}

func goStatement(g *trace.GoStmt) string {
	var s []string
	if g.File != "" {
		s = append(s, fmt.Sprintf("%s:%d", base(g.File), g.Line))
	}
	if g.Func != "" {
		s = append(s, "in "+calltree.ShortName(g.Func))
	}
	return strings.Join(s, " ")
}

// base is the last element of a path of any system.
func base(file string) string { return file[strings.LastIndexAny(file, `/\`)+1:] }

// facts say what a run was. Directories of this machine are not among them: a
// report leaves it.
func facts(tr *trace.Trace, tree *calltree.Tree) []fact {
	var out []fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, fact{name, value})
		}
	}
	unit := "calls"
	if tr.Sampled {
		unit = "samples"
	}
	add(unit, strconv.FormatInt(tr.Calls(), 10))
	add("functions", strconv.Itoa(len(tr.Functions)))
	add("nodes in the tree", strconv.Itoa(tree.Size))
	if tr.Goroutines > 0 {
		add("goroutines", strconv.FormatInt(tr.Goroutines, 10))
	}
	if !tr.Sampled {
		add("end", tr.Exit.String())
	}
	if tr.Duration > 0 {
		add("took", tr.Duration.Round(time.Millisecond).String())
	}
	if !tr.Start.IsZero() {
		add("started", tr.Start.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	add("recorder", tr.Recorder)
	p := &tr.Program
	add("built with", strings.TrimSpace(p.GoVersion+" "+strings.Trim(p.GOOS+"/"+p.GOARCH, "/")))
	add("module", strings.TrimSpace(p.Main.Path+" "+p.Main.Version))
	add("revision", p.Setting("vcs.revision"))
	return out
}
