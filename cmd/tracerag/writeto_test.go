package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// What was there stays when what should replace it fails half way.
func TestWriteToKeepsWhatWasThere(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.html")
	if err := os.WriteFile(name, []byte("the old one"), 0o666); err != nil {
		t.Fatal(err)
	}
	a := &app{getenv: os.Getenv}
	broken := errors.New("no room")
	err := a.writeTo(name, textOutput, func(w io.Writer) error {
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
	if err := a.writeTo(name, textOutput, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(name); string(data) != "new" {
		t.Errorf("%q", data)
	}
	if err := a.writeTo(os.DevNull, textOutput, func(w io.Writer) error { return nil }); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s is no device any more: %v", os.DevNull, err)
	}
}

// What is no file stays what it is, and gets the text: also for those who may replace it.
func TestReplaceFileSparesDevicesAndLinks(t *testing.T) {
	hello := func(w io.Writer) error { _, err := io.WriteString(w, "hello"); return err }
	dir := t.TempDir()
	file, link, dangling := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "dangling")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{link: "file", dangling: "later", filepath.Join(dir, "null"): os.DevNull} {
		if err := os.Symlink(to, name); err != nil {
			t.Skip(err)
		}
	}
	for _, name := range []string{link, dangling, filepath.Join(dir, "null"), os.DevNull} {
		before, err := os.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(canReplace(name), replaceFile(name, hello)); err != nil {
			t.Error(err)
		}
		if after, err := os.Lstat(name); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s was %v and is %v, %v", name, before.Mode(), after.Mode(), err)
		}
	}
	for _, name := range []string{"file", "later"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != "hello" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: the mode has changed", info.Mode(), err)
	}
	if runtime.GOOS == "linux" { // what is open, whether it has a name still or not
		f, err := os.Create(filepath.Join(dir, "open"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := replaceFile(fmt.Sprintf("/dev/fd/%d", f.Fd()), hello); err != nil {
			t.Error(err)
		}
		if info, err := f.Stat(); err != nil || info.Size() != 5 {
			t.Errorf("%v, %v", info, err)
		}
	}
	for _, name := range []string{dir, filepath.Join(dir, "no", "file")} {
		for _, err := range []error{canReplace(name), replaceFile(name, hello)} {
			if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), ".new") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if names, _ := os.ReadDir(dir); len(names) > 6 {
		t.Errorf("left: %v", names)
	}
}
