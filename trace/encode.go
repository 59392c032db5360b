package trace

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of the messages of a pprof profile.
const (
	profileSampleType  = 1
	profileSample      = 2
	profileMapping     = 3
	profileLocation    = 4
	profileFunction    = 5
	profileStrings     = 6
	profileTime        = 9
	profileDuration    = 10
	profileComment     = 13
	profileDefaultType = 14

	sampleLocation = 1
	sampleValue    = 2
	sampleLabel    = 3

	labelKey  = 1
	labelStr  = 2
	labelNum  = 3
	labelUnit = 4
)

// Write writes t as a gzip-compressed pprof profile. Equal traces give equal
// bytes.
//
// The samples are written as they are made, which is why this is not left to
// google/pprof's package: its Profile holds the path of every node at once, some
// hundred bytes for each frame of each path. The bytes are those that it would
// write.
func (t *Trace) Write(w io.Writer) error {
	if t.joined() {
		return errJoined
	}
	if err := t.Check(); err != nil {
		return fmt.Errorf("trace not written: %w", err)
	}
	if err := t.checkSize(); err != nil {
		return fmt.Errorf("trace not written: %w", err)
	}
	comments, err := t.comments()
	if err != nil {
		return err
	}
	zw, err := gzip.NewWriterLevel(w, compression)
	if err != nil {
		return err
	}
	zw.Extra = nameExtra(t.Name)
	e := newEncoder(t, bufio.NewWriterSize(zw, 64<<10))
	e.profile(comments)
	if err := e.out.Flush(); err != nil {
		return err
	}
	return zw.Close()
}

// compression is gzip's level. The usual 6 takes more than twice the time, for files
// that are 2 % smaller.
const compression = 3

// maxFrames bounds the frames of all paths together, which a profile writes out
// for every node: 10 million nodes that are 100 deep on average, or a chain of 46,000
// functions, have as many. They cost time and room on the disk, not memory.
const maxFrames = 1 << 30

// maxLines bounds the lines of all locations together, of which the reader keeps
// a copy. Only inlined frames make them more than the positions of the program.
const maxLines = 1 << 24

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
		return &SizeError{fmt.Errorf("the paths of its %d nodes have %d frames, a file has room for %d", len(t.Nodes), frames, maxFrames)}
	}
	if err := t.checkLevels(); err != nil {
		return &SizeError{err}
	}
	lines, inlined := int64(0), make([]int32, len(t.Nodes))
	for i := range t.Nodes {
		if n := &t.Nodes[i]; n.Flags.Has(Inlined) {
			inlined[i] = inlined[n.Parent] + 1
			lines += int64(inlined[i])
		}
	}
	if lines > maxLines {
		return &SizeError{fmt.Errorf("the positions of its inlined calls have %d lines, a file has room for %d", lines, maxLines)}
	}
	return nil
}

// SizeError says that a trace has more than its file can hold: fewer packages have to
// be recorded.
type SizeError struct{ Err error }

func (e *SizeError) Error() string { return e.Err.Error() }
func (e *SizeError) Unwrap() error { return e.Err }

// encoder writes one trace. Ids of locations and strings are given as they are met.
type encoder struct {
	t   *Trace
	out *bufio.Writer // keeps its first error

	strings map[string]int64
	table   []string

	locs      map[string]uint64
	locations []byte // their messages, which come after the samples

	// above are, by node that is not inlined, the location of the frames between it
	// and the next one up that has a frame of its own; 0: not yet met. So a path is
	// walked in steps of a load and not of a look-up.
	above []uint64
	up    []NodeID

	// room that is used again for every sample
	key, message, label []byte
	path                []uint64
	lines               []line
}

// line is a line of a location.
type line struct {
	fn   FuncID
	line int64
}

func newEncoder(t *Trace, out *bufio.Writer) *encoder {
	e := &encoder{t: t, out: out, strings: map[string]int64{}, locs: map[string]uint64{},
		above: make([]uint64, len(t.Nodes)), up: make([]NodeID, len(t.Nodes))}
	e.str("")
	return e
}

// str returns the index of a string, which it adds to the table when it is new.
func (e *encoder) str(s string) uint64 {
	i, ok := e.strings[s]
	if !ok {
		i = int64(len(e.table))
		e.strings[s] = i
		e.table = append(e.table, s)
	}
	return uint64(i)
}

// field writes a field that is a message.
func (e *encoder) field(number protowire.Number, message []byte) {
	e.key = protowire.AppendTag(e.key[:0], number, protowire.BytesType)
	e.key = protowire.AppendVarint(e.key, uint64(len(message)))
	e.out.Write(e.key)
	e.out.Write(message)
}

// number writes a field that is a number.
func (e *encoder) number(number protowire.Number, v uint64) {
	e.out.Write(appendNumber(e.key[:0], number, v))
}

func appendNumber(b []byte, number protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), v)
}

// appendSome leaves a number out that is 0.
func appendSome(b []byte, number protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return appendNumber(b, number, v)
}

// appendAll packs more than two numbers, as google/pprof does.
func appendAll(b []byte, number protowire.Number, list []uint64) []byte {
	if len(list) <= 2 {
		for _, v := range list {
			b = appendNumber(b, number, v)
		}
		return b
	}
	size := 0
	for _, v := range list {
		size += protowire.SizeVarint(v)
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.BytesType), uint64(size))
	for _, v := range list {
		b = protowire.AppendVarint(b, v)
	}
	return b
}

