package symbol

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
// "p.F.G.func1" becomes "p.F.G", which no declaration may have; package source
// goes by the position and finds G. Likewise all that runs in a package's
// initialisation shares "p.init". Names that do not follow the scheme
// (C functions, "type:.eq.T") are returned as they are. Canonical is idempotent.
func Canonical(name string) string {
	s := Parse(name)
	switch {
	case s.Package == "":
		return name
	case s.Initialiser:
		return s.Package + ".init"
	}
	return s.Package + "." + s.Declaration()
}

// Parts is a linker name taken apart, without type arguments.
type Parts struct {
	Package string   // import path, escaped as in the name; "" if it has none, and then all else is empty, too
	Decl    []string // "F"; "T", "M"; "(*T)", "M"; "F", "G" of an inlined literal
	Tail    []string // closure suffixes: "func1", "2", "gowrap1", "-range1", "-fm"
	// InitNo is the number of an init function, -1 for all else.
	InitNo int
	// Initialiser: a part of a package variable's initialiser.
	Initialiser bool
}

// Parse takes a linker name apart.
func Parse(name string) Parts {
	s := Parts{InitNo: -1}
	n := packageLen(name)
	if n <= 0 || n == len(name)-1 {
		return s
	}
	s.Package = name[:n]
	segs := segments(name[n+1:])

	cut := 1 // the first segment is a name whatever it looks like
	if strings.HasPrefix(segs[0], "(") && len(segs) > 1 && !strings.HasPrefix(segs[1], "-") {
		cut = 2 // and so is that of a method
	}
	for cut < len(segs) && !isClosure(segs[cut]) {
		cut++
	}
	s.Decl, s.Tail = segs[:cut:cut], segs[cut:]

	switch {
	case len(s.Decl) == 1 && s.Decl[0] == "init" && len(s.Tail) > 0:
		if n, err := strconv.Atoi(s.Tail[0]); err == nil {
			s.InitNo, s.Tail = n, s.Tail[1:]
		} else {
			s.Initialiser = true
		}
	case len(s.Decl) == 2 && s.Decl[0] == "glob" && s.Decl[1] == "",
		len(s.Decl) == 2 && s.Decl[0] == "map" && s.Decl[1] == "init" && len(s.Tail) > 0:
		s.Initialiser = true
	}
	return s
}

// Declaration is the declaration as source has it: "F", "T.M", "(*T).M".
func (s Parts) Declaration() string { return strings.Join(s.Decl, ".") }

// MethodValue reports whether it is a method bound to its receiver, "p.T.M-fm".
func (s Parts) MethodValue() bool { return len(s.Tail) > 0 && s.Tail[len(s.Tail)-1] == "-fm" }

// segments splits a name without its package at dots, and before the dash of a
// closure suffix.
func segments(s string) []string {
	s = WithoutArguments(s)
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

// WithoutArguments removes type arguments, with their brackets. They may hold anything:
// dots, more brackets, struct tags with quotes.
//
//	p.(*T[go.shape.[]int]).M   p.(*T).M
func WithoutArguments(name string) string { return replaceArguments(name, "") }

// ElideArguments replaces type arguments as package runtime does.
//
//	p.(*T[go.shape.[]int]).M   p.(*T[...]).M
func ElideArguments(name string) string { return replaceArguments(name, "[...]") }

func replaceArguments(name, by string) string {
	if !strings.Contains(name, "[") {
		return name
	}
	var b strings.Builder
	depth := 0
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '[':
			if depth == 0 {
				b.WriteString(by)
			}
			depth++
		case depth == 0:
			b.WriteByte(c)
		case c == ']':
			depth--
		case c == '"' || c == '`':
			i = skipQuoted(name, i)
		}
	}
	return b.String()
}

// skipQuoted returns the index of the quote that closes the one at s[i], or
// the last index if none does.
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

func isClosure(segment string) bool {
	if segment == "-fm" {
		return true
	}
	for _, p := range closurePrefixes {
		if n, ok := strings.CutPrefix(segment, p); ok && n != "" && strings.Trim(n, "0123456789") == "" {
			return true
		}
	}
	return false
}

func notDashSuffix(s string) bool { return !isClosure("-" + s) }
