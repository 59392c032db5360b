package code

import (
	"go/format"
	"testing"
)

// TestHashComment: formatting a package comment leaves its hash alone, and a word changes it.
func TestHashComment(t *testing.T) {
	hash := func(text []byte) Hash { return HashComment(Parse(text).Doc.Of(text)) }
	text := []byte("//go:build linux\n\n// Package x  is\n// about\n//   - one\n//   * two\npackage x\n")
	formatted, err := format.Source(text)
	if err != nil || string(formatted) == string(text) {
		t.Fatalf("%v\n%s", err, formatted)
	}
	if hash(text) != hash(formatted) {
		t.Errorf("formatting changes the hash of\n%s", text)
	}
	if other := []byte("// Package x is about two\npackage x\n"); hash(other) == hash(text) || hash(other) == hash([]byte("package x\n")) {
		t.Error("other words have the same hash")
	}
}
