package atomicfile

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

// What is no file stays what it is, and gets the text: also for those who may replace it.
func TestWriteSparesDevicesAndLinks(t *testing.T) {
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
		if err := errors.Join(Check(name), Write(name, hello)); err != nil {
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
		if err := Write(fmt.Sprintf("/dev/fd/%d", f.Fd()), hello); err != nil {
			t.Error(err)
		}
		if info, err := f.Stat(); err != nil || info.Size() != 5 {
			t.Errorf("%v, %v", info, err)
		}
	}
	for _, name := range []string{dir, filepath.Join(dir, "no", "file")} {
		for _, err := range []error{Check(name), Write(name, hello)} {
			if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), ".new") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if names, _ := os.ReadDir(dir); len(names) > 6 {
		t.Errorf("left: %v", names)
	}
}

// A file of our own is replaced, is its owner's alone, and leaves nothing beside it.
func TestSaveReplaces(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	for _, text := range []string{"first", "second"} {
		if err := errors.Join(Try(dir, []byte(text)), Save(file, []byte(text))); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != text {
			t.Errorf("%q, %v: want %q", got, err, text)
		}
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("left: %v", names)
	}
	if err := Save(filepath.Join(dir, "no", "file"), nil); err == nil {
		t.Error("saved into a directory that does not exist")
	}
}
