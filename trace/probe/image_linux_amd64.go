package probe

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"iter"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/stubs"
)

// An image is what a start made of a plan: the stubs at their addresses, and the code that
// they take the place of. A program that is not position-independent has them at the same
// addresses each time. With the image they need not be made again, which takes longer than
// all else that is done before a large program runs, and the plan is decoded meanwhile. The
// program's code is compared with it as with the plan.
type image struct {
	mem []byte // the file; nil when it was given back

	plan    [sha256.Size]byte // of the encoded plan
	entries stubs.Entries
	at      uint64 // of the stubs
	changes uint64 // hooks, calls, marks and waypoints
	marks   uint64
	once    bool // some marks give the code back

	inner     []byte // of payload.NewLayout: words
	spans     []byte // of the code that is displaced: addresses and sizes
	displaced []byte // that code, span after span
	patches   []byte
	stubs     []byte
}

const (
	// imageMagic begins a file with an image. The plan's key follows, then the checksum of
	// the rest (imageSum).
	imageMagic = "tracerag image file 1\n"
	imageHead  = len(imageMagic) + 2*sha256.Size
	// mostImages is how many bytes of images are kept, the latest used ones.
	mostImages = 256 << 20

	spanSize  = 8 + 4
	patchSize = 8 + 1 + 7 + 7
	innerSize = 4
)

// imageSum is the SHA-256 of the checksums of parts, which all processors work out.
func imageSum(b []byte) [sha256.Size]byte {
	const part = 1 << 20
	sums := make([]byte, (len(b)+part-1)/part*sha256.Size)
	var wg sync.WaitGroup
	for i := 0; i*part < len(b); i++ {
		wg.Go(func() {
			sum := sha256.Sum256(b[i*part : min((i+1)*part, len(b))])
			copy(sums[i*sha256.Size:], sum[:])
		})
	}
	wg.Wait()
	return sha256.Sum256(sums)
}

// newImage makes the image of a plan whose stubs are at an address. The program is where it
// was linked. It is nil for a plan that contradicts itself.
func newImage(p *plan.Plan, at uint64, e stubs.Entries, code []byte, patches []stubs.Patch) *image {
	im := &image{entries: e, at: at, changes: changes(p), marks: uint64(len(p.Marks)), once: once(p), stubs: code}
	for _, n := range p.Inner() {
		im.inner = binary.LittleEndian.AppendUint32(im.inner, n)
	}
	type span struct {
		at   uint64
		code []byte
	}
	var all []span
	for at, code := range p.Displaced(0) {
		all = append(all, span{at, bytes.Clone(code)})
	}
	slices.SortStableFunc(all, func(a, b span) int { return cmp.Compare(a.at, b.at) })
	for i := 0; i < len(all); {
		from, to, start := all[i].at, all[i].at, len(im.displaced)
		for ; i < len(all) && all[i].at <= to; i++ {
			s := all[i]
			known := min(to-s.at, uint64(len(s.code)))
			if !bytes.Equal(im.displaced[start+int(s.at-from):][:known], s.code[:known]) {
				return nil
			}
			im.displaced = append(im.displaced, s.code[known:]...)
			to = max(to, s.at+uint64(len(s.code)))
		}
		im.spans = binary.LittleEndian.AppendUint64(im.spans, from)
		im.spans = binary.LittleEndian.AppendUint32(im.spans, uint32(to-from))
	}
	im.patches = make([]byte, 0, len(patches)*patchSize)
	for i := range patches {
		p := &patches[i]
		var b [patchSize]byte
		binary.LittleEndian.PutUint64(b[:], p.Addr)
		b[8] = byte(copy(b[9:], p.Old()))
		copy(b[16:], p.New())
		im.patches = append(im.patches, b[:]...)
	}
	return im
}

// changes is how many stubs a plan may have.
func changes(p *plan.Plan) uint64 {
	return uint64(len(p.Hooks) + len(p.Calls) + len(p.Marks) + len(p.Waypoints))
}

// once tells if a mark of a plan gives the code back.
func once(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Marks, func(m plan.BlockMark) bool { return m.Once })
}

// numbers are the fields of an image that have a fixed size, in the order of its file.
func (im *image) numbers() []*uint64 {
	e := &im.entries
	return []*uint64{&e.Enter, &e.Go, &e.Block, &e.Bare, &e.Leaf, &e.Way, &e.Call, &e.Marks, &im.at, &im.changes, &im.marks}
}

// parts are those that have not.
func (im *image) parts() []*[]byte {
	return []*[]byte{&im.inner, &im.spans, &im.displaced, &im.patches, &im.stubs}
}

// encode writes the image of the plan with a key and a checksum.
func (im *image) encode(key planKey, plan [sha256.Size]byte) []byte {
	size := imageHead + sha256.Size + 8*32
	for _, p := range im.parts() {
		size += len(*p)
	}
	b := append(make([]byte, 0, size), imageMagic...)
	b = append(append(b, key[:]...), make([]byte, sha256.Size)...)
	b = append(b, plan[:]...)
	for _, n := range im.numbers() {
		b = binary.LittleEndian.AppendUint64(b, *n)
	}
	b = append(b, bit(im.entries.Writable), bit(im.once))
	for _, p := range im.parts() {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(*p)))
	}
	for _, p := range im.parts() {
		b = append(b, *p...)
	}
	sum := imageSum(b[imageHead:])
	copy(b[imageHead-sha256.Size:], sum[:])
	return b
}

func bit(is bool) byte {
	if is {
		return 1
	}
	return 0
}

var errImage = errors.New("damaged, or of another plan")

