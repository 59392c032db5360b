package executable

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"tracerag/fixtures"
)

// The sum is that of what the program puts into memory: any byte of it counts, and
// where the file lies does not.
func TestSum(t *testing.T) {
	data, err := os.ReadFile(fixtures.Build(t, "closures"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sumOf := func(name string, data []byte) [32]byte {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := f.Sum()
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	want := sumOf("a", data)
	if sumOf("b", data) != want {
		t.Error("a copy has another sum")
	}
	f, err := Open(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Code()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range c.im.regions {
		for _, at := range []uint64{g.off, g.off + g.size - 1} {
			if g.name == ".go.buildinfo" || g.size < 4096 {
				continue // Open may refuse it
			}
			changed := bytes.Clone(data)
			changed[at] ^= 1
			if sumOf("c", changed) == want {
				t.Errorf("%s: with byte %#x of the file changed the sum is the same", g.name, at)
			}
		}
	}
}

// A file that was written or replaced after it was opened has no sum and no code, since
// its tables are known already; at another place its content identifies it.
func TestSumOfReplaced(t *testing.T) {
	data, err := os.ReadFile(fixtures.Build(t, "closures"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, other := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write := func(path string, data []byte) {
		t.Helper()
		_ = os.Remove(path + "~")
		if err := os.WriteFile(path+"~", data, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+"~", path); err != nil {
			t.Fatal(err)
		}
	}
	write(path, data)
	write(other, data)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := f.IsAt(other); err != nil || !same {
		t.Errorf("a copy is another program: %v %v", same, err)
	}
	changed := bytes.Clone(data)
	changed[0x1100] ^= 1
	write(other, changed)
	if same, err := f.IsAt(other); err != nil || same {
		t.Errorf("a changed copy is the same program: %v %v", same, err)
	}
	write(path, data)
	if _, err := f.Sum(); err == nil {
		t.Error("a file that was replaced has a sum")
	}
	if _, err := f.Code(); err == nil {
		t.Error("a file that was replaced has code")
	}
}
