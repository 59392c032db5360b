// Package values reads the arguments and results of a call out of a stopped Go
// program. Package notation writes them as text.
//
// # Where they are
//
// DWARF says where a variable is, but of optimised code it says it of the
// variables that are still used: an argument that is never read has no place, and
// nor has a result, which is a value of its return statement and no variable. So
// the places are computed here, from the types in DWARF and Go's calling
// convention (src/cmd/compile/abi-internal.md of the Go distribution): arguments on entry,
// before the function has moved any; results where it returns to. Both are exact there, also for code that was compiled with optimisation.
//
// What is computed is held against what DWARF says. Where the two differ, as they
// would for a function that was not compiled for this convention, nothing is shown:
// a missing value does not mislead.
package values

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/goversion"
	"github.com/go-delve/delve/pkg/proc"

	"tracerag/trace"
)

// errNoDWARF says that a program does not tell the types of its functions.
var errNoDWARF = errors.New("it has no DWARF debugging information, which holds the names and types of arguments: build it without -ldflags=-s and -w")

// Reader reads the values of one program. It is made while the program is stopped,
// and used while it is.
type Reader struct {
	// Mask hides the secrets in a string that is about to be cut: in what is left
	// of one, a secret could not be recognised. Nil hides nothing. Strings that are
	// kept whole can be masked whenever they are shown.
	Mask func(string) string

	tgt   *proc.Target
	image *proc.Image
	conv  convention
	slide uint64
}

// NewReader returns a reader of a program's values. It fails with ErrNoDWARF, and
// for an architecture whose calling convention is not known here.
func NewReader(tgt *proc.Target) (*Reader, error) {
	bi := tgt.BinInfo()
	if len(bi.Images) == 0 || bi.Images[0].Stripped() || bi.Images[0].DwarfReader() == nil {
		return nil, errNoDWARF
	}
	conv, ok := conventions[bi.Arch.Name]
	if !ok {
		return nil, fmt.Errorf("arguments on %s cannot be read: their registers are known for amd64 and arm64 only", bi.Arch.Name)
	}
	// Of older compilers' DWARF arguments without a name are missing, which moves those
	// behind them.
	if !goversion.ProducerAfterOrEqual(bi.Producer(), 1, 22) {
		return nil, fmt.Errorf("it was built with a compiler older than Go 1.22 (%s), which does not describe all arguments: build it with a newer one", bi.Producer())
	}
	return &Reader{tgt: tgt, image: bi.Images[0], conv: conv, slide: bi.Images[0].StaticBase}, nil
}

// Function is what a function's declaration says, and where its values are.
type Function struct {
	args, results []parameter
	shaped        bool // the code of several instantiations, which gets a dictionary
	method        bool
	state         state
}

// state says whether a function's places agree with DWARF's, which is found out at
// its first call: only then is there a frame that DWARF's places are relative to.
type state uint8

const (
	unsettled state = iota
	sound
	unsound
)

// parameter is an argument or a result.
type parameter struct {
	name  string
	typ   godwarf.Type
	place place
	entry *dwarf.Entry // with the location that DWARF gives; nil none
}

// Functions finds functions by the addresses at which they begin, which are those
// in the program's file. What DWARF does not know is missing from the result.
func (r *Reader) Functions(entries []uint64) (map[uint64]*Function, error) {
	out := make(map[uint64]*Function, len(entries))
	want := map[uint64]bool{}
	for _, e := range entries {
		want[e] = true
	}
	units := r.image.DwarfReader()
	for _, e := range entries {
		if !want[e] {
			continue // was in the unit of another one
		}
		delete(want, e)
		unit, err := units.SeekPC(e)
		if errors.Is(err, dwarf.ErrUnknownPC) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading DWARF: %w", err)
		}
		want[e] = true
		if err := r.unit(unit.Offset, want, out); err != nil {
			return nil, fmt.Errorf("reading DWARF: %w", err)
		}
		delete(want, e)
	}
	return out, nil
}

