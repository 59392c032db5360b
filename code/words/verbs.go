package words

import (
	"strings"
)

// Verbs calls f for words that say what a formatting verb in a text does: "%*d" pads,
// "%q" quotes. They are how code says what a user sees.
func Verbs(text string, f func(word string)) {
	for {
		i := strings.IndexByte(text, '%')
		if i < 0 {
			return
		}
		text = text[i+1:]
		n := 0
		for n < len(text) && n < 12 && strings.IndexByte("+-# 0123456789.*[]", text[n]) >= 0 {
			n++
		}
		if n == len(text) {
			return
		}
		flags, verb := text[:n], text[n]
		if strings.IndexByte("vTtbcdoOqxXUeEfFgGspw", verb) < 0 || strings.ContainsAny(flags, " ") && verb != 'd' {
			continue // "% of the time"
		}
		width, precision, _ := strings.Cut(flags, ".")
		switch width = strings.TrimLeft(width, "+# "); {
		case strings.HasPrefix(width, "0"):
			f("pad")
			f("zero")
		case strings.HasPrefix(width, "-"):
			f("pad")
			f("align")
		case width != "" && width[0] != '[':
			f("pad")
			f("width")
		}
		if precision != "" && strings.IndexByte("eEfFgG", verb) >= 0 {
			f("precision")
			f("decimal")
		}
		switch verb {
		case 'q':
			f("quote")
		case 'x', 'X':
			f("hexadecimal")
		}
	}
}
