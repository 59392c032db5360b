package code

import (
	"go/build"
	"go/build/constraint"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Built is what decides whether a file is built.
type Built struct {
	Name       string // without directories
	Constraint string // as [File.Constraint]
}

// Tags returns the fewest build tags with which all of the files are built on this machine; ok is
// false if none are known that do. Tags that say what the machine or the compiler is are no choice.
func Tags(files ...Built) (tags []string, ok bool) {
	var all []string
	for _, f := range files {
		x, err := constraint.Parse("//go:build " + f.Constraint)
		if f.Constraint == "" || err != nil {
			continue // without one the name decides
		}
		for _, tag := range named(x, nil) {
			if !systems[tag] && !architectures[tag] && !fixed.MatchString(tag) && !slices.Contains(all, tag) {
				all = append(all, tag)
			}
		}
	}
	if len(all) > mostTags {
		return nil, builds(files, nil)
	}
	for size := range len(all) + 1 {
		for set := range 1 << len(all) {
			tags = nil
			for i, tag := range all {
				if set>>i&1 != 0 {
					tags = append(tags, tag)
				}
			}
			if len(tags) == size && builds(files, tags) {
				return tags, true
			}
		}
	}
	return nil, false
}

// mostTags is of how many tags all combinations are tried.
const mostTags = 6

// fixed are the tags that nobody sets with -tags: those of the compiler, and "ignore", which
// is there to be false.
var fixed = regexp.MustCompile(`^(?:unix|cgo|gc|gccgo|race|msan|asan|ignore|boringcrypto|compiler_bootstrap|go\d.*|goexperiment\..*)$`)

func named(x constraint.Expr, to []string) []string {
	switch x := x.(type) {
	case *constraint.TagExpr:
		return append(to, x.Tag)
	case *constraint.NotExpr:
		return named(x.X, to)
	case *constraint.AndExpr:
		return named(x.Y, named(x.X, to))
	case *constraint.OrExpr:
		return named(x.Y, named(x.X, to))
	}
	return to
}

// builds asks go/build, with a file that has the constraint and nothing else.
func builds(files []Built, tags []string) bool {
	c := build.Default
	c.GOOS, c.GOARCH, c.BuildTags = runtime.GOOS, runtime.GOARCH, tags // programs are run here
	for _, f := range files {
		text := "package p\n"
		if f.Constraint != "" {
			text = "//go:build " + f.Constraint + "\n\n" + text
		}
		c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
		if ok, err := c.MatchFile("", f.Name); !ok || err != nil {
			return false
		}
	}
	return true
}
