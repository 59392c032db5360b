package probe

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tracerag/fixtures"
	"tracerag/trace/target"
)

// TestFacts: what is known of a program is used as long as nobody has touched its file, and
// only by the planner that found it.
func TestFacts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	data, err := os.ReadFile(fixtures.Build(t, "closures"))
	if err != nil {
		t.Fatal(err)
	}
	write := func() {
		t.Helper()
		if err := os.WriteFile(path, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write()
	o := Options{CacheDir: filepath.Join(t.TempDir(), "plans")}
	open := func() (*target.Target, *plans) {
		t.Helper()
		tgt, err := target.Find([]string{path}, t.TempDir(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return tgt, openKept(t, tgt, o)
	}
	kept := func(c *plans, tgt *target.Target) bool {
		key, _, _ := factsKey(c.planner, tgt.Binary.Info())
		_, err := decodeFacts(c.read(factsName(key), mostFacts), key)
		return err == nil
	}
	tgt, c := open()
	if kept(c, tgt) {
		t.Error("facts of a file that was just written are kept: it may change within the same moment")
	}
	c.close()
	time.Sleep(settled)
	tgt, c = open()
	defer c.close()
	if !kept(c, tgt) {
		t.Fatal("no facts are kept")
	}
	key, _, _ := factsKey(c.planner, tgt.Binary.Info())
	known, err := decodeFacts(c.read(factsName(key), mostFacts), key)
	if err != nil {
		t.Fatal(err)
	}
	if sum, err := tgt.Binary.Sum(); err != nil || !bytes.Equal(known.Sum, sum[:]) {
		t.Errorf("the sum that is kept is not the program's (%v)", err)
	}
	known.Own.Locks = "from the file of facts"
	b, err := known.encode(key)
	if err != nil || !c.write(factsName(key), b) {
		t.Fatal("cannot write", err)
	}
	used := func() bool {
		t.Helper()
		tgt, c := open()
		defer c.close()
		own, err := tgt.OwnCode()
		if err != nil {
			t.Fatal(err)
		}
		return own.Locks == known.Own.Locks
	}
	if !used() {
		t.Error("facts that are kept are not used")
	}
	if other := *c; true {
		other.planner += " of another build"
		if kept(&other, tgt) {
			t.Error("another planner uses them")
		}
	}
	// The same content again, of the same time, is another file.
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write()
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if used() {
		t.Error("facts are used of a file that was written again")
	}
}

// TestFactsDamaged: a file that is not whole is not used, and neither is another one's.
func TestFactsDamaged(t *testing.T) {
	f := &facts{Sum: make([]byte, sha256.Size), Own: target.OwnCode{Limits: "f sets limits"}, Shape: shape{Start: 0x401000, End: 0x402000, Race: true}}
	key := planKey{1, 2, 3}
	b, err := f.encode(key)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeFacts(b, key); err != nil || !bytes.Equal(got.Sum, f.Sum) || got.Own != f.Own || got.Shape != f.Shape {
		t.Errorf("%+v became %+v, %v", f, got, err)
	}
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1
		if _, err := decodeFacts(bad, key); err == nil {
			t.Errorf("byte %d is changed, and it is used", i)
		}
		if _, err := decodeFacts(b[:i], key); err == nil {
			t.Errorf("%d of %d bytes are used", i, len(b))
		}
	}
	if _, err := decodeFacts(b, planKey{4}); err == nil {
		t.Error("another program's are used")
	}
}

func FuzzDecodeFacts(f *testing.F) {
	f.Add([]byte(`{"Sum":"AAAA","Own":{"Locks":"x"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		key := planKey{9}
		sum := sha256.Sum256(text)
		b := bytes.Join([][]byte{[]byte(factsMagic), key[:], sum[:], text}, nil)
		if got, err := decodeFacts(b, key); err == nil && (len(got.Sum) != sha256.Size || got.Shape.End <= got.Shape.Start) {
			t.Errorf("%q is used", text)
		}
	})
}

// TestFactsArePruned: a program whose file is touched again and again has new facts each
// time, and no new plan. They do not pile up.
func TestFactsArePruned(t *testing.T) {
	tgt, err := target.Find([]string{fixtures.Build(t, "closures")}, t.TempDir(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := openKept(t, tgt, Options{CacheDir: filepath.Join(t.TempDir(), "plans")})
	defer c.close()
	for i := range planFiles + 20 {
		c.write(factsName(planKey{byte(i)}), []byte("of an earlier build"))
	}
	time.Sleep(settled) // the fixture may have been built just now
	c.remove(tgt)
	if _, err := c.facts(tgt); err != nil {
		t.Fatal(err)
	}
	dir, err := c.dir.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if files, err := dir.ReadDir(-1); err != nil || len(files) > planFiles {
		t.Errorf("%d files are kept, want %d (%v)", len(files), planFiles, err)
	}
}
