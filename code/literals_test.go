package code_test

import (
	"bytes"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tracerag/code"
)

func TestLiterals(t *testing.T) {
	const text = "func f(x string) error {\n" +
		"\tlog(\"a \\\"b\\\"\", `raw\\`, \"\", '\"') // \"no\"\n" +
		"\tif x == \"one \" + // two\n\t\t\"text\" { return fmt.Errorf(\"%w: \"+x+\"not found\", err) }\n" +
		"\treturn \"\" + \"x\" /* \"no\" */, `a`+\"\"+`b`, \"c\" - \"d\"\n}\n"
	var between []string
	got := code.Literals(text, func(s string) { between = append(between, s) })
	if s := strings.Join(got, "|"); s != "a \"b\"|raw\\|one text|%w: |not found|x|ab|c|d" {
		t.Errorf("literals are %s", s)
	}
	if s := strings.Join(between, "|"); s != "f|x|string|error|log|// \"no\"|x|// two|fmt|Errorf|x|err|/* \"no\" */" {
		t.Errorf("between them are %s", s)
	}
	for text, want := range map[string]string{
		"x := := \"kept\" }":           "kept",
		"\"not closed\nf(\"closed\")":  "closed",
		"\"not closed\\\nf(\"c\")":     "c",
		"'not closed\nf(\"c\")":        "c",
		"`not closed":                  "",
		"/* not closed \"no\"":         "",
		"f('\\'', \"c\", '\"', \"d\")": "c|d",
		"0x\"c\"+1e+\"d\"+é+\"e\"":     "c|d|e",
		"\"bad \\z\"+\"c\"":            "c",
	} {
		if got := strings.Join(code.Literals(text, nil), "|"); got != want {
			t.Errorf("%s has %q, want %q", text, got, want)
		}
	}
}

// scanned is what go/scanner has of a text: values of literals, and identifiers and comments.
func scanned(text []byte) (literals, between []string, errors int) {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, nil, scanner.ScanComments)
	number := token.NoPos // end of the number in front
	for {
		pos, tok, lit := s.Scan()
		if pos == number && (tok == token.IDENT || tok == token.PERIOD || tok.IsKeyword() || tok.IsLiteral() && tok != token.STRING) {
			errors++ // "12ab" and "1.2.a" are no Go
		}
		number = token.NoPos
		switch tok {
		case token.INT, token.FLOAT, token.IMAG:
			number = pos + token.Pos(len(lit))
		case token.EOF:
			return literals, between, errors + s.ErrorCount
		case token.IDENT, token.COMMENT:
			between = append(between, lit)
		case token.STRING:
			v, _ := strconv.Unquote(lit)
			literals = append(literals, v)
		}
	}
}

// checkLiterals holds Literals against go/scanner: what that reads without an error, both read alike.
func checkLiterals(t *testing.T, text []byte) {
	t.Helper()
	var between []string
	literals := code.Literals(string(text), func(s string) { between = append(between, s) })
	if alone := code.Literals(string(text), nil); !slices.Equal(alone, literals) {
		t.Errorf("literals of %q are %q without what is between them, %q with it", text, alone, literals)
	}
	want, wantBetween, errors := scanned(text)
	if errors > 0 {
		return
	}
	if strings.Join(literals, "") != strings.Join(want, "") {
		t.Errorf("literals of %q are %q, want %q", text, literals, want)
	}
	if !slices.Equal(between, wantBetween) {
		t.Errorf("between literals of %q are %q, want %q", text, between, wantBetween)
	}
}

func TestLiteralsAgree(t *testing.T) {
	files, err := filepath.Glob("../*/*.go")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkLiterals(t, text)
	}
}

func FuzzLiterals(f *testing.F) {
	f.Add([]byte("x := `a` + \"b\\\"\" /* c */ + 'd' // e\n1.5e+3 é"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.ContainsRune(text, '\r') { // go/scanner removes it from comments
			return
		}
		checkLiterals(t, text)
		for _, l := range code.Literals(string(text), nil) {
			code.Pieces(l)
		}
	})
}

func TestPieces(t *testing.T) {
	for text, want := range map[string]string{
		"reduce of empty %s with no initial value": "reduce of empty|with no initial value",
		"%-3d: %q\n":                    "",
		"100% sure, 5%":                 "100|ure, 5", // "% s" is a verb
		"%[1]*.[2]*f of %%":             "of",
		"plain.":                        "plain",
		"one line\n\tanother one: %v\n": "one line|another one",
	} {
		if got := strings.Join(code.Pieces(text), "|"); got != want {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
}
