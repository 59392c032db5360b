package notation

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestTypeName(t *testing.T) {
	for name, want := range map[string]string{
		"int":                           "int",
		"*example.com/a/b.T":            "*b.T",
		"map[string]*example.com/a/b.T": "map[string]*b.T",
		"[]uint8":                       "[]byte",
		"[3]interface {}":               "[3]any",
		"func(gopkg.in/yaml%2ev3.Node, x/y.Z) error":                          "func(yaml.Node, y.Z) error",
		"func(string, ...interface {})":                                       "func(string, ...any)",
		"example.com/p.G[go.shape.int,example.com/q.T]":                       "p.G[int,q.T]",
		"struct { a/b.x int; a/b.y *c/d.E }":                                  "struct { b.x int; b.y *d.E }",
		"struct { a int; b string; c float64; d []string; e map[string]int }": "struct { a int; b string; c float64; d []string; e map[st...",
		"[]example.com/p.G[example.com/p.local·12]":                           "[]p.G[p.local]",
		"chan<- github.com/charmbracelet/bubbletea.Msg":                       "chan<- bubbletea.Msg",
	} {
		if got := TypeName(name); got != want {
			t.Errorf("%s is written %s, want %s", name, got, want)
		}
	}
}

func TestFull(t *testing.T) {
	for _, c := range [][3]string{
		{"time", "time.Time", "time.Time"},
		{"example.com/x/sync", "sync.Mutex", "example.com/x/sync.Mutex"},
		{"gopkg.in/yaml.v3", "yaml.Node", "gopkg.in/yaml.v3.Node"},
		{"", "struct { A time.Time }", "struct { A time.Time }"},
	} {
		if got := Full(c[0], c[1]); got != c[2] {
			t.Errorf("%s of %s is %s, want %s", c[1], c[0], got, c[2])
		}
	}
}

func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"":         `""`,
		"a\"b\n":   `"a\"b\n"`,
		"\xff\xfe": `"\xff\xfe"`,
		"日本語":      `"日本語"`,
		"12345678901234567890123456789012345678901234567890": `"123456789012345678901234567890123456789012345678"+`,
		"123456789012345678901234567890123456789012345678":   `"123456789012345678901234567890123456789012345678"`,
		"12345678901234567890123456789012345678901234567\n":  `"12345678901234567890123456789012345678901234567"+`,
	} {
		got, more := quoted(in)
		if more {
			got += "+"
		}
		if got != want {
			t.Errorf("%q is written %s, want %s", in, got, want)
		}
	}
}

// Values as a recorder makes them.
func number(n int64) Value { return Value{Kind: reflect.Int, Bits: uint64(n)} }

func str(s string) Value { return Value{Kind: reflect.String, Text: s, Len: int64(len(s))} }

func float(f float64) Value { return Value{Kind: reflect.Float64, Bits: math.Float64bits(f)} }

func list(elems ...Value) Value {
	return Value{Kind: reflect.Slice, Len: int64(len(elems)), Children: elems}
}

func mapOf(entries ...Value) Value {
	return Value{Kind: reflect.Map, Len: int64(len(entries) / 2), Children: entries}
}

func pointer(to ...Value) Value { return Value{Kind: reflect.Pointer, Children: to} }

func dynamic(typ string, v Value) Value {
	return Value{Kind: reflect.Interface, Type: typ, Children: []Value{v}}
}

func structOf(typ string, fields ...Value) Value {
	return Value{Kind: reflect.Struct, Type: typ, Len: int64(len(fields)), Children: fields}
}

func field(name string, v Value) Value {
	v.Name = name
	return v
}

