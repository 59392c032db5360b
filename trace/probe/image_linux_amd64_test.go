package probe

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"tracerag/fixtures"
	"tracerag/trace"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/stubs"
	"tracerag/trace/recordtest"
	"tracerag/trace/target"
)

// TestImage: what a start made of a plan is used by the next one, and gives the same trace.
// One that is damaged, or another plan's, is made anew.
func TestImage(t *testing.T) {
	o := Options{CacheDir: filepath.Join(t.TempDir(), "plans")}
	run := func() (string, *trace.Trace) {
		out, tr := recordOutput(t, find(t, "closures"), o)
		tr.Start, tr.Duration = tr.Start.Truncate(0), 0
		return out, tr
	}
	image := func() (p *prepared) {
		t.Helper()
		p, err := begin(find(t, "closures"), o)
		if err != nil {
			t.Fatal(err)
		}
		if p.image == nil {
			return p
		}
		t.Cleanup(p.image.free)
		if err := p.ready(); err != nil || !p.cached {
			t.Errorf("with an image: cached %v, the plan: %v", p.cached, err)
		}
		return p
	}
	if image().image != nil {
		t.Fatal("there is an image before the first start")
	}
	want, first := run()
	made := image()
	if made.image == nil {
		t.Fatal("the first start has kept no image")
	}
	check := func(what string) {
		t.Helper()
		got, tr := run()
		if got != want {
			t.Errorf("%s: it printed\n%s\nwant\n%s", what, got, want)
		}
		if a, b := recordtest.Counts(tr), recordtest.Counts(first); !reflect.DeepEqual(a, b) || !reflect.DeepEqual(tr.Lines, first.Lines) || !reflect.DeepEqual(tr.Losses, first.Losses) {
			t.Errorf("%s: calls, lines or losses differ\n%v\n%v", what, a, b)
		}
		if image().image == nil {
			t.Errorf("%s: no image is kept", what)
		}
	}
	check("with an image")
	l, err := Start(t.Context(), find(t, "closures"), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Wait(t.Context()); err != nil || !l.r.imaged {
		t.Errorf("the image's stubs are used: %v (%v)", l.r.imaged, err)
	}
	l.Close()

	file := filepath.Join(o.CacheDir, (&plans{key: made.key}).imageName())
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-9] ^= 1
	for what, data := range map[string][]byte{"changed": damaged, "short": whole[:len(whole)-1], "long": append(bytes.Clone(whole), 0), "empty": {}} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if image().image != nil {
			t.Errorf("an image is used that is %s", what)
		}
		check(what)
	}

	// One that is whole, and false: what is compared is the program's code.
	im, sum := *made.image, made.image.plan
	im.displaced = bytes.Clone(im.displaced)
	im.displaced[len(im.displaced)/2] ^= 1
	if err := os.WriteFile(file, im.encode(made.key, sum), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := image(); p.image == nil {
		t.Error("the false image is not read")
	}
	if got, tr := run(); got != want || !reflect.DeepEqual(recordtest.Counts(tr), recordtest.Counts(first)) {
		t.Errorf("with a false image it printed\n%s\nwant\n%s", got, want)
	}
	if image().image != nil {
		t.Error("the false image is still there")
	}
}

