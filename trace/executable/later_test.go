package executable

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tracerag/fixtures"
)

// TestOpenLater: before Ready nothing is known of the functions, and after it what Open knows.
func TestOpenLater(t *testing.T) {
	path := fixtures.Build(t, "closures")
	want, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := OpenLater(path)
	if err != nil {
		t.Fatal(err)
	}
	if f.BuildID != want.BuildID || f.MainPath != want.MainPath || f.GoVersion != want.GoVersion || !reflect.DeepEqual(f.Settings, want.Settings) {
		t.Error("what the headers and the build information say is not there yet")
	}
	if len(f.Funcs) > 0 || f.TextStart != 0 {
		t.Errorf("%d functions are there before Ready", len(f.Funcs))
	}
	for range 2 {
		if err := f.Ready(); err != nil {
			t.Fatal(err)
		}
	}
	a, b := *f, *want
	a.ready, b.ready, a.info, b.info, a.tab, b.tab = nil, nil, nil, nil, nil, nil
	if !reflect.DeepEqual(a, b) {
		t.Error("it is not what Open returns")
	}
	main := want.Funcs[len(want.Funcs)-1].Entry
	if got := f.Frames(main); len(got) == 0 || !reflect.DeepEqual(got, want.Frames(main)) {
		t.Errorf("frames: %v", got)
	}
}

// TestOpenLaterOfNoProgram: a table that cannot be read is an error of Ready, each time, with
// the file's name.
func TestOpenLaterOfNoProgram(t *testing.T) {
	data, err := os.ReadFile(fixtures.Build(t, "closures"))
	if err != nil {
		t.Fatal(err)
	}
	im, err := newImage(strings.NewReader(string(data)), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	tab, err := readTable(im)
	if err != nil {
		t.Fatal(err)
	}
	r := im.find(tab.addr)
	copy(data[r.off+tab.addr-r.addr:], make([]byte, headerSize))
	path := filepath.Join(t.TempDir(), "damaged")
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := OpenLater(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Ready(); err == nil || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("the error is %v, want one about %s", err, path)
		}
	}
	if _, err := Open(path); err == nil {
		t.Error("Open returns no error")
	}
}
