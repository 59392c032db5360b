package tokens

import (
	"unicode"
	"unicode/utf8"
)

// A splitter cuts the first piece off a text, which is not empty and valid UTF-8, and
// returns its length. No token is in two pieces.
//
// The vocabularies define pieces by regular expressions with alternatives, of which
// the first one that matches counts. Package regexp has no lookahead, and a backtracking
// library takes longer than all the rest. So each alternative is a function here.
// TestCountsAreTiktokens holds them against tiktoken-go, which has the expressions.
type splitter func(s string) int

// splitO200k is
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
func splitO200k(s string) int {
	first, size := classOf(s)
	if first&number != 0 {
		return numbers(s)
	}
	// What stands before the word is a part of it, if there is a word. Marks are both.
	ahead := 0
	if first&(letter|lineBreak) == 0 {
		ahead = size
	}
	for _, word := range []func(string) int{lowerWord, upperWord} {
		for from := ahead; ; from = 0 {
			if n := word(s[from:]); n > 0 {
				n += from
				return n + contraction(s[n:])
			}
			if from == 0 {
				break
			}
		}
	}
	if n := symbols(s, "\r\n/"); n > 0 {
		return n
	}
	return spaces(s)
}

// splitCL100k is
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)
//	[^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,3}
//
// and then as splitO200k, but without the slash.
func splitCL100k(s string) int {
	if n := contraction(s); n > 0 {
		return n
	}
	first, size := classOf(s)
	if first&number != 0 {
		return numbers(s)
	}
	ahead := 0
	if first&(letter|lineBreak) == 0 {
		ahead = size
	}
	if n := run(s[ahead:], letter); n > 0 {
		return ahead + n
	}
	if n := symbols(s, "\r\n"); n > 0 {
		return n
	}
	return spaces(s)
}

// lowerWord is letters of which the last are not upper case: "Word", "word", "HTTPd". An
// upper case letter behind them begins another one.
func lowerWord(s string) int {
	n, both := 0, 0 // the end of the last letter that is neither case
	for n < len(s) {
		c, size := classOf(s[n:])
		if c&upper == 0 {
			break
		}
		if n += size; c&lower != 0 {
			both = n
		}
	}
	if more := run(s[n:], lower); more > 0 {
		return n + more
	}
	return both
}

// upperWord is upper case letters, and others behind them.
func upperWord(s string) int {
	n := run(s, upper)
	if n == 0 {
		return 0
	}
	return n + run(s[n:], lower)
}

// run is the length of the characters at the beginning of s that are of one class.
func run(s string, c class) (n int) {
	for n < len(s) {
		k, size := classOf(s[n:])
		if k&c == 0 {
			break
		}
		n += size
	}
	return n
}

func numbers(s string) (n int) {
	for range 3 {
		c, size := classOf(s[n:])
		if c&number == 0 {
			break
		}
		n += size
	}
	return n
}

// symbols is a space, symbols, and some of the characters that may follow them.
func symbols(s, behind string) (n int) {
	if s[0] == ' ' {
		n = 1
	}
	k := 0
	for n+k < len(s) {
		c, size := classOf(s[n+k:])
		if c&(space|letter|number) != 0 {
			break
		}
		k += size
	}
	if k == 0 {
		return 0
	}
	for n += k; n < len(s); n++ {
		if c := s[n]; c != behind[0] && c != behind[1] && (len(behind) < 3 || c != behind[2]) {
			break
		}
	}
	return n
}

// spaces is white space up to its last line break; without one, all of it at the text's
// end, and else all but the last character, which belongs to what follows.
func spaces(s string) int {
	n, last, broken := 0, 0, 0
	for n < len(s) {
		c, size := classOf(s[n:])
		if c&space == 0 {
			break
		}
		last = n
		if n += size; c&lineBreak != 0 {
			broken = n
		}
	}
	switch {
	case broken > 0:
		return broken
	case n < len(s) && last > 0:
		return last
	}
	return n
}

// contraction is one of 's, 't, 're, 've, 'm, 'll and 'd.
func contraction(s string) int {
	if len(s) < 2 || s[0] != '\'' {
		return 0
	}
	switch s[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	}
	if len(s) > 2 {
		switch string([]byte{s[1] | 0x20, s[2] | 0x20}) {
		case "re", "ve", "ll":
			return 3
		}
	}
	return 0
}

// class is what the vocabularies tell characters apart by.
type class uint8

const (
	upper     class = 1 << iota // \p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}
	lower                       // \p{Ll}\p{Lm}\p{Lo}\p{M}
	letter                      // \p{L}
	number                      // \p{N}
	space                       // \s
	lineBreak                   // \r\n
)

var ascii = func() (classes [utf8.RuneSelf]class) {
	for r := range classes {
		classes[r] = classOfRune(rune(r))
	}
	return classes
}()

// classOf returns the class and the size of the first character, 0 and 0 if there is none.
func classOf(s string) (class, int) {
	if s == "" {
		return 0, 0
	}
	if c := s[0]; c < utf8.RuneSelf {
		return ascii[c], 1
	}
	r, size := utf8.DecodeRuneInString(s)
	return classOfRune(r), size
}

func classOfRune(r rune) class {
	switch {
	case r == '\r' || r == '\n':
		return space | lineBreak
	case unicode.IsLower(r) && unicode.Is(unicode.Ll, r):
		return lower | letter
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return upper | letter
	case unicode.IsLetter(r):
		return upper | lower | letter
	case unicode.IsNumber(r):
		return number
	case unicode.IsSpace(r):
		return space
	case unicode.IsMark(r):
		return upper | lower
	}
	return 0
}
