package patch

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// literal returns the value of a string literal.
func literal(n *ast.BasicLit) (string, bool) {
	if n.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(n.Value)
	return text, err == nil
}

// joined is the text that literals make which are added to each other.
func joined(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return literal(e)
	case *ast.ParenExpr:
		return joined(e.X)
	case *ast.BinaryExpr:
		a, ok := joined(e.X)
		b, also := joined(e.Y)
		return a + b, ok && also && e.Op == token.ADD
	}
	return "", false
}

// pure are functions of packages that a variable of a test file may be made by: they change nothing.
var pure = map[string][]string{
	"errors": {"New"}, "fmt": {"Errorf", "Sprint", "Sprintf"}, "regexp": {"MustCompile"}, "bytes": {"*"}, "strings": {"*"},
	"time": {"Date", "Unix", "Duration"}, "math/big": {"*"}, "math": {"*"}, "strconv": {"*"}, "unicode": {"*"},
	"flag": {"Bool", "String", "Int", "Duration", "Float64", "Int64", "Uint", "Uint64"}, "path": {"*"}, "path/filepath": {"Join", "FromSlash"},
	"reflect": {"TypeOf", "ValueOf", "TypeFor"}, "sync": {"OnceValue", "OnceFunc"},
}

var builtin = strings.Fields("append cap complex copy imag len make max min new real string byte rune int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 uintptr float32 float64 bool any error")

// harmless reports whether a call in a variable's initial value changes nothing: a conversion, a
// built-in function, one of those above.
func harmless(n *ast.CallExpr, paths map[string][]string) bool {
	switch f := ast.Unparen(n.Fun).(type) {
	case *ast.Ident:
		return slices.Contains(builtin, f.Name)
	case *ast.ArrayType, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.InterfaceType, *ast.StarExpr:
		return true
	case *ast.SelectorExpr:
		if id, ok := f.X.(*ast.Ident); ok && id.Obj == nil {
			for _, p := range paths[id.Name] {
				if names := pure[p]; !slices.Contains(names, "*") && !slices.Contains(names, f.Sel.Name) {
					return false
				}
			}
			return len(paths[id.Name]) > 0
		}
	}
	return false
}
