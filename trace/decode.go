package trace

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"
)

// FromProfile turns a profile that Write wrote back into its trace. A profile
// of another tool gives ErrForeign; what another tool has made of a trace, by
// merging or filtering say, an error that says so.
func FromProfile(p *profile.Profile) (*Trace, error) {
	got := total{Nodes: len(p.Sample)}
	for _, s := range p.Sample {
		if len(s.Value) > 0 {
			got.Calls += s.Value[0] // may overflow: then Check says so, or it is unequal
		}
	}
	t, m, err := head(p, got)
	if err != nil {
		return nil, err
	}
	d := newDecoder(t, p)
	for i, s := range p.Sample {
		n, err := d.fromProfile(s)
		if err == nil {
			err = d.node(&n)
		}
		if err != nil {
			return nil, damaged(i, err)
		}
	}
	return complete(t, m)
}

func damaged(sample int, err error) error {
	return fmt.Errorf("sample %d: %w: the file is damaged, or %s", sample+1, err, changed)
}

// head returns the trace that p is of without its nodes, and what its comments say.
func head(p *profile.Profile, got total) (*Trace, *meta, error) {
	m, err := readComments(p.Comments)
	if err != nil {
		return nil, nil, err
	}
	if len(p.SampleType) != 1 {
		return nil, nil, fmt.Errorf("%d sample types where a trace has one: %s", len(p.SampleType), changed)
	}
	if err := m.Total.check(got); err != nil {
		return nil, nil, err
	}
	t := &Trace{Recorder: m.Recorder, Command: m.Command, Dir: m.Dir, Exit: m.Exit, Program: m.Program,
		Name: m.Name, Test: m.Test, Include: m.Include, Exclude: m.Exclude, Baseline: m.Baseline, Goroutines: m.Goroutines, Losses: m.Losses, Lines: m.Lines, Processes: m.Processes}
	switch typ := p.SampleType[0].Type; typ {
	case typeCalls:
	case typeSamples:
		t.Sampled = true
	default:
		return nil, nil, fmt.Errorf("unknown sample type %q: %s", typ, changed)
	}
	if len(p.Mapping) > 0 {
		t.Program.Path, t.Program.BuildID = p.Mapping[0].File, p.Mapping[0].BuildID
	}
	if p.TimeNanos != 0 {
		t.Start = time.Unix(0, p.TimeNanos).UTC()
	}
	t.Duration = time.Duration(p.DurationNanos)
	for _, f := range p.Function {
		t.Functions = append(t.Functions, Function{Name: f.Name, Package: t.Program.PackageOf(f.Name), File: f.Filename, StartLine: int(f.StartLine)})
	}
	return t, m, nil
}

// complete adds to a trace the comments about its nodes, and checks it.
func complete(t *Trace, m *meta) (*Trace, error) {
	for _, v := range m.Values {
		if v.Node < 1 || v.Node > len(t.Nodes) {
			return nil, fmt.Errorf("a damaged trace: comment %s%s: no node %d", prefix, valuesKey, v.Node)
		}
	}
	t.Activations = m.activations()
	if err := t.Check(); err != nil {
		return nil, fmt.Errorf("a damaged trace: %w", err)
	}
	if err := t.checkLevels(); err != nil {
		return nil, err
	}
	return t, nil
}

func (m *meta) activations() []Activation {
	var out []Activation
	for _, v := range m.Values {
		out = append(out, Activation{NodeID(v.Node - 1), v.Args, v.Results, v.Returned})
	}
	return out
}

// changed ends the errors about a file that was a trace once.
const changed = "another tool has changed the file since it was recorded: read the one that tracerag wrote"

// check reports whether the samples that were found are not those that were written.
func (want total) check(got total) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("%d calls in %d nodes where %d in %d were recorded, as after merging, subtracting or filtering profiles: %s (`tracerag compare A B` sets two traces side by side)",
		got.Calls, got.Nodes, want.Calls, want.Nodes, changed)
}

// decoder makes nodes of samples.
type decoder struct {
	t      *Trace
	depths []int32 // frames on the path of each node
	by     map[*profile.Location]location
	dense  []location // by id
	sparse map[uint64]location
	known  map[uint64]string // strings of labels that were met
}

