package trace

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/pprof/profile"
)

// FromProfile turns a profile that Write wrote back into its trace.
func FromProfile(p *profile.Profile) (*Trace, error) {
	t := &Trace{}
	if err := t.setComments(p.Comments); err != nil {
		return nil, err
	}
	if len(p.SampleType) != 1 {
		return nil, fmt.Errorf("%d sample types where a trace has one: another tool has changed the file", len(p.SampleType))
	}
	switch typ := p.SampleType[0].Type; typ {
	case typeCalls:
	case typeSamples:
		t.Sampled = true
	default:
		return nil, fmt.Errorf("unknown sample type %q: another tool has changed the file", typ)
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
			return nil, fmt.Errorf("sample %d: %w: another tool has changed the file, or it is damaged", i+1, err)
		}
	}
	if err := t.Check(); err != nil {
		return nil, fmt.Errorf("a damaged trace: %w", err)
	}
	return t, nil
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
		m, err := parseMark(name)
		if err != nil {
			return err
		}
		n.Marks |= m
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

func parseMark(name string) (Marks, error) {
	for _, m := range markNames {
		if m.name == name {
			return m.mark, nil
		}
	}
	return 0, fmt.Errorf("unknown mark %q", name)
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
