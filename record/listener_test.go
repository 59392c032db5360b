package record

import (
	"io"
	"strings"
	"testing"
)

// A program that prints without end does not have to wait, and what is kept is bounded.
func TestListenerKeepsTheBeginning(t *testing.T) {
	l, err := newListener()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(l.to, "\nfirst\n"+strings.Repeat("more ", 1<<20)); err != nil {
		t.Fatal(err)
	}
	text := l.end()
	if len(text) != listened || firstLine(text) != "first" {
		t.Errorf("%d bytes, %.40q", len(text), text)
	}
}
