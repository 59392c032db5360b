package prompt

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tracerag/trace/symbol"
)

// A run knows in which line a function was when it called another one. For a deferred call that is the return, or what
// panicked, in whichever function. A prompt has the line of the source with the call, or none: the lines are read, as
// parsing all functions would take longer than all else that a prompt needs.

// written puts sites where the sources have the calls.
func (c *callers) written() {
	bodies := map[*item]*body{}
	deferred := map[string]bool{} // names, by any function
	for it := range c.sites {
		b := newBody(it)
		bodies[it] = b
		for name := range b.deferred {
			deferred[name] = true
		}
	}
	for it, sites := range c.sites {
		if sites = ordered(bodies[it].written(ordered(sites), deferred)); len(sites) > 0 {
			c.sites[it] = sites
		} else {
			delete(c.sites, it)
		}
	}
}

// body is a function's source by lines.
type body struct {
	start    int // its first line
	lines    []string
	deferred map[string][]int // lines that defer a call, by the function's name
	defers   bool             // it has a defer statement
}

func newBody(it *item) *body {
	b := &body{start: it.source.Start, lines: strings.Split(it.source.Body, "\n"), deferred: map[string][]int{}}
	if !strings.Contains(it.source.Body, "defer ") {
		return b
	}
	for i, line := range b.lines {
		if call, ok := strings.CutPrefix(strings.TrimLeft(line, "\t "), "defer "); ok {
			b.defers = true
			if name := lastCall(code(call)); name != "func" && name != "" {
				b.deferred[name] = append(b.deferred[name], i)
			}
		}
	}
	return b
}

func (b *body) written(sites []callSite, deferred map[string]bool) (out []callSite) {
	for _, s := range sites {
		i := s.line - b.start
		if i >= len(b.lines) {
			continue
		}
		name := symbol.WithoutArguments(s.to.bareName())
		name = name[strings.LastIndexByte(name, '.')+1:]
		line := code(b.lines[i])
		trimmed := strings.TrimSpace(line)
		switch {
		case calls(line, name):
			out = append(out, callSite{s.line, s.to, false})
		case b.deferred[name] != nil:
			for _, at := range b.deferred[name] {
				out = append(out, callSite{b.start + at, s.to, false})
			}
		case deferred[name], calls(line, "panic"):
			// By a function around, most likely.
		case b.defers && (i == len(b.lines)-1 || trimmed == "}" || strings.HasPrefix(trimmed, "return")):
			// Of a variable, perhaps.
		case hasCall(line), strings.Contains(line, "range "):
			out = append(out, s) // it is a variable's function that is called, or one is that calls it
		}
	}
	return out
}

// code is a line without what is in comments and in strings.
func code(line string) string {
	if !strings.ContainsAny(line, "\"'`/") {
		return line
	}
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"' || c == '\'' || c == '`':
			b.WriteString(`""`)
			for i++; i < len(line) && line[i] != c; i++ {
				if line[i] == '\\' && c != '`' {
					i++
				}
			}
		case strings.HasPrefix(line[i:], "//"):
			return b.String()
		case strings.HasPrefix(line[i:], "/*"):
			end := strings.Index(line[i+2:], "*/")
			if end < 0 {
				return b.String()
			}
			i += end + 3
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// calls reports whether code has a call of a function by its name, with type arguments or without.
func calls(line, name string) bool {
	if name == "" { // a trace may have any names
		return false
	}
	for at := 0; ; at += len(name) {
		i := strings.Index(line[at:], name)
		if i < 0 {
			return false
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(line[:at])
		if !inIdentifier(before) && isCalled(line[at+len(name):]) {
			return true
		}
	}
}

// isCalled reports whether what stands behind a name makes it a call.
func isCalled(behind string) bool {
	if !strings.HasPrefix(behind, "[") {
		return strings.HasPrefix(behind, "(")
	}
	depth := 0
	for i, c := range behind {
		switch c {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return strings.HasPrefix(behind[i+1:], "(")
			}
		}
	}
	return false
}

// noCall are words before a parenthesis that begins no call.
var noCall = []string{"func", "if", "for", "switch", "return", "case", "else", "var", "const", "type", "import", "range", "go", "defer"}

// hasCall reports whether code has a call, or a conversion.
func hasCall(line string) bool {
	for at, c := range line {
		if c != '(' || at == 0 {
			continue
		}
		if strings.ContainsRune(")]", rune(line[at-1])) {
			return true
		}
		if name := lastIdentifier(line[:at]); name != "" && !slices.Contains(noCall, name) {
			return true
		}
	}
	return false
}

// lastCall is the name of the function that a call's code calls in the end: of "a.lock(x).unlock(y)" unlock, of "un(trace(x))" un.
func lastCall(call string) (name string) {
	depth := 0
	call = symbol.WithoutArguments(call)
	for at, c := range call {
		switch c {
		case '(':
			if depth == 0 {
				name = lastIdentifier(call[:at])
			}
			depth++
		case '{':
			depth++
		case ')', '}':
			depth--
		}
	}
	return name
}

// lastIdentifier is what a text ends in.
func lastIdentifier(text string) string {
	return text[len(strings.TrimRightFunc(text, inIdentifier)):]
}

func inIdentifier(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
