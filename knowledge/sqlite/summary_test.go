package sqlite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"tracerag/code"
	"tracerag/knowledge"
)

// TestVersion4 opens a store that had no summaries.
func TestVersion4(t *testing.T) {
	file := filepath.Join(t.TempDir(), "knowledge.db")
	older, err := open(t.Context(), file, migrations[:4])
	if err != nil {
		t.Fatal(err)
	}
	older.Close()
	s, err := Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x := knowledge.Summary{SummaryKey: knowledge.SummaryKey{Level: knowledge.DeclSummary}, Text: "new"}
	if err := s.SetSummaries(t.Context(), "m", []knowledge.Summary{x}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Summaries(t.Context(), "m", []knowledge.SummaryKey{x.SummaryKey}); err != nil || got[x.SummaryKey] != x {
		t.Errorf("%v %v", got, err)
	}
}

const keepingEnv = "TRACERAG_TEST_KEEPING"

// perSet is what one transaction of [TestSummariesKilled] has.
const perSet = 50

// TestSummariesKilled kills a process that keeps summaries: of each transaction all or nothing is
// there, and all that it said was kept.
func TestSummariesKilled(t *testing.T) {
	if file := os.Getenv(keepingEnv); file != "" {
		round, _ := strconv.Atoi(os.Getenv(keepingEnv + "_ROUND"))
		keepForever(file, round)
		return
	}
	s := openTemp(t)
	for round := range 4 {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSummariesKilled$")
		c.Env = append(os.Environ(), keepingEnv+"="+s.file, fmt.Sprint(keepingEnv, "_ROUND=", round))
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		var said int
		var mu sync.Mutex
		read := make(chan struct{})
		go func() {
			defer close(read)
			for {
				var n int
				if _, err := fmt.Fscanln(out, &n); err != nil {
					return
				}
				mu.Lock()
				said = n
				mu.Unlock()
			}
		}()
		for { // some milliseconds into its work
			mu.Lock()
			n := said
			mu.Unlock()
			if n > round {
				break
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(round) * 3 * time.Millisecond)
		_ = c.Process.Kill()
		<-read
		_ = c.Wait()
		for n := 1; n <= said+1; n++ {
			var keys []knowledge.SummaryKey
			for i := range perSet {
				keys = append(keys, groupKey(round, n, i))
			}
			got, err := s.Summaries(t.Context(), "m", keys)
			if err != nil || len(got) != perSet && (len(got) != 0 || n <= said) {
				t.Errorf("round %d, transaction %d of %d: %d of %d are there, %v", round, n, said, len(got), perSet, err)
			}
		}
	}
}

func groupKey(round, n, i int) knowledge.SummaryKey {
	return knowledge.SummaryKey{Level: knowledge.DeclSummary, Hash: code.Hash{byte(n), byte(n >> 8), byte(i), byte(round)}}
}

func keepForever(file string, round int) {
	s, err := Open(context.Background(), file)
	if err != nil {
		panic(err)
	}
	for n := 1; ; n++ {
		var list []knowledge.Summary
		for i := range perSet {
			list = append(list, knowledge.Summary{SummaryKey: groupKey(round, n, i), Text: strconv.Itoa(i)})
		}
		if err := s.SetSummaries(context.Background(), "m", list); err != nil {
			panic(err)
		}
		fmt.Println(n)
	}
}
