package captured

import (
	"encoding/binary"
	"math"
	"reflect"
	"strings"
	"testing"

	"tracerag/trace"
)

// bytes are what a program writes, put together from parts.
func bytes(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case reflect.Kind:
			b = append(b, byte(p))
		case int: // a byte
			b = append(b, byte(p))
		case uint16:
			b = binary.LittleEndian.AppendUint16(b, p)
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, p)
		case uint64:
			b = binary.LittleEndian.AppendUint64(b, p)
		case str8:
			b = append(append(b, byte(len(p))), p...)
		case string: // str16
			b = append(binary.LittleEndian.AppendUint16(b, uint16(len(p))), p...)
		case []byte:
			b = append(b, p...)
		}
	}
	return b
}

type str8 string

func integer(n int) []byte { return bytes(reflect.Int, uint64(n)) }

func text(s string) []byte { return bytes(reflect.String, uint64(len(s)), s) }

func pointer(v []byte) []byte { return bytes(reflect.Pointer, 1, v) }

// cases are values, and how they are written.
var cases = []struct {
	name  string
	value []byte
	want  string
	cut   bool
}{
	{"bool", bytes(reflect.Bool, 1), "true", false},
	{"int8", bytes(reflect.Int8, uint64(math.MaxUint64)), "-1", false},
	{"uint64", bytes(reflect.Uint64, uint64(math.MaxUint64)), "18446744073709551615", false},
	{"uintptr", bytes(reflect.Uintptr, uint64(3)), "3", false},
	{"address", bytes(reflect.Uintptr, uint64(0xc000012345)), "...", true},
	{"float32", bytes(reflect.Float32, math.Float32bits(0.1)), "0.1", false},
	{"float64", bytes(reflect.Float64, math.Float64bits(math.Copysign(0, -1))), "-0", false},
	{"complex64", bytes(reflect.Complex64, math.Float32bits(1), math.Float32bits(-2.5)), "(1-2.5i)", false},
	{"complex128", bytes(reflect.Complex128, math.Float64bits(math.NaN()), math.Float64bits(1)), "(NaN+1i)", false},
	{"string", text("a\n\xff"), `"a\n\xff"`, false},
	{"long string", bytes(reflect.String, uint64(1<<40), strings.Repeat("x", 5000)), `"` + strings.Repeat("x", 48) + `"...`, true},
	{"nil slice", bytes(reflect.Slice, 0), "nil", false},
	{"empty slice", bytes(reflect.Slice, 1, uint64(0), 0, 0), "[]", false},
	{"slice", bytes(reflect.Slice, 1, uint64(3), 0, 2, integer(1), integer(2)), "[1, 2, ...]", true},
	{"bytes", bytes(reflect.Slice, 1, uint64(2), 1, "ab"), `"ab"`, false},
	{"no bytes", bytes(reflect.Slice, 1, uint64(0), 1, ""), `""`, false},
	{"array", bytes(reflect.Array, uint64(2), 2, integer(1), integer(2)), "[1, 2]", false},
	{"17 of 20 elements", bytes(reflect.Array, uint64(20), 17, []byte(strings.Repeat("\x01\x01", 17))), "[" + strings.Repeat("true, ", 16) + "...]", true},
	{"struct", bytes(reflect.Struct, "example.com/p", "p.T", uint16(2), 2, str8("A"), integer(1), str8("b"), text("x")), `{A: 1, b: "x"}`, false},
	{"struct without fields", bytes(reflect.Struct, "", "struct {}", uint16(0), 0), "{}", false},
	{"deep struct", bytes(reflect.Struct, "p", "p.T", uint16(2), 0), "{...}", true},
	{"lock", bytes(reflect.Struct, "sync", "sync.Mutex", uint16(2), 0), "...", true},
	{"lock of somebody else", bytes(reflect.Struct, "example.com/sync", "sync.Mutex", uint16(1), 1, str8("state"), integer(1)), "{state: 1}", false},
	{"nil pointer", bytes(reflect.Pointer, 0), "nil", false},
	{"pointer", pointer(pointer(integer(1))), "&&1", false},
	{"pointer that is not followed", bytes(reflect.Pointer, 2), "&...", true},
	{"unsafe pointer", bytes(reflect.UnsafePointer, 1), "&...", true},
	{"nil interface", bytes(reflect.Interface, 0), "nil", false},
	{"interface", bytes(reflect.Interface, 1, "map[string]interface {}", bytes(reflect.Map, 0)), "map[string]any(nil)", false},
	{"nil func", bytes(reflect.Func, 0), "nil", false},
	{"func", bytes(reflect.Func, 1, "example.com/x/y.(*T).M-fm"), "y.(*T).M-fm", false},
	{"func without a name", bytes(reflect.Func, 1, ""), "...", true},
	{"nil chan", bytes(reflect.Chan, 0), "nil", false},
	{"chan", bytes(reflect.Chan, 1, uint64(2), uint64(3)), "chan(2 of 3)", false},
	{"map", bytes(reflect.Map, 1, uint64(2), 2, integer(10), text("b"), integer(9), text("a")), `{9: "a", 10: "b"}`, false},
	{"growing map", bytes(reflect.Map, 1, uint64(0), 1, integer(10), text("b")), `{10: "b"}`, false},
	{"shrinking map", bytes(reflect.Map, 1, uint64(2), 1, integer(10), text("b")), `{10: "b", ...}`, true},
	{"large map", bytes(reflect.Map, 1, uint64(17), 0), "{...17 entries}", true},
	{"left out", bytes(0xFE), "...", true},
	{"unreadable element", bytes(reflect.Array, uint64(2), 2, 0xFF, 0xFE), "[?, ...]", true},
	{"time", timeBytes(0, 63902963045, bytes(reflect.Pointer, 0)), "2026-01-02T15:04:05Z", false},
	{"time with a clock", timeBytes(1<<63|4449654245<<30|5, 77, bytes(reflect.Pointer, 0)), "2026-01-02T15:04:05Z", false},
	{"time of a zone", timeBytes(0, 63902963045, pointer(bytes(reflect.Struct, "time", "time.Location", uint16(7), 1, str8("name"), text("UTC")))), "2026-01-02T15:04:05Z", false},
	{"year 200,000,000,000", timeBytes(0, math.MaxInt64, bytes(reflect.Pointer, 0)), "{wall: 0, ext: 9223372036854775807, loc: nil}", false},
	{"file", pointer(bytes(reflect.Struct, "os", "os.File", uint16(1), 1, str8("file"),
		pointer(bytes(reflect.Struct, "os", "os.file", uint16(8), 1, str8("name"), text("/dev/null"))))), `&{name: "/dev/null"}`, true},
	{"names that Go does not have", bytes(reflect.Interface, 1, "a%0ab.\x1b[2JT", bytes(reflect.Struct, "", "\xff", uint16(1), 1, str8("\n"), bytes(reflect.Func, 1, "p\n.F"))), `a\nb.\x1b[2JT({\n: p\n.F})`, false},
}

