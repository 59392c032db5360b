package probe

import (
	"errors"
	"os"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace/target"
)

// TestSuits: what is tried with a program does not run it.
func TestSuits(t *testing.T) {
	path := fixtures.Build(t, "twice")
	tgt, err := target.Find([]string{path}, t.TempDir(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = write
	err = Suits(tgt, Options{})
	os.Stdout = stdout
	if err != nil {
		t.Errorf("a program for this machine: %v", err)
	}
	write.Close()
	if n, _ := read.Read(make([]byte, 1)); n > 0 {
		t.Error("the program has run")
	}

	elsewhere := *tgt.Binary
	elsewhere.GOARCH = "arm64"
	tgt.Binary = &elsewhere
	var unsuitable *Unsuitable
	if err := Suits(tgt, Options{}); !errors.As(err, &unsuitable) {
		t.Errorf("a program for another machine: %v", err)
	}
}
