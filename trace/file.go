package trace

import (
	"errors"
	"fmt"
	"io"

	"github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"
)

// The file is a pprof profile (docs/trace-format.md): each node is a sample,
// its path the sample's locations, its calls the sample's value. What pprof has
// no field for is in labels and comments that begin with this prefix.
const prefix = "tracerag."

// FormatVersion is the version of the labels and comments. A reader takes its
// own version and older ones. Within a version it passes over comments, labels
// and flags that it does not know, so that facts can be added, and refuses a
// file that says, in the comment tracerag.requires, that it must not.
const FormatVersion = 1

// ErrForeign is returned for a valid pprof profile that was not written by
// this package, such as a CPU profile. Package sample turns it into a trace.
var ErrForeign = errors.New("a pprof profile that tracerag did not write")

const (
	labelParent   = prefix + "parent"  // number: 1-based ordinal of the parent's sample
	labelLine     = prefix + "line"    // number: line of the call, when the path cannot tell it
	labelFlag     = prefix + "mark"    // strings: see flagNames
	labelRoot     = prefix + "root"    // string: RootKind
	labelGoFunc   = prefix + "go.func" // of a goroutine's root: where its go statement is
	labelGoFile   = prefix + "go.file"
	labelGoLine   = prefix + "go.line"
	labelCreator  = prefix + "go.creator" // number: 1-based ordinal of the node that ran it
	unitCalls     = "count"
	typeCalls     = "calls"
	typeSamples   = "samples"
	inlinedByPath = Inlined // said by the location's lines, not by a label
)

var flagNames = []struct {
	flag Flags
	name string
}{{Approximate, "approximate"}, {Floor, "floor"}, {Recursive, "recursive"}, {Via, "via"}}

// Read reads a trace that Write wrote, within the default [Limit].
func Read(r io.Reader) (*Trace, error) { return Limit{}.Read(r) }

// ReadProfile reads any pprof profile within the default [Limit].
func ReadProfile(r io.Reader) (*profile.Profile, error) { return Limit{}.ReadProfile(r) }

// Read reads a trace that Write wrote. A profile of another tool gives
// ErrForeign, anything else an error that says what is wrong with it.
//
// A file is read twice: its tables, which are behind the samples that refer to
// them, and then the samples, each of which becomes a node at once. So the paths,
// most of a file, are never in memory.
func (l Limit) Read(r io.Reader) (*Trace, error) {
	s, err := l.scan(r)
	if err != nil {
		return nil, err
	}
	t, m, err := s.head()
	if err != nil {
		return nil, err
	}
	if err := s.nodes(t); err != nil {
		return nil, err
	}
	return complete(t, m)
}

// Head is a trace without its nodes and the comments about them: all that a list of
// traces says.
type Head struct {
	Trace *Trace       // Nodes and Activations are nil
	Seen  []Activation // as the file has them: they are not checked against the nodes
	Nodes int
	Calls int64
}

// ReadHead reads what is beside the nodes of a trace. It takes no memory for the
// nodes, but it counts them: what another tool has left out or merged is found.
func (l Limit) ReadHead(r io.Reader) (*Head, error) {
	s, err := l.scan(r)
	if err != nil {
		return nil, err
	}
	t, m, err := s.head()
	if err != nil {
		return nil, err
	}
	if err := t.checkLines(); err != nil {
		return nil, fmt.Errorf("a damaged trace: %w", err)
	}
	return &Head{t, m.activations(), m.Total.Nodes, m.Total.Calls}, nil
}

// scanned is a file of which the tables were read.
type scanned struct {
	in     *input
	b      *budget
	tables *profile.Profile // without the samples
	texts  []byte           // what the strings are in
	ends   []int            // where in texts each string ends
	got    total
}

