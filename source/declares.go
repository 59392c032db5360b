package source

import (
	"bytes"
	"unicode/utf8"
)

// mayDeclare reports whether a file of Go may declare a type, constant or variable of its
// package with this name. It is wrong only in that direction: before a declared name
// are a keyword, the beginning of a line, a statement, a group or what follows a comment, and
// between them at most names with commas.
func mayDeclare(text []byte, name string) bool {
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(name))
		if i < 0 {
			return false
		}
		i += at
		at = i + len(name)
		if (at == len(text) || !inName(text[at])) && (i == 0 || !inName(text[i-1])) && mayPrecede(text[:i]) {
			return true
		}
	}
}

// mayPrecede reports whether a declared name may stand behind a text.
func mayPrecede(text []byte) bool {
	for {
		text = bytes.TrimRight(text, " \t")
		if len(text) == 0 {
			return true
		}
		switch end := text[len(text)-1]; {
		case end == ',':
			// Another name is before it.
			text = bytes.TrimRight(text[:len(text)-1], " \t")
			text = text[:len(text)-wordAt(text)]
		case end == '(': // of a group
			return isKeyword(bytes.TrimRight(text[:len(text)-1], " \t\r\n"))
		case inName(end):
			return isKeyword(text)
		default:
			return end == '\n' || end == '\r' || end == ';' || end == '/' // the last ends a comment
		}
	}
}

// wordAt is how long the word is by which a text ends.
func wordAt(text []byte) (n int) {
	for n < len(text) && inName(text[len(text)-1-n]) {
		n++
	}
	return n
}

// isKeyword reports whether a text ends by one that begins declarations.
func isKeyword(text []byte) bool {
	switch string(text[len(text)-wordAt(text):]) {
	case "var", "const", "type":
		return true
	}
	return false
}

// inName reports whether a byte may be part of a name.
func inName(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf
}