// frame is one logical frame of a sample.
type frame struct {
	fn   FuncID
	line int64
}

// location is what a location is to a path: its number of frames and the first two.
type location struct {
	known bool
	depth int
	top   [2]frame
}

func newDecoder(t *Trace, p *profile.Profile) *decoder {
	ids := make(map[*profile.Function]FuncID, len(p.Function))
	for i, f := range p.Function {
		ids[f] = FuncID(i)
	}
	d := &decoder{t: t, by: make(map[*profile.Location]location, len(p.Location)), dense: make([]location, len(p.Location)+1),
		sparse: map[uint64]location{}, known: map[uint64]string{}}
	for _, l := range p.Location {
		loc := location{known: true, depth: len(l.Line)}
		for i := range min(len(l.Line), len(loc.top)) {
			loc.top[i] = frame{ids[l.Line[i].Function], l.Line[i].Line}
		}
		d.by[l] = loc
		if l.ID < uint64(len(d.dense)) {
			d.dense[l.ID] = loc
		} else {
			d.sparse[l.ID] = loc
		}
	}
	return d
}

// location returns the location of an id.
func (d *decoder) location(id uint64) location {
	if id < uint64(len(d.dense)) {
		return d.dense[id]
	}
	return d.sparse[id]
}

// sampled is what a node is made of.
type sampled struct {
	calls   int64
	values  int
	top     [2]frame
	depth   int
	inlined bool

	parent, line, goLine, creator int64
	root, goFunc, goFile          string
	flags                         Flags
}

// step adds a location to the path, which begins with the node itself.
func (n *sampled) step(l location) {
	for i := 0; i < l.depth && n.depth+i < len(n.top); i++ {
		n.top[n.depth+i] = l.top[i]
	}
	if n.depth == 0 {
		n.inlined = l.depth > 1
	}
	n.depth += l.depth
}

// text takes a label up. Of several with one name the first counts.
func (n *sampled) text(key, v string) {
	first := func(s *string) {
		if *s == "" {
			*s = v
		}
	}
	switch key {
	case labelRoot:
		first(&n.root)
	case labelGoFunc:
		first(&n.goFunc)
	case labelGoFile:
		first(&n.goFile)
	case labelFlag:
		n.flags |= parseFlag(v)
	}
}

func (n *sampled) number(key string, v int64) {
	first := func(i *int64) {
		if *i == 0 {
			*i = v
		}
	}
	switch key {
	case labelParent:
		first(&n.parent)
	case labelLine:
		first(&n.line)
	case labelGoLine:
		first(&n.goLine)
	case labelCreator:
		first(&n.creator)
	}
}

func (d *decoder) fromProfile(s *profile.Sample) (sampled, error) {
	n := sampled{calls: s.Value[0], values: len(s.Value)}
	for _, loc := range s.Location {
		for _, l := range loc.Line {
			if l.Function == nil {
				return n, errors.New("a frame without a function")
			}
		}
		n.step(d.by[loc])
	}
	for key, list := range s.Label {
		for _, v := range list {
			n.text(key, v)
		}
	}
	for key, list := range s.NumLabel {
		for _, v := range list {
			n.number(key, v)
		}
	}
	return n, nil
}

// nodes reads the nodes of a trace.
func (s *scanned) nodes(t *Trace) error {
	if err := s.b.take(int64(s.got.Nodes), nodeMemory); err != nil {
		return err
	}
	d := newDecoder(t, s.tables)
	s.tables = nil // of which d has what it needs
	if s.got.Nodes > 0 {
		t.Nodes, d.depths = make([]Node, 0, s.got.Nodes), make([]int32, 0, s.got.Nodes)
	}
	return s.each(func(f *fields, field field) error {
		if field.typ != protowire.BytesType {
			return nil
		}
		if field.number != profileSample {
			return f.skip(field)
		}
		data, err := f.bytes(field)
		if err != nil {
			return err
		}
		n := sampled{}
		if err := s.decode(d, &n, data); err != nil {
			return err
		}
		if n.values != 1 {
			return fmt.Errorf("a damaged pprof profile: mismatch: sample has %d values vs. 1 types", n.values)
		}
		if err := d.node(&n); err != nil {
			return damaged(len(t.Nodes), err)
		}
		fn := &t.Functions[t.Nodes[len(t.Nodes)-1].Func]
		return s.b.take(nameMemory, int64(len(fn.Name)+len(fn.File)+len(n.goFunc)+len(n.goFile)))
	})
}

