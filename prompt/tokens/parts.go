package tokens

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parts splits a text after the line breaks that no token can cross.
//
// The break must not be followed by white space, which the tokenizers'
// `\s*[\r\n]+` would take along, nor by a slash, which o200k_base's
// `[^\s\p{L}\p{N}]+[\r\n/]*` would. No other alternative of either pattern
// holds a line break and something after it, and none looks behind.
func parts(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := 0
		for i := 0; ; {
			n := strings.IndexByte(s[i:], '\n')
			if n < 0 || i+n+1 == len(s) {
				break
			}
			i += n + 1
			if !breaksBefore(s[i:]) {
				continue
			}
			if !yield(s[start:i]) {
				return
			}
			start = i
		}
		if start < len(s) {
			yield(s[start:])
		}
	}
}

func breaksBefore(s string) bool {
	if c := s[0]; c < utf8.RuneSelf {
		return c != '/' && c != ' ' && (c < '\t' || c > '\r')
	}
	r, _ := utf8.DecodeRuneInString(s)
	return !unicode.IsSpace(r)
}

// maxRun is the length in bytes from which a run of one kind of character is
// cut. tiktoken-go, which the counts are compared with, merges within such a run in time
// that grows with its square, and the memory of a merge grows with the run.
const maxRun = 1024

// shortRuns splits a text so that no run of letters, of white space or of
// symbols is longer than maxRun. Each cut may cost a token or two of
// exactness, and only a text that no person wrote has one.
func shortRuns(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if len(s) <= maxRun {
			if s != "" {
				yield(s)
			}
			return
		}
		start, run := 0, 0
		last := runNone
		for i, r := range s {
			k := kindOf(r, last)
			if k != last || k == runNone {
				run, last = i, k
			}
			if i-run >= maxRun {
				if !yield(s[start:i]) {
					return
				}
				start, run = i, i
			}
		}
		yield(s[start:])
	}
}

type runKind byte

const (
	runNone runKind = iota // digits: pieces hold three at most
	runLetters
	runSpace
	runSymbols
)

// kindOf tells which run a character continues, given the kind before it:
// marks stay with letters, and line breaks and slashes end a run of symbols
// within the same piece.
func kindOf(r rune, last runKind) runKind {
	if r < utf8.RuneSelf {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
			return runLetters
		case '0' <= r && r <= '9':
			return runNone
		case r == '\n' || r == '\r':
			if last == runSymbols {
				return runSymbols
			}
			return runSpace
		case r == ' ' || r == '\t' || r == '\v' || r == '\f':
			return runSpace
		}
		return runSymbols
	}
	switch {
	case unicode.IsLetter(r):
		return runLetters
	case unicode.IsMark(r):
		if last == runLetters {
			return runLetters
		}
		return runSymbols
	case unicode.IsNumber(r):
		return runNone
	case unicode.IsSpace(r):
		return runSpace
	}
	return runSymbols
}
