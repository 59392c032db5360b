package patch

import (
	"bytes"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Diff returns the change as git prints it: git apply and patch -p1 take it.
func (p *Patch) Diff() []byte {
	var out bytes.Buffer
	for _, f := range p.Files {
		if f.Before != nil && f.After != nil && bytes.Equal(f.Before, f.After) {
			continue
		}
		a, b := quotedName("a/"+f.Name), quotedName("b/"+f.Name)
		out.WriteString("diff --git " + a + " " + b + "\n")
		switch {
		case f.Before == nil:
			out.WriteString("new file mode 100644\n")
			a = "/dev/null"
		case f.After == nil:
			out.WriteString("deleted file mode 100644\n")
			b = "/dev/null"
		}
		// Names with a space end with a tab, or what follows would be taken for a time.
		end := func(name string) string {
			if strings.Contains(name, " ") && name[0] != '"' {
				return name + "\t\n"
			}
			return name + "\n"
		}
		if hunks := hunks(f.Before, f.After); len(hunks) > 0 {
			out.WriteString("--- " + end(a) + "+++ " + end(b))
			out.Write(hunks)
		}
	}
	return out.Bytes()
}

// hunks returns what follows the names of the files. The library's diff is that of gofmt -d: it is
// anchored in lines that both texts have once, so no unrelated brace is reused.
func hunks(before, after []byte) []byte {
	d := diff.Diff("a", before, "b", after)
	if i := bytes.Index(d, []byte("\n@@")); i >= 0 {
		return d[i+1:]
	}
	return nil
}

// quotedName writes a name as git does: with quotes if it has a character that needs them.
func quotedName(name string) string {
	var b strings.Builder
	quote := false
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
			quote = true
		case c < ' ' || c >= 0x7f:
			b.WriteByte('\\')
			b.WriteByte('0' + c>>6)
			b.WriteByte('0' + c>>3&7)
			b.WriteByte('0' + c&7)
			quote = true
		default:
			b.WriteByte(c)
		}
	}
	if quote {
		return `"` + b.String() + `"`
	}
	return name
}