func TestWrite(t *testing.T) {
	deep := number(7)
	for range 5 {
		deep = list(deep)
	}
	long := strings.Repeat("x", 60)
	many := list()
	for i := range 20 {
		many.Children = append(many.Children, number(int64(i)))
	}
	many.Len = 1 << 40
	cplx := func(re, im float64) Value {
		return Value{Kind: reflect.Complex128, Bits: math.Float64bits(re), Imag: math.Float64bits(im)}
	}
	file := structOf("os.File", field("file", pointer(structOf("os.file", field("pfd", number(1)), field("name", str("/dev/null"))))))
	for _, c := range []struct {
		v    Value
		want string
		cut  bool
	}{
		{Value{Kind: reflect.Bool, Bits: 1}, "true", false},
		{Value{Kind: reflect.Int8, Bits: math.MaxUint64}, "-1", false},
		{Value{Kind: reflect.Uint64, Bits: math.MaxUint64}, "18446744073709551615", false},
		{Value{Kind: reflect.Uintptr, Bits: 4095}, "4095", false},
		{Value{Kind: reflect.Uintptr, Bits: 4096}, "...", true},
		{Value{Kind: reflect.Float32, Bits: uint64(math.Float32bits(0.1))}, "0.1", false},
		{float(math.Copysign(0, -1)), "-0", false},
		{float(math.NaN()), "NaN", false},
		{cplx(1, math.Inf(-1)), "(1-Infi)", false},
		{Value{Kind: reflect.Chan, Len: 2, Cap: 3}, "chan(2 of 3)", false},
		{Value{Kind: reflect.Func, Text: "example.com/a/b.(*T).M-fm"}, "b.(*T).M-fm", false},
		{Value{Kind: reflect.Func, Text: "a/p.F[go.shape.[]a/b.T].func1"}, "p.F[...].func1", false},
		{Value{Kind: reflect.Func, Text: "p." + strings.Repeat("x", 300)}, "p." + strings.Repeat("x", 195) + "...", true},
		{Value{Kind: reflect.Map, State: Nil}, "nil", false},
		{Value{Kind: reflect.Slice, State: Unreadable}, "?", true},
		{Value{Kind: reflect.UnsafePointer}, "&...", true},
		{Value{Kind: reflect.Slice, Bytes: true, Text: "ab\x00", Len: 3}, `"ab\x00"`, false},
		{Value{Kind: reflect.Slice, Bytes: true}, `""`, false},
		{list(), "[]", false},
		{pointer(pointer(number(3))), "&&3", false},
		{pointer(pointer(pointer(pointer(pointer(number(3)))))), "&&&&&3", false},
		{pointer(pointer(pointer(pointer(pointer(pointer(number(3))))))), "&&&&&...", true},
		{dynamic("*T", pointer(dynamic("*T", pointer(dynamic("*T", pointer(number(1))))))), "*T(&*T(&*T(...)))", true},
		{Value{Kind: reflect.Interface, State: Nil}, "nil", false},
		{dynamic("*example.com/p.T", Value{Kind: reflect.Pointer, State: Nil}), "*p.T(nil)", false},
		{str(long), `"` + long[:48] + `"...`, true},
		{many, "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, ...]", true},
		{deep, "[[[[...]]]]", true},
		{list(str(long), list(str(long), str(long)), str(long)), `["` + long[:48] + `"..., [...], "` + long[:48] + `"...]`, true},
		{list(list(str(long), str(long)), list(str(long), str(long))), "[[...], [...]]", true},
		{structOf("p.T", field("A", number(1)), field("b", list())), "{A: 1, b: []}", false},
		{structOf("sync.Mutex", field("state", number(1))), "...", true},
		{structOf("testing.T"), "...", true},
		{structOf("example.com/sync.Mutex", field("state", number(1))), "{state: 1}", false},
		{Value{Kind: reflect.Struct, Type: "time.Time", Text: "2026-01-02T15:04:05Z"}, "2026-01-02T15:04:05Z", false},
		{file, `{name: "/dev/null"}`, true},
		{list(list(list(file))), `[[[{...}]]]`, true},
		{Value{Kind: reflect.Map, Len: 17}, "{...17 entries}", true},

		// The order of a map's entries is not that in which they were found.
		{mapOf(number(10), number(1), number(9), number(2), number(-1), number(3)), "{-1: 3, 9: 2, 10: 1}", false},
		{mapOf(str("b"), number(1), str("a"), number(2)), `{"a": 2, "b": 1}`, false},
		{mapOf(float(math.NaN()), number(2), float(1), number(5), float(math.NaN()), number(1)), "{NaN: 1, NaN: 2, 1: 5}", false},
		{mapOf(cplx(2, 1), number(1), cplx(1, 9), number(2), cplx(1, 8), number(3)), "{(1+8i): 3, (1+9i): 2, (2+1i): 1}", false},
		{mapOf(pointer(number(1)), str("z"), pointer(number(1)), str("y"), pointer(number(0)), str("x")), `{&0: "x", &1: "y", &1: "z"}`, false},
		{mapOf(dynamic("string", str("a")), number(1), dynamic("int", number(2)), number(2)), `{int(2): 2, string("a"): 1}`, false},
		{mapOf(dynamic("string", str("a")), number(1), Value{Kind: reflect.Interface, State: Nil}, number(2)), `{nil: 2, string("a"): 1}`, false},
		{mapOf(Value{State: Unreadable}, number(1), number(9), number(2), number(10), number(3)), `{9: 2, 10: 3, ?: 1}`, true},
	} {
		if got, cut := Write(&c.v, nil); got != c.want || cut != c.cut {
			t.Errorf("%+v is written\n%s (cut: %v), want\n%s (cut: %v)", c.v, got, cut, c.want, c.cut)
		}
	}
}

// Only strings that are cut are masked: the others can be masked whenever they are shown.
func TestWriteMasks(t *testing.T) {
	mask := func(s string) string { return strings.ReplaceAll(s, "secret", "[MASKED]") }
	whole, long := str("a secret"), str("a secret "+strings.Repeat("x", 60))
	v := list(whole, long)
	if got, _ := Write(&v, mask); got != `["a secret", "a [MASKED] `+strings.Repeat("x", 37)+`"...]` {
		t.Error(got)
	}
}

func TestTime(t *testing.T) {
	const monotonic = 1 << 63
	for _, c := range []struct {
		wall uint64
		ext  int64
		zone string
		want string
	}{
		{0, 0, "", "0001-01-01T00:00:00Z"},
		{999999999, 63902963045, "", "2026-01-02T15:04:05Z"},
		{monotonic | 4449654245<<30 | 5, 123456, "", "2026-01-02T15:04:05Z"},
		{0, 63902963045, "no such zone", "2026-01-02T15:04:05Z"},
		{0, -1, "", "0000-12-31T23:59:59Z"},
		{0, math.MaxInt64, "", ""},
		{0, math.MinInt64, "", ""},
	} {
		if got := Time(c.wall, c.ext, c.zone); got != c.want {
			t.Errorf("%#x, %d, %q is %s, want %s", c.wall, c.ext, c.zone, got, c.want)
		}
	}
}
