// Package patchtest gives the tests of the packages around it the code that they
// look at: whole programs, and functions written by hand.
package patchtest

import (
	"encoding/hex"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace/executable"
)

// Open returns a fixture for linux/amd64 and its code.
func Open(t testing.TB, name string, flags ...string) (*executable.File, *executable.Code) {
	t.Helper()
	t.Setenv("GOOS", "linux")
	t.Setenv("GOARCH", "amd64")
	f, err := executable.Open(fixtures.Build(t, name, flags...))
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Code()
	if err != nil {
		t.Fatal(err)
	}
	return f, c
}

// Assemble returns the bytes of a function that is written as one instruction a
// line: its bytes in hexadecimal, and, behind a semicolon, what they mean.
func Assemble(t testing.TB, text string) []byte {
	t.Helper()
	var out []byte
	for line := range strings.Lines(text) {
		code, _, _ := strings.Cut(line, ";")
		b, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(code), " ", ""))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out = append(out, b...)
	}
	return out
}
