package trial

import (
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tracerag/repair/patch"
)

// OtherModule is the error of a wanted test in a module that the go command doesn't see from the user's directory.
type OtherModule struct {
	Package   string
	Directory string // of its module, as seen from the user's
}

func (e *OtherModule) Error() string {
	return fmt.Sprintf("package %s belongs to another module: run it in that module's directory, %s, or name both modules in a go.work file", e.Package, e.Directory)
}

// seen holds wanted tests against the modules whose tests are run.
func (t *Trial) seen(wanted []TestID) error {
	for _, w := range wanted {
		_, dir, err := t.Resolve(w)
		if err != nil {
			continue // listing the packages says more of it
		}
		m := t.base.with(patch.Patch{}).moduleOf(path.Join(dir, "x.go"))
		if m == "" || slices.Contains(t.modules, m) {
			continue
		}
		from, err := filepath.Rel(t.options.Dir, filepath.Join(t.tree.root, filepath.FromSlash(m)))
		if err != nil {
			from = m
		}
		return &OtherModule{Package: w.Package, Directory: from}
	}
	return nil
}

// also are the tests of both lists.
func also(before, wanted []TestID) []TestID {
	all := slices.Clone(before)
	for _, w := range wanted {
		if !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return all
}

// lacks reports whether a baseline knows nothing of the package of a wanted test.
func (b *Baseline) lacks(wanted []TestID) bool {
	return slices.ContainsFunc(wanted, func(w TestID) bool { return b.Packages[w.Package] == nil })
}

// number is what package testing adds to the name of a subtest that another one has.
var number = regexp.MustCompile(`#\d+$`)

// named reports whether a subtest that did not run may be there: its package has a string, a method or a file of that
// name. A name that is made otherwise can't be told from one that doesn't exist.
func (t *Trial) named(w TestID) bool {
	_, dir, err := t.Resolve(w)
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(number.ReplaceAllString(w.Name, ""), "/")
	is := func(text string) bool {
		text = subtestName(text)
		return text != "" && (rest == text || strings.HasSuffix(rest, "/"+text))
	}
	for _, name := range sortedKeys(t.base.files) {
		if below := strings.TrimPrefix(name, dir+"/"); below == name && dir != "." {
			continue
		}
		base := path.Base(name)
		if is(base) || is(strings.TrimSuffix(base, path.Ext(base))) {
			return true
		}
		if path.Dir(name) != dir || path.Ext(name) != ".go" {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(t.base.dir, filepath.FromSlash(name))); err != nil || slices.ContainsFunc(words(text), is) {
			return true
		}
	}
	return false
}

// words are the names and strings of a Go file.
func words(text []byte) (list []string) {
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile("", -1, len(text)), text, nil, 0)
	for {
		switch _, tok, literal := s.Scan(); tok {
		case token.EOF:
			return list
		case token.IDENT:
			list = append(list, literal)
		case token.STRING:
			if value, err := strconv.Unquote(literal); err == nil {
				list = append(list, value)
			}
		}
	}
}

// subtestName is what package testing makes of the name of a subtest.
func subtestName(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			b.WriteByte('_')
		case !strconv.IsPrint(r):
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
