package rebuild

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"tracerag/trace"
	"tracerag/trace/rebuild/captured"
	"tracerag/trace/target"
)

// Values has [Record] keep arguments and results. Then they are in [Values.Activations].
type Values struct {
	Calls  int                        // of each node, trace.MaxActivations at most
	Wanted func(function string) bool // functions, by linker name; nil: all that are recorded

	// Missing is how many calls and returns had no room for their values.
	Missing uint64

	kept []kept
}

// kept is what is known of a call, or of the end of one.
type kept struct {
	node   trace.NodeID
	before int // number of the node in the recorder's tree
	call   uint32
	ended  bool
	values []byte
}

// A record of the recorder's: its head, and what it can be.
const (
	recordMark    = 0x4c415654
	recordHead    = 64
	recordResult  = 24
	recordArgs    = 1
	recordResults = 2

	valueRoom = 256 << 20 // bytes for the values of a run, reserved and not taken
)

// plan adds room for values to a layout.
func (v *Values) plan(l layout, t *target.Target) layout {
	l.keep = uint64(min(max(v.Calls, 1), trace.MaxActivations))
	l.values = valueRoom
	for i := range t.Binary.Funcs {
		f := &t.Binary.Funcs[i]
		if !f.Asm && !f.Wrapper && t.Records(f.Package) && (v.Wanted == nil || v.Wanted(f.Name)) {
			l.wanted = append(l.wanted, [2]uint32{uint32(f.Entry - t.Binary.TextStart), uint32(f.End - t.Binary.TextStart)})
		}
	}
	slices.SortFunc(l.wanted, func(a, b [2]uint32) int { return cmp.Compare(a[0], b[0]) })
	return l
}

// read takes what the program kept between two offsets, of nodes that are those of a trace.
func (v *Values) read(l layout, mem io.ReaderAt, from, end uint64, nodes []trace.NodeID) error {
	h := make([]byte, headerSize)
	if _, err := mem.ReadAt(h, 0); err != nil {
		return fmt.Errorf("reading the recorder's memory: %w", err)
	}
	v.Missing, v.kept = le.Uint64(h[atUnkept:]), nil
	from = min(max(from, l.valuesAt()), l.states())
	end = min(max(end, from), l.states())
	b := make([]byte, end-from)
	if _, err := mem.ReadAt(b, int64(from)); err != nil {
		return fmt.Errorf("reading values: %w", err)
	}
	for len(b) >= recordHead {
		size := le.Uint32(b[4:])
		if le.Uint32(b) != recordMark || size < recordHead || uint64(size) > uint64(len(b)) || size%8 != 0 {
			b = b[8:] // the program was ended just here
			continue
		}
		if k, ok := keptOf(b[:size], nodes); ok {
			v.kept = append(v.kept, k)
		}
		b = b[size:]
	}
	slices.SortStableFunc(v.kept, func(a, b kept) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.before, b.before), cmp.Compare(a.call, b.call))
	})
	return nil
}

// keepAgain has the program keep values of as many calls of each node as at first.
func (l layout) keepAgain(mem interface {
	io.ReaderAt
	io.WriterAt
}) error {
	const piece = 1 << 15 // slots
	b := make([]byte, piece*slotSize)
	for at := uint64(0); at < l.slots; at += piece {
		b := b[:min(piece, l.slots-at)*slotSize]
		if _, err := mem.ReadAt(b, int64(l.slotsAt()+at*slotSize)); err != nil {
			return fmt.Errorf("reading the recorder's memory: %w", err)
		}
		for i := 0; i < len(b); i += slotSize {
			if first := b[i+slotFirst : i+slotFirst+4]; le.Uint32(first) != 0 {
				if _, err := mem.WriteAt(first, int64(l.slotsAt()+at*slotSize)+int64(i)+slotKeep); err != nil {
					return fmt.Errorf("changing the recorder's memory: %w", err)
				}
			}
		}
	}
	return nil
}

func keptOf(b []byte, nodes []trace.NodeID) (kept, bool) {
	kind, node, call := le.Uint32(b[12:]), le.Uint32(b[16:]), le.Uint32(b[20:])
	results, length := uint64(le.Uint32(b[24:])), uint64(le.Uint32(b[28:]))
	at := recordHead + results*recordResult
	if le.Uint32(b[8:]) != 1 || kind != recordArgs && kind != recordResults || uint64(node) >= uint64(len(nodes)) || nodes[node] == trace.NoNode || at+length > uint64(len(b)) {
		return kept{}, false
	}
	return kept{nodes[node], int(node), call, kind == recordResults, b[at : at+length]}, true
}

// Activations returns what was kept of calls of some functions of a trace, all if there are no names. mask hides secrets
// in strings of which a part is left out, and may be nil. It reports whether more values have no room.
func (v *Values) Activations(tr *trace.Trace, functions []string, mask func(string) string) (out []trace.Activation, full bool) {
	const most = 4 << 20 // bytes; more than a million tokens nobody reads
	of, size := 0, 0
	for i, k := range v.kept {
		if k.ended || functions != nil && !slices.Contains(functions, tr.Func(k.node).Name) {
			continue
		}
		if len(out) > 0 && out[len(out)-1].Node != k.node {
			of = 0
		}
		if of++; of > trace.MaxActivations || of > v.Calls {
			continue
		}
		a := trace.Activation{Node: k.node}
		// What the program has overwritten is left out.
		var err error
		if a.Args, err = captured.Decode(k.values, mask); err != nil {
			v.Missing++
			continue
		}
		// The end of a call is right behind its beginning.
		if i+1 < len(v.kept) && v.kept[i+1].ended && v.kept[i+1].before == k.before && v.kept[i+1].call == k.call {
			a.Returned = true
			if a.Results, err = captured.Decode(v.kept[i+1].values, mask); err != nil {
				v.Missing++
				a.Results = nil
			}
		}
		for _, list := range [][]trace.Value{a.Args, a.Results} {
			for _, v := range list {
				size += len(v.Name) + len(v.Type) + len(v.Text)
			}
		}
		if size > most {
			return out, true
		}
		out = append(out, a)
	}
	return out, false
}
