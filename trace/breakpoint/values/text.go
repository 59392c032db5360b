package values

import (
	"debug/dwarf"
	"encoding/binary"
	"fmt"
	"go/constant"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/proc"
)

// Limits of a value's text. What does not fit is "...".
const (
	maxText   = 200 // characters, about; of the whole
	maxString = 48  // characters of a string, as they are written
	maxFields = 16  // of a struct, elements of a slice or array, entries of a map
	maxDepth  = 3   // structs, slices and maps within each other
)

// maxRead is how much of a string is read, in bytes: more than what is shown, so that a
// secret in it can be recognised.
const maxRead = 4096

// overlay is the program's memory with one value put at an address that no
// program has: so a value that is in registers is read as one in memory.
type overlay struct {
	proc.MemoryReadWriter
	data []byte
}

const overlayBase = 0x7eed_0000_0000_0000 // not canonical: bits above the 57th

func (o overlay) ReadMemory(buf []byte, addr uint64) (int, error) {
	if addr < overlayBase || addr > overlayBase+uint64(len(o.data)) {
		return o.MemoryReadWriter.ReadMemory(buf, addr)
	}
	return copy(buf, o.data[addr-overlayBase:]), nil
}

// text writes a value of which data is the memory. unread says why it could not.
func (m *moment) text(typ godwarf.Type, data []byte) (text string, cut bool, unread string) {
	v, err := m.load(typ, data)
	if err != nil || v.Unreadable != nil {
		return "", false, "not readable"
	}
	for depth := maxDepth; ; depth-- {
		w := writer{mem: overlay{m.mem, data}, mask: m.r.Mask, depth: depth}
		if depth == 1 {
			w.room = maxText // what does not even fit so is cut where the room ends
		}
		w.value(v, 0)
		if w.b.Len() <= maxText || depth == 1 {
			return w.b.String(), w.cut, ""
		}
	}
}

// load has delve lay the value out.
func (m *moment) load(typ godwarf.Type, data []byte) (*proc.Variable, error) {
	if p, ok := typ.(*godwarf.ParametricType); ok {
		typ = p.Type
	}
	if m.scope == nil {
		scope, err := proc.ThreadScope(m.r.tgt, m.f.Thread)
		if err != nil {
			return nil, err
		}
		m.scope = scope
	}
	m.scope.Mem = overlay{m.mem, data}
	v, err := m.scope.EvalExpression(fmt.Sprintf("*(*%q)(%#x)", fullName(typ), uint64(overlayBase)), proc.LoadConfig{
		FollowPointers: true, MaxVariableRecurse: maxDepth,
		MaxStringLen: maxRead, MaxArrayValues: maxFields + 1, MaxStructFields: maxFields + 1,
	})
	if err != nil {
		return nil, err
	}
	// Types are found by name. A name may be another type's, too.
	if at := definition(v.DwarfType); at != 0 && at != definition(typ) {
		return nil, fmt.Errorf("there are several types %s", fullName(typ))
	}
	return v, nil
}

// definition is where DWARF defines a type: not that of the typedef of the same name
// that some types have; 0 for an array type, which delve makes.
func definition(t godwarf.Type) dwarf.Offset {
	for {
		def, ok := t.(*godwarf.TypedefType)
		if !ok {
			return t.Common().Offset
		}
		t = def.Type
	}
}

// writer writes values.
type writer struct {
	mem   proc.MemoryReadWriter
	mask  func(string) string
	depth int // levels that are written
	room  int // bytes after which no element is begun; 0: no limit
	cut   bool
	b     strings.Builder
}

func (w *writer) dots() {
	w.b.WriteString("...")
	w.cut = true
}

