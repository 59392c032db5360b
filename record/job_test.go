package record

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tracerag/trace/store"
)

// TestGoReportOfAnEndedRecorder: a missing trace is reported.
func TestGoReportOfAnEndedRecorder(t *testing.T) {
	dir := t.TempDir()
	data, err := json.Marshal(Report{Dir: "/x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "42.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	if pids := innerProcesses(dir, 7); !slices.Equal(pids, []int{42}) {
		t.Errorf("it runs, but signals are for %v", pids)
	}
	r := &Runner{Store: store.Open(t.TempDir())}
	if _, err := r.collect(dir, 0, &goOrder{}); !errors.Is(err, ErrEnded) {
		t.Error("it is gone, but nobody says so")
	}
}
