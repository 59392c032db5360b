package locate

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"tracerag/knowledge"
)

// fading is what each frame further from the failure counts, of the one before.
const fading = .8

// frames marks the functions of stack traces: the first one of the program most, since
// what failed is there or was handed to it. Functions are found by their names, and by
// file and line where no name is: lines are those of the version that failed.
func (s *search) frames() error {
	own := 0 // frames of the program before
	for _, f := range s.report.frames {
		if f.depth == 0 {
			own = 0
		}
		ds, err := s.declsAt(f)
		if err != nil {
			return err
		}
		marked := false
		for i := range ds {
			c := s.add(ds[i])
			if c == nil {
				continue
			}
			x := s.w.Frames * math.Pow(fading, float64(own))
			if f.creator {
				x /= 2
			}
			what := c.Name
			if f.line > 0 {
				what = fmt.Sprintf("%s:%d", path.Base(f.file), f.line)
			}
			c.mark(Frame, x, what)
			marked = true
		}
		if marked {
			own++
		}
	}
	return nil
}

// declsAt returns the functions that a frame may be of.
func (s *search) declsAt(f frame) ([]knowledge.Decl, error) {
	if f.name != "" {
		ds, err := s.store.Named(s.ctx, []string{f.name}, s.scope)
		if err != nil {
			return nil, err
		}
		ds = slices.DeleteFunc(ds, func(d knowledge.Decl) bool {
			return d.Name != f.name || !d.Kind.Callable() ||
				d.Package != f.pkg && !(f.pkg == "main" && d.PackageName == "main" && (f.file == "" || path.Base(f.file) == path.Base(d.Path)))
		})
		return ds, nil
	}
	if strings.HasSuffix(f.file, "_test.go") {
		return nil, nil
	}
	file, ok, err := s.fileOf(f.file)
	if err != nil || !ok {
		return nil, err
	}
	ds, err := s.store.In(s.ctx, []int64{file.ID})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(ds, func(d knowledge.Decl) bool {
		return !d.Kind.Callable() || f.line < d.Line || f.line > d.EndLine
	}), nil
}

// fileOf returns the file that a path of another machine is of: that with the longest common
// end, if no other has as long a one.
func (s *search) fileOf(p string) (knowledge.File, bool, error) {
	files, err := s.store.Files(s.ctx, []string{path.Base(p)}, s.scope)
	if err != nil {
		return knowledge.File{}, false, err
	}
	parts := strings.Split(p, "/")
	common := func(f *knowledge.File) int {
		others := strings.Split(f.Path, "/")
		n := 0
		for n < len(parts) && n < len(others) && parts[len(parts)-1-n] == others[len(others)-1-n] {
			n++
		}
		return n
	}
	best, at, twice := 0, -1, false
	for i := range files {
		switch n := common(&files[i]); {
		case n > best:
			best, at, twice = n, i, false
		case n == best:
			twice = true
		}
	}
	if at < 0 || twice {
		return knowledge.File{}, false, nil
	}
	return files[at], true, nil
}