// value writes v, which is within so many structs, slices and maps.
func (w *writer) value(v *proc.Variable, level int) {
	switch {
	case v.Unreadable != nil:
		w.b.WriteByte('?')
		w.cut = true
		return
	case v.OnlyAddr && v.Addr != 0:
		w.dots()
		return
	}
	switch v.Kind {
	case reflect.String:
		w.str(constant.StringVal(v.Value), v.Len)
	case reflect.Float32, reflect.Float64:
		w.float(v)
	case reflect.Complex64, reflect.Complex128:
		w.complex(v)
	case reflect.Uintptr:
		// A small one is a file descriptor or the like, a large one an address.
		if n, ok := constant.Uint64Val(v.Value); ok && n < 4096 {
			w.b.WriteString(v.Value.String())
		} else {
			w.dots()
		}
	case reflect.Ptr, reflect.UnsafePointer:
		w.pointer(v, level)
	case reflect.Interface:
		w.iface(v, level)
	case reflect.Func:
		if v.Base == 0 {
			w.b.WriteString("nil")
		} else {
			w.b.WriteString(short(constant.StringVal(v.Value)))
		}
	case reflect.Chan:
		w.channel(v)
	case reflect.Slice:
		if v.Base == 0 {
			w.b.WriteString("nil")
		} else if isByte(v) {
			w.bytes(v)
		} else {
			w.list('[', ']', len(v.Children), v.Len, level, func(i int) { w.value(&v.Children[i], level+1) })
		}
	case reflect.Array:
		w.list('[', ']', len(v.Children), v.Len, level, func(i int) { w.value(&v.Children[i], level+1) })
	case reflect.Struct:
		w.structure(v, level)
	case reflect.Map:
		w.mapping(v, level)
	default:
		if v.Value == nil {
			w.b.WriteByte('?')
			w.cut = true
			return
		}
		w.b.WriteString(v.Value.ExactString())
	}
}

// str writes a string of which so many bytes are known of length.
func (w *writer) str(s string, length int64) {
	shown, rest := quoted(s)
	if cut := rest || int64(len(s)) < length; cut && w.mask != nil {
		if masked := w.mask(s); masked != s {
			shown, _ = quoted(masked)
			rest = true
		}
	}
	w.b.WriteString(shown)
	if rest || int64(len(s)) < length {
		w.dots()
	}
}

// quoted returns the beginning of s in quotes, and whether there is more.
func quoted(s string) (text string, more bool) {
	var b strings.Builder
	b.WriteByte('"')
	end := 0
	for written := 0; end < len(s); {
		_, size := utf8.DecodeRuneInString(s[end:])
		q := strconv.Quote(s[end : end+size])
		q = q[1 : len(q)-1]
		if written += utf8.RuneCountInString(q); written > maxString {
			break
		}
		b.WriteString(q)
		end += size
	}
	b.WriteByte('"')
	return b.String(), end < len(s)
}

func (w *writer) bytes(v *proc.Variable) {
	data := make([]byte, min(v.Len, maxRead))
	if n, err := w.mem.ReadMemory(data, v.Base); err != nil || n != len(data) {
		w.b.WriteByte('?')
		w.cut = true
		return
	}
	w.str(string(data), v.Len)
}

func isByte(v *proc.Variable) bool {
	t, ok := v.RealType.(*godwarf.SliceType)
	if !ok {
		return false
	}
	elem, ok := godwarf.ResolveTypedef(t.ElemType).(*godwarf.UintType)
	return ok && elem.Size() == 1
}

func (w *writer) float(v *proc.Variable) {
	bits := 64
	if v.Kind == reflect.Float32 {
		bits = 32
	}
	switch v.FloatSpecial {
	case proc.FloatIsNaN:
		w.b.WriteString("NaN")
	case proc.FloatIsPosInf:
		w.b.WriteString("+Inf")
	case proc.FloatIsNegInf:
		w.b.WriteString("-Inf")
	default:
		f, _ := constant.Float64Val(v.Value)
		w.b.WriteString(strconv.FormatFloat(f, 'g', -1, bits))
	}
}

// complex reads the number anew: delve has no NaN and no infinity in one.
func (w *writer) complex(v *proc.Variable) {
	data := make([]byte, v.RealType.Size())
	if n, err := w.mem.ReadMemory(data, v.Addr); err != nil || n != len(data) {
		w.dots()
		return
	}
	var c complex128
	if len(data) == 8 {
		c = complex(float64(math.Float32frombits(binary.LittleEndian.Uint32(data))), float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4:]))))
	} else {
		c = complex(math.Float64frombits(binary.LittleEndian.Uint64(data)), math.Float64frombits(binary.LittleEndian.Uint64(data[8:])))
	}
	w.b.WriteString(strconv.FormatComplex(c, 'g', -1, 8*len(data)))
}

func (w *writer) pointer(v *proc.Variable, level int) {
	switch {
	case len(v.Children) == 0:
		w.dots()
	case v.Children[0].Addr == 0:
		w.b.WriteString("nil")
	case strings.HasPrefix(fullName(v.DwarfType), "go.shape."), v.Kind == reflect.UnsafePointer, v.Children[0].Kind == reflect.Invalid:
		// In the code of a generic function all pointers look alike.
		w.b.WriteByte('&')
		w.dots()
	default:
		w.b.WriteByte('&')
		w.value(&v.Children[0], level)
	}
}

