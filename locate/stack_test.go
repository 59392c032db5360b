package locate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestFrames(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"panic", "panic: x [recovered]\n\ngoroutine 7 [running]:\npanic({0x1, 0x2})\n\t/usr/go/src/runtime/panic.go:770 +0x1\nexample.com/a/b.(*T[...]).M.func1({0xc0, 0x1}, ...)\n\t/home/me/b/t.go:12 +0x3c\nexample.com/a/b.F(...)\n\t/home/me/b/f.go:3\ncreated by main.main in goroutine 1\n\t/home/me/main.go:5 +0x2\n",
			"- panic.go:770 0, example.com/a/b (*T).M t.go:12 1, example.com/a/b F f.go:3 2, main main main.go:5 3 created"},
		{"two goroutines", "goroutine 1 [running]:\na/b.F()\n\t/x/f.go:1\n\ngoroutine 2 [select]:\na/b.G()\n\t/x/g.go:2\n",
			"a/b F f.go:1 0, a/b G g.go:2 0"},
		{"a failed test", "--- FAIL: TestX (0.00s)\n    x_test.go:12: got 1\nFAIL", "- x_test.go:12 0"},
		{"a compiler", "./cmd/x.go:3:5: undefined: y", "- x.go:3 0"},
		{"Windows", "a/b.F(0x1)\n\tC:/src/b/f.go:7 +0x1\nD:\\src\\b\\g.go:8", "a/b F f.go:7 0, - g.go:8 1"},
		{"functions alone", "gopkg.in/yaml%2ev3.(*Decoder).Decode(0x0)\nmain.run.gowrap1()", "gopkg.in/yaml.v3 (*Decoder).Decode :0 0, main run :0 1"},
		{"prose", "the function Draw (see the docs) is slow. It calls f(x).\nDraw()\nfoo.go has it", ""},
	} {
		var got []string
		for _, f := range frames(test.text) {
			s := "-"
			if f.name != "" {
				s = f.pkg + " " + f.name
			}
			s += fmt.Sprintf(" %s:%d %d", f.file[strings.LastIndexByte(f.file, '/')+1:], f.line, f.depth)
			if f.creator {
				s += " created"
			}
			got = append(got, s)
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, strings.Join(got, ", "), test.want)
		}
	}
}

func TestReport(t *testing.T) {
	r := read("cmd/go, net/http: fix x\n\nIn `ServeMux` the call (*Conn).Close() and server.go, a.HandlerFunc or `id`;\n" +
		"see internal/x/y. TestServe_all says: error: dial: no route to host\n\"something is rotten\" https://x.y/z/w.go")
	for _, test := range []struct {
		what      string
		got, want []string
	}{
		{"names", r.names, []string{"Conn.Close", "ServeMux", "Close", "HandlerFunc", "TestServe_all"}},
		{"places", r.places, []string{"cmd/go", "net/http", "server.go", "internal/x/y"}},
		{"quoted", r.quoted, []string{"something is rotten"}},
		{"tests", r.tests, []string{"TestServe_all"}},
	} {
		for _, w := range test.want {
			if !slices.Contains(test.got, w) {
				t.Errorf("%s are %q, without %q", test.what, test.got, w)
			}
		}
	}
	for _, title := range []string{"fix(vm): x", "[vm] x", "vm: x", "feat(vm)!: x"} {
		if got := places(title, ""); !slices.Equal(got, []string{"vm"}) {
			t.Errorf("%s: %q", title, got)
		}
	}
	if got := quotations("error: cannot open it: permission was denied"); !slices.Contains(got, "permission was denied") {
		t.Errorf("a message in parts: %q", got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(panicText)
	f.Add("fix(a/b): `x.Y` \"some text here\"\n\tf_test.go:12: boom\ncreated by a.B in goroutine 1\n")
	f.Add("C:\\x.go:99999999999999999999\n(*T).M(")
	f.Fuzz(func(t *testing.T, text string) {
		r := read(text)
		if len(r.frames) > maxFrames || len(r.names) > maxNames || len(r.places) > maxPlaces || len(r.quoted) > maxQuoted {
			t.Errorf("more than is looked for: %d %d %d %d", len(r.frames), len(r.names), len(r.places), len(r.quoted))
		}
		for _, fr := range r.frames {
			if fr.file == "" && fr.name == "" || fr.line < 0 || fr.depth < 0 {
				t.Errorf("%+v", fr)
			}
		}
	})
}
