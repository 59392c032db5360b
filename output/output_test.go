package output

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"tracerag/redact"
)

// TestOutput: a text comes out masked and escaped however it is cut into pieces. Colours
// are left alone if they are ours.
func TestOutput(t *testing.T) {
	const secret = "corr3ct-horse"
	text := "a " + ColorMark + "\x1b[33myellow" + ColorMark + "\x1b[0m \x1b[31mred\x1b[0m " + secret + "\r\n\u202e日本\xff" + secret + "\x1b]0;x\a\r"
	hostile := "\x1b\a\u202e\u2066\u200b\x7f\u0085\U000e0041 " + secret
	data, err := json.Marshal(map[string]string{"text": hostile})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind     Kind
		in, want string
	}{
		{Text, text, "a \x1b[33myellow\x1b[0m " + `\x1b[31mred\x1b[0m [REDACTED:k:1]` + "\n" + `\u202e日本\xff[REDACTED:k:1]\x1b]0;x\x07\r`},
		{JSON, string(data), `{"text":"\u001b\u0007\u202e\u2066\u200b\u007f\u0085\udb40\udc41 [REDACTED:k:1]"}`},
		{Messages, string(data) + "\n", `{"text":"\\x1b\\x07\\u202e\\u2066\\u200b\\x7f\\u0085\\U000e0041 [REDACTED:k:1]"}` + "\n"},
		{Bytes, text, text},
	} {
		for n := 1; n <= len(c.in); n++ {
			var out bytes.Buffer
			r := redact.New(redact.Secret{Kind: "k", Value: secret})
			o := New(&out, c.kind, func() *redact.Redactor { return r })
			for rest := c.in; rest != ""; {
				piece := rest[:min(n, len(rest))]
				rest = rest[len(piece):]
				if _, err := io.WriteString(o, piece); err != nil {
					t.Fatal(err)
				}
			}
			if err := o.Flush(); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.want {
				t.Fatalf("kind %d in pieces of %d:\n%q, want\n%q", c.kind, n, out.String(), c.want)
			}
		}
	}
}
