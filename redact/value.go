package redact

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A value that was observed is more than a string: a header, a form, a struct, a list of
// pairs. Each string in it has a name, of its field or key, or of the list, the map or the
// conversion that it is in; and of two fields {Name: "PASSWORD", Value: "..."} the first
// is the name of the second.

// within masks the strings in a value by their names.
func (r *Redactor) within(name, text string) string {
	if !strings.Contains(text, `"`) {
		return text
	}
	var b strings.Builder
	done := 0
	stack := []level{{name: name}}
	own, named := "", false // of what comes next
	for i := 0; i < len(text); {
		top := &stack[len(stack)-1]
		switch c := text[i]; {
		case c == '"':
			end := literalEnd(text, i)
			said, err := strconv.Unquote(text[i:end])
			if err != nil {
				i = end
				continue
			}
			if top.opened == '{' && strings.HasPrefix(text[end:], ": ") {
				own, named = said, true
				i = end
				continue
			}
			cut := strings.HasPrefix(text[end:], "...")
			if masked, ok := r.governed(top, own, named, text[i:end], cut); ok {
				b.WriteString(text[done:i])
				b.WriteString(masked)
				done = end
			}
			top.last, top.lastName = said, own
			i = end
		case c == '{' || c == '[' || c == '(':
			next := level{name: top.name, opened: c, many: top.many || c == '['}
			switch {
			case named && isPair(top.lastName, own):
				next.name = top.last
			case named:
				next.name = own
			}
			stack, own, named = append(stack, next), "", false
			i++
		case c == '}' || c == ']' || c == ')':
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
			own, named = "", false
			i++
		case c == ',':
			own, named = "", false
			i++
		default:
			ident := identifier(text[i:])
			if ident == "" {
				_, size := utf8.DecodeRuneInString(text[i:])
				i += size
				continue
			}
			i += len(ident)
			if strings.HasPrefix(text[i:], ": ") {
				own, named = ident, true
			}
		}
	}
	return b.String() + text[done:]
}

// level is what a string of a value is in.
type level struct {
	name   string // of the list, the map, the conversion
	opened byte   // with '{', '[', '('; 0 for the value itself
	many   bool   // it is a list, or in one

	last, lastName string // the string before, and its name
}

// governed masks a string by the name that it goes by.
func (r *Redactor) governed(l *level, own string, named bool, literal string, cut bool) (masked string, ok bool) {
	if cut {
		literal += "..."
	}
	try := func(name string, many bool) bool {
		if many { // what is in lists is of more kinds: the tokens of a parser
			name = strings.TrimSuffix(name, "s")
			if w := wordsOf(name); passwordWord(w) == "" && (keyWord(w) == "" || !randomLike(strings.Trim(strings.TrimSuffix(literal, "..."), `"`))) {
				return false
			}
		}
		masked, ok = r.named(name, literal)
		masked = strings.TrimSuffix(masked, "...")
		return ok
	}
	switch {
	case named && isPair(l.lastName, own) && try(l.last, false), named && try(own, false):
		return masked, true
	case named: // an entry of a map of passwords
		ok = l.opened == '{' && strings.HasPrefix(secretWord(wordsOf(strings.TrimSuffix(l.name, "s"))), "pass") && try(l.name, true)
		return masked, ok
	default:
		ok = try(l.name, l.many)
		return masked, ok
	}
}

// isPair reports whether of two names the first is that of a name, and the second that of
// its value: key and value.
func isPair(first, second string) bool {
	return slices.Contains([]string{"name", "key", "k", "header", "field", "env", "variable"}, strings.ToLower(first)) &&
		slices.Contains([]string{"value", "val", "v", "data", "content"}, strings.ToLower(second))
}

// literalEnd returns where the literal ends that begins at a place.
func literalEnd(text string, at int) int {
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// identifier returns the name that a text begins with.
func identifier(text string) string {
	for i, c := range text {
		if c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c)) {
			return text[:i]
		}
	}
	return text
}
