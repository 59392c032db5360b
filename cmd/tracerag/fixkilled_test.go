package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestFixKilled kills fix with SIGKILL at a random moment and starts it again: the change is the same, the user's
// tree is as it was, no question that was answered is asked again, and nothing of the killed process is left.
// TRACERAG_SOAK says how often.
func TestFixKilled(t *testing.T) {
	t.Parallel()
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	if text := os.Getenv("TRACERAG_SOAK"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatalf("TRACERAG_SOAK=%s is no number of rounds", text)
		}
	}
	r := newRepairs(t)
	r.change = func(question string) string {
		switch {
		case strings.Contains(question, "<<<TRIED"):
			return edit("return line(n)")
		case strings.HasPrefix(question, "This is not in the form"):
			return edit("return line(n + 1)")
		}
		return edit("return line(n - ") // does not parse
	}
	k := newKills(t, r)
	k.begin() // builds what the build cache lacks
	k.finish()
	k.forget()
	start := time.Now()
	k.begin()
	want := k.finish()
	usual := time.Since(start)
	if !strings.Contains(want, "+func Border(n int) string { return line(n) }\n") {
		t.Fatalf("the change: %s", want)
	}
	before, kept, began := k.tree(), k.kept(), time.Now()
	killed, tries, answered, inFlight := 0, 0, 0, 0
	for killed < rounds {
		if tries++; tries > 10+3*rounds {
			t.Fatalf("of %d processes %d were killed while they ran", tries, killed)
		}
		k.forget()
		asked := len(k.questions())
		c := k.begin()
		after := time.Duration(rand.Int64N(int64(usual)))
		time.Sleep(after)
		_ = c.Process.Kill()
		if c.Wait() != nil {
			killed++
		}
		at := time.Now()
		first := k.questions()[asked:]
		k.begin()
		got := k.finish()
		again := k.questions()[asked+len(first):]
		answered += len(first)
		for i, q := range first {
			if !slices.Contains(again, q) {
				continue
			}
			// The last one may not have been answered, or its answer not have been kept.
			if inFlight++; i < len(first)-1 || at.Sub(r.last) > time.Minute {
				t.Errorf("round %d: question %d of %d was asked again after the kill", tries, i+1, len(first))
			}
		}
		where := fmt.Sprintf("round %d, killed after %v of %v", tries, after, usual)
		if got != want {
			t.Errorf("%s: the change is\n%s\nwant\n%s", where, got, want)
		}
		if now := k.tree(); now != before {
			t.Errorf("%s: the user's tree was\n%s\nand is\n%s", where, before, now)
		}
		if left := k.left(); len(left) > 0 {
			t.Errorf("%s: left are\n%s", where, strings.Join(left, "\n"))
		}
		if now := k.kept(); !slices.Equal(now, kept) {
			t.Errorf("%s: kept was\n%s\nand is\n%s", where, strings.Join(kept, "\n"), strings.Join(now, "\n"))
		}
		if t.Failed() {
			return
		}
		if killed%10 == 0 {
			t.Logf("%d of %d, %v", killed, rounds, time.Since(began).Round(time.Second))
		}
	}
	t.Logf("%d of %d processes were killed while they ran (%v alone, %v for all); of %d questions until then, %d were in flight and asked again", killed, tries, usual.Round(time.Millisecond), time.Since(began).Round(time.Second), answered, inFlight)
}

// kills runs fix where what it leaves can be seen.
type kills struct {
	*repairs
	dirs        string // all of its directories are below
	cache, temp string
	marks       []string // of its processes
	command     *exec.Cmd
	out, said   bytes.Buffer
}

