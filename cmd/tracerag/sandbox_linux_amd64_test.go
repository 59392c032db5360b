package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracerag/fixtures"
	"tracerag/repair/sandbox"
)

// TestRecordsInSandbox requires that this program starts its inner step, and that
// the probe works inside: it traces its child and shares memory with it.
func TestRecordsInSandbox(t *testing.T) {
	t.Parallel()
	scratch := t.TempDir()
	for _, dir := range []string{"home", "tmp"} {
		if err := os.Mkdir(filepath.Join(scratch, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	exe, target := commandPath(t), fixtures.Build(t, "fib")
	s := sandbox.New([]string{exe, sandboxArg})
	var out bytes.Buffer
	res, err := s.Run(t.Context(), sandbox.Command{
		Args: []string{exe, "run", "--recorder=probe", "--", target}, Dir: scratch, Write: []string{scratch}, Temp: filepath.Join(scratch, "tmp"),
		Env: sandbox.Environment(os.Environ(), scratch, false), Read: []string{filepath.Dir(exe), filepath.Dir(target)},
		Stdout: &out, Stderr: &out, Limits: sandbox.Limits{Time: 2 * time.Minute},
	})
	if err != nil || res.Code != 0 || !strings.Contains(out.String(), "recorded ") {
		t.Errorf("%+v, %v\n%s", res, err, out.Bytes())
	}
	if name, _, _ := s.Check(t.Context()); name == "" {
		t.Error("the inner step doesn't work")
	}
}
