package source

import (
	"bytes"
	"strings"
	"time"
)

// parseAsm indexes the TEXT blocks of a Go assembly file. A block ends where
// the next TEXT, DATA or GLOBL line begins, without the comments, blank lines
// and preprocessor lines that lead over to that.
func parseAsm(at place, src []byte, modTime time.Time) *file {
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	f := &file{place: at, text: string(src), modTime: modTime}

	var open *decl // its end is that of the last line of code so far
	no, offset := 0, 0
	doc, docLine := -1, 0 // the comment lines directly above
	flush := func() {
		if open != nil {
			f.decls = append(f.decls, *open)
			open = nil
		}
	}
	for line := range strings.Lines(f.text) {
		no++
		begin := offset
		offset += len(line)
		body := strings.TrimRight(line, " \t\r\n")
		end := begin + len(body)
		code := strings.TrimSpace(body)
		if strings.HasPrefix(code, "//") {
			if doc < 0 {
				doc, docLine = begin, no
			}
			continue
		}
		switch name, ok := textName(code); {
		case ok:
			flush()
			open = &decl{
				names:   []string{name},
				span:    span{start: begin, end: end, head: end, line: no, endLine: no, asLine: no},
				comment: comment{begin, begin, no},
			}
			if doc >= 0 {
				open.doc, open.docLine = doc, docLine
				open.docEnd = doc + len(strings.TrimRight(f.text[doc:begin], "\n"))
			}
		case strings.HasPrefix(code, "DATA"), strings.HasPrefix(code, "GLOBL"):
			flush()
		case code == "", strings.HasPrefix(code, "#"):
		case open != nil:
			open.end, open.endLine = end, no
		}
		doc = -1
	}
	flush()
	return f
}

// textName returns the function that a TEXT line defines: what is between
// the middle dot (which ends the package path) and the ABI or "(SB)".
func textName(line string) (string, bool) {
	rest, ok := strings.CutPrefix(line, "TEXT")
	if !ok || rest == "" || (rest[0] != ' ' && rest[0] != '\t') {
		return "", false
	}
	rest = strings.TrimSpace(rest)
	if i := strings.IndexAny(rest, "<(, \t"); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.LastIndex(rest, "·"); i >= 0 {
		rest = rest[i+len("·"):]
	}
	return strings.ReplaceAll(rest, "·", "."), rest != ""
}

// macroLine finds a function that a macro defines ("CALLFN(·call16, 16)",
// "DEBUG_CALL_FN(debugCall32<>, 32)"): the line that the binary gives, when it mentions the name.
func macroLine(f *file, name string, line int) (decl, bool) {
	no, offset := 0, 0
	for l := range strings.Lines(f.text) {
		no++
		if no == line {
			if !strings.Contains(l, "·"+name) && !strings.Contains(l, "("+name) {
				return decl{}, false
			}
			end := offset + len(strings.TrimRight(l, " \t\r\n"))
			return decl{
				names:   []string{name},
				span:    span{start: offset, end: end, head: end, line: no, endLine: no, asLine: no},
				comment: comment{offset, offset, no},
			}, true
		}
		offset += len(l)
	}
	return decl{}, false
}
