package trace

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/google/pprof/profile"
)

// The file is a pprof profile (docs/trace-format.md): each node is a sample,
// its path the sample's locations, its calls the sample's value. What pprof has
// no field for stands in labels and comments that begin with this prefix.
const prefix = "tracerag."

// FormatVersion is the version of the labels and comments. A reader takes its
// own version and older ones. Within a version it passes over comments, labels
// and marks that it does not know, so that facts can be added, and refuses a
// file that says, in the comment tracerag.requires, that it must not.
const FormatVersion = 1

// maxFileSize bounds what a reader unpacks, so that a small file cannot fill
// the memory: a tree of a million nodes takes some 100 MB.
const maxFileSize = 2 << 30

// maxFrames bounds the frames of all paths together, which a profile writes out
// for every node: a chain of 23,000 functions has as many. In memory they take
// 2 GiB.
const maxFrames = 1 << 28

// ErrForeign is returned for a valid pprof profile that was not written by
// this package, such as a CPU profile. Package sample turns it into a trace.
var ErrForeign = errors.New("a pprof profile that tracerag did not write")

const (
	labelParent   = prefix + "parent"  // number: 1-based ordinal of the parent's sample
	labelLine     = prefix + "line"    // number: line of the call, when the path cannot tell it
	labelMark     = prefix + "mark"    // strings: see markNames
	labelRoot     = prefix + "root"    // string: RootKind
	labelGoFunc   = prefix + "go.func" // of a goroutine's root: where its go statement stands
	labelGoFile   = prefix + "go.file"
	labelGoLine   = prefix + "go.line"
	labelCreator  = prefix + "go.creator" // number: 1-based ordinal of the node that ran it
	unitCalls     = "count"
	typeCalls     = "calls"
	typeSamples   = "samples"
	inlinedByPath = Inlined // said by the location's lines, not by a label
)

var markNames = []struct {
	mark Marks
	name string
}{{Approximate, "approximate"}, {Floor, "floor"}, {Recursive, "recursive"}, {Via, "via"}}

// Write writes t as a gzip-compressed pprof profile. Equal traces give equal
// bytes.
func (t *Trace) Write(w io.Writer) error {
	if err := t.Check(); err != nil {
		return fmt.Errorf("trace not written: %w", err)
	}
	if err := t.checkSize(); err != nil {
		return fmt.Errorf("trace not written: %w", err)
	}
	p, err := t.profile()
	if err != nil {
		return err
	}
	zw, err := gzip.NewWriterLevel(w, compression)
	if err != nil {
		return err
	}
	if err := p.WriteUncompressed(zw); err != nil {
		return err
	}
	return zw.Close()
}

// compression is gzip's level. The usual 6 takes more than twice the time, for files
// that are 2 % smaller.
const compression = 3

func (t *Trace) checkSize() error {
	depths := make([]int64, len(t.Nodes))
	frames := int64(0)
	for i := range t.Nodes {
		depths[i] = 1
		if p := t.Nodes[i].Parent; p != NoNode {
			depths[i] += depths[p]
		}
		frames += depths[i]
	}
	if frames > maxFrames {
		return fmt.Errorf("the paths of its %d nodes have %d frames, a file has room for %d: record fewer packages (--include, --exclude)", len(t.Nodes), frames, maxFrames)
	}
	return nil
}

// Read reads a trace that Write wrote. A profile of another tool gives
// ErrForeign, anything else an error that says what is wrong with it.
func Read(r io.Reader) (*Trace, error) {
	p, err := ReadProfile(r)
	if err != nil {
		return nil, err
	}
	return FromProfile(p)
}

// ReadProfile reads any pprof profile, compressed or not.
func ReadProfile(r io.Reader) (*profile.Profile, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, errors.New("the file is empty")
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		if data, err = unzip(data); err != nil {
			return nil, err
		}
	}
	if len(data) > maxFileSize {
		return nil, fmt.Errorf("larger than %d bytes", maxFileSize)
	}
	// ParseUncompressed alone: the legacy text formats that ParseData also
	// tries would take almost any text file for an empty profile.
	p, err := profile.ParseUncompressed(data)
	if err != nil {
		return nil, fmt.Errorf("not a pprof profile: %w", err)
	}
	if err := p.CheckValid(); err != nil {
		return nil, fmt.Errorf("a damaged pprof profile: %w", err)
	}
	if len(p.SampleType) == 0 {
		return nil, errors.New("not a pprof profile: it has no sample types")
	}
	return p, nil
}

