// Package captured decodes the arguments and results that a program wrote into memory while it ran (package
// trace/rebuild), and has package notation write them.
//
// The program may have died in the middle of writing, and it may write there what it likes: nothing that it wrote is trusted.
//
// # Format
//
// Numbers are little endian. Kinds are those of package reflect.
//
//	params  u8 count, count × param
//	param   str8 name ("" for a result without a name), str16 type, value
//	str8    u8 length, bytes            str16  u16 length, bytes
//	value   u8 kind, then
//	  Bool                    u8
//	  integers, Uintptr       u64, of a signed one with its sign
//	  Float32  Complex64      u32; two of them
//	  Float64  Complex128     u64; two of them
//	  String                  u64 length, u16 n, n bytes
//	  Slice                   u8: 0 nil; 1: u64 length, u8: 1 for u16 n and n bytes, 0 for u8 n and n values
//	  Array                   u64 length, u8 n, n values
//	  Struct                  str16 import path ("" for a type without a name), str16 type, u16 fields, u8 n, n × (str8 name, value);
//	                          blank fields are left out
//	  Pointer                 u8: 0 nil; 1: the value it points to; 2: that is left out
//	  UnsafePointer           u8: 0 nil; 1
//	  Interface               u8: 0 nil; 1: str16 dynamic type, value
//	  Func                    u8: 0 nil; 1: str16 linker name
//	  Chan                    u8: 0 nil; 1: u64 length, u64 capacity
//	  Map                     u8: 0 nil; 1: u64 length, u8 n, n × (key, value)
//	  0xFE                    the value is left out
//	  0xFF                    it could not be read
//
// Lengths are those of the values, n is what was written of them: the first elements, of structs and the like that are more than three
// deep none, and none of a map with more than 16 entries. Types are strings as package reflect has them.
//
// A time.Time is its fields wall, ext and loc, of whose time.Location the name is enough. An os.File is a field file that points
// to an os.file with a field name. Structs of packages sync and testing need no fields.
package captured

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"

	"tracerag/trace"
	"tracerag/trace/notation"
)

// Decode returns the values that a program wrote. Where what it wrote is damaged, the values before that
// come with the error. For mask see [notation.Write].
func Decode(b []byte, mask func(string) string) ([]trace.Value, error) {
	d := decoder{b: b}
	var out []trace.Value
	for n := d.u8(); n > 0; n-- {
		v := trace.Value{Name: notation.Printable(d.str8()), Type: notation.TypeName(d.str16())}
		value := d.value(0, 0)
		if d.failed != nil {
			break
		}
		if value.State == notation.Unreadable {
			v.Unread = "not readable"
		} else {
			v.Text, v.Cut = notation.Write(&value, mask)
		}
		out = append(out, v)
	}
	if d.failed == nil && len(d.b) > 0 {
		d.failed = fmt.Errorf("%d bytes behind the last value", len(d.b))
	}
	if d.failed != nil {
		return out, fmt.Errorf("captured values: after %d: %w", len(out), d.failed)
	}
	return out, nil
}

// Bounds of what is decoded: more than a recorder writes.
const (
	maxLevels = notation.MaxDepth + 3 // structs, slices, arrays and maps within each other
	maxHops   = 8                     // pointers and interfaces between two of them

	leftOut    = 0xFE
	unreadable = 0xFF
)

var (
	errEnd    = errors.New("the end is missing")
	errDeep   = errors.New("too many values within each other")
	errLength = errors.New("more elements than the value's length")
)

// decoder takes bytes from the front of b. After the first failure all is zero.
type decoder struct {
	b      []byte
	failed error
}

func (d *decoder) fail(err error) {
	if d.failed == nil {
		d.failed = err
	}
	d.b = nil
}

