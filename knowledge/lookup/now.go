package lookup

import (
	"slices"

	"tracerag/code"
)

// File is a file as it is now, against what was indexed of it.
type File struct {
	Text []byte
	now  *code.File // nil: it is as it was indexed
}

// FileNow returns a file by its text, and by the hash that the indexed text has; the zero Hash
// if none was indexed.
func FileNow(text []byte, indexed code.Hash) *File {
	f := &File{Text: text}
	if indexed != code.HashText(text) {
		f.now = code.Parse(text)
	}
	return f
}

// Changed reports whether the file is another one than was indexed.
func (f *File) Changed() bool { return f.now != nil }

// Decl returns an indexed declaration of the file as it is now; false if it is gone.
func (f *File) Decl(d *code.Decl) (code.Decl, bool) {
	if f.now == nil {
		return *d, d.End <= len(f.Text) && d.Doc.End <= len(f.Text)
	}
	i := slices.IndexFunc(f.now.Decls, func(now code.Decl) bool { return now.Kind == d.Kind && now.Symbol() == d.Symbol() })
	if i < 0 {
		return code.Decl{}, false
	}
	return f.now.Decls[i], true
}
