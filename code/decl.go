package code

import "fmt"

// Kind says what a declaration declares.
type Kind byte

// The kinds. Constants and variables are declared in groups: "const (...)" is one
// declaration. Each type of "type (...)" is a declaration of its own.
const (
	Func Kind = iota + 1
	Method
	Type
	Const
	Var
)

var kinds = [...]string{Func: "func", Method: "method", Type: "type", Const: "const", Var: "var"}

func (k Kind) String() string {
	if int(k) < len(kinds) && k > 0 {
		return kinds[k]
	}
	return fmt.Sprintf("Kind(%d)", byte(k))
}

// Callable reports whether it is a function or a method.
func (k Kind) Callable() bool { return k == Func || k == Method }

// Hash is the first half of a SHA-256, in bytes.
type Hash [16]byte

// Decl is a declaration of a file.
type Decl struct {
	Kind Kind
	// Name is "F", "T.M", "(*T).M" or "T", without type parameters; of a group
	// of constants or variables its first name that is not blank, or "_".
	Name string
	// Names are all names of a group, in order; nil of other kinds.
	Names []string
	// Nth counts, from 1, the declarations of the file that share Kind and
	// Name: functions init, blank functions and groups. Others have 1, unless the
	// file does not compile.
	Nth int

	Span               // without the doc comment
	Doc           Span // of the doc comment; empty without one
	Line, EndLine int  // of Span, from 1
	// Head is the offset of the end of the signature: of a function's "{", of a
	// type's name and parameters. It is in Span.
	Head int

	Tokens   Hash // of the tokens; formatting does not change it
	Comments Hash // of the words of doc comment and of the comments inside
	// Broken says that a syntax error is in it: what it declares may be incomplete.
	Broken bool
}

// Symbol names the declaration in its file: Name, and "#2" for the second of
// that name.
func (d *Decl) Symbol() string {
	if d.Nth > 1 {
		return fmt.Sprintf("%s#%d", d.Name, d.Nth)
	}
	return d.Name
}

// With returns the text of the declaration with its doc comment.
func (d *Decl) With(text []byte) []byte {
	if d.Doc.Len() > 0 {
		return text[min(d.Doc.Start, d.Start):d.End]
	}
	return d.Of(text)
}

// Span is a part of a file's text, in bytes: text[Start:End].
type Span struct{ Start, End int }

// Of returns the part of text.
func (s Span) Of(text []byte) []byte { return text[s.Start:s.End] }

// Len returns the length in bytes.
func (s Span) Len() int { return s.End - s.Start }
