package executable

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Files that are not readable Go programs are recognized, and the message says what
// to do.
func TestOpenErrors(t *testing.T) {
	good, err := os.ReadFile(build(t, "zoo", "GOOS=linux GOARCH=amd64 -ldflags=-s"))
	if err != nil {
		t.Fatal(err)
	}
	table := sectionOffset(t, good, ".gopclntab")
	patched := func(at int, with ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], with)
		return b
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "is empty"},
		{"script", []byte("#!/bin/sh\nexec ./app\n"), "is a script: name the Go program"},
		{"text", []byte("package main\n"), "is not an executable"},
		{"archive", []byte("!<arch>\n__.PKGDEF"), "is an archive of compiled packages"},
		{"object", []byte("\x00go120ld"), "is a compiled package"},
		{"java class", []byte("\xca\xfe\xba\xbe\x00\x00\x00\x3d\x00\x1d"), "is a Java class file"},
		{"32-bit Mach-O", []byte("\xce\xfa\xed\xfe0000"), "not 64-bit little-endian"},
		{"ELF header only", good[:64], "truncated or damaged ELF file"},
		{"cut in the table", withoutSections(good)[:table+1000], "truncated or damaged ELF file: segment "},
		{"cut before the table", good[:table/2], "truncated or damaged ELF file (EOF)"},
		{"PE header only", []byte("MZ\x90\x00\x03\x00\x00\x00"), "damaged PE file"},
		{"object file", patched(16, byte(elf.ET_REL)), "is an object file"},
		{"core dump", patched(16, byte(elf.ET_CORE)), "is a core dump"},
		{"big-endian", patched(5, byte(elf.ELFDATA2MSB)), "damaged ELF file"},
		{"Go 1.19", patched(table, 0xf0), "before 1.20"},
		{"Go 1.15", patched(table, 0xfb), "before 1.20"},
		{"future magic", patched(table, 0xf2), "newer than this reader"},
		{"no magic", patched(table, 1, 2, 3, 4), "the magic number is 0x4030201"},
		{"32-bit table", patched(table+7, 4), "is a program for a 32-bit machine"},
		{"bad header", patched(table+6, 9), "the header is"},
		{"no functions", patched(table+8, make([]byte, 8)...), "it has no functions"},
		{"many functions", patched(table+8, bytes.Repeat([]byte{0x7f}, 8)...), "do not fit in"},
		{"parts out of order", patched(table+40, 71, 0, 0), "the compilation units begin at offset 0x47"},
		{"moved text", patched(sectionOffset(t, good, ".go.module")+22*8, 1), "no module data belong"},
		{"moved table", patched(sectionOffset(t, good, ".go.module"), 1), "no module data belong"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "app")
			if err := os.WriteFile(path, c.data, 0o666); err != nil {
				t.Fatal(err)
			}
			checkError(t, path, c.want)
		})
	}
	dir := t.TempDir()
	checkError(t, dir, "is a directory")
	checkError(t, filepath.Join(dir, "none"), "")
	if _, err := Open(filepath.Join(dir, "none")); !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("a missing file: %v", err)
	}
	if runtime.GOOS == "linux" {
		checkError(t, "/dev/null", "is not a regular file")
	}
}

func checkError(t *testing.T, path, want string) {
	t.Helper()
	f, err := Open(path)
	if err == nil {
		t.Fatalf("opened, with %d functions", len(f.Funcs))
	}
	if s := err.Error(); !strings.HasPrefix(s, path+": ") || !strings.Contains(s, want) || strings.Count(s, path) > 1 || strings.HasSuffix(s, ".") {
		t.Errorf("got %q, want %q in it", s, want)
	}
}

func unwrapAll(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		err = u.Unwrap()
	}
}

// A program in C has no function table.
func TestNotGo(t *testing.T) {
	for _, path := range []string{"/bin/true", "/usr/bin/true"} {
		b, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(b, []byte("\x7fELF")) || bytes.Contains(b, []byte("Go build ID")) {
			continue
		}
		checkError(t, path, "has no Go function table")
		return
	}
	t.Skip("no program in C found")
}

func TestOlderGo(t *testing.T) {
	path := build(t, "zoo", "GOOS=linux GOARCH=amd64 -ldflags=-s")
	f := mustOpen(t, path)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(f.GoVersion, "go1.2") {
		t.Skipf("built with %s", f.GoVersion)
	}
	old := "go1.20" + f.GoVersion[len("go1.2x"):] // as long as the true one
	b = bytes.ReplaceAll(b, []byte(f.GoVersion), []byte(old))
	if _, err := newFile("app", bytes.NewReader(b), int64(len(b))); err == nil || !strings.Contains(err.Error(), "built with "+old) {
		t.Errorf("got %v", err)
	}
}

