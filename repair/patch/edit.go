package patch

import (
	"bytes"
	"errors"
	"fmt"
	"go/build/constraint"
	"slices"
	"strings"
)

// Edit is what is to be changed in one file.
type Edit struct {
	File string // slash path in the tree
	// Text is Go: whole declarations, with or without a package clause and imports. What the
	// file declares is replaced in place, the rest is added. Declarations of the file that
	// the text does not have stay, so a whole file does for a text, too.
	Text string
	// New says that the file does not exist yet. A path that is wrong makes no file.
	New bool
	// Delete names declarations, as package code does: "F", "T.M", "(*T).M", "init#2".
	Delete []string
}

// Apply makes a Patch of edits to the tree in a directory, and writes nothing. The error joins
// an [*Error] for each thing that was refused; then there is no Patch.
func Apply(dir string, edits []Edit) (*Patch, error) {
	t, err := openTree(dir)
	if err != nil {
		return nil, err
	}
	changes := map[string]*change{}
	var order []*change
	var errs []error
	for _, e := range edits {
		name, err := t.goFile(e.File)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c := changes[name]
		if c == nil {
			c = &change{tree: t, name: name}
			if c.before, err = t.read(name); err != nil {
				errs = append(errs, err)
				continue
			}
			switch {
			case e.New && c.before != nil:
				errs = append(errs, &Error{Kind: Conflict, File: name, What: "it is to be a new file, and it exists"})
				continue
			case !e.New && c.before == nil:
				errs = append(errs, &Error{Kind: Gone, File: name, What: "it does not exist, and is not said to be new"})
				continue
			}
			c.text = c.before
			changes[name] = c
			order = append(order, c)
		}
		c.edits = append(c.edits, e)
	}
	slices.SortFunc(order, func(a, b *change) int { return strings.Compare(a.name, b.name) })
	for _, c := range order {
		c.run()
		t.now[c.name] = c.text
	}
	for _, c := range order {
		c.elsewhere()
		errs = append(errs, c.errs...)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	p := &Patch{}
	for _, c := range order {
		text, err := c.settle()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if c.before == nil || !bytes.Equal(c.before, text) {
			p.Files = append(p.Files, File{c.name, c.before, text})
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return p, nil
}

// change is what becomes of one file.
type change struct {
	tree   *tree
	name   string
	before []byte // nil of a new file
	text   []byte // as far as it is changed
	edits  []Edit
	given  []*source       // the parsed texts of the edits
	added  []string        // names that the file did not declare
	seen   map[string]bool // names that an edit replaced, added or deleted
	errs   []error
}

func (c *change) refuse(kind Kind, name, what string, args ...any) *Error {
	e := &Error{Kind: kind, File: c.name, Name: name, What: fmt.Sprintf(what, args...)}
	c.errs = append(c.errs, e)
	return e
}

func (c *change) run() {
	c.seen = map[string]bool{}
	for _, e := range c.edits {
		text := []byte(strings.TrimPrefix(e.Text, "\ufeff"))
		if len(bytes.TrimSpace(text)) == 0 && len(e.Delete) == 0 {
			c.refuse(BadSyntax, "", "the new text is empty")
			return
		}
		if c.text != nil {
			text = endings(text, c.text)
		}
		given, problems := parse(text, true)
		if problems != nil {
			c.refuse(BadSyntax, "", "the new text does not parse").Problems = problems
			return
		}
		c.given = append(c.given, given)
		if c.elided(given); len(c.errs) > 0 {
			return
		}
		if c.text == nil {
			c.create(given, e.Delete)
		} else {
			c.edit(given, e.Delete)
		}
		if len(c.errs) > 0 {
			return
		}
	}
}

// create makes a file of a text.
func (c *change) create(given *source, deletes []string) {
	for _, d := range deletes {
		c.refuse(Gone, d, "can't be deleted, since the file does not exist")
	}
	text := given.text
	if given.head > 0 {
		name := c.tree.packageOf(c.name)
		if name == "" {
			c.refuse(BadPackage, "", "the new file has no package clause, and no other file of the directory says which package it is in: begin the text with one")
			return
		}
		// What may be before a package clause is before it still: a constraint must be.
		at := 0
		for _, g := range given.tree.Comments {
			for _, x := range g.List {
				if s := given.offset(x.Pos()); constraint.IsGoBuild(x.Text) && (len(given.tree.Decls) == 0 || s < given.offset(given.tree.Decls[0].Pos())) {
					at = nextLine(text, given.commentEnd(x))
				}
			}
		}
		clause := "package " + name + "\n\n"
		if at > 0 {
			clause = "\n" + clause
		}
		text = slices.Concat(text[:at], []byte(clause), bytes.TrimLeft(text[at:], "\r\n"))
	}
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(slices.Clone(text), '\n')
	}
	c.text = text
	for _, d := range given.decls {
		for _, u := range d.units {
			for _, n := range u.names {
				if !u.anonymous() && n != "_" && c.seen[n] {
					c.refuse(Ambiguous, n, "the new text declares it twice")
				}
				c.seen[n] = true
				c.added = append(c.added, n)
			}
		}
	}
}

// edit puts a text's declarations in place and removes others.
func (c *change) edit(given *source, deletes []string) {
	file, problems := parse(c.text, false)
	if problems != nil {
		c.refuse(BadBase, "", "the file in the tree does not parse, so its declarations can't be replaced").Problems = problems
		return
	}
	c.fits(file, given)
	if len(c.errs) > 0 {
		return
	}
	p := &placer{change: c, file: file, given: given, eol: ending(c.text), deletes: map[string]bool{}}
	for _, d := range deletes {
		p.deletes[symbol(d)] = true
	}
	p.place()
	if len(c.errs) > 0 {
		return
	}
	text, ok := p.out.apply(c.text)
	if !ok {
		c.refuse(Contradictory, "", "two of the changes overlap")
		return
	}
	c.text = text
	for _, n := range p.merged {
		if n != "_" && !p.deletes[n] {
			p.deletes[n] = true
			deletes = append(slices.Clone(deletes), n)
		}
	}
	c.remove(p, deletes)
	if len(c.errs) > 0 {
		return
	}
	c.verify(p)
}

// fits refuses a text that says it is another package's, or built under other conditions.
func (c *change) fits(file, given *source) {
	if given.head == 0 && given.tree.Name.Name != file.tree.Name.Name {
		c.refuse(BadPackage, "", "the new text is of package %s, the file of package %s", given.tree.Name.Name, file.tree.Name.Name)
	}
	if was, is := buildLine(file), buildLine(given); is != "" && is != was {
		c.refuse(BadPackage, "", "the new text has the build constraint %q, the file %q: constraints are not changed by declarations", is, was)
	}
}

// buildLine returns the build constraint of a file, or of a text that has one before all else.
func buildLine(s *source) string {
	for _, g := range s.tree.Comments {
		for _, x := range g.List {
			if s.head == 0 && x.Pos() > s.tree.Package {
				return ""
			}
			if constraint.IsGoBuild(x.Text) {
				return strings.TrimSpace(strings.TrimPrefix(x.Text, "//go:build"))
			}
		}
	}
	return ""
}

// symbol returns a given name of a declaration in the form of units.
func symbol(name string) string {
	name = strings.TrimSpace(name)
	for _, word := range [...]string{"func ", "type ", "const ", "var ", "method "} {
		name = strings.TrimSpace(strings.TrimPrefix(name, word))
	}
	name = strings.TrimSuffix(name, "()")
	if rest, ok := strings.CutPrefix(name, "(T)."); ok {
		return "T." + rest
	}
	recv, method, ok := strings.Cut(name, ".")
	if !ok {
		return name
	}
	return strings.Trim(strings.TrimLeft(strings.TrimSpace(recv), "(* "), ") ") + "." + strings.TrimSpace(method)
}
