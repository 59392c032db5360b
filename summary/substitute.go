package summary

import (
	"fmt"
	"go/doc"
	"path"
	"slices"
	"strings"

	"tracerag/code"
	"tracerag/knowledge"
)

// most are the bytes that a substitute may have.
const most = 200

// substitute says what a declaration does without a model: the first sentence of its doc
// comment; without one the names that it uses and the texts that it writes.
func (b *Book) substitute(d *code.Decl, text []byte) string {
	if s := sentence(comment(string(d.Doc.Of(text)))); s != "" {
		return cut(b.masked(s))
	}
	var parts []string
	if names := mentioned(d, text); len(names) > 0 {
		parts = append(parts, "uses "+strings.Join(names, ", "))
	}
	var quoted []string
	for _, l := range code.Literals(b.masked(string(d.Of(text))), nil) {
		if s := strings.TrimSpace(l); len(s) > 3 && strings.ContainsAny(s, " -_") && len(quoted) < 3 {
			quoted = append(quoted, fmt.Sprintf("%q", s))
		}
	}
	if len(quoted) > 0 {
		parts = append(parts, "has "+strings.Join(quoted, ", "))
	}
	return cut(strings.Join(parts, "; "))
}

// mentioned are the longest names that a declaration mentions: short ones tell least.
func mentioned(d *code.Decl, text []byte) []string {
	var names []string
	for _, m := range code.Mentions(text, d) {
		if len(m.Name) > 3 && !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return len(b) - len(a) })
	return names[:min(len(names), 6)]
}

// signature is a declaration up to its body, on one line.
func (b *Book) signature(d *code.Decl, text []byte) string {
	head := string(text[d.Start:min(max(d.Head, d.Start), d.End)])
	if !d.Kind.Callable() {
		head, _, _ = strings.Cut(string(d.Of(text)), "\n")
	}
	return cut(b.masked(strings.Join(strings.Fields(head), " ")))
}

// fileLine is a file in a line: what its package comment says, or what it declares.
func (b *Book) fileLine(f *File, packageDoc string) string {
	if s := b.masked(sentence(packageDoc)); s != "" && path.Base(f.Path) == "doc.go" {
		return cut(s)
	}
	var names []string
	for _, d := range f.Decls {
		if d.Kind != code.Const && d.Kind != code.Var {
			names = append(names, d.Name)
		}
	}
	if s := b.masked(sentence(packageDoc)); s != "" {
		return cut(s + " " + strings.Join(names, ", "))
	}
	return cut(strings.Join(names, ", "))
}

// packageText is what the lines of a package's files say.
func packageText(lines []string) string { return cutAt(strings.Join(lines, "; "), 3*most) }

// repositoryText is what the packages of a repository are about.
func repositoryText(r *knowledge.Repository, packages []pkg) string {
	var modules, parts []string
	for _, m := range r.Modules {
		modules = append(modules, m.Path)
	}
	for _, p := range packages {
		parts = append(parts, p.Dir)
	}
	return cutAt(strings.Join(modules, ", ")+": "+strings.Join(parts, ", "), 5*most)
}

// comment is the text of a comment without its marks.
func comment(c string) string {
	var lines []string
	for line := range strings.Lines(c) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "//"); ok {
			if !strings.HasPrefix(rest, " ") && rest != "" {
				continue // a directive
			}
			line = rest
		}
		lines = append(lines, strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(line, "/*"), "*/")))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func sentence(text string) string { return new(doc.Package).Synopsis(text) }

func cut(s string) string { return cutAt(s, most) }

func (b *Book) masked(s string) string {
	if b.Mask == nil {
		return s
	}
	return b.Mask(s)
}

// cutAt shortens a text to n bytes, at a space if there is one near.
func cutAt(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = strings.ToValidUTF8(s[:n], "")
	if i := strings.LastIndexByte(s, ' '); i > n/2 {
		s = s[:i]
	}
	return s + " …"
}