func unzip(data []byte) ([]byte, error) {
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(zr, maxFileSize+1))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("the file is truncated: its compressed data end too early")
	}
	if err != nil {
		return nil, fmt.Errorf("not a readable gzip file: %w", err)
	}
	return data, nil
}

// encoder builds the profile's tables. Ids are 1-based indexes into them.
type encoder struct {
	t     *Trace
	p     *profile.Profile
	funcs []*profile.Function
	locs  map[string]*profile.Location

	// room that is used again for every sample
	key   []byte
	path  []*profile.Location
	lines []profile.Line
}

func (t *Trace) profile() (*profile.Profile, error) {
	typ := typeCalls
	if t.Sampled {
		typ = typeSamples
	}
	p := &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: typ, Unit: unitCalls}},
		DefaultSampleType: typ,
		DurationNanos:     t.Duration.Nanoseconds(),
	}
	if !t.Start.IsZero() {
		p.TimeNanos = t.Start.UnixNano()
	}
	var err error
	if p.Comments, err = t.comments(); err != nil {
		return nil, err
	}
	p.Mapping = []*profile.Mapping{{ID: 1, File: t.Program.Path, BuildID: t.Program.BuildID,
		HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}}
	e := &encoder{t: t, p: p, locs: map[string]*profile.Location{}}
	for i, f := range t.Functions {
		e.funcs = append(e.funcs, &profile.Function{ID: uint64(i + 1), Name: f.Name, SystemName: f.Name, Filename: f.File, StartLine: int64(f.StartLine)})
	}
	p.Function = e.funcs
	for i := range t.Nodes {
		e.sample(NodeID(i))
	}
	return p, nil
}

func (e *encoder) sample(id NodeID) {
	n := &e.t.Nodes[id]
	s := &profile.Sample{Value: []int64{n.Calls}}
	// Leaf first. Frames that are inlined share the location of the function
	// that they are inlined into, which is pprof's own way of saying so.
	locs, lines := e.path[:0], e.lines[:0]
	line := int64(e.t.Functions[n.Func].StartLine)
	for cur := id; cur != NoNode; {
		c := &e.t.Nodes[cur]
		lines = append(lines, profile.Line{Function: e.funcs[c.Func], Line: line})
		if !c.Marks.Has(Inlined) {
			locs = append(locs, e.location(lines))
			lines = lines[:0]
		}
		line, cur = int64(c.CallLine), c.Parent
	}
	e.path, e.lines = locs, lines
	s.Location = slices.Clone(locs)
	if n.Parent != NoNode {
		setNumber(s, labelParent, int64(n.Parent)+1)
	} else {
		setString(s, labelRoot, string(n.Root))
		setNumber(s, labelLine, int64(n.CallLine))
	}
	for _, m := range markNames {
		if n.Marks.Has(m.mark) {
			addString(s, labelMark, m.name)
		}
	}
	if n.Root == RootGoroutine {
		setString(s, labelGoFunc, n.Go.Func)
		setString(s, labelGoFile, n.Go.File)
		setNumber(s, labelGoLine, int64(n.Go.Line))
		setNumber(s, labelCreator, int64(n.Go.Creator))
	}
	e.p.Sample = append(e.p.Sample, s)
}

// The format's encoding cannot tell an empty string or a zero from none.
func setString(s *profile.Sample, key, v string) {
	if v != "" {
		addString(s, key, v)
	}
}

// A map a sample is much of what a large trace takes: most need no strings.
func addString(s *profile.Sample, key, v string) {
	if s.Label == nil {
		s.Label = map[string][]string{}
	}
	s.Label[key] = append(s.Label[key], v)
}

func setNumber(s *profile.Sample, key string, v int64) {
	if v != 0 {
		if s.NumLabel == nil {
			s.NumLabel = map[string][]int64{}
		}
		s.NumLabel[key] = []int64{v}
	}
}

func (e *encoder) location(lines []profile.Line) *profile.Location {
	e.key = e.key[:0]
	for _, l := range lines {
		e.key = binary.AppendVarint(binary.AppendUvarint(e.key, l.Function.ID), l.Line)
	}
	loc, ok := e.locs[string(e.key)]
	if !ok {
		loc = &profile.Location{ID: uint64(len(e.p.Location) + 1), Mapping: e.p.Mapping[0], Line: slices.Clone(lines)}
		e.p.Location = append(e.p.Location, loc)
		e.locs[string(e.key)] = loc
	}
	return loc
}
