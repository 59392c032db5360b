package notation

import (
	"math"
	"reflect"
	"strings"
	"time"
)

// Limits of what is written of a value. What does not fit is "...".
const (
	MaxElements = 16 // of a struct, slice or array; of a larger map nothing is written
	MaxDepth    = 3  // structs, slices, arrays and maps within each other
	MaxHops     = 5  // pointers and interfaces one behind the other

	// MaxString is how many bytes of a string are of use: more than what is shown, so
	// that a secret in it can be recognised.
	MaxString = 4096

	maxText   = 200 // bytes, about; of the whole
	maxString = 48  // characters of a string, as they are written
)

// State says what is known of a value.
type State uint8

const (
	Known       State = iota
	Nil               // a slice, map, pointer, interface, function or channel that is nil
	NotFollowed       // it is left out: "..."
	Unreadable        // "?"
)

// Value is a value of a program. It has as many of its elements as are known, which are
// the first ones.
type Value struct {
	Kind  reflect.Kind
	State State
	Name  string // of a struct's field

	// Type is that of a struct, and of what an interface holds: by import paths, as far
	// as they are known. See [Full].
	Type string

	// Bits is a boolean (0 or 1), an integer (signed ones as int64), a floating-point
	// number as math.Float32bits or math.Float64bits have it; Imag a complex number's other part.
	Bits, Imag uint64

	// Text is the beginning of a string or of a slice of bytes, a function's linker name, and
	// what [Time] returns for a time.Time, which then needs no fields.
	Text  string
	Bytes bool // a slice has its elements in Text

	// Len is the length of a string, slice, array or map, the number of a struct's fields
	// that are not blank, and of a channel's elements. Cap is the channel's.
	Len, Cap int64

	// Children are elements; fields; keys and values of a map in turn; what a pointer points to, if
	// it is followed; what an interface holds.
	Children []Value
}

// Field returns a struct's field, or nil if it is not known.
func (v *Value) Field(name string) *Value {
	if v.Kind != reflect.Struct {
		return nil
	}
	for i := range v.Children {
		if f := &v.Children[i]; f.Name == name {
			return f
		}
	}
	return nil
}

// Full is the name by which a struct type is known here, from its package's import path and
// its name as package reflect has it: "sync.Mutex", "example.com/sync.Mutex".
func Full(path, name string) string {
	if path == "" {
		return name
	}
	if _, local, ok := strings.Cut(name, "."); ok {
		return path + "." + local
	}
	return name
}

// Time is a time.Time as text, from its fields and the name of its location, "" for UTC. The time
// is in that location if this machine knows it, otherwise in UTC. Fractions of a second and the reading of the monotonic clock
// are left out. It is "" for years far beyond what Go can format.
func Time(wall uint64, ext int64, zone string) string {
	const (
		monotonic  = 1 << 63
		wallToUnix = -2682288000  // seconds from 1 January 1885
		extToUnix  = -62135596800 // and from 1 January of the year 1
		most       = 1000 * (math.MaxInt64 / int64(time.Second))
	)
	var t time.Time
	switch {
	case wall&monotonic != 0:
		t = time.Unix(int64(wall<<1>>31)+wallToUnix, 0)
	case ext > most || ext < -most:
		return ""
	default:
		t = time.Unix(ext+extToUnix, 0)
	}
	at, err := time.LoadLocation(zone)
	if err != nil {
		at = time.UTC
	}
	return t.In(at).Format(time.RFC3339)
}
