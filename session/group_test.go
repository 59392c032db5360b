package session

import (
	"os"
	"slices"
	"strings"
	"testing"

	"tracerag/redact"
	"tracerag/trace"
	"tracerag/trace/store"
)

// process is a run of another program, saved as the store keeps those of processes.
func process(t *testing.T, s *store.Store, paths ...string) store.Entry {
	t.Helper()
	tr := traced(paths...)
	tr.Recorder, tr.Program.MainPath = "probe", "example.com/helper"
	for i := range tr.Functions {
		tr.Functions[i].Package = "example.com/helper"
	}
	e, err := s.Processes().Save(tr)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// grouped saves a run that started processes.
func grouped(t *testing.T, s *store.Store, baseline string, processes []trace.Process, paths ...string) store.Entry {
	t.Helper()
	tr := traced(paths...)
	tr.Recorder, tr.Command, tr.Baseline, tr.Processes = "probe", []string{"./app"}, baseline, processes
	e, err := s.Save(tr)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// names lists the functions of a view's nodes, in call order.
func names(v *View) string {
	var out []string
	for i := range v.Trace.Nodes {
		out = append(out, v.Trace.Func(trace.NodeID(i)).Name)
	}
	return strings.Join(out, " ")
}

// A run is opened with the processes that it started, or alone; a process by its id, alone.
func TestOpenGroup(t *testing.T) {
	s := &Session{Store: store.Open(t.TempDir())}
	var warnings []string
	s.Warn = func(err error) { warnings = append(warnings, err.Error()) }
	helper := process(t, s.Store, "main.main", "main.main>main.work")
	other := process(t, s.Store, "main.main", "main.main>main.other")
	list := []trace.Process{
		{Program: "/bin/sh", Caller: 2, Before: 2, Why: "no Go program"},
		{Program: "/bin/sh", Caller: 2, Before: 2, Why: "no Go program"},
		{Program: "/src/helper", Caller: 2, Before: 2, Trace: helper.ID},
		{Program: "/src/helper", Caller: 2, Before: 2, Trace: other.ID},
	}
	run := grouped(t, s.Store, "", list, "main.main", "main.main>main.run", "main.main>main.end")
	open := func(name string, o TreeOptions) *View {
		t.Helper()
		views, err := s.Open([]string{name}, o)
		if err != nil {
			t.Fatal(err)
		}
		return views[0]
	}
	v := open(run.ID, TreeOptions{})
	if got, want := names(v), "main.main main.run example.com/helper.main example.com/helper.work example.com/helper.main example.com/helper.other main.end"; got != want {
		t.Errorf("the group has %s, want %s", got, want)
	}
	if got, want := v.Notes(), []string{"sh: 2 processes not recorded: no Go program"}; !slices.Equal(got, want) {
		t.Errorf("notes %q, want %q", got, want)
	}
	if v.Tree.Size != 6 {
		t.Errorf("%d nodes, want 6: processes of one program below one call are one", v.Tree.Size)
	}
	if got, want := names(open(run.ID, TreeOptions{Alone: true})), "main.main main.run main.end"; got != want {
		t.Errorf("alone it has %s, want %s", got, want)
	}
	if got, want := names(open(helper.ID, TreeOptions{})), "main.main main.work"; got != want {
		t.Errorf("the process has %s, want %s", got, want)
	}
	if len(warnings) > 0 {
		t.Errorf("warnings %q", warnings)
	}

	// What is gone is said, and the rest is shown.
	if err := s.Store.Processes().Remove(helper); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other.Path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := names(open(run.ID, TreeOptions{})), "main.main main.run main.end"; got != want {
		t.Errorf("without its processes it has %s, want %s", got, want)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "the calls of process helper "+helper.ID+" are not shown: it is not in ") || !strings.HasSuffix(warnings[0], "(and of 1 more)") {
		t.Errorf("warnings %q", warnings)
	}
}

// What the baseline's processes did is pruned, too.
func TestGroupPruned(t *testing.T) {
	s := &Session{Store: store.Open(t.TempDir())}
	first := process(t, s.Store, "main.main", "main.main>main.flags")
	second := process(t, s.Store, "main.main", "main.main>main.flags", "main.main>main.work")
	started := func(e store.Entry) []trace.Process {
		return []trace.Process{{Program: "/src/helper", Caller: 1, Before: 1, Trace: e.ID}}
	}
	base := grouped(t, s.Store.Baselines(), "", started(first), "main.main")
	run := grouped(t, s.Store, base.ID, started(second), "main.main")
	views, err := s.Open([]string{run.ID}, TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if v := views[0]; v.Tree.Size != 3 || v.Pruned != 1 {
		t.Errorf("%d nodes are left and %d pruned, want 3 and 1", v.Tree.Size, v.Pruned)
	}
}

// A secret in the command line of a process is masked wherever it comes.
func TestGroupMasked(t *testing.T) {
	const secret = "tr0ub4dor-and-3-horses"
	s := &Session{Store: store.Open(t.TempDir()), Mask: NewMasker(func() *redact.Redactor { return redact.New() })}
	helper := process(t, s.Store, "main.main")
	run := grouped(t, s.Store, "", []trace.Process{{Program: "/src/helper", Command: []string{"helper", "--password", secret}, Caller: 1, Before: 1, Trace: helper.ID, Calls: 1}}, "main.main")
	views, err := s.Open([]string{run.ID}, TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := views[0].Tree.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, secret) || !strings.Contains(text, `"--password"`) {
		t.Errorf("written: %s", text)
	}
}

// A file that lists one process again and again takes no more memory than it may.
func TestGroupTooLarge(t *testing.T) {
	s := &Session{Store: store.Open(t.TempDir())}
	s.Store.Limit = trace.Limit{Memory: 300 << 20}
	var warnings []error
	s.Warn = func(err error) { warnings = append(warnings, err) }
	var paths []string
	for _, f := range strings.Fields("a b c d e f g h i j") {
		for _, g := range strings.Fields("a b c d e f g h i j") {
			paths = append(paths, "main.main>main."+f+">main.x"+g)
		}
	}
	helper := process(t, s.Store, paths...)
	list := make([]trace.Process, 5000)
	for i := range list {
		list[i] = trace.Process{Program: "/src/helper", Trace: helper.ID}
	}
	run := grouped(t, s.Store, "", list, "main.main")
	views, err := s.Open([]string{run.ID}, TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(views[0].Trace.Nodes); n < 111 || n > 300<<10 {
		t.Errorf("%d nodes", n)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].Error(), "it takes more than") {
		t.Errorf("warnings %v", warnings)
	}
}

// A file that has each process start the next is refused before anything goes that deep.
func TestGroupTooDeep(t *testing.T) {
	s := &Session{Store: store.Open(t.TempDir())}
	var warnings []error
	s.Warn = func(err error) { warnings = append(warnings, err) }
	helper := process(t, s.Store, "main.main")
	list := make([]trace.Process, 100_000)
	for i := range list {
		list[i] = trace.Process{Parent: i, Program: "/src/helper", Trace: helper.ID, Caller: 1, Before: 1}
	}
	run := grouped(t, s.Store, "", list, "main.main")
	views, err := s.Open([]string{run.ID}, TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(views[0].Trace.Nodes); n != 1 {
		t.Errorf("%d nodes", n)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].Error(), "levels deep") {
		t.Errorf("warnings %v", warnings)
	}
}
