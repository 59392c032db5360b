package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracerag/fixtures"
	"tracerag/repair/affected"
	"tracerag/repair/patch"
	"tracerag/repair/sandbox"
	"tracerag/repair/trial"
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

// TestFixRecordsTests: this program records test programs in the sandbox of a trial's copy, for the tests that fix runs first.
func TestFixRecordsTests(t *testing.T) {
	t.Parallel()
	r := newRepairs(t)
	exe := commandPath(t)
	tr, err := trial.Open(t.Context(), trial.Options{Dir: r.dir, Scratch: t.TempDir(), Run: sandbox.New([]string{exe, sandboxArg}).Run, Limits: sandbox.Limits{Time: 5 * time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	var got []string
	err = tr.Use(t.Context(), patch.Patch{}, func(c *trial.Copy) error {
		dir, err := c.Scratch()
		if err != nil {
			return err
		}
		request := affected.Request{Packages: []affected.Package{{Path: "example.com/app/table", Dir: c.Root, Include: "example.com/app/..."}}}
		if err := request.Write(dir); err != nil {
			return err
		}
		if said, err := testsRecorder(exe)(t.Context(), c, dir); err != nil || said != "" {
			t.Errorf("it said %s, %v", said, err)
		}
		return affected.Read(dir, func(rec affected.Recorded) {
			if rec.Err != nil || rec.Trace == nil || len(rec.Took) != 2 {
				t.Errorf("%s: %v, %v", rec.Package, rec.Err, rec.Took)
			}
			got = append(got, rec.Package)
		})
	})
	if err != nil || len(got) != 1 || got[0] != "example.com/app/table" {
		t.Errorf("recorded %v, %v", got, err)
	}
	r.clean()
}