func (d *decoder) take(n int) []byte {
	if n > len(d.b) {
		d.fail(errEnd)
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

// number takes a number of so many bytes.
func (d *decoder) number(size int) uint64 {
	var whole [8]byte
	copy(whole[:], d.take(size))
	return binary.LittleEndian.Uint64(whole[:])
}

func (d *decoder) u8() int       { return int(d.number(1)) }
func (d *decoder) u16() int      { return int(d.number(2)) }
func (d *decoder) str8() string  { return string(d.take(d.u8())) }
func (d *decoder) str16() string { return string(d.take(d.u16())) }

// length takes a length, which no value has over that of an int.
func (d *decoder) length() int64 {
	n := d.number(8)
	if n > math.MaxInt64 {
		d.fail(errLength)
	}
	return int64(n)
}

// state takes the byte that a value begins with which may be nil.
func (d *decoder) state(v *notation.Value, most int) (is int) {
	switch is = d.u8(); {
	case is == 0:
		v.State = notation.Nil
	case is > most:
		d.fail(fmt.Errorf("unknown state %d of a %s", is, v.Kind))
	}
	return is
}

// value takes a value that is within so many structs and the like, and behind so many pointers and interfaces in the innermost.
func (d *decoder) value(level, hops int) notation.Value {
	if level > maxLevels || hops > maxHops {
		d.fail(errDeep)
	}
	kind := d.u8()
	v := notation.Value{Kind: reflect.Kind(kind)}
	switch {
	case kind == leftOut:
		v.State = notation.NotFollowed
		return v
	case kind == unreadable:
		v.State = notation.Unreadable
		return v
	case d.failed != nil:
		return v
	}
	switch v.Kind {
	case reflect.Bool:
		v.Bits = d.number(1)
	case reflect.Float32:
		v.Bits = d.number(4)
	case reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.Bits = d.number(8)
	case reflect.Complex64:
		v.Bits, v.Imag = d.number(4), d.number(4)
	case reflect.Complex128:
		v.Bits, v.Imag = d.number(8), d.number(8)
	case reflect.String:
		v.Len = d.length()
		d.text(&v)
	case reflect.Slice:
		if d.state(&v, 1) == 1 {
			v.Len = d.length()
			if v.Bytes = d.u8() != 0; v.Bytes {
				d.text(&v)
			} else {
				d.elements(&v, level)
			}
		}
	case reflect.Array:
		v.Len = d.length()
		d.elements(&v, level)
	case reflect.Struct:
		d.structure(&v, level)
	case reflect.Pointer:
		if d.state(&v, 2) == 1 {
			v.Children = []notation.Value{d.value(level, hops+1)}
		}
	case reflect.UnsafePointer:
		d.state(&v, 1)
	case reflect.Interface:
		if d.state(&v, 1) == 1 {
			v.Type = d.str16()
			v.Children = []notation.Value{d.value(level, hops+1)}
		}
	case reflect.Func:
		if d.state(&v, 1) == 1 {
			v.Text = d.str16()
		}
	case reflect.Chan:
		if d.state(&v, 1) == 1 {
			v.Len, v.Cap = d.length(), d.length()
		}
	case reflect.Map:
		if d.state(&v, 1) == 1 {
			d.mapping(&v, level)
		}
	default:
		d.fail(fmt.Errorf("unknown kind %d", kind))
	}
	return v
}

// text takes the beginning of a string or of a slice of bytes.
func (d *decoder) text(v *notation.Value) {
	b := d.take(d.u16())
	if int64(len(b)) > v.Len {
		d.fail(errLength)
	}
	v.Text = string(b[:min(len(b), notation.MaxString)])
}

func (d *decoder) elements(v *notation.Value, level int) {
	n := d.u8()
	if int64(n) > v.Len {
		d.fail(errLength)
	}
	for range n {
		d.keep(v, d.value(level+1, 0))
		if d.failed != nil {
			return
		}
	}
}

// keep adds an element if it is one of those that are written.
func (d *decoder) keep(v *notation.Value, elems ...notation.Value) {
	if len(v.Children) < notation.MaxElements*len(elems) {
		v.Children = append(v.Children, elems...)
	}
}

func (d *decoder) structure(v *notation.Value, level int) {
	path := d.str16()
	v.Type = notation.Full(path, d.str16())
	v.Len = int64(d.u16())
	n := d.u8()
	if int64(n) > v.Len {
		d.fail(errLength)
	}
	for range n {
		name := d.str8()
		f := d.value(level+1, 0)
		if d.failed != nil {
			return
		}
		f.Name = name
		d.keep(v, f)
	}
	if v.Type == "time.Time" {
		v.Text = timeOf(v)
	}
}

// timeOf writes a time.Time, or returns "" if it cannot.
func timeOf(v *notation.Value) string {
	wall, ext, loc := v.Field("wall"), v.Field("ext"), v.Field("loc")
	if wall == nil || ext == nil || wall.Kind != reflect.Uint64 || ext.Kind != reflect.Int64 {
		return ""
	}
	zone := ""
	if loc != nil && len(loc.Children) > 0 {
		if name := loc.Children[0].Field("name"); name != nil {
			zone = name.Text
		}
	}
	return notation.Time(wall.Bits, int64(ext.Bits), zone)
}

// mapping takes a map. Its length was read before its entries, and another goroutine may have added some.
func (d *decoder) mapping(v *notation.Value, level int) {
	v.Len = d.length()
	n := d.u8()
	v.Len = max(v.Len, int64(n))
	for range n {
		key := d.value(level+1, 0)
		elem := d.value(level+1, 0)
		if d.failed != nil {
			return
		}
		d.keep(v, key, elem)
	}
}
