package executable

import (
	"bytes"
	"io"
	"os"
	"testing"
)

// FuzzOpen opens a program with some bytes overwritten. Whatever they are, the
// answer is a File whose methods work, or an error.
//
// The position counts from the start of the places that this package reads
// itself, one after the other: the headers, the pclntab, the module data.
func FuzzOpen(f *testing.F) {
	good, err := os.ReadFile(build(f, "zoo", "GOOS=linux GOARCH=amd64 -ldflags=-s"))
	if err != nil {
		f.Fatal(err)
	}
	im, err := newELF(bytes.NewReader(good), int64(len(good)))
	if err != nil {
		f.Fatal(err)
	}
	places := [][2]uint64{{0, 4096}}
	for _, r := range im.regions {
		switch r.name {
		case ".gopclntab", ".go.module", ".noptrdata", ".note.go.buildid":
			places = append(places, [2]uint64{r.off, r.size})
		}
	}
	total := uint64(0)
	for _, p := range places {
		total += p[1]
	}
	f.Add(uint64(4096+8), bytes.Repeat([]byte{0xff}, 8))
	f.Add(uint64(4096+40), []byte{0, 0, 0x7f})
	t := mustOpenBytes(f, good).tab
	funcs := 4096 + 100 + uint64(len(t.names)+len(t.units)+len(t.files)+len(t.values))
	for i := range uint64(16) {
		f.Add(funcs+i*9973, []byte{0x80, 0xff, 0xff, 0x7f})
	}
	f.Fuzz(func(t *testing.T, at uint64, patch []byte) {
		at %= total
		for _, p := range places {
			if at < p[1] {
				at += p[0]
				break
			}
			at -= p[1]
		}
		r := patchedFile{good, int64(at), patch}
		file, err := newFile("fuzz", r, int64(len(good)))
		if err != nil {
			return
		}
		for i := 0; i < len(file.Funcs); i += 7 {
			fn := &file.Funcs[i]
			for pc := fn.Entry; pc < fn.End && pc < fn.Entry+200; pc += 50 {
				if fr := file.Frames(pc); len(fr) == 0 && file.Func(pc) != nil {
					t.Errorf("no frames at %#x in %s", pc, fn.Name)
				}
			}
			for j, c := range file.Inlined(fn) {
				if c.Parent >= j || len(c.Ranges) == 0 {
					t.Errorf("%s: call %d is %+v", fn.Name, j, c)
				}
			}
		}
	})
}

func mustOpenBytes(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := newFile("app", bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A patchedFile is a file with some bytes overwritten, without a copy of it.
type patchedFile struct {
	data  []byte
	at    int64
	patch []byte
}

func (p patchedFile) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 || off >= int64(len(p.data)) {
		return 0, io.EOF
	}
	n := copy(b, p.data[off:])
	from, to := max(off, p.at), min(off+int64(n), p.at+int64(len(p.patch)))
	if from < to {
		copy(b[from-off:to-off], p.patch[from-p.at:])
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}
