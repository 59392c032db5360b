package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// toolchainBatch is how many programs one go command builds.
const toolchainBatch = 64

// TestSoakToolchain runs the programs of the toolchain's own test directory (those of one file whose first line is "// run") as they are and
// with the recorder in them, with and without values: they print the same and end alike. Without TRACERAG_STD=1 it takes each sixteenth.
func TestSoakToolchain(t *testing.T) {
	if soak(t, 0) == 0 {
		t.Skip("TRACERAG_SOAK=1 runs them")
	}
	files := toolchainPrograms(t)
	if os.Getenv("TRACERAG_STD") != "1" {
		var some []string
		for i := 0; i < len(files); i += 16 {
			some = append(some, files[i])
		}
		files = some
	}
	ran, failed := 0, 0
	for at := 0; at < len(files); at += toolchainBatch {
		batch := files[at:min(at+toolchainBatch, len(files))]
		progress("program %d of %d", at, len(files))
		dir := t.TempDir()
		plain := buildPrograms(t, dir, "plain", batch, nil)
		flavours := map[string][]string{"lines": buildPrograms(t, dir, "lines", batch, rebuilt(t, true, false)), "values": buildPrograms(t, dir, "values", batch, rebuilt(t, true, true))}
		for i, name := range batch {
			if plain[i] == "" {
				continue // of another system, or of an older toolchain
			}
			ran++
			alone := run{args: []string{plain[i]}, dir: dir}
			want := lasting(alone.alone(t, true))
			if lasting(alone.alone(t, true)) != want {
				continue // goroutines, maps, random numbers
			}
			for flavour, with := range flavours {
				if with[i] == "" {
					t.Errorf("%s does not compile with %s", name, flavour)
					failed++
					continue
				}
				j := job{Recorder: "rebuild"}
				if flavour == "values" {
					j.Values = 8
				}
				rep, o := run{args: []string{with[i]}, dir: dir}.recorded(t, j, true)
				if got := lasting(o); got != want {
					t.Errorf("%s: recorded with %s\n%s\nand alone\n%s", name, flavour, got, want)
					failed++
				}
				readTrace(t, rep.Path) // and checks it
			}
		}
		os.RemoveAll(dir)
	}
	progress("")
	t.Logf("%d programs, %d of them otherwise than alone", ran, failed)
}

// toolchainPrograms are the files of the test directory that are programs to be run.
func toolchainPrograms(t *testing.T) (files []string) {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "test")
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		t.Skip("this installation of Go has no test directory")
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		first, _, _ := bytes.Cut(text, []byte("\n"))
		// noinit.go looks at whether the compiler left initialisers out. Without inlining it does not do so either.
		if err == nil && strings.TrimSpace(string(first)) == "// run" && d.Name() != "noinit.go" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 500 {
		t.Fatalf("%d programs: %v", len(files), err)
	}
	return files
}

// buildPrograms builds each file, and returns the programs; "" is one that does not compile.
func buildPrograms(t *testing.T, dir, name string, files, flags []string) []string {
	t.Helper()
	out := make([]string, len(files))
	var wait sync.WaitGroup
	free := make(chan bool, runtime.NumCPU())
	for i, file := range files {
		program := filepath.Join(dir, fmt.Sprintf("%s%d", name, i))
		free <- true
		wait.Go(func() {
			cmd := exec.Command("go", append(append([]string{"build", "-o", program}, flags...), file)...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GO111MODULE=off")
			if cmd.Run() == nil {
				out[i] = program
			}
			<-free
		})
	}
	wait.Wait()
	return out
}

// lasting is what a program printed and how it ended, without times and addresses.
func lasting(o output) string {
	return changing.ReplaceAllString(fmt.Sprintf("%s%sexit code %d", o.stdout, o.stderr, o.code), "*")
}
