package bench

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tracerag/fixtures"
	"tracerag/trace"
	"tracerag/trace/store"
)

// tested is a test binary, and how it is run.
type tested struct {
	name string
	path string
	args []string
	dir  string // its package's
	env  []string
}

// verdicts are the lines of a test's output that say how a test ended, without the
// time that it took. Tests that run side by side end in any order, so they are sorted.
func verdicts(stdout string) []string {
	var all []string
	for line := range strings.Lines(stdout) {
		if m := verdict.FindStringSubmatch(line); m != nil {
			all = append(all, m[1])
		}
	}
	slices.Sort(all)
	return all
}

// Other goroutines may write meanwhile, so that a verdict begins behind their text.
var verdict = regexp.MustCompile(`(--- (?:PASS|FAIL|SKIP): \S+|^(?:PASS|FAIL)$)`)

// differ lists the verdicts that one run has, and the other has not.
func differ(got, want []string) []string {
	count := map[string]int{}
	for _, v := range got {
		count[v]++
	}
	for _, v := range want {
		count[v]--
	}
	var all []string
	for _, v := range slices.Sorted(maps.Keys(count)) {
		switch n := count[v]; {
		case n > 0:
			all = append(all, "+ "+v)
		case n < 0:
			all = append(all, "- "+v)
		}
	}
	return all
}

// result is a line of the table that is printed in the end.
type result struct {
	name, mode string
	calls      int64
	text       string
	ratio      float64 // of the time, to that alone
}

func printResults(t *testing.T, all []result) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%-28s %-34s %13s  %6s  %s\n", "", "", "calls", "ratio", "result")
	for _, r := range all {
		ratio := "" // where nothing was recorded
		if r.ratio > 0 {
			ratio = fmt.Sprintf("%.1f", r.ratio)
		}
		fmt.Fprintf(&b, "%-28s %-34s %13d  %6s  %s\n", r.name, r.mode, r.calls, ratio, r.text)
	}
	t.Log("\n" + b.String())
}

// alone runs a test binary without a recorder.
func (p tested) alone(t *testing.T) output {
	t.Helper()
	return run{args: append([]string{p.path}, p.args...), dir: p.dir, env: p.env}.alone(t, true)
}

// recorded runs it under tracerag run with these flags and returns the trace, or nil
// where there is none.
func (p tested) recorded(t *testing.T, flags ...string) (output, *trace.Trace, error) {
	t.Helper()
	traces := t.TempDir()
	defer os.RemoveAll(traces) // they may be large
	words := slices.Concat([]string{tracerag(t), "run", "--quiet", "--dir", traces}, flags, []string{"--", p.path}, p.args)
	o := run{args: words, dir: p.dir, env: append(slices.Clone(p.env), "XDG_CACHE_HOME="+plans(t))}.alone(t, true)
	tr, _, err := store.Open(traces).Load("@last")
	if err == nil {
		err = tr.Check()
	}
	return o, tr, err
}

// plans is a cache that all recordings of a test share.
func plans(t *testing.T) string {
	t.Helper()
	dir, err := fixtures.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "plans")
}

// hold runs a test binary alone and recorded, and requires the same verdicts and exit
// code. Where they differ it is run twice more alone: a test that does not end the same
// way three times is left out, and named, and so is one of which it is known why it can
// tell.
func (p tested) hold(t *testing.T, mode string, want output, different map[string]string, flags ...string) result {
	t.Helper()
	start := time.Now()
	got, tr, err := p.recorded(t, flags...)
	r := result{name: p.name, mode: mode, text: "same", ratio: time.Since(start).Seconds() / max(want.wall.Seconds(), 0.01)}
	if err != nil {
		t.Errorf("%s, %s: no trace: %v\n%s", p.name, mode, err, tail(got.stderr))
		r.text = "NO TRACE"
		return r
	}
	r.calls, r.ratio = tr.Calls(), tr.Duration.Seconds()/max(want.wall.Seconds(), 0.01)
	diff := differ(verdicts(got.stdout), verdicts(want.stdout))
	if len(diff) == 0 && got.code == want.code {
		return r
	}
	unsteady := map[string]string{}
	for range 2 {
		for _, d := range differ(verdicts(p.alone(t).stdout), verdicts(want.stdout)) {
			unsteady[top(d)] = "it does not end the same way alone"
		}
	}
	excused := map[string]bool{}
	var left []string
	for _, d := range diff {
		name := top(d)
		if why := cmp.Or(different[name], unsteady[name]); why != "" {
			excused[name+": "+why] = true
		} else {
			left = append(left, d)
		}
	}
	// If one ends otherwise, so does the whole.
	if len(excused) > 0 {
		left = slices.DeleteFunc(left, func(d string) bool { return d[2:] == "PASS" || d[2:] == "FAIL" })
	}
	if len(left) > 0 || len(excused) == 0 {
		r.text = fmt.Sprintf("DIFFERS: %d verdicts, exit code %d, not %d", len(left), got.code, want.code)
		t.Errorf("%s, %s: exit code %d, want %d; verdicts (+ recorded, - alone)\n%s\n%s\n%s", p.name, mode, got.code, want.code,
			strings.Join(left, "\n"), failures(got.stdout), tail(got.stderr))
		return r
	}
	r.text = "same but for " + strings.Join(slices.Sorted(maps.Keys(excused)), ", ")
	return r
}

// top is the name of the test of a difference, without its subtest's.
func top(diff string) string {
	name, _, _ := strings.Cut(diff[strings.LastIndexByte(diff, ' ')+1:], "/")
	return name
}

// failures are the lines around failed tests.
func failures(stdout string) string {
	lines := strings.Split(stdout, "\n")
	var b strings.Builder
	for i, line := range lines {
		if strings.Contains(line, "--- FAIL") || strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			fmt.Fprintln(&b, strings.Join(lines[max(0, i-10):min(len(lines), i+5)], "\n"))
		}
	}
	return tail(b.String())
}

// tail is the end of a long text.
func tail(s string) string {
	const most = 4000
	if len(s) > most {
		s = "..." + s[len(s)-most:]
	}
	return s
}
