package notation

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tracerag/trace/symbol"
)

// Write returns a value as text, and whether that is not the whole value. mask hides the secrets in a
// string that is about to be cut: in what is left of one, a secret could not be
// recognised. Nil hides nothing.
func Write(v *Value, mask func(string) string) (text string, cut bool) {
	for depth := MaxDepth; ; depth-- {
		w := writer{mask: mask, depth: depth}
		if depth == 1 {
			w.room = maxText // what does not even fit so is cut where the room ends
		}
		w.value(v, 0, 0)
		if w.b.Len() <= maxText || depth == 1 {
			return w.b.String(), w.cut
		}
	}
}

// writer writes values.
type writer struct {
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

// value writes v, which is within so many structs, slices and maps, and behind so many pointers and interfaces in
// the innermost.
func (w *writer) value(v *Value, level, hops int) {
	switch v.State {
	case Unreadable:
		w.b.WriteByte('?')
		w.cut = true
		return
	case NotFollowed:
		w.dots()
		return
	case Nil:
		w.b.WriteString("nil")
		return
	}
	if hops == MaxHops && (v.Kind == reflect.Pointer || v.Kind == reflect.Interface) {
		w.dots()
		return
	}
	switch v.Kind {
	case reflect.Bool:
		w.b.WriteString(strconv.FormatBool(v.Bits != 0))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.b.WriteString(strconv.FormatInt(int64(v.Bits), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		w.b.WriteString(strconv.FormatUint(v.Bits, 10))
	case reflect.Uintptr:
		// A small one is a file descriptor or the like, a large one an address.
		if v.Bits < firstAddress {
			w.b.WriteString(strconv.FormatUint(v.Bits, 10))
		} else {
			w.dots()
		}
	case reflect.Float32, reflect.Float64:
		w.b.WriteString(strconv.FormatFloat(v.float(v.Bits), 'g', -1, v.size()))
	case reflect.Complex64, reflect.Complex128:
		w.b.WriteString(strconv.FormatComplex(complex(v.float(v.Bits), v.float(v.Imag)), 'g', -1, 2*v.size()))
	case reflect.String:
		w.str(v.Text, v.Len)
	case reflect.Pointer, reflect.UnsafePointer:
		w.b.WriteByte('&')
		if len(v.Children) == 0 {
			w.dots()
		} else {
			w.value(&v.Children[0], level, hops+1)
		}
	case reflect.Interface:
		w.iface(v, level, hops)
	case reflect.Func:
		w.function(v)
	case reflect.Chan:
		fmt.Fprintf(&w.b, "chan(%d of %d)", v.Len, v.Cap)
	case reflect.Slice, reflect.Array:
		if v.Bytes {
			w.str(v.Text, v.Len)
		} else {
			w.list('[', ']', len(v.Children), v.Len, level, func(i int) { w.value(&v.Children[i], level+1, 0) })
		}
	case reflect.Struct:
		w.structure(v, level)
	case reflect.Map:
		w.mapping(v, level)
	default:
		w.b.WriteByte('?')
		w.cut = true
	}
}

// firstAddress is where a process may have memory.
const firstAddress = 4096

// size is that of a floating-point number, or of a complex number's parts, in bits.
func (v *Value) size() int {
	if v.Kind == reflect.Float32 || v.Kind == reflect.Complex64 {
		return 32
	}
	return 64
}

func (v *Value) float(bits uint64) float64 {
	if v.size() == 32 {
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
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

// iface writes the dynamic type and, in parentheses, the value.
func (w *writer) iface(v *Value, level, hops int) {
	w.b.WriteString(TypeName(v.Type))
	w.b.WriteByte('(')
	if len(v.Children) == 0 {
		w.dots()
	} else {
		w.value(&v.Children[0], level, hops+1)
	}
	w.b.WriteByte(')')
}

// function writes a function's name.
func (w *writer) function(v *Value) {
	if v.Text == "" {
		w.dots()
		return
	}
	name, cut := shorten(Printable(Short(symbol.ElideArguments(v.Text))), maxText)
	w.b.WriteString(name)
	w.cut = w.cut || cut
}

func (w *writer) structure(v *Value, level int) {
	switch {
	case v.Type == "time.Time" && v.Text != "":
		w.b.WriteString(v.Text)
	case v.Type == "os.File":
		w.file(v, level)
	case strings.HasPrefix(v.Type, "sync."), strings.HasPrefix(v.Type, "testing."):
		// Who waits for a lock, and how far the tests are, is no value of the program's.
		w.dots()
	default:
		w.list('{', '}', len(v.Children), v.Len, level, func(i int) {
			f := &v.Children[i]
			w.b.WriteString(Printable(f.Name))
			w.b.WriteString(": ")
			w.value(f, level+1, 0)
		})
	}
}

// file writes an os.File by its name. The rest of it is the runtime's: descriptors,
// locks and modes, several levels deep.
func (w *writer) file(v *Value, level int) {
	w.cut = true
	at := v
	for _, name := range []string{"file", "name"} {
		if at = at.Field(name); at == nil || level >= MaxDepth {
			w.b.WriteString("{...}")
			return
		}
		if at.Kind == reflect.Pointer && len(at.Children) > 0 {
			at = &at.Children[0]
		}
	}
	w.b.WriteString("{name: ")
	w.value(at, 0, 0)
	w.b.WriteByte('}')
}

// mapping writes a map's entries in order of their keys. Of a large map
// only some entries are known, and which ones is chance: none is written.
func (w *writer) mapping(v *Value, level int) {
	switch {
	case v.Len > MaxElements:
		fmt.Fprintf(&w.b, "{...%d entries}", v.Len)
		w.cut = true
		return
	case level >= w.depth:
		w.list('{', '}', 0, v.Len, level, nil)
		return
	}
	type entry struct {
		text, tie  string // of the key; of the value, if another key has the same text
		key, value *Value
	}
	entries := make([]entry, len(v.Children)/2)
	for i := range entries {
		e := &entries[i]
		e.key, e.value = &v.Children[2*i], &v.Children[2*i+1]
		k := writer{mask: w.mask, depth: w.depth}
		k.value(e.key, level+1, 0)
		w.cut = w.cut || k.cut
		e.text = k.b.String()
	}
	byKey := func(a, b entry) int {
		return cmp.Or(compareKeys(a.key, b.key), strings.Compare(a.text, b.text))
	}
	slices.SortStableFunc(entries, byKey)
	// Keys that only their addresses tell apart, and NaN.
	for i := range entries {
		if i > 0 && byKey(entries[i-1], entries[i]) == 0 || i+1 < len(entries) && byKey(entries[i], entries[i+1]) == 0 {
			x := writer{mask: w.mask, depth: w.depth}
			x.value(entries[i].value, level+1, 0)
			entries[i].tie = x.b.String()
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Or(byKey(a, b), strings.Compare(a.tie, b.tie)) })
	w.list('{', '}', len(entries), v.Len, level, func(i int) {
		w.b.WriteString(entries[i].text)
		w.b.WriteString(": ")
		w.value(entries[i].value, level+1, 0)
	})
}

// compareKeys orders numbers and strings, of which the texts are in another order.
func compareKeys(a, b *Value) int {
	if x, y := a.State >= NotFollowed, b.State >= NotFollowed; x || y {
		return cmp.Compare(a.State, b.State)
	}
	if a.Kind != b.Kind {
		return 0
	}
	switch a.Kind {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return cmp.Compare(int64(a.Bits), int64(b.Bits))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return cmp.Compare(a.Bits, b.Bits)
	case reflect.Uintptr:
		return cmp.Compare(min(a.Bits, firstAddress), min(b.Bits, firstAddress))
	case reflect.Float32, reflect.Float64:
		return cmp.Compare(a.float(a.Bits), b.float(b.Bits))
	case reflect.Complex64, reflect.Complex128:
		return cmp.Or(cmp.Compare(a.float(a.Bits), b.float(b.Bits)), cmp.Compare(a.float(a.Imag), b.float(b.Imag)))
	case reflect.String:
		return strings.Compare(a.Text, b.Text)
	}
	return 0
}

// list writes elements, of which so many are known of length.
func (w *writer) list(open, end byte, known int, length int64, level int, element func(i int)) {
	w.b.WriteByte(open)
	for i := 0; int64(i) < length; i++ {
		if i > 0 {
			w.b.WriteString(", ")
		}
		if level >= w.depth || i >= known || i == MaxElements || w.room > 0 && w.b.Len() > w.room {
			w.dots()
			break
		}
		element(i)
	}
	w.b.WriteByte(end)
}
