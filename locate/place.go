package locate

import (
	"path"
	"slices"
	"strings"

	"tracerag/knowledge"
)

// place marks the functions of the packages, directories and files that the report
// writes.
func (s *search) place() error {
	if len(s.report.places) == 0 {
		return nil
	}
	for _, c := range s.found {
		for _, p := range s.report.places {
			if !c.ran && isAt(&c.Decl, p) {
				c.mark(Placed, s.w.Place, p)
				break
			}
		}
	}
	return nil
}

// isAt reports whether a declaration is in a place that people write: the end of its
// package's path, or of its file's, with ".go" or without.
func isAt(d *knowledge.Decl, place string) bool {
	file := strings.TrimSuffix(d.Path, ".go")
	if p, ok := strings.CutSuffix(place, ".go"); ok {
		return hasEnd(file, p)
	}
	return hasEnd(strings.TrimSuffix(d.Package, "_test"), place) || hasEnd(path.Dir(d.Path), place) || hasEnd(file, place)
}

// hasEnd reports whether the last elements of a path are those of end.
func hasEnd(p, end string) bool {
	a, b := strings.Split(p, "/"), strings.Split(end, "/")
	return len(a) >= len(b) && slices.Equal(a[len(a)-len(b):], b)
}
