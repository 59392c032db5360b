package trace

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/pprof/profile"
)

// FromProfile turns a profile that Write wrote back into its trace. A profile
// of another tool gives ErrForeign; what another tool has made of a trace, by
// merging or filtering say, an error that says so.
func FromProfile(p *profile.Profile) (*Trace, error) {
	m, err := readComments(p.Comments)
	if err != nil {
		return nil, err
	}
	if len(p.SampleType) != 1 {
		return nil, fmt.Errorf("%d sample types where a trace has one: %s", len(p.SampleType), changed)
	}
	if err := m.Total.check(p); err != nil {
		return nil, err
	}
	t := &Trace{Recorder: m.Recorder, Command: m.Command, Dir: m.Dir, Exit: m.Exit, Program: m.Program,
		Name: m.Name, Test: m.Test, Include: m.Include, Exclude: m.Exclude, Baseline: m.Baseline, Goroutines: m.Goroutines, Losses: m.Losses, Lines: m.Lines}
	switch typ := p.SampleType[0].Type; typ {
	case typeCalls:
	case typeSamples:
		t.Sampled = true
	default:
		return nil, fmt.Errorf("unknown sample type %q: %s", typ, changed)
	}
	if len(p.Mapping) > 0 {
		t.Program.Path, t.Program.BuildID = p.Mapping[0].File, p.Mapping[0].BuildID
	}
	if p.TimeNanos != 0 {
		t.Start = time.Unix(0, p.TimeNanos).UTC()
	}
	t.Duration = time.Duration(p.DurationNanos)
	ids := make(map[*profile.Function]FuncID, len(p.Function))
	for i, f := range p.Function {
		ids[f] = FuncID(i)
		t.Functions = append(t.Functions, Function{Name: f.Name, Package: t.Program.PackageOf(f.Name), File: f.Filename, StartLine: int(f.StartLine)})
	}
	d := &decoder{t: t, ids: ids}
	for i, s := range p.Sample {
		if err := d.node(s); err != nil {
			return nil, fmt.Errorf("sample %d: %w: the file is damaged, or %s", i+1, err, changed)
		}
	}
	for _, v := range m.Values {
		if v.Node < 1 || v.Node > len(t.Nodes) {
			return nil, fmt.Errorf("a damaged trace: comment %s%s: no node %d", prefix, valuesKey, v.Node)
		}
		t.Activations = append(t.Activations, Activation{NodeID(v.Node - 1), v.Args, v.Results, v.Returned})
	}
	if err := t.Check(); err != nil {
		return nil, fmt.Errorf("a damaged trace: %w", err)
	}
	return t, nil
}

// changed ends the errors about a file that was a trace once.
const changed = "another tool has changed the file since it was recorded: read the one that tracerag wrote"

// check reports whether the samples of p are not those that were written.
func (want total) check(p *profile.Profile) error {
	got := total{Nodes: len(p.Sample)}
	for _, s := range p.Sample {
		got.Calls += s.Value[0] // may overflow: then Check says so, or it is unequal
	}
	if got == want {
		return nil
	}
	return fmt.Errorf("%d calls in %d nodes where %d in %d were recorded, as after merging, subtracting or filtering profiles: %s (`tracerag compare A B` sets two traces side by side)",
		got.Calls, got.Nodes, want.Calls, want.Nodes, changed)
}

type decoder struct {
	t      *Trace
	ids    map[*profile.Function]FuncID
	depths []int // frames on the path of each node
}

// frame is one logical frame of a sample.
type frame struct {
	fn      FuncID
	line    int64
	inlined bool
}

// leaf returns the first two logical frames of s, leaf first, and their number.
func (d *decoder) leaf(s *profile.Sample) (top [2]frame, depth int, err error) {
	for _, loc := range s.Location {
		for i, l := range loc.Line {
			id, ok := d.ids[l.Function]
			if !ok {
				return top, 0, errors.New("a frame without a function")
			}
			if depth < len(top) {
				top[depth] = frame{id, l.Line, i < len(loc.Line)-1}
			}
			depth++
		}
	}
	if depth == 0 {
		return top, 0, errors.New("it has no frames")
	}
	return top, depth, nil
}

func (d *decoder) node(s *profile.Sample) error {
	top, depth, err := d.leaf(s)
	if err != nil {
		return err
	}
	n := Node{Parent: NoNode, Func: top[0].fn, Calls: s.Value[0]}
	if top[0].inlined {
		n.Marks |= inlinedByPath
	}
	if v := number(s, labelParent); v != 0 {
		if v < 1 || v > int64(len(d.t.Nodes)) {
			return fmt.Errorf("its parent %d does not stand before it", v)
		}
		n.Parent = NodeID(v - 1)
		if depth < 2 || d.depths[n.Parent] != depth-1 || d.t.Nodes[n.Parent].Func != top[1].fn {
			return fmt.Errorf("its path does not extend that of its parent %d", v)
		}
		n.CallLine = int(top[1].line)
	} else {
		if depth != 1 {
			return errors.New("it has callers but no parent")
		}
		n.Root = RootKind(label(s, labelRoot))
		n.CallLine = int(number(s, labelLine))
	}
	for _, name := range s.Label[labelMark] {
		n.Marks |= parseMark(name)
	}
	switch n.Root {
	case NotRoot, RootMain, RootInit, RootCallback:
	case RootGoroutine:
		creator := number(s, labelCreator)
		if creator < 0 || creator > math.MaxInt32 {
			return fmt.Errorf("creator %d", creator)
		}
		n.Go = GoStmt{Func: label(s, labelGoFunc), File: label(s, labelGoFile), Line: int(number(s, labelGoLine)), Creator: NodeRef(creator)}
	default:
		return fmt.Errorf("unknown kind of root %q", n.Root)
	}
	d.t.Nodes = append(d.t.Nodes, n)
	d.depths = append(d.depths, depth)
	return nil
}

// parseMark returns no mark for a name that a later version has added.
func parseMark(name string) Marks {
	for _, m := range markNames {
		if m.name == name {
			return m.mark
		}
	}
	return 0
}

func label(s *profile.Sample, key string) string {
	if v := s.Label[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func number(s *profile.Sample, key string) int64 {
	if v := s.NumLabel[key]; len(v) > 0 {
		return v[0]
	}
	return 0
}
