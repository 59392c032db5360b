package notation

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tracerag/trace/symbol"
)

// maxTypeName bounds the name of a type, which may be a whole struct type.
const maxTypeName = 60

// localNumber is what tells types of one name apart that functions declare: "p.T·1".
var localNumber = regexp.MustCompile(`·[0-9]+`)

// TypeName is a type's name as a Go file would have it, from one with import paths: packages
// by their names, any for interface {}.
func TypeName(name string) string {
	s := strings.ReplaceAll(name, "go.shape.", "")
	s = localNumber.ReplaceAllString(s, "")
	s = Short(s)
	s = strings.ReplaceAll(s, "interface {}", "any")
	s = strings.ReplaceAll(s, "[]uint8", "[]byte")
	s, _ = shorten(Printable(s), maxTypeName)
	return s
}

// Printable is a name as it is, or escaped where it is not of Go: a trace is not to be damaged by one.
func Printable(name string) string {
	ok := utf8.ValidString(name)
	for _, r := range name {
		ok = ok && unicode.IsPrint(r)
	}
	if ok {
		return name
	}
	name = strconv.Quote(name)
	return name[1 : len(name)-1]
}

// shorten cuts a name to so many bytes.
func shorten(s string, most int) (string, bool) {
	if len(s) <= most {
		return s, false
	}
	return strings.ToValidUTF8(s[:most-3], "") + "...", true
}

// Short has packages by what they are called in all names in a name:
// "map[string]*example.com/x/y/v2.T" is "map[string]*y.T".
func Short(name string) string {
	var b strings.Builder
	start := 0 // of the word at hand
	for i := 0; i <= len(name); i++ {
		if i < len(name) && !strings.ContainsRune("[]*(){} ,;\"", rune(name[i])) {
			continue
		}
		b.WriteString(symbol.Short(name[start:i]))
		if i < len(name) {
			b.WriteByte(name[i])
		}
		start = i + 1
	}
	return b.String()
}
