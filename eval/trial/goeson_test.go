package trial

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"tracerag/llm"
	"tracerag/llm/llmtest"
)

// killedAt kills the process while it waits for the n-th answer of all its trials.
func (x *examinee) killedAt(n int) {
	x.t.Helper()
	x.mu.Lock()
	x.asked, x.release = make(chan int, 99), make(chan struct{})
	asked := x.asked
	first := x.n
	x.hang = func(k int) bool { return k-first >= n }
	x.mu.Unlock()
	cmd := x.process(1)
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
wait:
	for {
		select {
		case k := <-asked:
			if k-first >= n {
				_ = cmd.Process.Kill()
				<-ended
				break wait
			}
		case err := <-ended: // less than n were left
			if err != nil {
				x.t.Errorf("%v", err)
			}
			break wait
		}
	}
	x.set(func() { x.hang, x.asked = nil, nil })
}

// TestGoesOn breaks a trial off at each of several points, in each of several ways, and
// starts it again: nothing is lost, and nothing that was answered is asked again.
func TestGoesOn(t *testing.T) {
	whole := func(x *examinee) outcome {
		t.Helper()
		out := x.trial(nil)
		if out.err != nil || out.open != 0 {
			t.Errorf("%d open, %v\n%s", out.open, out.err, out.messages)
		}
		return out
	}
	t.Run("killed while it waits for an answer", func(t *testing.T) {
		x := newExaminee(t)
		for _, at := range []int{1, 2, 3, 9, 5} {
			x.killedAt(at)
		}
		if out := whole(x); !strings.Contains(out.messages, " was asked earlier and never answered") {
			t.Errorf("nothing is said of the lost answer\n%s", out.messages)
		}
		x.everything(0)
		out := whole(x)
		if x.everything(0); !strings.Contains(out.messages, "24 questions, 24 answered already") {
			t.Errorf("the trial that has nothing to do says\n%s", out.messages)
		}
	})
	t.Run("killed at any time", func(t *testing.T) {
		x := newExaminee(t)
		kills := 0
		for i := range 12 {
			cmd := x.process(2)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Duration(20+20*i)*time.Millisecond, func() { _ = cmd.Process.Kill() })
			if cmd.Wait() != nil {
				kills++
			}
		}
		whole(x)
		x.everything(2 * kills) // what was under way, or answered and not saved yet
	})
	for name, judge := range map[string]string{"interrupted": "", "interrupted before the judge": "judge"} {
		t.Run(name, func(t *testing.T) {
			x := newExaminee(t)
			x.set(func() {
				x.asked, x.release = make(chan int, 99), make(chan struct{})
				x.hang = func(n int) bool { return n == 5 }
			})
			change := func(o *Options) { o.Judge = judge }
			ended := make(chan outcome)
			go func() { ended <- x.trial(change) }()
			for n := range x.asked {
				if n == 5 {
					break
				}
			}
			if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond) // it is to come before the answer
			close(x.release)
			out := <-ended
			open := twiceQuestions - 5
			if judge != "" {
				open += 5 // answers without a judgement
			}
			if out.err != nil || out.open != open || x.requests() != 5 || !strings.Contains(out.messages, "5 of 24 questions answered") {
				t.Errorf("%d open, want %d, %v, after %d questions\n%s", out.open, open, out.err, x.requests(), out.messages)
			}
			x.set(func() { x.hang, x.asked = nil, nil })
			whole(x)
			x.everything(0)
		})
	}
	t.Run("the server fails now and then", func(t *testing.T) {
		x := newExaminee(t)
		var n int
		failing := llmtest.New(t, llmtest.Step{Handle: func(w http.ResponseWriter, r *http.Request) {
			if n++; n%4 == 0 {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			x.handle(w, r)
		}})
		out := x.trial(func(o *Options) {
			o.Config = func(model string) (llm.Config, error) {
				return llm.Config{Model: model, BaseURL: failing.URL(), MaxRetries: -1}, nil
			}
		})
		if out.open != 6 || !strings.Contains(out.messages, "18 of 24 questions answered") || !strings.Contains(out.messages, "no answer: twice ") {
			t.Errorf("%d open, messages:\n%s", out.open, out.messages)
		}
		whole(x)
		x.everything(0)
	})
	t.Run("more repetitions and models later", func(t *testing.T) {
		x := newExaminee(t)
		for _, repetitions := range []string{"repetitions: 1", "repetitions: 2"} {
			x.text = strings.Replace(twice, "repetitions: 3", repetitions, 1)
			x.trial(func(o *Options) { o.Models = []string{"one"} })
		}
		x.text = twice
		whole(x)
		x.everything(0)
	})
}

// A process that is killed reports nothing: only what it wrote is left.
func TestProcessCarriesOut(t *testing.T) {
	x := newExaminee(t)
	cmd := x.process(2)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	if err := cmd.Run(); err != nil || !strings.Contains(messages.String(), "24 of 24 questions answered") {
		t.Errorf("%v\n%s", err, &messages)
	}
	x.everything(0)
}