// unit reads the wanted functions of a compilation unit.
func (r *Reader) unit(at dwarf.Offset, want map[uint64]bool, out map[uint64]*Function) error {
	rd := r.image.DwarfReader()
	rd.Seek(at)
	if _, err := rd.Next(); err != nil {
		return err
	}
	for {
		e, err := rd.Next()
		if err != nil {
			return err
		}
		if e == nil || e.Tag == 0 || e.Tag == dwarf.TagCompileUnit {
			return nil
		}
		low, ok := e.Val(dwarf.AttrLowpc).(uint64)
		if e.Tag == dwarf.TagSubprogram && ok && want[low] {
			fn, err := r.function(e)
			if err != nil {
				return err
			}
			out[low] = fn
			delete(want, low)
		}
		if e.Children {
			rd.Seek(e.Offset)
			if _, err := rd.Next(); err != nil {
				return err
			}
			rd.SkipChildren()
		}
	}
}

// function reads a subprogram's entry. That of a function which is inlined
// elsewhere holds places only, and points to another one with names and types.
func (r *Reader) function(e *dwarf.Entry) (*Function, error) {
	own, err := r.children(e)
	if err != nil {
		return nil, err
	}
	declared := own
	places := map[dwarf.Offset]*dwarf.Entry{}
	if origin, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
		for _, c := range own {
			if of, ok := c.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
				places[of] = c
			}
		}
		rd := r.image.DwarfReader()
		rd.Seek(origin)
		abstract, err := rd.Next()
		if err != nil {
			return nil, fmt.Errorf("the origin %#x of a function: %w", origin, err)
		}
		if abstract == nil {
			return nil, fmt.Errorf("the origin %#x of a function is not in the debug information", origin)
		}
		if declared, err = r.children(abstract); err != nil {
			return nil, err
		}
		e = abstract
	} else {
		for _, c := range own {
			places[c.Offset] = c
		}
	}
	name, _ := e.Val(dwarf.AttrName).(string)
	fn := &Function{shaped: strings.Contains(name, "go.shape.") && !isClosure(name), method: isMethod(name)}
	seen := map[string]bool{}
	for _, c := range declared {
		// A result that a closure changes is there twice.
		pname, _ := c.Val(dwarf.AttrName).(string)
		if seen[pname] {
			continue
		}
		seen[pname] = true
		off, ok := c.Val(dwarf.AttrType).(dwarf.Offset)
		if !ok {
			return nil, fmt.Errorf("a parameter of %s has no type", name)
		}
		typ, err := r.image.Type(off)
		if err != nil {
			return nil, fmt.Errorf("the type of a parameter of %s: %w", name, err)
		}
		p := parameter{name: pname, typ: typ, entry: places[c.Offset]}
		if isResult, _ := c.Val(dwarf.AttrVarParam).(bool); isResult {
			fn.results = append(fn.results, p)
		} else {
			fn.args = append(fn.args, p)
		}
	}
	r.conv.assign(fn)
	return fn, nil
}

// children returns the entries of the parameters below e.
func (r *Reader) children(e *dwarf.Entry) ([]*dwarf.Entry, error) {
	if !e.Children {
		return nil, nil
	}
	rd := r.image.DwarfReader()
	rd.Seek(e.Offset)
	if _, err := rd.Next(); err != nil {
		return nil, err
	}
	var out []*dwarf.Entry
	for {
		c, err := rd.Next()
		if err != nil {
			return nil, err
		}
		if c == nil || c.Tag == 0 {
			return out, nil
		}
		if c.Tag == dwarf.TagFormalParameter {
			out = append(out, c)
		}
		if c.Children {
			rd.SkipChildren()
		}
	}
}

// Frame is the place of a thread that has just entered a function, or just returned
// from it.
type Frame struct {
	Thread proc.Thread
	Regs   proc.Registers // as they were at PC
	PC     uint64         // of the running process
	Slot   uint64         // address of the return address; on arm64, the stack pointer
}

// Args reads the arguments of a function that a thread has just entered: no
// instruction but the stack check's was executed.
func (r *Reader) Args(fn *Function, f Frame) []trace.Value {
	if fn.state == unsettled {
		r.at(f).settle(fn)
	}
	return r.read(fn, fn.args, f)
}

