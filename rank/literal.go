package rank

import "strings"

// A piece of a literal is worth looking for in a question when it can hardly be
// there by chance: it has this many bytes and more than one word.
const pieceLength = 10

// quoted returns the first piece of a string literal in the Go source text that
// the question, in lower case, has word for word; "" if none. Literals are cut
// where their text is not what a user sees: at formatting verbs and escapes.
//
//	fmt.Errorf("reduce of empty %s with no initial value", kind)
//
// has the pieces "reduce of empty" and "with no initial value".
func quoted(text, question string) string {
	if question == "" {
		return ""
	}
	for {
		i := strings.IndexAny(text, "\"`'/")
		if i < 0 || i+1 == len(text) {
			return ""
		}
		quote := text[i]
		text = text[i+1:]
		switch {
		case quote == '/' && text[0] == '/':
			text = after(text, "\n")
			continue
		case quote == '/' && text[0] == '*':
			text = after(text, "*/")
			continue
		case quote == '/':
			continue
		}
		literal := text[:literalEnd(text, quote)]
		text = text[min(len(literal)+1, len(text)):]
		if quote == '\'' || len(literal) < pieceLength {
			continue
		}
		if p := quotedPiece(literal, question); p != "" {
			return p
		}
	}
}

// literalEnd returns where the literal around a text ends.
func literalEnd(text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == quote:
			return i
		case text[i] == '\\' && quote != '`':
			i++
		}
	}
	return len(text)
}

func quotedPiece(literal, question string) string {
	for literal != "" {
		i := strings.IndexAny(literal, "%\\")
		piece := literal
		if i >= 0 {
			piece = literal[:i]
			literal = literal[i+1:]
			// the verb with its flags, or the escaped byte
			literal = strings.TrimLeft(literal, "+-# 0123456789.*[]")
			literal = literal[min(1, len(literal)):]
		} else {
			literal = ""
		}
		piece = strings.Trim(piece, " \t\n:;,.")
		if len(piece) >= pieceLength && strings.ContainsAny(piece, " \t\n") && strings.Contains(question, strings.ToLower(piece)) {
			return piece
		}
	}
	return ""
}

func after(text, sep string) string {
	_, rest, _ := strings.Cut(text, sep)
	return rest
}