// decodeImage reads what encode wrote. The image refers to b.
func decodeImage(b []byte, key planKey, plan [sha256.Size]byte) (*image, error) {
	rest, ok := bytes.CutPrefix(b, append([]byte(imageMagic), key[:]...))
	if !ok || len(rest) < 2*sha256.Size {
		return nil, errImage
	}
	body := rest[sha256.Size:]
	if sum := imageSum(body); !bytes.Equal(sum[:], rest[:sha256.Size]) {
		return nil, errImage
	}
	im := &image{plan: [sha256.Size]byte(body)}
	if body = body[sha256.Size:]; im.plan != plan {
		return nil, errImage
	}
	parts := im.parts()
	if len(body) < 8*len(im.numbers())+2+8*len(parts) {
		return nil, errImage
	}
	for _, n := range im.numbers() {
		*n, body = binary.LittleEndian.Uint64(body), body[8:]
	}
	im.entries.Writable, im.once, body = body[0] != 0, body[1] != 0, body[2:]
	sizes, body := body[:8*len(parts)], body[8*len(parts):]
	for i, p := range parts {
		n := binary.LittleEndian.Uint64(sizes[8*i:])
		if n > uint64(len(body)) {
			return nil, errImage
		}
		*p, body = body[:n:n], body[n:]
	}
	if len(body) > 0 || len(im.inner)%innerSize != 0 || len(im.spans)%spanSize != 0 || len(im.patches)%patchSize != 0 {
		return nil, errImage
	}
	size := uint64(0)
	for i := 0; i < len(im.spans); i += spanSize {
		size += uint64(binary.LittleEndian.Uint32(im.spans[i+8:]))
	}
	for i := 0; i < len(im.patches); i += patchSize {
		if im.patches[i+8] > 7 {
			return nil, errImage
		}
	}
	if size != uint64(len(im.displaced)) {
		return nil, errImage
	}
	return im, nil
}

// fits tells if the stubs of a plan at an address are those of the image.
func (im *image) fits(at uint64, e stubs.Entries) bool {
	return im.mem != nil && im.at == at && im.entries == e
}

// words are how many hooks and calls each hook has inside: see plan.Inner.
func (im *image) words() []uint32 {
	out := make([]uint32, len(im.inner)/innerSize)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(im.inner[innerSize*i:])
	}
	return out
}

// all is the displaced code, as plan.Displaced returns it.
func (im *image) all(yield func(uint64, []byte) bool) {
	code := im.displaced
	for s := im.spans; len(s) > 0; s = s[spanSize:] {
		n := binary.LittleEndian.Uint32(s[8:])
		if !yield(binary.LittleEndian.Uint64(s), code[:n]) {
			return
		}
		code = code[n:]
	}
}

func (im *image) allPatches() []stubs.Patch {
	out := make([]stubs.Patch, len(im.patches)/patchSize)
	for i := range out {
		b := im.patches[i*patchSize:][:patchSize]
		out[i] = stubs.NewPatch(binary.LittleEndian.Uint64(b), b[9:9+b[8]], b[16:16+b[8]])
	}
	return out
}

// free gives the file's memory back.
func (im *image) free() {
	if im != nil && im.mem != nil {
		_ = unix.Munmap(im.mem)
		im.mem = nil
	}
}

// displaced is the code that the plan moves or replaces, for a program that was loaded so
// far from its link-time addresses.
func (p *prepared) displaced(slide uint64) iter.Seq2[uint64, []byte] {
	if p.image != nil && slide == 0 {
		return p.image.all
	}
	return p.plan.Displaced(slide)
}

// imageName is what the image of a plan is called.
func (c *plans) imageName() string { return hex.EncodeToString(c.key[:16]) + ".image" }

// mostImage bounds the size of an image: hugo's takes a third of its code.
func mostImage(s shape) int64 { return 4 * mostPlan(s) }

// loadImage returns the image that is kept of an encoded plan, nil if there is none that
// can be used.
func (c *plans) loadImage(encoded []byte) *image {
	sum, ok := planSum(encoded)
	if !ok {
		return nil
	}
	var mem []byte
	data := c.readInto(c.imageName(), mostImage(c.shape), func(n int64) []byte {
		if mem = hugeMemory(int(n)); mem != nil {
			return mem[:n]
		}
		return nil
	})
	if data != nil {
		if im, err := decodeImage(data, c.key, sum); err == nil {
			im.mem = mem
			return im
		}
	}
	if mem != nil {
		_ = unix.Munmap(mem)
	}
	return nil
}

// planSum is the checksum that an encoded plan ends with. It is not ok if the plan has
// another one.
func planSum(encoded []byte) (sum [sha256.Size]byte, ok bool) {
	n := len(encoded) - sha256.Size
	if n < 0 {
		return sum, false
	}
	sum = sha256.Sum256(encoded[:n])
	return sum, bytes.Equal(sum[:], encoded[n:])
}

// keep keeps the image of a plan for the next start. It does not matter if it cannot.
func (im *image) keep(dir string, key planKey, p *plan.Plan) {
	if im == nil {
		return
	}
	root, err := privateDir(dir)
	if err != nil {
		return
	}
	c := &plans{dir: root, key: key}
	defer c.close()
	sum, _ := planSum(p.Encode())
	if c.write(c.imageName(), im.encode(key, sum)) {
		c.prune()
	}
}

// hugeMemory is memory of so many bytes, not less, that is no garbage, in large pages if
// the system has them.
func hugeMemory(n int) []byte {
	if n <= 0 {
		return nil
	}
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil
	}
	_ = unix.Madvise(mem, unix.MADV_HUGEPAGE)
	return mem
}
