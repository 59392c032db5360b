package locate

import (
	"fmt"
	"path"
	"path/filepath"
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

// NoFilesError says that no file is in the pattern of a question.
type NoFilesError struct {
	Pattern string
	Near    string // what may have been meant; "" is nothing
}

func (e *NoFilesError) Error() string {
	text := fmt.Sprintf("no indexed file is in %q", e.Pattern)
	if e.Near != "" {
		text += fmt.Sprintf(": did you mean %q?", e.Near)
	}
	return text + "\na pattern is a directory or a file below a repository's root (table, table/border.go), an import path, or all below one (table/...)"
}

// checkPattern tells a pattern that no file is in from a report that nothing matches.
func (s *search) checkPattern() error {
	if s.q.In == "" || len(s.found) > 0 {
		return nil
	}
	if ok, err := s.store.Holds(s.ctx, s.q.In); err != nil || ok {
		return err
	}
	e := &NoFilesError{Pattern: s.q.In}
	near := []string{s.q.In + "/..."}
	for i := range s.repos {
		if below, err := filepath.Rel(s.repos[i].Root, filepath.FromSlash(s.q.In)); err == nil && filepath.IsLocal(below) {
			below = filepath.ToSlash(below)
			near = append(near, below, path.Join(below, "..."))
		}
	}
	for _, pattern := range near {
		if ok, err := s.store.Holds(s.ctx, pattern); err != nil {
			return err
		} else if ok {
			e.Near = pattern
			break
		}
	}
	return e
}

// hasEnd reports whether the last elements of a path are those of end.
func hasEnd(p, end string) bool {
	a, b := strings.Split(p, "/"), strings.Split(end, "/")
	return len(a) >= len(b) && slices.Equal(a[len(a)-len(b):], b)
}
