package rebuild

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"tracerag/trace"
	"tracerag/trace/executable"
	"tracerag/trace/target"
)

// ranLines is what the memory says of a package's lines: the marks, and where they are.
type ranLines struct {
	book   *lineBook
	marks  []byte
	either []bool // of the book's
}

func newRanLines(b *lineBook, marks []byte) *ranLines {
	p := &ranLines{book: b, marks: marks}
	for _, e := range b.either { // each is of those before it
		p.either = append(p.either, p.has(e[0]) || p.has(e[1]))
	}
	return p
}

// has reports whether evidence is there.
func (p *ranLines) has(m int) bool {
	if m < 0 {
		return -m <= len(p.either) && p.either[-m-1]
	}
	return m > 0 && m < len(p.marks) && p.marks[m] != 0
}

// state is what is known of a piece.
func (p *ranLines) state(x piece) trace.LineState {
	began, ran := p.has(x.mark), p.has(x.sure)
	switch {
	case !began:
		return trace.LineNotRun
	case ran:
		return trace.LineRan
	case x.quiet:
		return trace.LineNoCode
	}
	return trace.LineUnknown
}

const (
	knownSize = 5 * 8
	mostLines = 1 << 28 // bytes of a package's marks and description: more is damage
)

// lineMarks is what a program's memory has of lines at one time.
type lineMarks struct {
	all    []*ranLines
	places [][2]uint64 // of the marks of each: offset and size
	faults []uint64    // where runtime errors came from: offsets of return addresses in the text
	lost   bool        // there were more
}

// forget resets the marks.
func (m *lineMarks) forget(mem io.WriterAt) error {
	if m == nil {
		return nil
	}
	for _, p := range m.places {
		if _, err := mem.WriteAt(make([]byte, p[1]), int64(p[0])); err != nil {
			return fmt.Errorf("changing the recorder's lines: %w", err)
		}
	}
	return nil
}

// readLines returns what a program's memory has of lines.
func (l layout) readLines(mem io.ReaderAt) (*lineMarks, error) {
	m := &lineMarks{}
	h := make([]byte, headerSize)
	if _, err := mem.ReadAt(h, 0); err != nil {
		return nil, fmt.Errorf("reading the recorder's memory: %w", err)
	}
	words := func(at uint64, n int) ([]uint64, error) {
		if at < l.states() || at >= l.size() {
			return nil, errDamagedLines
		}
		b := make([]byte, 8*n)
		if _, err := mem.ReadAt(b, int64(at)); err != nil {
			return nil, fmt.Errorf("reading the recorder's lines: %w", err)
		}
		out := make([]uint64, n)
		for i := range out {
			out[i] = le.Uint64(b[8*i:])
		}
		return out, nil
	}
	for at := le.Uint64(h[atKnown:]); at != 0; {
		k, err := words(at, knownSize/8)
		if err != nil {
			return nil, err
		}
		// Each is behind the one that was made known before it.
		if next := k[0]; next >= at || k[2] > mostLines || k[4] > mostLines || k[1] >= l.size() || k[3] >= l.size() {
			return nil, errDamagedLines
		}
		b := make([]byte, k[2]+k[4])
		if _, err := mem.ReadAt(b[:k[2]], int64(k[1])); err != nil {
			return nil, fmt.Errorf("reading the recorder's lines: %w", err)
		}
		if _, err := mem.ReadAt(b[k[2]:], int64(k[3])); err != nil {
			return nil, fmt.Errorf("reading the recorder's lines: %w", err)
		}
		book, err := readBook(b[k[2]:])
		if err != nil {
			return nil, err
		}
		m.all = append(m.all, newRanLines(book, b[:k[2]]))
		m.places = append(m.places, [2]uint64{k[1], k[2]})
		at = k[0]
	}
	for at := le.Uint64(h[atFaults:]); at != 0 && len(m.faults) <= mostFaults; {
		f, err := words(at, 2)
		if err != nil {
			return nil, err
		}
		m.faults = append(m.faults, f[1]&0xffffffff)
		at = f[0]
	}
	m.lost = le.Uint64(h[atFaultsLost:]) != 0
	return m, nil
}

// mostFaults is how many places the program keeps at most: lines.go.txt has the same number.
const mostFaults = 4096

var errDamagedLines = errors.New("the recorder's memory of lines was overwritten by the program")