// TestImageIsThePlan: an image has what is made of its plan, and says so of no other
// addresses.
func TestImageIsThePlan(t *testing.T) {
	p, err := prepare(find(t, "closures"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	const at = 0x40000000
	e := stubs.Entries{Enter: at - 4096, Go: at - 4096, Block: at - 4000, Bare: at - 3900, Leaf: at - 3800, Way: at - 3700, Call: at - 3600, Marks: at + 1<<24, Writable: true}
	code, patches, err := stubs.Emit(p.plan, at, 0, e)
	if err != nil {
		t.Fatal(err)
	}
	key, sum := planKey{7}, sha256.Sum256([]byte("plan"))
	b := newImage(p.plan, at, e, code, patches).encode(key, sum)
	im, err := decodeImage(b, key, sum)
	if err != nil {
		t.Fatal(err)
	}
	im.mem = b
	if !reflect.DeepEqual(im.words(), p.plan.Inner()) || !bytes.Equal(im.stubs, code) || !reflect.DeepEqual(im.allPatches(), patches) {
		t.Error("it is not what was made of the plan")
	}
	if im.once != once(p.plan) || im.changes != changes(p.plan) || im.marks != uint64(len(p.plan.Marks)) {
		t.Errorf("its numbers are %v, %d and %d", im.once, im.changes, im.marks)
	}
	of := map[uint64]byte{}
	for a, code := range im.all {
		for i, c := range code {
			of[a+uint64(i)] = c
		}
	}
	n := 0
	for a, code := range p.plan.Displaced(0) {
		for i, c := range code {
			if got, ok := of[a+uint64(i)]; !ok || got != c {
				t.Fatalf("the code at %#x is %#x (%v), want %#x", a+uint64(i), got, ok, c)
			}
			n++
		}
	}
	if n < len(of) {
		t.Errorf("%d bytes are displaced, of the plan %d", len(of), n)
	}
	other := e
	other.Marks++
	if !im.fits(at, e) || im.fits(at+64, e) || im.fits(at, other) {
		t.Error("it fits where it does not, or the other way round")
	}
	if _, err := decodeImage(b, planKey{8}, sum); err == nil {
		t.Error("another key's is used")
	}
	if _, err := decodeImage(b, key, sha256.Sum256([]byte("another plan"))); err == nil {
		t.Error("another plan's is used")
	}
	twice := *p.plan
	twice.Waypoints = append(twice.Waypoints, plan.Hook{Kind: plan.Frame, At: twice.Hooks[0].At, Code: []byte{0xcc, 0xcc, 0xcc, 0xcc, 0xcc}})
	if twice.Hooks[0].Kind != plan.CallSites && newImage(&twice, at, e, code, patches) != nil {
		t.Error("there is an image of a plan that contradicts itself")
	}
}

// TestImagesAreBounded: the images that were not used for the longest time are removed.
func TestImagesAreBounded(t *testing.T) {
	tgt := find(t, "closures")
	c := openKept(t, tgt, Options{CacheDir: filepath.Join(t.TempDir(), "plans")})
	defer c.close()
	for i := range 5 {
		c.key[0] = byte(i)
		c.write(c.imageName(), []byte("image"))
		if err := os.Truncate(filepath.Join(c.dir.Name(), c.imageName()), mostImages/3); err != nil {
			t.Fatal(err)
		}
	}
	c.prune()
	left, err := filepath.Glob(filepath.Join(c.dir.Name(), "*.image"))
	if err != nil || len(left) != 3 {
		t.Errorf("%d images are kept, want 3 (%v)", len(left), err)
	}
}

func FuzzDecodeImage(f *testing.F) {
	im := &image{inner: make([]byte, 4), spans: make([]byte, spanSize), patches: make([]byte, patchSize), stubs: []byte{0xc3}}
	whole := im.encode(planKey{}, [sha256.Size]byte{})
	f.Add(whole[imageHead:])
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := imageSum(body)
		b := bytes.Join([][]byte{[]byte(imageMagic), make([]byte, sha256.Size), sum[:], body}, nil)
		im, err := decodeImage(b, planKey{}, [sha256.Size]byte{})
		if err != nil {
			return
		}
		im.words()
		for _, code := range im.all {
			_ = code
		}
		im.allPatches()
	})
}

// TestImageOfAnotherAddress: stubs that are elsewhere than those of the image are made anew, and
// the image that is nearer to the program stays.
func TestImageOfAnotherAddress(t *testing.T) {
	o := Options{CacheDir: filepath.Join(t.TempDir(), "plans")}
	want, first := recordOutput(t, find(t, "closures"), o)
	recordOutput(t, find(t, "closures"), o) // the first start takes more room than the image needs
	p, err := begin(find(t, "closures"), o)
	if err != nil || p.image == nil {
		t.Fatalf("no image is kept (%v)", err)
	}
	defer p.image.free()
	if err := p.ready(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(o.CacheDir, (&plans{key: p.key}).imageName())
	for _, by := range []int64{-64, 64} {
		im := *p.image
		im.at += uint64(by)
		b := im.encode(p.key, im.plan)
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, tr := recordOutput(t, find(t, "closures"), o)
		if got != want || !reflect.DeepEqual(recordtest.Counts(tr), recordtest.Counts(first)) {
			t.Errorf("with an image for %d bytes further on it printed\n%s\nwant\n%s", by, got, want)
		}
		now, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		nearer := apart(im.at, p.shape.Start) < apart(p.image.at, p.shape.Start)
		if kept := bytes.Equal(now, b); kept != nearer {
			t.Errorf("the image for %d bytes further on is kept: %v", by, kept)
		}
	}
}

// TestStartsWithoutFunctions: a program whose image is kept starts without its table of
// functions, which is the longest to read.
func TestStartsWithoutFunctions(t *testing.T) {
	o := Options{CacheDir: filepath.Join(t.TempDir(), "plans")}
	time.Sleep(settled) // the fixture may have been built just now
	for range 2 {
		recordOutput(t, find(t, "closures"), o)
	}
	tgt, err := target.FindLater([]string{fixtures.Build(t, "closures")}, t.TempDir(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	head := *tgt.Binary
	if len(head.Funcs) > 0 {
		t.Fatal("the functions are there before anybody has asked for them")
	}
	p, err := begin(tgt, o)
	if err != nil || p.image == nil {
		t.Fatalf("no image is kept (%v)", err)
	}
	defer func() { p.image.free() }()
	without := *tgt
	without.Binary = &head
	without.Silent = true
	r, err := start(&without, p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	r.proc.Abandon()
	if !r.imaged {
		t.Error("the image's stubs are not used")
	}
	if err := p.ready(); err != nil || len(tgt.Binary.Funcs) == 0 || p.plan == nil {
		t.Errorf("%d functions are read in the end (%v)", len(tgt.Binary.Funcs), err)
	}
}