func timeBytes(wall uint64, ext int64, loc []byte) []byte {
	return bytes(reflect.Struct, "time", "time.Time", uint16(3), 3,
		str8("wall"), bytes(reflect.Uint64, wall), str8("ext"), bytes(reflect.Int64, uint64(ext)), str8("loc"), loc)
}

func params() []byte {
	b := bytes(len(cases))
	for _, c := range cases {
		b = append(b, bytes(str8(c.name), "[]uint8", c.value)...)
	}
	return b
}

func TestDecode(t *testing.T) {
	got, err := Decode(params(), nil)
	if err != nil || len(got) != len(cases) {
		t.Fatalf("%d of %d values, %v", len(got), len(cases), err)
	}
	for i, c := range cases {
		if want := (trace.Value{Name: c.name, Type: "[]byte", Text: c.want, Cut: c.cut}); got[i] != want {
			t.Errorf("%+v, want\n%+v", got[i], want)
		}
	}
	got, err = Decode(bytes(2, str8(""), "error", 0xFF, str8("_"), "int", 0xFE), nil)
	if want := []trace.Value{{Type: "error", Unread: "not readable"}, {Name: "_", Type: "int", Text: "...", Cut: true}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestDecodeMasksWhatItCuts(t *testing.T) {
	mask := func(s string) string { return strings.ReplaceAll(s, "secret", "[MASKED]") }
	got, err := Decode(bytes(1, str8("s"), "string", text("secret "+strings.Repeat("x", 60))), mask)
	if err != nil || !strings.HasPrefix(got[0].Text, `"[MASKED] xxx`) {
		t.Error(got, err)
	}
}

// What is damaged is an error, and what was before it is there.
func TestDecodeDamaged(t *testing.T) {
	for name, c := range map[string]struct {
		value []byte
		want  string
	}{
		"no value":                   {nil, "the end is missing"},
		"half a number":              {[]byte{byte(reflect.Int), 1}, "the end is missing"},
		"kind":                       {bytes(27), "unknown kind 27"},
		"invalid":                    {bytes(0), "unknown kind 0"},
		"state":                      {bytes(reflect.Pointer, 3), "unknown state 3 of a ptr"},
		"string beyond its length":   {bytes(reflect.String, uint64(1), "ab"), "more elements"},
		"array beyond its length":    {bytes(reflect.Array, uint64(1), 2, 0xFF, 0xFF), "more elements"},
		"negative length":            {bytes(reflect.Slice, 1, uint64(1<<63), 0, 0), "more elements"},
		"a string that is not there": {bytes(reflect.String, uint64(65535), uint16(65535)), "the end is missing"},
		"pointers":                   {bytes([]byte(strings.Repeat("\x16\x01", 100)), integer(1)), "within each other"},
		"arrays":                     {[]byte(strings.Repeat("\x11\x01\x00\x00\x00\x00\x00\x00\x00\x01", 100)), "within each other"},
		"more behind it":             {bytes(integer(1), 0, 0), "2 bytes behind"},
	} {
		b := bytes(2, str8("a"), "int", integer(7), str8("b"), "T", c.value)
		got, err := Decode(b, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if len(got) == 0 || got[0] != (trace.Value{Name: "a", Type: "int", Text: "7"}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	whole := params()
	for n := range whole {
		if got, err := Decode(whole[:n], nil); err == nil || len(got) >= len(cases) {
			t.Fatalf("%d of %d bytes: %d values, %v", n, len(whole), len(got), err)
		}
	}
}

// Whatever a program writes, what is decoded can be a part of a trace.
func FuzzDecode(f *testing.F) {
	f.Add(params())
	for _, c := range cases {
		f.Add(bytes(1, str8("v"), "T", c.value))
		f.Add(bytes(1, str8("v"), "T", bytes(reflect.Map, 1, uint64(2), 2, c.value, integer(1), c.value, c.value)))
		f.Add(bytes(1, str8("v"), "T", bytes(reflect.Array, uint64(2), 2, pointer(c.value), c.value)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		values, _ := Decode(b, func(s string) string { return s })
		if len(values) > 255 {
			t.Fatalf("%d values", len(values))
		}
		tr := &trace.Trace{}
		tb := trace.NewBuilder(tr)
		at := tb.Call(trace.Root{Kind: trace.RootMain}, []trace.Frame{{Func: tb.Func(trace.Function{Name: "main.main"})}}, 1)
		tr = tb.Finish()
		tr.Activations = []trace.Activation{{Node: at, Args: values}}
		if err := tr.Check(); err != nil {
			t.Fatal(err)
		}
	})
}