// scan reads the tables and counts the samples.
func (l Limit) scan(r io.Reader) (*scanned, error) {
	in, err := newInput(r, l)
	if err != nil {
		return nil, err
	}
	s := &scanned{in: in, b: l.budget(in.size)}
	var tables []byte
	err = s.each(func(f *fields, d field) error {
		if d.number == profileSample && d.typ == protowire.BytesType {
			data, err := f.bytes(d)
			if err != nil {
				return err
			}
			return s.count(data)
		}
		if d.typ == protowire.VarintType {
			if d.number == profileComment {
				if err := s.b.take(1, tableMemory/4); err != nil {
					return err
				}
			}
			tables = appendNumber(tables, d.number, d.value)
			return nil
		}
		if d.typ != protowire.BytesType {
			return nil
		}
		if d.number > profileComment {
			return f.skip(d)
		}
		data, err := f.bytes(d)
		if err != nil {
			return err
		}
		if err := s.reckon(d.number, data); err != nil {
			return err
		}
		if d.number == profileStrings {
			s.texts = append(s.texts, data...)
			s.ends = append(s.ends, len(s.texts))
		}
		tables = protowire.AppendBytes(protowire.AppendTag(tables, d.number, protowire.BytesType), data)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.tables, err = parse(tables)
	return s, err
}

// each calls f for the fields of the file.
func (s *scanned) each(f func(*fields, field) error) error {
	r, err := s.in.open()
	if err != nil {
		return err
	}
	all := &fields{r: r, b: s.b}
	for {
		d, err := all.next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = f(all, d)
		}
		if err != nil {
			return err
		}
	}
}

// reckon takes from the budget what an entry of a table costs.
func (s *scanned) reckon(number protowire.Number, data []byte) error {
	entry := int64(tableMemory)
	switch number {
	case profileStrings:
		entry = 64 + stringMemory*int64(len(data))
	case profileLocation:
		if err := each(data, func(number protowire.Number, typ protowire.Type, _ uint64, _ []byte) error {
			if number == 4 {
				return s.b.take(1, lineMemory)
			}
			return nil
		}); err != nil {
			return err
		}
	case profileComment: // several, packed
		entry = tableMemory / 4 * int64(len(data))
	}
	return s.b.take(1, entry)
}

// count adds a sample to the sums.
func (s *scanned) count(sample []byte) error {
	s.got.Nodes++
	first := true
	return each(sample, func(number protowire.Number, typ protowire.Type, v uint64, data []byte) error {
		if number != sampleValue {
			return nil
		}
		return numbers(typ, v, data, func(v uint64) error {
			if first {
				s.got.Calls += int64(v) // may overflow: then Check says so, or it is unequal
			}
			first = false
			return nil
		})
	})
}

// parse reads a profile that is in memory, all of it or its tables.
func parse(data []byte) (*profile.Profile, error) {
	// ParseUncompressed alone: the legacy text formats that ParseData also
	// tries would take almost any text file for an empty profile.
	p, err := profile.ParseUncompressed(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoProfile, err)
	}
	if err := p.CheckValid(); err != nil {
		return nil, fmt.Errorf("a damaged pprof profile: %w", err)
	}
	if len(p.SampleType) == 0 {
		return nil, fmt.Errorf("%w: it has no sample types", errNoProfile)
	}
	return p, nil
}

// text returns a string of the table.
func (s *scanned) text(i uint64) (string, bool) {
	if i >= uint64(len(s.ends)) {
		return "", false
	}
	start := 0
	if i > 0 {
		start = s.ends[i-1]
	}
	return string(s.texts[start:s.ends[i]]), true
}

// head returns the trace without its nodes, and what the comments say.
func (s *scanned) head() (*Trace, *meta, error) {
	for _, c := range s.tables.Comments {
		if err := s.b.take(1, commentMemory(c)); err != nil {
			return nil, nil, err
		}
	}
	return head(s.tables, s.got)
}

// commentMemory bounds what the JSON of a comment becomes.
func commentMemory(c string) int64 {
	things := int64(1)
	for i := range len(c) {
		if c[i] == ',' || c[i] == '{' || c[i] == '[' {
			things++
		}
	}
	return 2*int64(len(c)) + elementMemory*things
}

// ReadProfile reads any pprof profile, compressed or not.
func (l Limit) ReadProfile(r io.Reader) (*profile.Profile, error) {
	in, err := newInput(r, l)
	if err != nil {
		return nil, err
	}
	s := &scanned{in: in, b: l.budget(in.size)}
	var all []byte
	err = s.each(func(f *fields, d field) error {
		switch {
		case d.typ == protowire.VarintType:
			if err := s.b.take(1, 32); err != nil {
				return err
			}
			all = appendNumber(all, d.number, d.value)
			return nil
		case d.typ != protowire.BytesType:
			return nil
		}
		data, err := f.bytes(d)
		if err != nil {
			return err
		}
		if err := s.b.take(3, int64(len(data))+10); err != nil {
			return err
		}
		if d.number == profileSample {
			err = s.reckonSample(data)
		} else {
			err = s.reckon(d.number, data)
		}
		all = protowire.AppendBytes(protowire.AppendTag(all, d.number, protowire.BytesType), data)
		return err
	})
	if err != nil {
		return nil, err
	}
	return parse(all)
}

// reckonSample takes from the budget what google/pprof's package makes of a sample.
func (s *scanned) reckonSample(sample []byte) error {
	cost := int64(profileSamples)
	err := each(sample, func(number protowire.Number, typ protowire.Type, _ uint64, data []byte) error {
		switch number {
		case sampleLabel:
			cost += profileLabels
		default:
			cost += profileFrames
			for _, c := range data {
				if c < 0x80 { // the last byte of a number
					cost += profileFrames
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.b.take(1, cost)
}