func newKills(t *testing.T, r *repairs) *kills {
	k := &kills{repairs: r, dirs: t.TempDir()}
	k.cache, k.temp = filepath.Join(k.dirs, "cache"), filepath.Join(k.dirs, "tmp")
	mark := filepath.Join(k.dirs, "path") // in PATH, which the sandbox's own process has, too
	for _, dir := range []string{k.cache, k.temp, mark} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	k.marks = []string{k.dirs, r.dir}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	r.env = append(r.env, "XDG_CACHE_HOME="+k.cache, "TMPDIR="+k.temp, "GOCACHE="+strings.TrimSpace(string(cache)), "PATH="+mark+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Cleanup(func() {
		if k.command != nil && k.command.ProcessState == nil {
			_ = k.command.Process.Kill()
			_ = k.command.Wait()
		}
	})
	return k
}

// begin starts fix.
func (k *kills) begin() *exec.Cmd {
	k.t.Helper()
	c := exec.Command(commandPath(k.t), "fix", "--test", "./table:TestBorder", "--candidates=2", "--parallel=1", "the border is cut")
	k.out.Reset()
	k.said.Reset()
	c.Dir, c.Env, c.Stdout, c.Stderr = k.dir, k.env, &k.out, &k.said
	c.WaitDelay = time.Minute
	if err := c.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.command = c
	return c
}

// finish waits for its end, and returns the change.
func (k *kills) finish() string {
	k.t.Helper()
	if err := k.command.Wait(); err != nil {
		k.t.Fatalf("%v: %s%s", err, k.said.String(), k.out.String())
	}
	return k.out.String()
}

// forget removes all that was kept.
func (k *kills) forget() {
	k.t.Helper()
	if err := os.RemoveAll(filepath.Join(k.dir, ".tracerag")); err != nil {
		k.t.Fatal(err)
	}
}

// questions are all that the model was asked, each with its temperature.
func (k *kills) questions() (all []string) {
	for _, q := range k.server.Requests() {
		all = append(all, string(q.Body))
	}
	return all
}

// tree is the user's tree and repository: names, modes, times and contents.
func (k *kills) tree() string {
	k.t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(k.dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".tracerag" {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if e.IsDir() {
			_, err := fmt.Fprintln(&b, name, info.Mode())
			return err
		}
		data, err := os.ReadFile(name)
		fmt.Fprintf(&b, "%s %v %v %x\n", name, info.Mode(), info.ModTime(), sha256.Sum256(data))
		return err
	})
	if err != nil {
		k.t.Fatal(err)
	}
	return b.String()
}

// kept are the names of what is kept in .tracerag. Names of traces are made of the time, and one that was just
// recorded when the process was killed is recorded again.
func (k *kills) kept() (names []string) {
	k.t.Helper()
	err := filepath.WalkDir(filepath.Join(k.dir, ".tracerag"), func(name string, e fs.DirEntry, err error) error {
		if err == nil {
			names = append(names, traceName.ReplaceAllString(strings.TrimPrefix(name, k.dir), "TRACE.pb.gz"))
		}
		return err
	})
	if err != nil {
		k.t.Fatal(err)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var traceName = regexp.MustCompile(`[0-9]{8}-[0-9.]+-[0-9a-f]+\.pb\.gz$`)

// left is what a process has left: temporary files, copies of the tree, mounts and processes.
func (k *kills) left() (left []string) {
	k.t.Helper()
	for _, pattern := range []string{filepath.Join(k.temp, "*"), filepath.Join(k.cache, "tracerag", "trials", "trial-*"), filepath.Join(k.cache, "tracerag", "trials", "*", "*.work-*")} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			k.t.Fatal(err)
		}
		left = append(left, names...)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		k.t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if slices.ContainsFunc(k.marks, func(m string) bool { return strings.Contains(line, m) }) {
			left = append(left, "mount: "+strings.TrimSpace(line))
		}
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		processes := k.processes()
		if len(processes) == 0 || time.Now().After(deadline) {
			return append(left, processes...)
		}
	}
}

// processes are those that fix or one of its commands started, and that still run.
func (k *kills) processes() (list []string) {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		k.t.Fatal(err)
	}
	for _, dir := range all {
		if dir == "/proc/"+strconv.Itoa(os.Getpid()) {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		if text := string(command) + string(environ) + cwd; slices.ContainsFunc(k.marks, func(m string) bool { return strings.Contains(text, m) }) {
			list = append(list, fmt.Sprintf("process %s: %q", filepath.Base(dir), command))
		}
	}
	return list
}
