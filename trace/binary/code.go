package binary

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Code is what a program puts into memory when it is loaded, by link-time
// address: its machine code and its data, as the file has them. It may be used
// from many goroutines.
type Code struct {
	im *image
}

// Code reads the program's code and data from the file again, and fails when
// that is not the program any more that was opened.
func (f *File) Code() (*Code, error) {
	c, err := f.code()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return c, nil
}

func (f *File) code() (*Code, error) {
	r, err := os.Open(f.Path)
	if err != nil {
		if pe, ok := err.(*os.PathError); ok {
			err = pe.Err // the caller adds the path
		}
		return nil, err
	}
	defer r.Close()
	st, err := r.Stat()
	if err != nil {
		return nil, err
	}
	im, err := newImage(r, st.Size())
	if err != nil {
		return nil, err
	}
	if id := im.buildID(); id != f.BuildID {
		return nil, fmt.Errorf("was built anew since it was opened (build ID %.20q, then %.20q): start again", id, f.BuildID)
	}
	// Only regions that are loaded now are kept: the file is closed, and
	// whoever reads a region must not change it. The function table is known
	// otherwise, and large.
	im.regions = slices.DeleteFunc(im.regions, func(g *region) bool { return strings.HasSuffix(g.name, "gopclntab") })
	for _, g := range im.regions {
		if _, err := im.load(g); err != nil {
			return nil, err
		}
	}
	return &Code{im}, nil
}

// Bytes returns the n bytes at addr, or nil if the file does not have them. They
// must not be changed.
func (c *Code) Bytes(addr, n uint64) []byte { return c.im.bytes(addr, n) }

// Data returns the stretches of the program that are not code, in the order of
// their headers in the file. They must not be changed.
func (c *Code) Data() []Stretch {
	var out []Stretch
	for _, g := range c.im.regions {
		if !g.exec {
			out = append(out, Stretch{g.addr, g.data})
		}
	}
	return out
}

// Stretch is bytes of a program that lie next to each other.
type Stretch struct {
	Addr  uint64 // link-time address of the first one
	Bytes []byte
}
