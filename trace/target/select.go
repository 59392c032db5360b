package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/modfile"

	"tracerag/trace/executable"
)

// selection decides which packages are recorded. Patterns are those of the go
// command: an import path, "..." as a wildcard in it, a path relative to the
// working directory ("./internal/..."), "std", "all", and "main" for the
// program's own main package.
type selection struct {
	bin              *executable.File
	include, exclude []matcher
	in, out          []string // the patterns; relative ones as import paths behind "./"
	seen             map[string]bool
}

type matcher func(pkg string) bool

func newSelection(bin *executable.File, dir string, include, exclude []string) (*selection, error) {
	s := &selection{bin: bin, seen: map[string]bool{}}
	for _, list := range []struct {
		patterns []string
		out      *[]matcher
		full     *[]string
	}{{include, &s.include, &s.in}, {exclude, &s.exclude, &s.out}} {
		for _, p := range list.patterns {
			m, full, err := s.matcher(p, dir)
			if err != nil {
				return nil, err
			}
			*list.out, *list.full = append(*list.out, m), append(*list.full, full)
		}
	}
	return s, nil
}

// NoMatchError says that a pattern of packages to be recorded matches none of the
// program's.
type NoMatchError struct {
	Path    string // of the program
	Pattern string
	Main    string // path of its main package
}

func (e *NoMatchError) Error() string {
	return fmt.Sprintf("no package of %s matches %s (its main package is %s)", e.Path, e.Pattern, e.Main)
}

// NothingLeftError says that the patterns leave no package of a program to be recorded.
type NothingLeftError struct{ Path string }

func (e *NothingLeftError) Error() string {
	return fmt.Sprintf("no package of %s is left to record", e.Path)
}

// check says so when nothing of the program is chosen, or when a pattern of the user's chose
// nothing, which must be a mistake. A program that another one started need not have
// what each of them is about.
func (s *selection) check(include []string, started bool) error {
	hit := make([]bool, len(s.include))
	any := false
	last := "" // functions of a package follow one another
	for i := range s.bin.Funcs {
		pkg := s.bin.Funcs[i].Package
		if pkg == last {
			continue
		}
		if last = pkg; pkg == "" {
			continue
		}
		for j, m := range s.include {
			hit[j] = hit[j] || m(pkg)
		}
		any = any || s.matches(pkg)
	}
	for j, ok := range hit {
		if !ok && !started {
			return &NoMatchError{Path: s.bin.Path, Pattern: include[j], Main: s.mainPath()}
		}
	}
	if !any {
		return &NothingLeftError{Path: s.bin.Path}
	}
	return nil
}

func (s *selection) mainPath() string {
	if s.bin.MainPath == "" {
		return "main"
	}
	return s.bin.MainPath
}

func (s *selection) matches(pkg string) bool {
	v, ok := s.seen[pkg]
	if !ok {
		v = s.decide(pkg)
		s.seen[pkg] = v
	}
	return v
}

func (s *selection) decide(pkg string) bool {
	if pkg == "" || unrecordable(pkg) {
		return false
	}
	in := len(s.include) == 0 && !s.bin.Std(pkg)
	for _, m := range s.include {
		in = in || m(pkg)
	}
	for _, m := range s.exclude {
		in = in && !m(pkg)
	}
	return in
}

// unrecordable lists the packages in which a recorder must not stop: code that
// runs without a goroutine, between fork and exec, or within a signal handler.
func unrecordable(pkg string) bool {
	switch pkg {
	case "runtime", "syscall", "sync/atomic", "internal/abi", "internal/bytealg", "internal/cpu", "internal/runtime", "runtime/cgo", "reflect/internal/abi":
		return true
	}
	return strings.HasPrefix(pkg, "runtime/internal/") || strings.HasPrefix(pkg, "internal/runtime/")
}

// matcher also returns the pattern, as one of import paths where it is relative to dir.
func (s *selection) matcher(pattern, dir string) (m matcher, full string, err error) {
	switch pattern {
	case "":
		return nil, "", errors.New("empty package pattern")
	case "std":
		return s.bin.Std, pattern, nil
	case "all":
		return func(string) bool { return true }, pattern, nil
	case "main":
		return func(pkg string) bool { return pkg == "main" || pkg == s.bin.MainPath }, pattern, nil
	}
	if pattern == "." || pattern == ".." || strings.HasPrefix(pattern, "./") || strings.HasPrefix(pattern, "../") {
		// With a dot, for a module may be called "std".
		if full, err = relative(pattern, dir); err != nil {
			return nil, "", err
		}
		pattern, full = full, "./"+full
	} else {
		full = pattern
	}
	re, err := wildcard(pattern)
	if err != nil {
		return nil, "", err
	}
	return func(pkg string) bool {
		// A test binary's packages are named after the package that they test.
		return re.MatchString(pkg) || re.MatchString(strings.TrimSuffix(pkg, "_test"))
	}, full, nil
}

// MatchPackages returns what tells whether an import path matches a pattern, of those
// that --include takes the ones that need no program: an import path, with "..." for
// any string, or a path relative to dir.
func MatchPackages(pattern, dir string) (func(pkg string) bool, error) {
	switch pattern {
	case "", "std", "main":
		return nil, fmt.Errorf("%q is not an import path", pattern)
	}
	m, _, err := (&selection{}).matcher(pattern, dir)
	return m, err
}

// wildcard turns a package pattern into an expression: "..." matches any
// string, and "/..." at the end also matches nothing.
func wildcard(pattern string) (*regexp.Regexp, error) {
	if strings.ContainsAny(pattern, "*?\\") {
		return nil, fmt.Errorf("%s is not a package pattern: the wildcard is ..., as in github.com/x/... and ./cmd", pattern)
	}
	re := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\.\.\.`, `.*`)
	if strings.HasSuffix(re, `/.*`) {
		re = strings.TrimSuffix(re, `/.*`) + `(/.*)?`
	}
	return regexp.Compile(`^` + re + `$`)
}

// relative turns a pattern relative to dir into one of import paths, by the
// go.mod above it.
func relative(pattern, dir string) (string, error) {
	root, name, err := moduleAbove(dir)
	if err != nil {
		return "", fmt.Errorf("package pattern %s: %w", pattern, err)
	}
	rel, err := filepath.Rel(root, filepath.Join(dir, filepath.FromSlash(pattern)))
	if err != nil {
		return "", fmt.Errorf("package pattern %s: %w", pattern, err)
	}
	rel = filepath.ToSlash(rel)
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return "", fmt.Errorf("package pattern %s leaves the module %s: give the import path", pattern, name)
	}
	return path.Join(name, rel), nil
}

func moduleAbove(dir string) (root, name string, err error) {
	for d := dir; ; {
		data, err := os.ReadFile(filepath.Join(d, "go.mod"))
		if err == nil {
			if name := modfile.ModulePath(data); name != "" {
				return d, name, nil
			}
			return "", "", fmt.Errorf("%s names no module", filepath.Join(d, "go.mod"))
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", "", err
		}
		up := filepath.Dir(d)
		if up == d {
			return "", "", fmt.Errorf("no go.mod in %s or above it: give the import path instead", dir)
		}
		d = up
	}
}
