package executable

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"sync"
)

// le is the byte order of every machine that is read here.
var le = binary.LittleEndian

// An image is what an executable puts into memory, whatever the file format:
// named stretches of bytes at link-time addresses.
type image struct {
	r      io.ReaderAt // the program; one architecture's part of a universal file
	size   int64
	format string // "ELF", "Mach-O", "PE": for messages

	goos, goarch string // as far as the headers tell
	pie          bool
	stripped     bool
	goBuildID    string // from notes, if there are any
	gnuBuildID   string

	regions []*region

	// pointer turns a word of a data region into the address that it will
	// hold at run time less the load offset. nil: the word is the address.
	pointer func(uint64) uint64
	// relocs walks the relocations that store an address of the program
	// itself, for files whose data regions do not hold these yet. It may be
	// nil, and stops when yield returns false.
	relocs func(yield func(at, value uint64) bool) error
}

// A region is a section of the file (or a segment, in files without sections).
type region struct {
	name  string
	addr  uint64
	off   uint64 // in the file
	size  uint64 // in the file: memory that begins as zeros is not counted
	exec  bool
	write bool

	data []byte // once loaded
}

// newImage finds out what kind of file r is and reads its headers.
func newImage(r io.ReaderAt, size int64) (im *image, err error) {
	head := make([]byte, 8)
	n, err := r.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	head = head[:n]

	// The standard library's readers of object files are not hardened
	// against hostile input, and say so. A panic of theirs is a damaged file.
	defer func() {
		if p := recover(); p != nil {
			im, err = nil, fmt.Errorf("damaged executable: its headers cannot be read (%v): build or copy it again", p)
		}
	}()
	is := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	switch {
	case is("\x7fELF"):
		im, err = newELF(r, size)
	case is("\xcf\xfa\xed\xfe"):
		im, err = newMachO(r, size)
	case is("\xca\xfe\xba\xbe"):
		im, err = newUniversal(r, size)
	case is("MZ"):
		im, err = newPE(r, size)
	case is("\xce\xfa\xed\xfe"), is("\xfe\xed\xfa"):
		return nil, fmt.Errorf("is a Mach-O file for a machine that is not 64-bit little-endian: only those can be read")
	case len(head) == 0:
		return nil, fmt.Errorf("is empty: build it again")
	case is("#!"):
		return nil, fmt.Errorf("is a script: name the Go program that it starts")
	case is("!<arch>\n"):
		return nil, fmt.Errorf("is an archive of compiled packages: link it into a program with go build")
	case is("\x00go1"):
		return nil, fmt.Errorf("is a compiled package: link it into a program with go build")
	default:
		return nil, fmt.Errorf("is not an executable (neither ELF nor Mach-O nor PE): name a compiled Go program")
	}
	if err != nil {
		return nil, err
	}
	return im, im.check()
}

// check makes sure that what the headers promise is in the file, so that no
// later read allocates more than the file has.
func (im *image) check() error {
	for _, r := range im.regions {
		if r.off > uint64(im.size) || r.size > uint64(im.size)-r.off {
			return fmt.Errorf("truncated or damaged %s file: %s needs bytes %d to %d, the file has %d: build or copy it again",
				im.format, r.name, r.off, r.off+r.size, im.size)
		}
		if r.addr+r.size < r.addr {
			return fmt.Errorf("damaged %s file: section %s at %#x is too long: build or copy it again", im.format, r.name, r.addr)
		}
	}
	return nil
}

// load returns the whole content of a region.
func (im *image) load(r *region) ([]byte, error) {
	if r.data == nil {
		d := make([]byte, r.size)
		if err := readAll(im.r, d, int64(r.off)); err != nil {
			return nil, fmt.Errorf("section %s: %w", r.name, err)
		}
		r.data = d
	}
	return r.data, nil
}

// readAll fills d from an offset on, with all processors if that is much: most of the time
// the kernel finds pages for it.
func readAll(r io.ReaderAt, d []byte, off int64) error {
	const most = 2 << 20
	n := min(runtime.GOMAXPROCS(0), 1+len(d)/most)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		from, to := len(d)*i/n, len(d)*(i+1)/n
		wg.Go(func() {
			if k, err := r.ReadAt(d[from:to], off+int64(from)); k < to-from {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// find returns the region that contains addr, or nil.
func (im *image) find(addr uint64) *region {
	for _, r := range im.regions {
		if addr >= r.addr && addr-r.addr < r.size {
			return r
		}
	}
	return nil
}

// bytes returns the n bytes at addr, or nil if the file has no such bytes in
// one region.
func (im *image) bytes(addr, n uint64) []byte {
	r := im.find(addr)
	if r == nil || n > r.size-(addr-r.addr) {
		return nil
	}
	if r.data != nil {
		return r.data[addr-r.addr:][:n]
	}
	b := make([]byte, n)
	if _, err := im.r.ReadAt(b, int64(r.off+addr-r.addr)); err != nil {
		return nil
	}
	return b
}

// words returns up to n words at addr as the file has them.
func (im *image) words(addr uint64, n int) []uint64 {
	r := im.find(addr)
	if r == nil {
		return nil
	}
	n = int(min(uint64(n), (r.size-(addr-r.addr))/8))
	b := im.bytes(addr, uint64(n)*8)
	if b == nil {
		return nil
	}
	w := make([]uint64, n)
	for i := range w {
		w[i] = le.Uint64(b[i*8:])
		if im.pointer != nil {
			w[i] = im.pointer(w[i])
		}
	}
	return w
}

// pointersTo yields the addresses of the words that hold the address target in the file's
// data, until yield returns false. Data behind that are not read.
func (im *image) pointersTo(target uint64, yield func(at uint64) bool) error {
	// Small regions first: the moduledata has had a section of its own since
	// Go 1.26.
	rs := slices.Clone(im.regions)
	slices.SortStableFunc(rs, func(a, b *region) int { return cmp.Compare(a.size, b.size) })
	pattern := le.AppendUint64(nil, target)
	for _, r := range rs {
		if !r.write {
			continue
		}
		d, err := im.load(r)
		if err != nil {
			return err
		}
		if im.pointer != nil {
			for i := 0; i+8 <= len(d); i += 8 {
				if im.pointer(le.Uint64(d[i:])) == target && !yield(r.addr+uint64(i)) {
					return nil
				}
			}
			continue
		}
		for i := 0; ; i++ {
			j := bytes.Index(d[i:], pattern)
			if j < 0 {
				break
			}
			if i += j; (r.addr+uint64(i))%8 == 0 && !yield(r.addr+uint64(i)) {
				return nil
			}
		}
	}
	return nil
}

// buildID returns the Go build ID, or else the GNU one.
func (im *image) buildID() string {
	if im.goBuildID != "" {
		return im.goBuildID
	}
	// Formats without notes have it as text before the first function.
	for _, r := range im.regions {
		if !r.exec {
			continue
		}
		if id := textBuildID(im.bytes(r.addr, min(r.size, 4096))); id != "" {
			return id
		}
	}
	return im.gnuBuildID
}

func textBuildID(text []byte) string {
	_, rest, ok := bytes.Cut(text, []byte("\xff Go build ID: "))
	if !ok {
		return ""
	}
	quoted, _, ok := bytes.Cut(rest, []byte("\n \xff"))
	if !ok {
		return ""
	}
	id, err := strconv.Unquote(string(quoted))
	if err != nil {
		return ""
	}
	return id
}
