package probe

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// counting checks what it computes.
var counting = built("./testdata/counting")

// Whenever a recorder is killed, while it attaches, records or detaches, the process goes
// on, counts right, and can be attached to.
func TestKilledAtAnyMoment(t *testing.T) {
	cmd := exec.Command(path(t, counting))
	in, err := cmd.StdinPipe() // the program ends with it
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer kill9(cmd)
	said := make(chan string, 1000)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			said <- lines.Text()
		}
		close(said)
	}()
	pid := cmd.Process.Pid
	before := text(t, pid)
	// goesOn waits until it has computed something anew.
	goesOn := func(what string) {
		t.Helper()
		for len(said) > 0 {
			<-said
		}
		for range 2 {
			select {
			case line, ok := <-said:
				if !ok || line != "right" {
					t.Fatalf("%s: the program says %q, and ends: %v", what, line, !ok)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s: the program does not go on", what)
			}
		}
	}
	goesOn("alone")
	plans := filepath.Join(t.TempDir(), "plans")
	t.Setenv("TRACERAG_TEST_PLANS", plans)
	start := time.Now()
	kill9(recorder(t, "attach", "attached", fmt.Sprint(pid)))
	took := time.Since(start)
	rounds := 60
	if testing.Short() {
		rounds = 12
	}
	restored := 0
	for round := range rounds {
		what := []string{"attach", "detach"}[round%2]
		r := recorder(t, what, "attaching", fmt.Sprint(pid))
		time.Sleep(time.Duration(rand.Int64N(int64(took))))
		kill9(r)
		goesOn(fmt.Sprintf("round %d, %s", round, what))
		if round%3 == 1 {
			continue // what is left piles up
		}
		l, err := attachTo(t, pid)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if l.Found() != "" {
			restored++
		}
		goesOn("recorded again")
		_, err = l.Detach()
		l.Close()
		if err != nil {
			t.Fatal(err)
		}
		goesOn("let go")
		if text(t, pid) != before || ownMappings(t, pid) != 0 {
			t.Fatalf("round %d: the code is what it was: %v; %d mappings are left", round, text(t, pid) == before, ownMappings(t, pid))
		}
	}
	if restored == 0 { // at least the first one's
		t.Error("no recorder that was killed has left anything")
	}
	t.Logf("%d recorders were killed, %d times something was put back; attaching took %v", rounds, restored, took)
}