// Other linkers and tools leave less than the Go linker does. The functions
// are still the same.
func TestPoorerFiles(t *testing.T) {
	read := func(config string) []byte {
		b, err := os.ReadFile(build(t, "zoo", config))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	hide := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("gopclntab"), []byte("somethin9")) }
	check := func(t *testing.T, was, is []byte) *File {
		t.Helper()
		a, err := newFile("before", bytes.NewReader(was), int64(len(was)))
		if err != nil {
			t.Fatal(err)
		}
		b, err := newFile("after", bytes.NewReader(is), int64(len(is)))
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Funcs) != len(b.Funcs) || a.TextStart != b.TextStart || a.TextStart == 0 {
			t.Fatalf("%d functions from %#x, want %d from %#x", len(b.Funcs), b.TextStart, len(a.Funcs), a.TextStart)
		}
		calls := 0
		for i := range a.Funcs {
			x, y := a.Funcs[i], b.Funcs[i]
			if x.Package != y.Package && b.MainPath == "" {
				y.Package = x.Package
			}
			if x != y {
				t.Fatalf("got %+v, want %+v", y, x)
			}
			calls += len(b.Inlined(&b.Funcs[i]))
		}
		if calls == 0 {
			t.Error("no inlined calls")
		}
		return b
	}

	t.Run("section of another name", func(t *testing.T) {
		b := read("GOOS=linux GOARCH=amd64 -ldflags=-s")
		check(t, b, hide(b))
	})
	t.Run("no section headers", func(t *testing.T) {
		b := read("GOOS=linux GOARCH=amd64 -ldflags=-s")
		check(t, b, withoutSections(b))
	})
	t.Run("no build info", func(t *testing.T) {
		b := read("GOOS=linux GOARCH=amd64 -ldflags=-s")
		f := check(t, b, bytes.ReplaceAll(b, []byte("\xff Go buildinf:"), []byte("\xff No buildinf:")))
		if f.GoVersion != "" || f.MainPath != "" || f.GOARCH != "amd64" || f.GOOS != "linux" || function(t, f, "main.main").Package != "main" {
			t.Errorf("got version %q, main %q, %s/%s", f.GoVersion, f.MainPath, f.GOOS, f.GOARCH)
		}
		if f.Std("zoo/tmpl") || f.Std("zoo/deep/odd.v2") || !f.Std("runtime") || !f.Std("cmp") {
			t.Error("Std confuses the program's packages with the standard library's")
		}
	})
	t.Run("no Go build ID", func(t *testing.T) {
		b := read("GOOS=linux GOARCH=amd64 -ldflags=-buildid=")
		f, err := newFile("app", bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(f.BuildID, "/") {
			t.Errorf("BuildID = %q", f.BuildID)
		}
	})
	t.Run("pointers in relocations only", func(t *testing.T) {
		needC(t)
		if runtime.GOOS != "linux" {
			t.Skip("needs a linker for linux")
		}
		for _, config := range []string{"-buildmode=pie", "CGO_ENABLED=1 -buildmode=pie -ldflags=-linkmode=external"} {
			b := read(config)
			bare := withoutPointers(t, b)
			check(t, b, bare)
			check(t, b, hide(bare))
			check(t, b, withoutSections(bare))
		}
	})
	t.Run("universal file", func(t *testing.T) {
		if testing.Short() {
			t.Skip("compiles a part of the standard library")
		}
		b := read("GOOS=darwin GOARCH=arm64")
		check(t, b, hide(b))
		check(t, b, universal(b))
		_, err := newFile("app", bytes.NewReader(universal(b)), 10000)
		if err == nil || !strings.Contains(err.Error(), "truncated universal") {
			t.Errorf("a truncated universal file: %v", err)
		}
	})
	t.Run("chained fixups", func(t *testing.T) {
		if testing.Short() {
			t.Skip("compiles a part of the standard library")
		}
		b := read("GOOS=darwin GOARCH=arm64")
		check(t, b, withChains(t, b))
	})
}

func sectionOffset(t *testing.T, b []byte, name string) int {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	s := f.Section(name)
	if s == nil {
		t.Skipf("this Go release makes no section %s", name)
	}
	return int(s.Offset)
}

// withoutSections is an ELF file without section headers.
func withoutSections(b []byte) []byte {
	b = bytes.Clone(b)
	clear(b[0x28:0x30]) // e_shoff
	clear(b[0x3c:0x40]) // e_shnum, e_shstrndx
	return b
}

// withoutPointers is a position-independent ELF file as lld makes it: what the
// relocations say is not in the data as well.
func withoutPointers(t *testing.T, b []byte) []byte {
	b = bytes.Clone(b)
	im, err := newELF(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = im.relocs(func(at, value uint64) bool {
		if r := im.find(at); r != nil {
			n++
			clear(b[r.off+at-r.addr:][:8])
		}
		return true
	})
	if err != nil || n == 0 {
		t.Fatalf("%d relocations, %v", n, err)
	}
	return b
}

// universal wraps a Mach-O file for arm64 into a universal one.
func universal(b []byte) []byte {
	const start = 1 << 14
	out := make([]byte, start, start+len(b))
	for i, w := range []uint32{0xcafebabe, 1, 0x0100000c, 0, start, uint32(len(b)), 14} {
		out[4*i], out[4*i+1], out[4*i+2], out[4*i+3] = byte(w>>24), byte(w>>16), byte(w>>8), byte(w)
	}
	return append(out, b...)
}

// withChains turns the pointers of the module data of a Mach-O file into
// links of a chain, as Apple's linker stores them.
func withChains(t *testing.T, b []byte) []byte {
	b = bytes.Clone(b)
	im, err := newMachO(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(im.regions, func(r *region) bool { return r.name == "__go_module" })
	if i < 0 {
		t.Skip("this Go release makes no section __go_module")
	}
	base := uint64(1 << 32) // where programs begin on this system
	r := im.regions[i]
	for at := r.off; at+8 <= r.off+r.size; at += 8 {
		if v := le.Uint64(b[at:]); im.find(v) != nil {
			const next = 2 << 51 // distance to the next link
			le.PutUint64(b[at:], v-base|next)
		}
	}
	// The load command of the pointers that the Go linker writes, renamed.
	const dyldInfoOnly, fixups = 0x80000022, 0x80000034
	cmd := le.AppendUint32(le.AppendUint32(nil, dyldInfoOnly), 48)
	j := bytes.Index(b, cmd)
	if j < 0 {
		t.Skip("this Go release writes the pointers in another way")
	}
	le.PutUint32(b[j:], fixups)
	return b
}
