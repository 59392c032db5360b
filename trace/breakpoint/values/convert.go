package values

import (
	"encoding/binary"
	"go/constant"
	"reflect"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/proc"

	"tracerag/trace/notation"
)

// converter makes values to be written from what delve laid out.
type converter struct{ mem proc.MemoryReadWriter }

func (c *converter) value(v *proc.Variable) notation.Value {
	n := notation.Value{Kind: v.Kind}
	switch {
	case v.Unreadable != nil:
		n.State = notation.Unreadable
		return n
	case v.OnlyAddr && v.Addr != 0:
		n.State = notation.NotFollowed
		return n
	}
	switch v.Kind {
	case reflect.String:
		n.Text, n.Len = constant.StringVal(v.Value), v.Len
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		c.float(v, &n)
	case reflect.Pointer, reflect.UnsafePointer:
		c.pointer(v, &n)
	case reflect.Interface:
		c.iface(v, &n)
	case reflect.Func:
		if v.Base == 0 {
			n.State = notation.Nil
		} else {
			n.Text = constant.StringVal(v.Value)
		}
	case reflect.Chan:
		channel(v, &n)
	case reflect.Slice, reflect.Array, reflect.Map:
		n.Len = v.Len
		switch {
		case v.Kind != reflect.Array && v.Base == 0:
			n.State = notation.Nil
		case isByte(v):
			c.bytes(v, &n)
		default:
			n.Children = c.values(v.Children)
			hidePointers(v, n.Children)
		}
	case reflect.Struct:
		c.structure(v, &n)
	default:
		if v.RealType.Common().Name == "uintptr" {
			n.Kind = reflect.Uintptr // delve has one of the same size
		}
		n.Bits, n.State = wordOf(v.Value)
	}
	return n
}

func (c *converter) values(list []proc.Variable) []notation.Value {
	out := make([]notation.Value, len(list))
	for i := range list {
		out[i] = c.value(&list[i])
	}
	return out
}

// hidePointers hides a map's pointers in the code of a generic function: delve takes them for what they point to, of
// which the type is not known.
func hidePointers(v *proc.Variable, entries []notation.Value) {
	t, ok := v.RealType.(*godwarf.MapType)
	if !ok {
		return
	}
	for at, typ := range []godwarf.Type{t.KeyType, t.ElemType} {
		if !strings.HasPrefix(fullName(typ), "go.shape.*") {
			continue
		}
		for i := at; i < len(entries); i += 2 {
			entries[i] = notation.Value{State: notation.NotFollowed}
		}
	}
}

// wordOf is a boolean or an integer; delve has none of some unreadable ones.
func wordOf(v constant.Value) (uint64, notation.State) {
	if v == nil {
		return 0, notation.Unreadable
	}
	if v.Kind() == constant.Bool {
		if constant.BoolVal(v) {
			return 1, notation.Known
		}
		return 0, notation.Known
	}
	if i, ok := constant.Int64Val(v); ok {
		return uint64(i), notation.Known
	}
	u, _ := constant.Uint64Val(v)
	return u, notation.Known
}

// float reads a number anew: delve has no negative zero, and no NaN and no infinity in a complex one.
func (c *converter) float(v *proc.Variable, n *notation.Value) {
	data := make([]byte, v.RealType.Size())
	if read, err := c.mem.ReadMemory(data, v.Addr); err != nil || read != len(data) {
		n.State = notation.NotFollowed
		return
	}
	le := binary.LittleEndian
	switch v.Kind {
	case reflect.Float32:
		n.Bits = uint64(le.Uint32(data))
	case reflect.Float64:
		n.Bits = le.Uint64(data)
	case reflect.Complex64:
		n.Bits, n.Imag = uint64(le.Uint32(data)), uint64(le.Uint32(data[4:]))
	case reflect.Complex128:
		n.Bits, n.Imag = le.Uint64(data), le.Uint64(data[8:])
	}
}

func (c *converter) pointer(v *proc.Variable, n *notation.Value) {
	switch {
	case len(v.Children) == 0:
		n.State = notation.NotFollowed
	case v.Children[0].Addr == 0:
		n.State = notation.Nil
	case strings.HasPrefix(fullName(v.DwarfType), "go.shape."), v.Kind == reflect.UnsafePointer, v.Children[0].Kind == reflect.Invalid:
		// In the code of a generic function all pointers look alike.
	default:
		n.Children = c.values(v.Children[:1])
	}
}

func (c *converter) iface(v *proc.Variable, n *notation.Value) {
	switch {
	case len(v.Children) == 0:
		n.State = notation.NotFollowed
	case v.Children[0].Kind == reflect.Invalid:
		n.State = notation.Nil // also if something is left in its other word
	default:
		n.Type = nameOf(v.Children[0].DwarfType)
		n.Children = c.values(v.Children[:1])
	}
}

func channel(v *proc.Variable, n *notation.Value) {
	if v.Base == 0 {
		n.State = notation.Nil
		return
	}
	n.State = notation.Unreadable
	fields := 0
	for i := range v.Children {
		f := &v.Children[i]
		if f.Value == nil || f.Name != "qcount" && f.Name != "dataqsiz" {
			continue
		}
		word, _ := constant.Int64Val(f.Value)
		if fields++; f.Name == "qcount" {
			n.Len = word
		} else {
			n.Cap = word
		}
	}
	if fields == 2 {
		n.State = notation.Known
	}
}

func (c *converter) bytes(v *proc.Variable, n *notation.Value) {
	data := make([]byte, min(v.Len, notation.MaxString))
	if read, err := c.mem.ReadMemory(data, v.Base); err != nil || read != len(data) {
		n.State = notation.Unreadable
		return
	}
	n.Text, n.Bytes = string(data), true
}

func isByte(v *proc.Variable) bool {
	t, ok := v.RealType.(*godwarf.SliceType)
	if !ok {
		return false
	}
	elem, ok := godwarf.ResolveTypedef(t.ElemType).(*godwarf.UintType)
	return ok && elem.Size() == 1
}

func (c *converter) structure(v *proc.Variable, n *notation.Value) {
	n.Type = fullName(v.DwarfType)
	if n.Type == "time.Time" && v.Value != nil {
		// Without the reading of the monotonic clock, which is no part of it.
		n.Text, _, _ = strings.Cut(constant.StringVal(v.Value), ", ")
		return
	}
	n.Len = v.Len
	for i := range v.Children {
		f := &v.Children[i]
		if f.Name == "_" {
			n.Len--
			continue
		}
		child := c.value(f)
		child.Name = f.Name[strings.LastIndexByte(f.Name, '.')+1:]
		n.Children = append(n.Children, child)
	}
}
