package values

import (
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"

	"tracerag/trace/notation"
	"tracerag/trace/symbol"
)

// fullName is a type's name in DWARF, with import paths.
func fullName(t godwarf.Type) string {
	if name := t.Common().Name; name != "" {
		return name
	}
	return t.String()
}

// nameOf is a type's name, with import paths, as Go has it.
func nameOf(t godwarf.Type) string {
	if p, ok := t.(*godwarf.ParametricType); ok {
		t = p.Type
	}
	if name := fullName(t); name != "*void" {
		return name
	}
	return "unsafe.Pointer"
}

func typeName(t godwarf.Type) string { return notation.TypeName(nameOf(t)) }

// isMethod tells a method's linker name, "p.(*T[...]).M" or "p.T[...].M", from that of
// a function.
func isMethod(name string) bool {
	return strings.Count(notation.Short(symbol.WithoutArguments(name)), ".") > 1
}

// isClosure tells a function literal, "p.F[...].func1".
func isClosure(name string) bool {
	name = notation.Short(symbol.WithoutArguments(name))
	return strings.Contains(name, ".func") || strings.Contains(name, "-range") || strings.Contains(name, ".gowrap")
}