// readBook is the inverse of describe.
func readBook(says []byte) (*lineBook, error) {
	raw, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(says)), mostLines))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamagedLines, err)
	}
	bad := false
	number := func() int {
		n, size := binary.Varint(raw)
		if size <= 0 || n > 1<<31 || n < -1<<31 {
			bad = true
			return 0
		}
		raw = raw[size:]
		return int(n)
	}
	count := func() int { // of things that take a byte or more each
		n := number()
		if n < 0 || n > len(raw) {
			bad = true
			return 0
		}
		return n
	}
	text := func() string {
		n := count()
		s := string(raw[:n])
		raw = raw[n:]
		return s
	}
	b := &lineBook{path: text(), marks: number()}
	for i := range count() {
		e := [2]int{number(), number()}
		if bad = bad || e[0] < -i || e[1] < -i; bad { // only what was before
			return nil, errDamagedLines
		}
		b.either = append(b.either, e)
	}
	file := ""
	for i := range count() {
		f := lined{kind: number(), name: text(), around: i - number()}
		if s := text(); s != "" {
			file = s
		}
		f.file, f.line, f.entry = file, number(), number()
		line, mark := f.line, f.entry
		for range count() {
			p := piece{line: line + number(), mark: mark + number()}
			form := number()
			p.quiet = form >= 3
			switch form % 3 {
			case 0:
				p.sure = p.mark
			case 2:
				p.sure = number()
			}
			if bad = bad || form < 0 || form > 5; bad {
				return nil, errDamagedLines
			}
			f.pieces = append(f.pieces, p)
			line, mark = p.line, p.mark
		}
		if bad = bad || f.around >= i || f.around < -1 || f.kind < declared || f.kind > loop || f.kind == loop && f.around < 0; bad {
			return nil, errDamagedLines
		}
		b.funcs = append(b.funcs, f)
	}
	if bad || len(raw) > 0 {
		return nil, errDamagedLines
	}
	return b, nil
}

// add adds to a trace which lines of its functions ran.
func (m *lineMarks) add(t *target.Target, tr *trace.Trace) {
	if len(m.all) == 0 {
		return
	}
	bin := t.Binary
	failed := map[int][]int{} // lines of functions
	for _, pc := range m.faults {
		if fs := bin.Frames(bin.TextStart + pc - 1); len(fs) > 0 {
			if i := bin.Index(bin.TextStart + pc - 1); i >= 0 {
				failed[i] = append(failed[i], fs[len(fs)-1].Line)
			}
		}
	}
	ids := make(map[string]trace.FuncID, len(tr.Functions))
	for i := range tr.Functions {
		ids[tr.Functions[i].Name] = trace.FuncID(i)
	}
	at := functionsAt(bin)
	for _, p := range m.all {
		resolved := p.resolve(bin, at)
		for i, copies := range resolved {
			ran := func(fn int) bool { _, ok := ids[bin.Funcs[fn].Name]; return ok }
			if p.book.funcs[i].kind == loop && !slices.ContainsFunc(copies, ran) {
				p.give(i, false) // nothing in it ran, and nobody else says so
			}
		}
		for i, copies := range resolved {
			var called []trace.FuncID
			var failures []int
			for _, fn := range copies {
				if id, ok := ids[bin.Funcs[fn].Name]; ok && !slices.Contains(called, id) {
					called = append(called, id)
				}
				failures = append(failures, failed[fn]...)
			}
			if len(called) == 0 {
				continue
			}
			states := p.states(i, failures, m.lost, len(called) > 1)
			if s := linesOf(states); s.States != "" {
				if tr.Lines == nil {
					tr.Lines = map[trace.FuncID]trace.Lines{}
				}
				for _, id := range called {
					tr.Lines[id] = s
				}
			}
		}
	}
}

// states are those of a function's lines. Failures are lines that a runtime error came from: what is behind them may not have
// run, though the mark before it is set. Several copies, for several types, have one mark for all of them.
func (p *ranLines) states(i int, failures []int, lost, several bool) map[int]trace.LineState {
	f := &p.book.funcs[i]
	first := map[int]int{} // lines of marks
	for _, x := range f.pieces {
		if at, ok := first[x.mark]; !ok || x.line < at {
			first[x.mark] = x.line
		}
	}
	out := map[int]trace.LineState{}
	for _, x := range f.pieces {
		s := p.state(x)
		failed := lost || slices.ContainsFunc(failures, func(line int) bool {
			if s == trace.LineNotRun {
				return x.mark < 0 && x.line <= line // a case that was compared, before one failed
			}
			return first[x.mark] <= line && line < x.line
		})
		switch {
		case failed && s == trace.LineRan && x.sure == x.mark && x.line > first[x.mark], failed && s == trace.LineNotRun && x.mark < 0:
			s = trace.LineUnknown
		case s == trace.LineRan && several && x.sure != f.entry:
			s = trace.LineUnknown // in which of them?
		}
		if s != trace.LineNoCode {
			mergeLine(out, x.line, s)
		}
	}
	return out
}

// mergeLine adds what became of another piece on a line.
func mergeLine(lines map[int]trace.LineState, line int, s trace.LineState) {
	old, ok := lines[line]
	if !ok || s == trace.LineRan || s == trace.LineUnknown && old == trace.LineNotRun {
		lines[line] = s
	}
}

