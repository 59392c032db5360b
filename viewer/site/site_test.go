package site_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"tracerag/viewer/site"
)

// serve serves a page that asks for a token before it reads a body, and then takes a while.
func serve(t *testing.T, takes time.Duration) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- site.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" {
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
			var in struct {
				Text string `json:"text"`
			}
			if r.Method == http.MethodGet {
				site.File("text/plain", []byte("a page"))(w, r)
				return
			}
			if !site.ReadBody(w, r, "question", &in) {
				return
			}
			select {
			case <-time.After(takes):
				if in.Text == "large" {
					in.Text = strings.Repeat("x", 64<<20)
				}
				new(site.Answers).Write(w, in.Text)
			case <-r.Context().Done(): // the client is gone
			}
		}))
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// TestSlowBody announces a body and does not send all of it: with a token and without one the connection ends.
func TestSlowBody(t *testing.T) {
	t.Cleanup(site.SetTimes(200*time.Millisecond, time.Minute))
	addr := serve(t, 0)
	for name, head := range map[string]string{
		"no token":      "",
		"nothing":       "Authorization: x\r\n",
		"another type":  "Authorization: x\r\nContent-Type: text/plain\r\n",
		"a part":        "Authorization: x\r\nContent-Type: application/json\r\n",
		"in the answer": "Authorization: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n%s\r\n{\"text\": \"a\"}", head)
			_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
			if _, err := io.Copy(io.Discard, c); err != nil && strings.Contains(err.Error(), "timeout") {
				t.Errorf("the connection is still held: %v", err)
			}
		})
	}
}

// TestSlowAnswer takes longer to answer than a body may take to come: nobody is sent away for that.
func TestSlowAnswer(t *testing.T) {
	t.Cleanup(site.SetTimes(100*time.Millisecond, 100*time.Millisecond))
	addr := serve(t, 500*time.Millisecond)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	r := bufio.NewReader(c)
	for _, ask := range []string{ // on one connection, the later ones after the time for an answer
		"POST / HTTP/1.1\r\nHost: x\r\nAuthorization: x\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"text\": \"a\"}",
		"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nAuthorization: x\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"text\": \"a\"}  ",
	} {
		fmt.Fprint(c, ask)
		time.Sleep(200 * time.Millisecond)
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("%q: %v", ask[:4], err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%q: %s", ask[:4], answer.Status)
		}
	}
}

// TestNobodyReads asks for a large answer and reads nothing of it for longer than one may take.
func TestNobodyReads(t *testing.T) {
	t.Cleanup(site.SetTimes(time.Minute, 200*time.Millisecond))
	c, err := net.Dial("tcp", serve(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: x\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{\"text\": \"large\"}")
	time.Sleep(2 * time.Second)
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, _ := io.Copy(io.Discard, c); n >= 64<<20 {
		t.Errorf("all %d bytes are still to be had", n)
	}
}

// TestMoreBehindABody refuses what follows a question.
func TestMoreBehindABody(t *testing.T) {
	addr := serve(t, 0)
	for body, want := range map[string]int{`{"text":"a"}` + "\n": 200, `{"text":"a"}{}`: 400, `{"text":"a"}x`: 400, `{"other":1}`: 400, ``: 400} {
		ask, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		ask.Header.Set("Authorization", "x")
		ask.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(ask)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%q: %s, want %d", body, answer.Status, want)
		}
	}
}
