package patch

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestNothingIsRun settles imports in a repository that names a toolchain, and would have every go
// command run something: nothing of it runs, nobody is asked for anything, and no file changes.
func TestNothingIsRun(t *testing.T) {
	if dir := os.Getenv("PATCH_TEST_TREE"); dir != "" { // in the process below
		p, err := Apply(dir, []Edit{{File: "a.go", Text: "func F() { strings.ToUpper(\"\"); other.Do(); rand.IntN(1) }"}})
		if err != nil {
			t.Fatal(err)
		}
		if text := string(p.Files[0].After); !strings.Contains(text, `"strings"`) || !strings.Contains(text, `"math/rand/v2"`) || !strings.Contains(text, `"example.com/m/other"`) {
			t.Error(text)
		}
		return
	}
	if runtime.GOOS == "windows" {
		t.Skip("the programs that would run are scripts")
	}
	asked, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	defer asked.Close()
	requests := make(chan struct{}, 100)
	go func() {
		for {
			c, err := asked.Accept()
			if err != nil {
				return
			}
			requests <- struct{}{}
			c.Close()
		}
	}()
	marks := t.TempDir()
	script := filepath.Join(marks, "run")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$0 $*\" >> "+filepath.Join(marks, "ran")+"\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	dir := write(t, map[string]string{
		"go.mod":         "module example.com/m\n\ngo 1.99\n\ntoolchain go1.99.9\n",
		"go.work":        "go 1.99\n\ntoolchain go1.99.9\n\nuse .\n",
		"a.go":           "package a\n\nfunc F() {}\n",
		"other/other.go": "package other\n\nfunc Do() {}\n",
		"go":             "#!/bin/sh\ntouch " + filepath.Join(marks, "ran") + "\n",
	})
	if err := os.Chmod(filepath.Join(dir, "go"), 0o777); err != nil {
		t.Fatal(err)
	}
	git(t, dir, nil, "init", "-q")
	git(t, dir, nil, "config", "core.fsmonitor", script)
	before := content(t, dir)
	cmd := exec.Command(os.Args[0], "-test.run=^TestNothingIsRun$", "-test.count=1")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATCH_TEST_TREE="+dir, "GOFLAGS=-toolexec="+script, "GOTOOLCHAIN=auto", "GOPROXY=http://"+asked.Addr().String(), "GOSUMDB=off", "PWD="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if text, err := os.ReadFile(filepath.Join(marks, "ran")); err == nil {
		t.Errorf("ran: %s", text)
	}
	if len(requests) > 0 {
		t.Errorf("%d requests", len(requests))
	}
	if after := content(t, dir); !same(before, after) {
		t.Errorf("the tree was\n%q\nand is\n%q", before, after)
	}
}
