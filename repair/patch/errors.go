package patch

import (
	"fmt"
	"strings"
)

// Error says why a change was refused. Nothing of a refused change is used.
type Error struct {
	Kind Kind
	File string // slash path in the tree; "" of an error that is no file's
	Name string // declaration, as package code names it, or import; "" of a file as a whole
	What string // what is wrong, and what to do about it: one sentence without a full stop
	// Problems are what the parser says of new text.
	Problems []Problem
	// Others are the places or names that What speaks of: files, import paths, names.
	Others []string
}

// Kind says what an [Error] is about.
type Kind byte

// The kinds of errors.
const (
	BadName       Kind = iota + 1 // a file that must not be changed, or that is no Go file of the tree
	BadSyntax                     // the new text does not parse: see Problems
	BadBase                       // the file in the tree does not parse
	Ambiguous                     // more than one declaration may be meant
	Gone                          // a declaration to be deleted is not there
	Elsewhere                     // another file of the package declares it: see Others
	Partial                       // a group has to be given whole: Others are the names that are missing
	Elided                        // the new text leaves code out
	BadImport                     // an import is ambiguous or contradicts another one: see Others
	BadPackage                    // the package clause, or a build constraint, is not the file's
	BadReply                      // a reply is not in the form that [Instructions] describes
	BadDiff                       // a diff does not parse, or does what a Patch can't
	Conflict                      // a file is not as the change expects it
	Contradictory                 // the same is asked for twice
)

var kinds = [...]string{"", "file not allowed", "syntax", "unreadable file", "ambiguous", "not found", "elsewhere", "partial group", "left out code",
	"import", "package", "reply", "diff", "conflict", "contradiction"}

func (k Kind) String() string {
	if int(k) < len(kinds) && k > 0 {
		return kinds[k]
	}
	return fmt.Sprintf("kind %d", byte(k))
}

// Problem is a syntax error in a given text.
type Problem struct {
	Line, Column int    // in that text, from 1
	What         string // the parser's words
	Source       string // the line
}

func (e *Error) Error() string {
	var b strings.Builder
	for _, part := range []string{e.File, e.Name} {
		if part != "" {
			b.WriteString(part + ": ")
		}
	}
	b.WriteString(e.What)
	for _, p := range e.Problems {
		fmt.Fprintf(&b, "\n  line %d, column %d: %s", p.Line, p.Column, p.What)
		if s := strings.TrimSpace(p.Source); s != "" {
			fmt.Fprintf(&b, "\n    %s", s)
		}
	}
	return b.String()
}
