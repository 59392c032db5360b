package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace/recordtest"
	"tracerag/trace/store"
)

var importLine = regexp.MustCompile(`(?m)^  tracerag import .*?(/\S+\.pb\.gz)$`)

// TestSavedElsewhere: a trace that the store does not take is saved elsewhere, and the
// messages say where, and how to import it.
func TestSavedElsewhere(t *testing.T) {
	changes := fixtures.Build(t, "changes")
	work, tmp, ids := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "ids")
	t.Setenv("TMPDIR", tmp)
	dir := filepath.Join(t.TempDir(), "traces")
	got := recordtest.See(t, work, "tracerag", "run", "--dir="+dir, "--id-file="+ids, "--", changes, "-replace", dir, "-exit", "7")
	if got.Code != 7 || !strings.Contains(got.Stderr, "tracerag: the trace cannot be saved in "+dir+": it is not a directory\n  it was saved as "+tmp) {
		t.Errorf("%v", got)
	}
	// What is proposed next is of that trace, and so is the file of ids.
	name, _ := os.ReadFile(ids)
	if path := strings.TrimSpace(string(name)); !strings.HasPrefix(path, tmp) || !strings.Contains(got.Stderr, "tracerag tree --dir="+dir+" "+path+"\n") {
		t.Errorf("the file of ids: %q, %v", name, got)
	}
	found := importLine.FindStringSubmatch(got.Stderr)
	if found == nil {
		t.Fatalf("nothing is to be imported: %v", got)
	}
	s := store.Open(t.TempDir())
	if got := recordtest.See(t, work, "tracerag", "import", "--dir="+s.Dir(), found[1]); got.Code != 0 {
		t.Errorf("import: %v", got)
	}
	if tr, _, err := s.Load("@last"); err != nil || tr.Exit.Code != 7 || recordtest.Calls(tr, "main.work") != 1 {
		t.Errorf("%v: %v", err, tr)
	}
	// A quiet run says it, too.
	_ = os.Remove(dir)
	got = recordtest.See(t, work, "tracerag", "run", "--quiet", "--dir="+dir, "--", changes, "-forbid", "yes", "-exit", "4")
	if got.Code != 4 || !strings.Contains(got.Stderr, "tracerag: the trace of this run is lost: it cannot be saved in "+dir+": file too large\n  nor elsewhere:\n") {
		t.Errorf("%v", got)
	}
}
