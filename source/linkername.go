package source

import (
	"slices"
	"strconv"
	"strings"
)

// Canonical returns the linker name of the declaration that name belongs to,
// so that the instantiations and closures of one declaration share a key:
// without type arguments, closure suffixes and the numbers of init functions.
//
//	p.Map[go.shape.int].func1   p.Map
//	p.(*T).M-fm                 p.(*T).M
//	p.init.0, p.init.func1      p.init
//
// It sees the name only. A literal of an inlined function carries both names:
// "p.F.G.func1" becomes "p.F.G", which no declaration may have; [Text.Parent]
// comes from the position and names G. Likewise all that runs in a package's
// initialisation shares "p.init", where Text tells declarations apart.
// Names that do not follow the scheme (C functions, "type:.eq.T") are returned
// as they are. Canonical is idempotent.
func Canonical(name string) string {
	s := parseSymbol(name)
	switch {
	case s.pkg == "" || len(s.decl) == 0:
		return name
	case s.initialiser:
		return s.pkg + ".init"
	}
	return s.pkg + "." + s.declName()
}

// symbol is a linker name taken apart.
type symbol struct {
	pkg  string   // package path, escaped as in the name; "" when there is none
	decl []string // "F"; "T", "M"; "(*T)", "M"; "F", "G" of an inlined literal
	tail []string // closure suffixes: "func1", "2", "gowrap1", "-range1", "-fm"
	// initNo is the number of an init function, -1 for all else.
	initNo int
	// initialiser: a part of a package variable's initialiser.
	initialiser bool
}

func parseSymbol(name string) symbol {
	s := symbol{initNo: -1}
	if strings.HasPrefix(name, "type:") || strings.HasPrefix(name, "go:") {
		return s
	}
	pkg, rest, ok := splitPackage(name)
	if !ok {
		return s
	}
	segs := segments(rest)
	s.pkg = pkg

	cut := 1 // the first segment is a name whatever it looks like
	if strings.HasPrefix(segs[0], "(") && len(segs) > 1 && !strings.HasPrefix(segs[1], "-") {
		cut = 2 // and so is that of a method
	}
	for cut < len(segs) && !isClosureSegment(segs[cut]) {
		cut++
	}
	s.decl, s.tail = segs[:cut:cut], segs[cut:]

	switch {
	case len(s.decl) == 1 && s.decl[0] == "init" && len(s.tail) > 0:
		if n, err := strconv.Atoi(s.tail[0]); err == nil {
			s.initNo, s.tail = n, s.tail[1:]
		} else {
			s.initialiser = true
		}
	case len(s.decl) == 2 && s.decl[0] == "glob" && s.decl[1] == "",
		len(s.decl) == 2 && s.decl[0] == "map" && s.decl[1] == "init" && len(s.tail) > 0:
		s.initialiser = true
	}
	return s
}

// splitPackage cuts name after its package path: at the first dot behind the
// last slash, since dots of the path's last element are escaped. Slashes of
// type arguments do not count.
func splitPackage(name string) (pkg, rest string, ok bool) {
	head := name
	if i := strings.IndexByte(name, '['); i >= 0 {
		head = name[:i]
	}
	slash := strings.LastIndexByte(head, '/')
	dot := strings.IndexByte(head[slash+1:], '.')
	if dot < 0 {
		return "", "", false
	}
	dot += slash + 1
	if dot == 0 || dot == len(name)-1 {
		return "", "", false
	}
	return name[:dot], name[dot+1:], true
}

// segments splits a name without its package at dots, and before the dash of a
// closure suffix. Type arguments are left out.
func segments(s string) []string {
	s = dropTypeArgs(s)
	var segs []string
	start, round := 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '(':
			round++
		case c == ')' && round > 0:
			round--
		case round > 0:
		case c == '.':
			segs = append(segs, s[start:i])
			start = i + 1
		case c == '-' && i > start:
			// A dash that begins nothing known is a part of the name.
			suffixes, _, _ := strings.Cut(s[i+1:], ".")
			if !slices.ContainsFunc(strings.Split(suffixes, "-"), notDashSuffix) {
				segs = append(segs, s[start:i])
				start = i
			}
		}
	}
	return append(segs, s[start:])
}

// dropTypeArgs leaves out what is in square brackets, which may be
// anything: dots, more brackets, struct tags with quotes.
func dropTypeArgs(s string) string {
	if !strings.Contains(s, "[") {
		return s
	}
	var b strings.Builder
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '[':
			depth++
		case depth == 0:
			b.WriteByte(c)
		case c == ']':
			depth--
		case c == '"' || c == '`':
			i = skipQuoted(s, i)
		}
	}
	return b.String()
}

// skipQuoted returns the index of the quote that closes the one at s[i], or
// the last index when there is none.
func skipQuoted(s string, i int) int {
	for j := i + 1; j < len(s); j++ {
		switch {
		case s[j] == '\\' && s[i] == '"':
			j++
		case s[j] == s[i]:
			return j
		}
	}
	return len(s) - 1
}

// closurePrefixes are what comes before the number of a closure suffix; the
// empty one is that of a literal inside a literal.
var closurePrefixes = []string{"", "func", "gowrap", "deferwrap", "-range"}

func isClosureSegment(seg string) bool {
	if seg == "-fm" {
		return true
	}
	for _, p := range closurePrefixes {
		if n, ok := strings.CutPrefix(seg, p); ok && isNumber(n) {
			return true
		}
	}
	return false
}

func notDashSuffix(s string) bool { return !isClosureSegment("-" + s) }

func isNumber(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// declName is the declaration in source terms.
func (s symbol) declName() string { return strings.Join(s.decl, ".") }

// declNames are the names that the declaration may have in its file, the
// likeliest first. A literal of an inlined function carries the names of all
// functions around it, so that each tail of the list may be the declaration.
func (s symbol) declNames() []string {
	names := []string{s.declName()}
	if len(s.tail) > 0 {
		for i := 1; i < len(s.decl); i++ {
			names = append(names, strings.Join(s.decl[i:], "."))
		}
	}
	return names
}

// unescapePath undoes the linker's %xx escapes of a package path.
func unescapePath(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// escapePath writes a package path as the linker does: bytes that could end
// it too early, dots of the last element among them, become %xx.
func escapePath(s string) string {
	const hex = "0123456789abcdef"
	slash := strings.LastIndexByte(s, '/')
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c := s[i]; c <= ' ' || c == '.' && i > slash || c == '%' || c == '"' || c >= 0x7f {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
