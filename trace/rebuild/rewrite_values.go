package rebuild

import (
	"fmt"
	"go/ast"
	"strings"
)

// A function whose values may be kept begins so; in most calls the first condition is false:
//
//	func (t *T) f(a int, _ string) (r0 int, err error) {
//		if s := enter(); s != 0 {
//			l0, l1, l2 := t, a, a1
//			if args(s, "t,a,_|,err", 2, &l0, &l1, &l2, &r0, &err) {
//				defer results()
//			}
//		}
//
// Results are read when the function returns, behind all that it has deferred, so they need names. Arguments are copied
// where they are kept: a variable whose address is taken is not in a register, in any call. The recorder
// takes pointers, since these are made into interface values without memory, and tell the type that the compiler
// knows, of a generic function, too. The deferred function has no arguments: some compilers would make it a
// function literal, and number those of the program differently.

// values returns what a function begins with. It names what has no name. A function that has neither arguments nor results may
// return or not.
func (r *rewriter) values(recv *ast.FieldList, typ *ast.FuncType) string {
	var said, args []string
	for _, list := range []*ast.FieldList{recv, typ.Params} {
		for _, p := range r.parameters(list, "_") {
			said, args = append(said, p.said), append(args, p.name)
		}
	}
	results := r.parameters(typ.Results, "")
	var locals, pointers []string
	for i := range args {
		locals = append(locals, fmt.Sprintf("%sl%d", r.call.local, i))
		pointers = append(pointers, "&"+locals[i])
	}
	var returned []string
	for _, p := range results {
		returned, pointers = append(returned, p.said), append(pointers, "&"+p.name)
	}
	var b strings.Builder
	slot := r.call.local + "s"
	fmt.Fprintf(&b, "if %s := %s(); %s != 0 { ", slot, r.call.enter, slot)
	if len(args) > 0 {
		fmt.Fprintf(&b, "%s := %s; ", strings.Join(locals, ", "), strings.Join(args, ", "))
	}
	fmt.Fprintf(&b, "if %s(%s, %q, %d", r.call.args, slot, strings.Join(said, ",")+"|"+strings.Join(returned, ","), len(results))
	for _, p := range pointers {
		b.WriteString(", " + p)
	}
	fmt.Fprintf(&b, ") { defer %s() } };", r.call.results)
	return b.String()
}

// parameter is one of a function, with the name that it has by now and what it is called outside.
type parameter struct{ name, said string }

// parameters returns those of a list. Those without a name get one, and are called unnamed.
func (r *rewriter) parameters(list *ast.FieldList, unnamed string) (out []parameter) {
	if list == nil {
		return nil
	}
	for i, f := range list.List {
		if len(f.Names) == 0 {
			name := r.name()
			open := ""
			if !list.Opening.IsValid() { // of the only result
				open = "("
				r.insert(f.Type.End(), ")")
			}
			r.insert(list.List[i].Type.Pos(), open+name+" ")
			out = append(out, parameter{name, unnamed})
		}
		for _, id := range f.Names {
			if id.Name != "_" {
				out = append(out, parameter{id.Name, id.Name})
				continue
			}
			name := r.name()
			r.replace(id, name)
			out = append(out, parameter{name, "_"})
		}
	}
	return out
}

func (r *rewriter) name() string {
	r.named++
	return fmt.Sprintf("%sp%d", r.call.local, r.named)
}

// replace writes another identifier. What is behind it keeps its column.
func (r *rewriter) replace(id *ast.Ident, name string) {
	r.insert(id.End(), "")
	last := &r.inserted[len(r.inserted)-1]
	last.at, last.instead, last.text = r.file.Offset(id.Pos()), int(id.End()-id.Pos()), name+last.text
}