func (e *encoder) profile(comments []string) {
	t := e.t
	typ := typeCalls
	if t.Sampled {
		typ = typeSamples
	}
	var b []byte
	b = appendSome(b, 1, e.str(typ))
	e.field(profileSampleType, appendSome(b, 2, e.str(unitCalls)))
	for i := range t.Nodes {
		e.sample(NodeID(i))
	}
	b = appendNumber(b[:0], 1, 1)
	b = appendSome(b, 5, e.str(t.Program.Path))
	b = appendSome(b, 6, e.str(t.Program.BuildID))
	for has := protowire.Number(7); has <= 10; has++ { // functions, file names, lines, inlined frames
		b = appendNumber(b, has, 1)
	}
	e.field(profileMapping, b)
	e.out.Write(e.locations)
	for i, f := range t.Functions {
		name := e.str(f.Name)
		b = appendNumber(b[:0], 1, uint64(i+1))
		b = appendSome(b, 2, name)
		b = appendSome(b, 3, name)
		b = appendSome(b, 4, e.str(f.File))
		e.field(profileFunction, appendSome(b, 5, uint64(f.StartLine)))
	}
	said := make([]uint64, len(comments))
	for i, c := range comments {
		said[i] = e.str(c)
	}
	kind := e.str(typ)
	for _, s := range e.table {
		e.key = protowire.AppendTag(e.key[:0], profileStrings, protowire.BytesType)
		e.key = protowire.AppendVarint(e.key, uint64(len(s)))
		e.out.Write(e.key)
		e.out.WriteString(s)
	}
	if !t.Start.IsZero() {
		e.out.Write(appendSome(nil, profileTime, uint64(t.Start.UnixNano())))
	}
	e.out.Write(appendSome(nil, profileDuration, uint64(t.Duration.Nanoseconds())))
	e.out.Write(appendAll(nil, profileComment, said))
	e.number(profileDefaultType, kind)
}

// sample writes a node.
func (e *encoder) sample(id NodeID) {
	n := &e.t.Nodes[id]
	b := appendAll(e.message[:0], sampleLocation, e.locationsOf(id))
	b = appendNumber(b, sampleValue, uint64(n.Calls))
	// Labels with strings before those with numbers, each by name: google/pprof's order.
	str := func(key, v string) {
		if v != "" {
			e.label = appendSome(appendSome(e.label[:0], labelKey, e.str(key)), labelStr, e.str(v))
			b = protowire.AppendBytes(protowire.AppendTag(b, sampleLabel, protowire.BytesType), e.label)
		}
	}
	num := func(key string, v int64) {
		if v != 0 {
			e.label = appendSome(appendSome(e.label[:0], labelKey, e.str(key)), labelNum, uint64(v))
			b = protowire.AppendBytes(protowire.AppendTag(b, sampleLabel, protowire.BytesType), e.label)
		}
	}
	if n.Root == RootGoroutine {
		str(labelGoFile, n.Go.File)
		str(labelGoFunc, n.Go.Func)
	}
	for _, m := range flagNames {
		if n.Flags.Has(m.flag) {
			str(labelFlag, m.name)
		}
	}
	if n.Parent == NoNode {
		str(labelRoot, string(n.Root))
	}
	if n.Root == RootGoroutine {
		num(labelCreator, int64(n.Go.Creator))
		num(labelGoLine, int64(n.Go.Line))
	}
	if n.Parent == NoNode {
		num(labelLine, int64(n.CallLine))
	} else {
		num(labelParent, int64(n.Parent)+1)
	}
	e.message = b
	e.field(profileSample, b)
}

// locationsOf returns the path of a node, the node itself first. Frames that are
// inlined share the location of the function that they are inlined into, which is
// pprof's own way of saying so.
func (e *encoder) locationsOf(id NodeID) []uint64 {
	own := int64(e.t.Functions[e.t.Nodes[id].Func].StartLine)
	loc, at := e.frame(id, own)
	path := append(e.path[:0], loc)
	for e.t.Nodes[at].Parent != NoNode {
		if e.above[at] == 0 {
			e.above[at], e.up[at] = e.frame(e.t.Nodes[at].Parent, int64(e.t.Nodes[at].CallLine))
		}
		path = append(path, e.above[at])
		at = e.up[at]
	}
	e.path = path
	return path
}

// frame returns the location of the frame that a node's activation has or shares,
// at this line of it, and the node that the frame is of.
func (e *encoder) frame(id NodeID, at int64) (uint64, NodeID) {
	e.lines = e.lines[:0]
	for {
		n := &e.t.Nodes[id]
		e.lines = append(e.lines, line{n.Func, at})
		if !n.Flags.Has(Inlined) {
			return e.location(), id
		}
		at, id = int64(n.CallLine), n.Parent
	}
}

// location returns the id of the location with e.lines.
func (e *encoder) location() uint64 {
	e.key = e.key[:0]
	for _, l := range e.lines {
		e.key = binary.AppendVarint(binary.AppendUvarint(e.key, uint64(l.fn)), l.line)
	}
	id, ok := e.locs[string(e.key)]
	if !ok {
		id = uint64(len(e.locs) + 1)
		e.locs[string(e.key)] = id
		b := appendNumber(appendNumber(nil, 1, id), 2, 1)
		for _, l := range e.lines {
			e.label = appendSome(appendNumber(e.label[:0], 1, uint64(l.fn)+1), 2, uint64(l.line))
			b = protowire.AppendBytes(protowire.AppendTag(b, 4, protowire.BytesType), e.label)
		}
		e.locations = protowire.AppendBytes(protowire.AppendTag(e.locations, profileLocation, protowire.BytesType), b)
	}
	return id
}
