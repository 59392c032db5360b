package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestErrorsAreEscaped: what commands say of a wrong command line does nothing to a
// terminal.
func TestErrorsAreEscaped(t *testing.T) {
	const clear = "\x1b[2J\u202e"
	for _, c := range commands {
		for _, args := range [][]string{{c.name, "--" + clear}, {c.name, "--dir=" + clear, "--quiet=" + clear}, {clear}} {
			var stdout, stderr bytes.Buffer
			run(context.Background(), args, strings.NewReader(""), &stdout, &stderr)
			if out := stdout.String() + stderr.String(); strings.Contains(out, "\x1b") || strings.Contains(out, "\u202e") {
				t.Errorf("%q: %q", args, out)
			}
			if args[0] == c.name && !strings.Contains(stderr.String(), `\x1b[2J\u202e`) {
				t.Errorf("%q: the message does not say what is wrong: %q", args, &stderr)
			}
		}
	}
}
