package rebuild_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace/recordtest"
)

// The recorder and the program are both programs of windows/amd64 here, which run in wine.

// wine makes a directory of Windows, and returns its environment.
func wine(t *testing.T) (env []string) {
	t.Helper()
	if _, err := exec.LookPath("wine"); err != nil {
		if os.Getenv("TRACERAG_WINE") == "require" {
			t.Fatal(err)
		}
		t.Skip("wine is not installed")
	}
	env, err := windowsDirectory()
	if err != nil {
		t.Fatal(err)
	}
	return env
}

var windowsDirectory = sync.OnceValues(func() (env []string, err error) {
	cache, err := fixtures.CacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "wine")
	env = []string{"WINEPREFIX=" + dir, "WINEDEBUG=-all", "WINEDLLOVERRIDES=mscoree=;mshtml=", "DISPLAY="}
	cmd := exec.Command("wine", "cmd", "/c", "ver")
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, errors.New(string(out))
	}
	// Wine has this library since version 9, and Go needs it since 1.22.
	library := filepath.Join(dir, "drive_c", "windows", "system32", "bcryptprimitives.dll")
	if _, err := os.Stat(library); errors.Is(err, os.ErrNotExist) {
		err = os.WriteFile(library, forwarder("bcryptprimitives.dll", "ProcessPrng", "advapi32.SystemFunction036"), 0o644)
		if err != nil {
			return nil, err
		}
	}
	return env, nil
})

// forwarder is a library with one function, which is that of another library.
func forwarder(library, function, to string) []byte {
	const at, page, unit = 0x1000, 0x1000, 512 // where it is loaded, behind the image's base; sizes in memory and in the file
	texts := []string{library, function, to}
	var place []uint32 // of the texts, behind the directory and three tables of one entry each
	for next := uint32(at + 40 + 12); len(place) < len(texts); next += uint32(len(texts[len(place)-1])) + 1 {
		place = append(place, next)
	}
	section := little(uint32(0), uint32(0), uint32(0), place[0], uint32(1), uint32(1), uint32(1), uint32(at+40), uint32(at+44), uint32(at+48), // the directory of exports
		place[2], place[1], uint32(0)) // function, name, ordinal
	section = append(section, strings.Join(texts, "\x00")+"\x00"...)
	size := uint32(len(section))

	const header = 64
	dos := make([]byte, header)
	copy(dos, "MZ")
	dos[header-4] = header
	image := slices.Concat(dos, []byte("PE\x00\x00"),
		little(uint16(0x8664), uint16(1), [3]uint32{}, uint16(240), uint16(0x2022)), // for amd64, one section; a library
		little(uint16(0x20b), uint16(0), uint32(0), uint32(unit), [3]uint32{}, uint64(0x180000000), uint32(page), uint32(unit), // 64-bit; base and alignments
			uint16(6), [3]uint16{}, uint16(6), uint16(0), uint32(0), uint32(at+page), uint32(unit), uint32(0), uint16(2), uint16(0x100),
			uint64(1<<20), uint64(page), uint64(1<<20), uint64(page), uint32(0), uint32(16)),
		little(uint32(at), size, [15]uint64{}), // the first directory is that of exports
		[]byte(".edata\x00\x00"), little(size, uint32(at), uint32(unit), uint32(unit), [3]uint32{}, uint32(0x40000040)))
	image = append(image, make([]byte, unit-len(image))...)
	image = append(image, section...)
	return append(image, make([]byte, 2*unit-len(image))...)
}

func little(values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	return b.Bytes()
}

// windowsRecorder builds this test binary for Windows.
var windowsRecorder = sync.OnceValues(func() (string, error) {
	cache, err := fixtures.CacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "rebuild.test.exe")
	cmd := exec.Command("go", "test", "-c", "-o", path, ".")
	cmd.Env = append(os.Environ(), "GOOS=windows", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

// windowsPath is how programs of Windows name a file.
func windowsPath(elements ...string) string {
	return "Z:" + strings.ReplaceAll(filepath.Join(elements...), "/", `\`)
}

// inWindows is how a program of Windows is recorded.
func inWindows(t *testing.T, program string, args ...string) recordtest.Run {
	t.Helper()
	env := wine(t)
	recorder, err := windowsRecorder()
	if err != nil {
		t.Fatal(err)
	}
	return recordtest.Run{Job: recordtest.Job{Args: append([]string{windowsPath(program)}, args...)}, By: []string{"wine", recorder}, Env: env}
}

// TestWindows holds the trees of fixtures on windows/amd64 against those on linux/amd64.
func TestWindows(t *testing.T) {
	wine(t)
	names := elsewhere()
	if os.Getenv("TRACERAG_REAL") != "all" { // in wine each takes long
		names = []string{"counters", "generics", "goroutines", "panics"}
	}
	dir := buildFor(t, "windows", "amd64", names...)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			asHere(t, name, inWindows(t, filepath.Join(dir, name+".exe"), programs[name]...), programs[name]...)
		})
	}
}

// TestWindowsCounters holds a program with goroutines on several threads against its own counters. The memory's files are
// removed, also one that a recorder left that was killed.
func TestWindowsCounters(t *testing.T) {
	env := wine(t)
	dir := buildFor(t, "windows", "amd64", "counters")
	_, prefix, _ := strings.Cut(env[0], "=")
	var places []string // of temporary files, as versions of wine have them
	for _, name := range []string{"Temp", "AppData/Local/Temp"} {
		found, _ := filepath.Glob(filepath.Join(prefix, "drive_c", "users", "*", name))
		places = append(places, found...)
	}
	if len(places) != 1 {
		t.Fatalf("%q", places)
	}
	if err := os.WriteFile(filepath.Join(places[0], "tracerag-memory-1-0"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n := 5
	if testing.Short() {
		n = 1
	}
	for range n {
		file := filepath.Join(dir, "counters.json")
		how := inWindows(t, filepath.Join(dir, "counters.exe"), "-counters", windowsPath(file))
		how.Env = append(how.Env, "GOMAXPROCS=4")
		exact(t, recordtest.Record(t, how), file)
	}
	if left, _ := filepath.Glob(filepath.Join(places[0], "tracerag-memory-*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
