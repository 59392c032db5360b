package probe

import (
	"testing"

	"tracerag/trace/recordtest"
	"tracerag/trace/target"
)

var (
	limits      = built("./testdata/limits")
	limitsRaw   = built("./testdata/limits/raw")
	limitsFiles = built("./testdata/limits/files")
	lockedRaw   = built("./testdata/locked/raw")
)

// TestOwnLimits has programs set themselves a limit that suffices for what they have alone.
func TestOwnLimits(t *testing.T) {
	for name, program := range map[string]func() (string, error){"setrlimit": limits, "prlimit64": limitsRaw} {
		t.Run(name, func(t *testing.T) {
			r := sameRun(t, recordtest.Run{Job: recordtest.Job{Args: []string{path(t, program)}}})
			if n := recordtest.Counts(r.Trace)["main.step"]; n != 200 {
				t.Errorf("main.step was recorded %d times, want 200", n)
			}
		})
	}
}

// TestConfines tells programs that lock or limit all of their memory from others, which
// get more of it for the recorder.
func TestConfines(t *testing.T) {
	for _, tt := range []struct {
		name          string
		program       func() (string, error)
		locks, limits bool
	}{
		{"setrlimit", limits, false, true},
		{"prlimit64", limitsRaw, false, true},
		{"setrlimit of open files", limitsFiles, false, false},
		{"mlockall", locked, true, false},
		{"mlockall by number", lockedRaw, true, false},
		{"neither", counting, false, false},
	} {
		tgt, err := target.Find([]string{path(t, tt.program)}, t.TempDir(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		own, err := tgt.OwnCode()
		if err != nil {
			t.Fatal(err)
		}
		if (own.Locks != "") != tt.locks || (own.Limits != "") != tt.limits {
			t.Errorf("%s: %+v", tt.name, own)
		}
	}
}