// Results reads the results of a function from which a thread has just returned: it
// is behind the call. Args must have been read before.
func (r *Reader) Results(fn *Function, f Frame) []trace.Value {
	return r.read(fn, fn.results, f)
}

func (r *Reader) read(fn *Function, params []parameter, f Frame) []trace.Value {
	m := r.at(f)
	var out []trace.Value
	for i := range params {
		p := &params[i]
		if p.name == dictionary {
			continue
		}
		v := trace.Value{Name: p.name, Type: typeName(p.typ)}
		switch {
		case strings.HasPrefix(p.name, "~r"):
			v.Name = ""
		case strings.HasPrefix(p.name, "~p"):
			v.Name = "_"
		}
		data, err := m.bytes(p)
		switch {
		case fn.state != sound:
			v.Unread = "its place is not known"
		case err != nil:
			v.Unread = err.Error()
		default:
			v.Text, v.Cut, v.Unread = m.text(p.typ, data)
		}
		out = append(out, v)
	}
	return out
}

// moment is a stopped program at one frame.
type moment struct {
	r     *Reader
	f     Frame
	mem   proc.MemoryReadWriter
	regs  *op.DwarfRegisters
	scope *proc.EvalScope // made when it is needed
}

func (r *Reader) at(f Frame) *moment {
	m := &moment{r: r, f: f, mem: f.Thread.ProcessMemory(), regs: r.tgt.BinInfo().Arch.RegistersToDwarfRegisters(r.slide, f.Regs)}
	m.regs.CFA = int64(f.Slot) + r.conv.slotSize
	m.regs.FrameBase = m.regs.CFA
	return m
}

// dictionary is DWARF's name of the hidden argument of a generic function.
const dictionary = ".dict"

// settle holds the computed places of the arguments against those that DWARF knows.
// A generic function's hidden argument is left out by DWARF when nothing uses it. It
// is put to where the other places then agree: first, or behind a receiver.
func (m *moment) settle(fn *Function) {
	fn.state = unsound
	hidden := fn.shaped && !slices.ContainsFunc(fn.args, func(p parameter) bool { return p.name == dictionary })
	if !hidden {
		if m.agrees(fn.args) {
			fn.state = sound
		}
		return
	}
	at := 0
	if fn.method {
		at = 1
	}
	if at > len(fn.args) {
		return
	}
	fn.args = slices.Insert(fn.args, at, parameter{name: dictionary, typ: &godwarf.PtrType{}})
	m.r.conv.assign(fn)
	if m.agrees(fn.args) {
		fn.state = sound
	}
}

// agrees reports whether no place differs from what DWARF says.
func (m *moment) agrees(params []parameter) bool {
	for i := range params {
		p := &params[i]
		if p.entry == nil {
			continue
		}
		addr, pieces, _, err := m.r.tgt.BinInfo().Location(p.entry, dwarf.AttrLocation, m.f.PC, *m.regs, m.mem)
		if err != nil {
			continue // not used: DWARF does not know
		}
		if !p.place.agrees(uint64(addr), pieces, uint64(m.regs.CFA)+uint64(m.r.conv.argsOffset)) {
			return false
		}
	}
	return true
}

// bytes returns a parameter as it would lie in memory.
func (m *moment) bytes(p *parameter) ([]byte, error) {
	size := sizeOf(p.typ)
	if size > maxObject {
		return nil, errTooLarge
	}
	data := make([]byte, size)
	if p.place.inStack {
		at := uint64(m.regs.CFA+m.r.conv.argsOffset) + uint64(p.place.offset)
		if n, err := m.mem.ReadMemory(data, at); err != nil || n != len(data) {
			return nil, errUnreadable
		}
		return data, nil
	}
	for _, part := range p.place.parts {
		reg := m.regs.Bytes(part.reg)
		if int64(len(reg)) < part.size {
			return nil, errUnreadable
		}
		copy(data[part.offset:part.offset+part.size], reg)
	}
	return data, nil
}