// iface writes the dynamic type and, in parentheses, the value.
func (w *writer) iface(v *proc.Variable, level int) {
	switch {
	case len(v.Children) == 0:
		w.dots()
	case v.Children[0].Kind == reflect.Invalid && v.Children[0].Addr == 0:
		w.b.WriteString("nil")
	default:
		w.b.WriteString(typeName(v.Children[0].DwarfType))
		w.b.WriteByte('(')
		w.value(&v.Children[0], level)
		w.b.WriteByte(')')
	}
}

func (w *writer) channel(v *proc.Variable) {
	if v.Base == 0 {
		w.b.WriteString("nil")
		return
	}
	field := func(name string) string {
		for i := range v.Children {
			if c := &v.Children[i]; c.Name == name && c.Value != nil {
				return c.Value.ExactString()
			}
		}
		return "?"
	}
	fmt.Fprintf(&w.b, "chan(%s of %s)", field("qcount"), field("dataqsiz"))
}

func (w *writer) structure(v *proc.Variable, level int) {
	if fullName(v.DwarfType) == "time.Time" && v.Value != nil {
		// Without the reading of the monotonic clock, which is no part of it.
		s, _, _ := strings.Cut(constant.StringVal(v.Value), ", ")
		w.b.WriteString(s)
		return
	}
	switch name := fullName(v.DwarfType); {
	case name == "os.File":
		w.file(v)
		return
	case strings.HasPrefix(name, "sync."), strings.HasPrefix(name, "testing."):
		// Who waits for a lock, and how far the tests are, is no value of the program's.
		w.dots()
		return
	}
	fields := slices.DeleteFunc(slices.Clone(v.Children), func(f proc.Variable) bool { return f.Name == "_" })
	length := v.Len - int64(len(v.Children)-len(fields))
	w.list('{', '}', len(fields), length, level, func(i int) {
		f := &fields[i]
		w.b.WriteString(f.Name[strings.LastIndexByte(f.Name, '.')+1:])
		w.b.WriteString(": ")
		w.value(f, level+1)
	})
}

// file writes an os.File by its name. The rest of it is the runtime's: descriptors,
// locks and modes, several levels deep.
func (w *writer) file(v *proc.Variable) {
	at := v
	for _, name := range []string{"file", "name"} {
		i := slices.IndexFunc(at.Children, func(f proc.Variable) bool { return f.Name == name })
		if i < 0 {
			w.b.WriteString("{...}")
			w.cut = true
			return
		}
		at = &at.Children[i]
		if at.Kind == reflect.Ptr && len(at.Children) > 0 {
			at = &at.Children[0]
		}
	}
	w.b.WriteString("{name: ")
	w.value(at, 0)
	w.b.WriteByte('}')
	w.cut = true
}

// mapping writes a map's entries in order of their keys' texts. Of a large map
// only some entries are known, and which ones is chance: none is written.
func (w *writer) mapping(v *proc.Variable, level int) {
	n := len(v.Children) / 2
	switch {
	case v.Base == 0:
		w.b.WriteString("nil")
		return
	case v.Len > maxFields:
		fmt.Fprintf(&w.b, "{...%d entries}", v.Len)
		w.cut = true
		return
	}
	type entry struct {
		key string
		at  int
	}
	var entries []entry
	for i := range n {
		k := writer{mem: w.mem, mask: w.mask, depth: w.depth}
		k.value(&v.Children[2*i], level+1)
		w.cut = w.cut || k.cut && level < w.depth
		entries = append(entries, entry{k.b.String(), i})
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		x, y := &v.Children[2*a.at], &v.Children[2*b.at]
		if x.Value != nil && y.Value != nil && x.Kind == y.Kind && x.Kind != reflect.Bool {
			switch {
			case constant.Compare(x.Value, tokenLess, y.Value):
				return -1
			case constant.Compare(y.Value, tokenLess, x.Value):
				return 1
			}
			return 0
		}
		return strings.Compare(a.key, b.key)
	})
	w.list('{', '}', n, v.Len, level, func(i int) {
		w.b.WriteString(entries[i].key)
		w.b.WriteString(": ")
		w.value(&v.Children[2*entries[i].at+1], level+1)
	})
}

// list writes elements, of which so many are known of length.
func (w *writer) list(open, end byte, known int, length int64, level int, element func(i int)) {
	w.b.WriteByte(open)
	for i := 0; int64(i) < length; i++ {
		if i > 0 {
			w.b.WriteString(", ")
		}
		if level >= w.depth || i >= known || i == maxFields || w.room > 0 && w.b.Len() > w.room {
			w.dots()
			break
		}
		element(i)
	}
	w.b.WriteByte(end)
}