// linesOf are the states as a trace has them.
func linesOf(lines map[int]trace.LineState) trace.Lines {
	if len(lines) == 0 {
		return trace.Lines{}
	}
	numbers := slices.Sorted(maps.Keys(lines))
	first, last := numbers[0], numbers[len(numbers)-1]
	if first < 1 || last-first >= 1<<20 {
		return trace.Lines{} // more than any function has
	}
	b := bytes.Repeat([]byte{byte(trace.LineNoCode)}, last-first+1)
	for n, s := range lines {
		b[n-first] = byte(s)
	}
	return trace.Lines{First: first, States: string(b)}
}

// beginning is where functions begin, as the binary and the book both know it.
type beginning struct {
	file string // without its directory
	line int
}

// functionsAt finds a program's functions by where they begin.
func functionsAt(bin *executable.File) map[beginning][]int {
	out := map[beginning][]int{}
	for i := range bin.Funcs {
		if f := &bin.Funcs[i]; !f.Wrapper && !f.Asm {
			b := beginning{path.Base(strings.ReplaceAll(f.File, `\`, "/")), f.StartLine}
			out[b] = append(out[b], i)
		}
	}
	return out
}

// resolve finds the program's functions that functions of the book are, by index: several are copies for several types. A
// loop that is no function gives its pieces to the function around it.
func (p *ranLines) resolve(bin *executable.File, at map[beginning][]int) map[int][]int {
	out := map[int][]int{}
	prefix := symbolPath(p.book.path) + "."
	places := map[beginning][]int{}
	for i, f := range p.book.funcs {
		b := beginning{f.file, f.line}
		places[b] = append(places[b], i)
	}
	for b, mine := range places {
		named := map[string][]int{} // by the name without types
		for _, fn := range at[b] {
			if name, ok := strings.CutPrefix(bin.Funcs[fn].Name, prefix); ok {
				name = withoutTypes(name)
				named[name] = append(named[name], fn)
			}
		}
		var wanted [loop + 1][]int
		for _, i := range mine {
			f := &p.book.funcs[i]
			if f.kind != declared {
				wanted[f.kind] = append(wanted[f.kind], i)
				continue
			}
			for name, copies := range named {
				if name == f.name || f.name == "init" && strings.HasPrefix(name, "init.") && strings.Trim(name[len("init."):], "0123456789") == "" {
					out[i] = copies
					delete(named, name)
					break
				}
			}
		}
		// The compiler numbers those in a function in the order in which they are there.
		var found [loop + 1][]string
		for name := range named {
			if dot := strings.LastIndexAny(name, ".-"); dot >= 0 {
				switch kind := strings.TrimRight(name[dot+1:], "0123456789"); {
				case kind == "range" && name[dot] == '-':
					found[loop] = append(found[loop], name)
				case kind == "func" || kind == "":
					found[literal] = append(found[literal], name)
				}
			}
		}
		for kind := literal; kind <= loop; kind++ {
			if len(found[kind]) != len(wanted[kind]) {
				continue // some were left out: which is not known
			}
			slices.SortFunc(found[kind], byNumbers)
			for k, i := range wanted[kind] {
				out[i] = named[found[kind][k]]
			}
		}
		if len(found[loop]) != len(wanted[loop]) {
			for _, i := range wanted[loop] {
				p.give(i, len(found[loop]) > 0)
			}
		}
	}
	return out
}

// give gives the pieces of a loop that is no function to the function that it is in. Where one of several may be a function,
// what ran in them is not known.
func (p *ranLines) give(i int, unknown bool) {
	f := &p.book.funcs[i]
	f.kind = given
	to := f.around
	for to >= 0 && p.book.funcs[to].kind == given {
		to = p.book.funcs[to].around
	}
	if to < 0 {
		return
	}
	for _, x := range f.pieces {
		if unknown {
			x.sure = 0
		}
		p.book.funcs[to].pieces = append(p.book.funcs[to].pieces, x)
	}
	f.pieces = nil
}

// symbolPath is an import path as names in a program begin with it.
func symbolPath(p string) string {
	slash := strings.LastIndexByte(p, '/')
	var b strings.Builder
	for i := range len(p) {
		if c := p[i]; c <= ' ' || c == '.' && i > slash || c == '%' || c == '"' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02x", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// withoutTypes replaces what a generic function is for: the name in the source has "[...]".
func withoutTypes(name string) string {
	var b strings.Builder
	depth := 0
	for i := range len(name) {
		switch name[i] {
		case '[':
			if depth++; depth == 1 {
				b.WriteString("[...")
			}
		case ']':
			depth--
		}
		if depth == 0 {
			b.WriteByte(name[i])
		}
	}
	return b.String()
}

// byNumbers compares names by the numbers in them: func2 is before func10, and func1 before func1.1.
func byNumbers(a, b string) int {
	const digits = "0123456789"
	for a != "" && b != "" {
		i, j := len(a)-len(strings.TrimLeft(a, digits)), len(b)-len(strings.TrimLeft(b, digits))
		if i > 0 && j > 0 {
			m, _ := strconv.Atoi(a[:i])
			n, _ := strconv.Atoi(b[:j])
			if c := cmp.Compare(m, n); c != 0 {
				return c
			}
			a, b = a[i:], b[j:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}
