package lookup_test

import (
	"testing"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/lookup"
)

// TestIsTest says which functions go test runs.
func TestIsTest(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  code.Kind
		class code.Class
		want  bool
	}{
		{"TestDraw", code.Func, code.Class{Test: true}, true},
		{"Test", code.Func, code.Class{Test: true}, true},
		{"Test_draw", code.Func, code.Class{Test: true}, true},
		{"TestÖffnen", code.Func, code.Class{Test: true}, true},
		{"Testöffnen", code.Func, code.Class{Test: true}, false}, // of the alphabet of any language
		{"Testing", code.Func, code.Class{Test: true}, false},
		{"TestMain", code.Func, code.Class{Test: true}, false},
		{"TestDraw", code.Func, code.Class{}, false}, // no _test.go
		{"TestDraw", code.Type, code.Class{Test: true}, false},
		{"T.TestDraw", code.Method, code.Class{Test: true}, false},
		{"TestDraw", code.Func, code.Class{Test: true, Testdata: true}, false},
		{"TestDraw", code.Func, code.Class{Test: true, Vendored: true}, false},
	} {
		d := knowledge.Decl{Class: c.class, Decl: code.Decl{Name: c.name, Kind: c.kind}}
		if got := lookup.IsTest(&d); got != c.want {
			t.Errorf("%v %s in %+v: %v", c.kind, c.name, c.class, got)
		}
	}
}
