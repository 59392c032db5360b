package index_test

import (
	"bytes"
	"strings"
	"testing"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
)

// TestOtherEncodings indexes files in Latin-1 and EUC-JP, which Go does not take: they and the others are found, and the report says
// what to do.
func TestOtherEncodings(t *testing.T) {
	r := newRepo(t)
	r.write("go.mod", "module example.com/app\n")
	r.write("latin.go", "package app\n\n// Gr\xf6\xdfe is the size.\nfunc Size() string { return \"Gr\xf6\xdfe\" }\n\nfunc Gr\xf6\xdfe() {}\n")
	r.write("euc.go", "package app\n\n// Border \xb7\xd3\xc0\xfe\nfunc Border() { Size() }\n\nconst Line = `\xb7\xd3\xc0\xfe`\n")
	r.write("fine.go", "package app\n\nfunc Fine() { Border() }\n")
	r.commit("Add \xb7\xd3\xc0\xfe")
	s := open(t)
	got := update(t, s, r.dir, index.Options{Calls: index.TypedCalls})
	for _, name := range []string{"Size", "Border", "Fine", "Line"} {
		if list, err := s.Named(t.Context(), []string{name}, nil); err != nil || len(list) != 1 {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}
	var b bytes.Buffer
	report := index.NewReport(got, knowledge.Counts{})
	if err := report.Write(&b); err != nil || !strings.Contains(b.String(), "iconv -t UTF-8 converts") {
		t.Errorf("%v: %s", err, b.String())
	}
	if again := update(t, s, r.dir, index.Options{Calls: index.TypedCalls}); again.Parsed != 0 {
		t.Errorf("again: %+v", again)
	}
}