// decode reads one sample.
func (s *scanned) decode(d *decoder, n *sampled, sample []byte) error {
	return each(sample, func(number protowire.Number, typ protowire.Type, v uint64, data []byte) error {
		switch number {
		case sampleLocation:
			return numbers(typ, v, data, func(id uint64) error {
				loc := d.location(id)
				if !loc.known {
					return errors.New("a damaged pprof profile: sample has nil location")
				}
				if n.step(loc); n.depth > math.MaxInt32 {
					return errors.New("a damaged pprof profile: a path without end")
				}
				return nil
			})
		case sampleValue:
			return numbers(typ, v, data, func(v uint64) error {
				if n.values == 0 {
					n.calls = int64(v)
				}
				n.values++
				return nil
			})
		case sampleLabel:
			return s.label(d, n, data)
		}
		return nil
	})
}

func (s *scanned) label(d *decoder, n *sampled, label []byte) error {
	var key, str, num uint64
	if err := each(label, func(number protowire.Number, _ protowire.Type, v uint64, _ []byte) error {
		switch number {
		case labelKey:
			key = v
		case labelStr:
			str = v
		case labelNum:
			num = v
		}
		return nil
	}); err != nil {
		return err
	}
	name, err := s.known(d, key)
	if err != nil {
		return err
	}
	if str == 0 {
		n.number(name, int64(num))
		return nil
	}
	if !strings.HasPrefix(name, prefix) { // another tool's, which may be different on every node
		return nil
	}
	text, err := s.known(d, str)
	n.text(name, text)
	return err
}

// known returns a string of the table, the same one for all that name it.
func (s *scanned) known(d *decoder, i uint64) (string, error) {
	text, ok := d.known[i]
	if ok {
		return text, nil
	}
	if text, ok = s.text(i); !ok {
		return "", fmt.Errorf("%w: malformed profile format", errNoProfile)
	}
	d.known[i] = text
	return text, s.b.take(1, 64)
}

// node adds a node to the trace.
func (d *decoder) node(s *sampled) error {
	if s.depth == 0 {
		return errors.New("it has no frames")
	}
	n := Node{Parent: NoNode, Func: s.top[0].fn, Calls: s.calls, Flags: s.flags}
	if s.inlined {
		n.Flags |= inlinedByPath
	}
	if v := s.parent; v != 0 {
		if v < 1 || v > int64(len(d.t.Nodes)) {
			return fmt.Errorf("its parent %d does not come before it", v)
		}
		n.Parent = NodeID(v - 1)
		if s.depth < 2 || int(d.depths[n.Parent]) != s.depth-1 || d.t.Nodes[n.Parent].Func != s.top[1].fn {
			return fmt.Errorf("its path does not extend that of its parent %d", v)
		}
		n.CallLine = int(s.top[1].line)
	} else {
		if s.depth != 1 {
			return errors.New("it has callers but no parent")
		}
		n.Root = RootKind(s.root)
		n.CallLine = int(s.line)
	}
	switch n.Root {
	case NotRoot, RootMain, RootInit, RootCallback:
	case RootGoroutine:
		if s.creator < 0 || s.creator > math.MaxInt32 {
			return fmt.Errorf("creator %d", s.creator)
		}
		n.Go = GoStmt{Func: s.goFunc, File: s.goFile, Line: int(s.goLine), Creator: NodeRef(s.creator)}
	default:
		return fmt.Errorf("unknown kind of root %q", n.Root)
	}
	d.t.Nodes = append(d.t.Nodes, n)
	d.depths = append(d.depths, int32(s.depth))
	return nil
}

// parseFlag returns no flag for a name that a later version has added.
func parseFlag(name string) Flags {
	for _, m := range flagNames {
		if m.name == name {
			return m.flag
		}
	}
	return 0
}
