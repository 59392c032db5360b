package values

import (
	"go/token"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"

	"tracerag/trace/symbol"
)

const tokenLess = token.LSS

// fullName is a type's name in DWARF, with import paths.
func fullName(t godwarf.Type) string {
	if name := t.Common().Name; name != "" {
		return name
	}
	return t.String()
}

// maxTypeName bounds the name of a type, which may be a whole struct type.
const maxTypeName = 60

// typeName is a type's name as a Go file would have it: packages by their names, any
// for interface {}.
func typeName(t godwarf.Type) string {
	if p, ok := t.(*godwarf.ParametricType); ok {
		t = p.Type
	}
	s := strings.ReplaceAll(fullName(t), "go.shape.", "")
	s = short(s)
	s = strings.ReplaceAll(s, "interface {}", "any")
	s = strings.ReplaceAll(s, "[]uint8", "[]byte")
	if s == "*void" {
		s = "unsafe.Pointer"
	}
	if len(s) > maxTypeName {
		s = strings.ToValidUTF8(s[:maxTypeName-3], "") + "..."
	}
	return s
}

// short has packages by what they are called in all names in a name:
// "map[string]*example.com/x/y/v2.T" is "map[string]*y.T".
func short(name string) string {
	var b strings.Builder
	start := 0 // of the word at hand
	for i := 0; i <= len(name); i++ {
		if i < len(name) && !strings.ContainsRune("[]*(){} ,;\"", rune(name[i])) {
			continue
		}
		b.WriteString(symbol.Short(name[start:i]))
		if i < len(name) {
			b.WriteByte(name[i])
		}
		start = i + 1
	}
	return b.String()
}

// isMethod tells a method's linker name, "p.(*T[...]).M" or "p.T[...].M", from that of
// a function.
func isMethod(name string) bool { return strings.Count(short(symbol.WithoutArguments(name)), ".") > 1 }

// isClosure tells a function literal, "p.F[...].func1".
func isClosure(name string) bool {
	name = short(symbol.WithoutArguments(name))
	return strings.Contains(name, ".func") || strings.Contains(name, "-range") || strings.Contains(name, ".gowrap")
}
