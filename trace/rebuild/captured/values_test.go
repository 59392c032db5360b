package captured

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What is decoded is what a program prints of its own values, with a printer of its own. The program writes them by package
// reflect here.
func TestDecodeAsTheProgramPrints(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"main.go": filepath.Join("..", "testdata", "values.go.txt"), "encode.go": filepath.Join("testdata", "encode.go.txt")}
	for to, from := range files {
		source, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), source, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/values\n\ngo 1.21\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "captured")
	cmd := exec.Command("go", "run", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CAPTURED="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for ; len(b) > 0; count++ {
		n := binary.LittleEndian.Uint16(b)
		printed := string(b[2 : 2+n])
		b = b[2+n:]
		size := binary.LittleEndian.Uint32(b)
		got, err := Decode(b[4:4+size], nil)
		b = b[4+size:]
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %d values, %v", printed, len(got), err)
			continue
		}
		if text := strings.TrimSpace(got[0].Name+" "+got[0].Type) + " = " + got[0].Text; text != printed {
			t.Errorf("%s, the program prints\n%s", text, printed)
		}
	}
	if count < 500 {
		t.Errorf("%d values", count)
	}
}
