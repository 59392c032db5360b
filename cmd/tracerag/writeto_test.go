package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/output"
)

// What was there stays when what should replace it fails half way.
func TestWriteToKeepsWhatWasThere(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.html")
	if err := os.WriteFile(name, []byte("the old one"), 0o666); err != nil {
		t.Fatal(err)
	}
	a := &app{getenv: os.Getenv}
	broken := errors.New("no room")
	err := a.writeTo(name, output.Text, func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Repeat("half ", 10_000))
		return errors.Join(err, broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != "the old one" {
		t.Errorf("%v: %.20q is left", err, data)
	}
	if names, _ := filepath.Glob(name + "*"); len(names) != 1 {
		t.Errorf("beside it: %v", names)
	}
	if err := a.writeTo(name, output.Text, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(name); string(data) != "new" {
		t.Errorf("%q", data)
	}
	if err := a.writeTo(os.DevNull, output.Text, func(w io.Writer) error { return nil }); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s is no device any more: %v", os.DevNull, err)
	}
}
