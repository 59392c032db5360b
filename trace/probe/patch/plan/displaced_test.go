package plan_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch"
	"tracerag/trace/probe/patch/patchtest"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/stubs"
)

// What a plan displaces is the program's code, and all of it: whatever a patch
// replaces is among it.
func TestDisplaced(t *testing.T) {
	f, c := patchtest.Open(t, "tablecat")
	p := makePlan(t, f, c)
	if err := p.Fits(f); err != nil {
		t.Error(err)
	}
	const slide = 0x5500_0000_0000
	known := map[uint64]byte{}
	for at, code := range p.Displaced(slide) {
		for i, b := range code {
			known[at+uint64(i)] = b
		}
		if got := c.Bytes(at-slide, uint64(len(code))); !bytes.Equal(got, code) {
			t.Errorf("at %#x: % x, the program has % x", at-slide, code, got)
		}
	}
	base := slide + f.Funcs[len(f.Funcs)-1].End&^0xffff + 1<<20
	_, patches, err := stubs.Emit(p, base+1<<16, slide, stubs.Entries{Enter: base, Go: base, Block: base, Leaf: base, Bare: base, Way: base, Call: base, Marks: base - 1<<16})
	if err != nil {
		t.Fatal(err)
	}
	for _, patch := range patches {
		for i, b := range patch.Old() {
			if k, ok := known[patch.Addr+uint64(i)]; !ok || k != b {
				t.Errorf("the patch at %#x replaces what is not known to be displaced", patch.Addr)
			}
		}
	}
	t.Logf("%d bytes for %d patches", len(known), len(patches))
}

func makePlan(t *testing.T, f *executable.File, c *executable.Code) *plan.Plan {
	t.Helper()
	p, err := patch.Make(f, c, func(pkg string) bool { return !f.Std(pkg) }, patch.Options{Inlined: true, Lines: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A plan that decodes, and is not one of this program, does not fit it, or emits
// patches in the program's functions only.
func TestDoesNotFit(t *testing.T) {
	f, c := patchtest.Open(t, "closures")
	good := makePlan(t, f, c)
	if other, _ := patchtest.Open(t, "recursion"); good.Fits(other) == nil {
		t.Error("a plan of another program fits")
	}
	random := rand.New(rand.NewPCG(1, 2))
	whole := good.Encode()
	whole = whole[:len(whole)-sha256.Size]
	decoded, refused := 0, 0
	for range 20_000 {
		b := bytes.Clone(whole)
		for range 1 + random.IntN(3) {
			b[len(plan.Encoding)+random.IntN(len(b)-len(plan.Encoding))] = byte(random.Uint32())
		}
		p, err := plan.Decode(summed(b))
		if err != nil {
			continue
		}
		decoded++
		if p.Fits(f) != nil {
			refused++
			continue
		}
		for at, code := range p.Displaced(0) {
			if fn := f.Func(at); fn == nil || at+uint64(len(code)) > f.Funcs[len(f.Funcs)-1].End {
				t.Fatalf("it displaces %d bytes at %#x", len(code), at)
			}
		}
	}
	if decoded < 100 || refused < decoded/10 {
		t.Errorf("%d decoded, %d refused: the test damages too much or too little", decoded, refused)
	}
}

func summed(b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// What decoding takes is in proportion to the plan's size, whatever its numbers say.
func TestDecodeMemory(t *testing.T) {
	const (
		size      = 1 << 20
		hookBytes = 6    // the least that a hook takes
		begins    = 0x80 // the bit of a hook that has inlined calls
	)
	number := func(b []byte, v int) []byte { return binary.AppendUvarint(b, uint64(v)) }
	filled := func(b []byte, with ...byte) []byte {
		b = append([]byte(plan.Encoding), b...)
		for len(b) < size {
			b = append(b, with...)
		}
		return summed(b)
	}
	hook := []byte{byte(plan.Go), 0, 0, 1, 0xe8, 0}
	plans := map[string][]byte{
		"reasons":       filled(number(nil, size-64), 0),
		"hooks":         filled(number([]byte{0}, (size-64)/hookBytes), hook...),
		"hooks of junk": filled(number([]byte{0}, (size-64)/hookBytes), 0xff),
		"too many":      filled(number([]byte{0}, 1<<47), 0),
		"sites":         filled(number([]byte{0, 1, byte(plan.CallSites), 0}, size-64), 0),
		"begins":        filled(number([]byte{0, 1, byte(plan.Leaf) | begins, 0}, size-64), 0),
		"unhooked":      filled(number([]byte{1, 0, 0}, (size-64)/2), 0),
		"missed":        filled(number([]byte{1, 0, 0, 0}, (size-64)/3), 0),
		"calls":         filled(number([]byte{0, 1, byte(plan.Frame), 0, 0, 1, 0x90, 0, 0, 0, 0}, (size-64)/3), 0),
		"marks":         filled(number([]byte{0, 0, 0, 0, 0}, (size-64)/6), 0, 0, 0, 0, 1, 0x90, 0),
		"waypoints":     filled(number([]byte{0, 0, 0, 0, 0, 0}, (size-64)/7), byte(plan.Frame), 0, 0, 1, 0x90, 0, 0, 0),
	}
	for name, b := range plans {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := plan.Decode(b)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 32*uint64(len(b)) {
			t.Errorf("%s: decoding %d bytes took %d", name, len(b), took)
		}
		if name == "too many" && !errors.Is(err, plan.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		runtime.KeepAlive(p)
	}
}
