package executable

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// sumChunk is how much of a program one goroutine hashes at a time.
const sumChunk = 1 << 20

// Sum returns the SHA-256 of everything that the program puts into memory: its code, its
// data and the tables that [Open] reads, each with its place. Two programs with the
// same sum run the same instructions, whatever their build IDs say. Debug
// information and symbols are not part of it.
//
// It fails if the file is not the one any more that was opened.
func (f *File) Sum() ([sha256.Size]byte, error) {
	sum, err := f.sumOf(f.Path)
	if err != nil {
		err = fmt.Errorf("%s: %w", f.Path, err)
	}
	return sum, err
}

func (f *File) sumOf(path string) (sum [sha256.Size]byte, err error) {
	r, size, err := f.reopen(path)
	if err != nil {
		return sum, err
	}
	defer r.Close()
	return sumImage(r, size)
}

// sumImage hashes chunks, on all processors, and then the list of their hashes.
func sumImage(r io.ReaderAt, size int64) (sum [sha256.Size]byte, err error) {
	im, err := newImage(r, size)
	if err != nil {
		return sum, err
	}
	type chunk struct{ off, size uint64 }
	var chunks []chunk
	all := sha256.New()
	for _, g := range im.regions {
		fmt.Fprintf(all, "%q %#x %#x %t %t\n", g.name, g.addr, g.size, g.exec, g.write)
		for from := uint64(0); from < g.size; from += sumChunk {
			chunks = append(chunks, chunk{g.off + from, min(sumChunk, g.size-from)})
		}
	}
	fmt.Fprintf(all, "%s %s %t\n", im.goos, im.goarch, im.pie)
	sums := make([][sha256.Size]byte, len(chunks))
	errs := make([]error, runtime.GOMAXPROCS(0))
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() {
			buf := make([]byte, sumChunk)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(chunks) {
					return
				}
				b := buf[:chunks[i].size]
				if n, err := r.ReadAt(b, int64(chunks[i].off)); n < len(b) {
					errs[w] = err
					return
				}
				sums[i] = sha256.Sum256(b)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return sum, err
	}
	if err := binary.Write(all, le, sums); err != nil {
		return sum, err
	}
	all.Sum(sum[:0])
	return sum, nil
}

// Info describes the program's file, as it was when it was opened; nil if it was none.
func (f *File) Info() os.FileInfo { return f.info }

// IsAt reports whether the file at path, such as the /proc/PID/exe of a process, is
// the program that was opened: the same file, or another one with the same sum.
func (f *File) IsAt(path string) (bool, error) {
	r, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer r.Close()
	st, err := r.Stat()
	if err != nil {
		return false, err
	}
	if f.info == nil || sameFile(f.info, st) {
		return true, nil
	}
	there, err := sumImage(r, st.Size())
	if err != nil {
		return false, err
	}
	ours, err := f.Sum()
	return err == nil && ours == there, nil
}

// reopen opens the program's file again.
func (f *File) reopen(path string) (*os.File, int64, error) {
	r, err := os.Open(path)
	if err != nil {
		if pe, ok := err.(*os.PathError); ok {
			err = pe.Err // the caller adds the path
		}
		return nil, 0, err
	}
	st, err := r.Stat()
	if err == nil && f.info != nil && !sameFile(f.info, st) {
		err = errors.New("was built anew or replaced since it was opened: start again")
	}
	if err != nil {
		r.Close()
		return nil, 0, err
	}
	return r, st.Size(), nil
}

// sameFile reports whether nothing was written to a file since, as far as the file
// system tells. The linker makes a new file each time.
func sameFile(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
