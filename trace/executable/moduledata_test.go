package executable

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

// The struct has grown in every few releases, at different places. What
// matters is found wherever it moves to.
func TestModuledataLayouts(t *testing.T) {
	b, err := os.ReadFile(build(t, "zoo", "GOOS=linux GOARCH=amd64 -ldflags=-s"))
	if err != nil {
		t.Fatal(err)
	}
	im, err := newImage(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	want, err := readTable(im)
	if err != nil {
		t.Fatal(err)
	}
	var at []uint64
	err = im.pointersTo(want.addr, func(a uint64) bool { at = append(at, a); return true })
	if err != nil || len(at) == 0 {
		t.Fatalf("the table's address is at %#x, %v", at, err)
	}
	words := im.words(at[0], moduleWords)
	for _, c := range []struct {
		name   string
		change func([]uint64) []uint64
		ok     bool
	}{
		{"as it is", func(w []uint64) []uint64 { return w }, true},
		// The names are the first slice in all known releases, the rest may move.
		{"another slice before the text", func(w []uint64) []uint64 { return slices.Insert(w, 4, want.addr, 7, 7) }, true},
		{"one table less", func(w []uint64) []uint64 { return slices.Delete(w, 4, 7) }, true},
		{"words between text and funcdata", func(w []uint64) []uint64 { return slices.Insert(w, 30, 0, want.addr, want.text, ^uint64(0)) }, true},
		{"no coverage counters, as in Go 1.19", func(w []uint64) []uint64 { return slices.Delete(w, 32, 34) }, true},
		{"another table's", func(w []uint64) []uint64 { w[0] += 8; return w }, false},
		{"only a pointer to the table", func(w []uint64) []uint64 { return w[:1] }, false},
		{"cut off", func(w []uint64) []uint64 { return w[:10] }, false},
		{"names elsewhere", func(w []uint64) []uint64 { w[1]++; return w }, false},
		{"no funcdata", func(w []uint64) []uint64 { return w[:25] }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := *want
			got.trees, got.treesOff = nil, 0
			m, ok := got.plausibleModule(c.change(slices.Clone(words)))
			if ok {
				ok = got.findFuncdata(im, m) == nil
			}
			if ok != c.ok {
				t.Fatalf("found: %v", ok)
			}
			if ok && (m.text != want.text || got.treesOff != want.treesOff || !bytes.Equal(got.trees, want.trees)) {
				t.Errorf("found the text at %#x, want %#x, and other inline trees", m.text, want.text)
			}
		})
	}
}

func TestTextBuildID(t *testing.T) {
	for text, want := range map[string]string{
		"\xff Go build ID: \"abc/def\"\n \xff\x90": "abc/def",
		"\xff Go build ID: \"a\\x62\"\n \xff":      "ab",
		"\xff Go build ID: abc\n \xff":             "",
		"\xff Go build ID: \"abc/def":              "",
		"":                                         "",
	} {
		if got := textBuildID([]byte(text)); got != want {
			t.Errorf("textBuildID(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestPCValues(t *testing.T) {
	const size = 100
	for _, c := range []struct {
		name    string
		quantum uint64
		bytes   []byte
		want    steps
	}{
		{"two steps", 1, []byte{12, 16, 7, 84, 0}, steps{{16, 5}, {100, 1}}},
		{"instructions of four bytes", 4, []byte{12, 4, 7, 21, 0}, steps{{16, 5}, {100, 1}}},
		{"the first change may be zero", 1, []byte{0, 100, 0}, steps{{100, -1}}},
		{"two-byte numbers", 1, []byte{0x90, 0x4e, 100, 0}, steps{{100, 4999}}},
		{"ends early", 1, []byte{2, 10, 0}, steps{{10, 0}}},
		{"longer than the function", 1, []byte{2, 10, 2, 0xff, 0xff, 0x03, 2, 1}, steps{{10, 0}, {100, 1}}},
		{"cut off in a value", 1, []byte{2, 10, 0x80}, steps{{10, 0}}},
		{"cut off in a distance", 1, []byte{2, 10, 2, 0x80}, steps{{10, 0}}},
		{"a number without end", 1, bytes.Repeat([]byte{0x80}, 20), nil},
		{"no distance", 1, []byte{2, 10, 2, 0, 2, 5}, steps{{10, 0}}},
		{"empty", 1, nil, nil},
	} {
		tab := &table{quantum: c.quantum, values: append([]byte{0xff}, c.bytes...)}
		got := tab.decode(1, size)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
		for pc := range uint64(size) {
			if a, b := got.at(pc), tab.valueAt(1, size, pc); a != b {
				t.Errorf("%s: at %d: %d decoded, %d in the table", c.name, pc, a, b)
			}
		}
	}
	tab := &table{quantum: 1, values: []byte{2, 10, 0}}
	if tab.decode(0, size) != nil || tab.decode(1000, size) != nil {
		t.Error("a table at offset 0 or outside is not empty")
	}
}
