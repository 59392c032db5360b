//go:build unix

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tracerag/fixtures"
	"tracerag/trace"
)

// TestOneCtrlCEndsAnAnswer: within a second, whatever the server or the reader of our
// output does; what came is kept and marked, and the exit code says that it is not all.
func TestOneCtrlCEndsAnAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes, and waits for them")
	}
	const piece = `data: {"choices":[{"delta":{"content":"all work and no play "}}]}` + "\n\n"
	asked := make(chan bool, 100)
	handle := func(answer func(w http.ResponseWriter, r *http.Request)) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			asked <- true
			answer(w, r)
		}))
		t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
		return s.URL + "/v1"
	}
	silent := handle(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	slow := handle(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			io.WriteString(w, piece)
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
	})
	busy := handle(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "50")
		w.WriteHeader(429)
	})
	dir := t.TempDir()
	tr := &trace.Trace{Recorder: "probe", Command: []string{"./app"}}
	b := trace.NewBuilder(tr)
	b.Call(trace.Root{Kind: trace.RootMain}, []trace.Frame{{Func: b.Func(trace.Function{Name: "main.main", Package: "main"})}}, 1)
	var file bytes.Buffer
	if err := b.Finish().Write(&file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run.pb.gz"), file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	twice := fixtures.Build(t, "twice")
	for _, c := range []struct {
		name, server string
		args         []string
		blocked      bool // our output is not read
		kept         bool // some of the answer has come
	}{
		{"ask, silent", silent, []string{"ask", "./run.pb.gz", "why?"}, false, false},
		{"ask, slow", slow, []string{"ask", "./run.pb.gz", "why?"}, false, true},
		{"ask, busy", busy, []string{"ask", "./run.pb.gz", "why?"}, false, false},
		{"ask, nobody reads", slow, []string{"ask", "./run.pb.gz", "why?"}, true, true},
		{"run -q, silent", silent, []string{"run", "-q", "why?", "--", twice}, false, false},
		{"run -q, slow", slow, []string{"run", "-q", "why?", "--", twice}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if old, _ := filepath.Glob(filepath.Join(dir, "*.ask-*.json")); len(old) > 0 {
				for _, f := range old {
					os.Remove(f)
				}
			}
			cmd := exec.Command(commandPath(t), c.args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "TRACERAG_DIR="+dir, "TRACERAG_MODEL=m", "OPENAI_API_KEY=", "OPENAI_BASE_URL="+c.server)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if c.blocked {
				r, w, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				defer w.Close()
				cmd.Stdout = w
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-asked
			time.Sleep(300 * time.Millisecond)
			if c.blocked { // until a pipe of 64 KiB is full
				time.Sleep(6 * time.Second)
			}
			begin := time.Now()
			cmd.Process.Signal(syscall.SIGINT)
			kill := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
			_ = cmd.Wait()
			kill.Stop()
			if took := time.Since(begin); took > 1500*time.Millisecond { // of which the machine may take half
				t.Errorf("it took %v", took)
			}
			if code := cmd.ProcessState.ExitCode(); code <= 0 {
				t.Errorf("exit code %d\n%s", code, &errs)
			}
			saved, _ := filepath.Glob(filepath.Join(dir, "*.ask-*.json"))
			if c.kept != (len(saved) == 1) {
				t.Fatalf("%d answers are saved\n%s", len(saved), &errs)
			}
			if c.kept {
				text, err := os.ReadFile(saved[0])
				if err != nil || !strings.Contains(string(text), `"incomplete": true`) || !strings.Contains(string(text), "all work and no play") {
					t.Errorf("saved: %s, %v", text, err)
				}
				if !c.blocked && !strings.Contains(out.String(), "all work and no play") {
					t.Errorf("printed: %q", out.String())
				}
			}
		})
	}
}
