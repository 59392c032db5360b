package calls

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/scanner"
	"unicode"

	"golang.org/x/tools/go/packages"
)

// The go command assembles what it makes export data of, also of vendored packages and of modules that a repository
// replaces by directories of its own. The assembler opens whatever a file includes: for a device that never ends, such as
// /dev/ptmx, it waits for ever. So such packages are looked at first.

// unsafeAssembly returns why the assembler is not to see packages of the repository, by their import paths; also of those
// that import them.
func (l *listing) unsafeAssembly(roots []*packages.Package) map[string]string {
	refused := map[string]string{}
	packages.Visit(roots, nil, func(p *packages.Package) { // imports before
		if why := l.assembly(p); why != "" {
			refused[p.PkgPath] = why
			return
		}
		for _, i := range sorted(p.Imports) {
			if why := refused[p.Imports[i].PkgPath]; why != "" && p.ForTest == "" {
				refused[p.PkgPath] = why
				return
			}
		}
	})
	return refused
}

// assembly returns why the assembler is not to see a package; "" if it may.
func (l *listing) assembly(p *packages.Package) string {
	if !slices.ContainsFunc(p.OtherFiles, func(f string) bool { return filepath.Ext(f) == ".s" }) {
		return ""
	}
	dir := filepath.Dir(p.OtherFiles[0])
	if r, err := filepath.Rel(l.root, dir); err != nil || !filepath.IsLocal(r) {
		return "" // the standard library's, or that of a module of the user's cache
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err.Error()
	}
	for _, e := range entries {
		// What a file includes is a header of the same directory, or one of the toolchain.
		if ext := filepath.Ext(e.Name()); e.IsDir() || ext != ".s" && ext != ".h" {
			continue
		}
		name := filepath.Join(dir, e.Name())
		if why := includes(name, e); why != "" {
			return l.shorter("", name+": "+why)
		}
	}
	return ""
}

// largestAssembly is how large a file of assembly may be. Those of cryptography are the largest, with a third of a megabyte.
const largestAssembly = 8 << 20

// includes returns why the assembler is not to see a file; "" if it may. It has the tokens of the assembler.
func includes(name string, e fs.DirEntry) string {
	if info, err := e.Info(); err != nil || !info.Mode().IsRegular() || info.Size() > largestAssembly {
		return "it is no ordinary file, so it is not assembled"
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	var s scanner.Scanner
	s.Init(bytes.NewReader(text))
	s.Mode = scanner.ScanChars | scanner.ScanFloats | scanner.ScanIdents | scanner.ScanInts | scanner.ScanStrings | scanner.ScanComments | scanner.SkipComments
	s.IsIdentRune = func(r rune, i int) bool {
		return unicode.IsLetter(r) || r == '_' || r == '\u00B7' || r == '\u2215' || i > 0 && unicode.IsDigit(r)
	}
	s.Error = func(*scanner.Scanner, string) {} // the assembler says it
	for token := s.Scan(); token != scanner.EOF; token = s.Scan() {
		if token != scanner.Ident || s.TokenText() != "include" {
			continue
		}
		if s.Scan() != scanner.String {
			return "it includes what is no name of a file, so it is not assembled"
		}
		file, err := strconv.Unquote(s.TokenText())
		if err != nil || strings.ContainsAny(file, `/\`) || filepath.Ext(file) != ".h" {
			return fmt.Sprintf("it includes %+q, which is no header of its directory, so it is not assembled", file)
		}
	}
	return ""
}
