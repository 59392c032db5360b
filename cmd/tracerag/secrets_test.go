package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tracerag/export"
	"tracerag/fixtures"
	"tracerag/llm/llmtest"
)

// TestKeyIsNowhere looks for the API key in everything that the commands print
// and write, while the servers that they ask do what they can to give it away.
// Only the requests may hold it.
func TestKeyIsNowhere(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("no recorder for this system")
	}
	if testing.Short() {
		t.Skip("starts sixty processes")
	}
	if !ownProcess(t) {
		return
	}
	program := fixtures.Build(t, "twice")
	t.Run("environment", func(t *testing.T) {
		s := newSecret(t)
		s.env = append(s.env, "OPENAI_API_KEY="+s.key)
		s.started()
		good := s.serve(llmtest.Say("By `main.feature`."))
		s.run(0, good, "run", "--baseline=-version", "--", program, "name")
		s.run(0, good, "run", "-q", "What is printed?", "--", program, "-unused")
		s.run(0, good, "ask", "What is printed?")
		s.run(0, good, "ask", "--continue", "And why?")
		s.run(0, good, "ask", "--compare", "@prev", "@last", "Why do they differ?")
		s.run(0, good, "ask", "--dry-run", "Why?")
		for _, format := range []string{"markdown", "xml", "json"} {
			s.run(0, good, "prompt", "--format", format, "Why?")
		}
		s.run(0, good, "prompt", "--json", "Why?")
		s.run(0, good, "prompt", "--tokens", "Why?")
		s.run(1, good, "compare", "@prev", "@last")
		s.run(1, good, "compare", "--json", "@prev", "@last")
		for _, format := range export.Formats() {
			s.run(0, good, "export", "--format", format.Name, "-o", filepath.Join(s.dir, "export"+format.Ext))
			s.run(0, good, "export", "--format", format.Name)
		}
		s.run(0, good, "list", "--json")
		s.run(0, good, "show", "--json")
		s.run(0, good, "tree", "--json")
		s.run(0, good, "doctor", program)
		s.run(0, good, "doctor", "--json", program)
		for name, step := range s.talkative() {
			s.run(1, s.serve(step), "ask", "--retries=1", "Why "+name+"?")
		}
		refusing := s.serve(s.talkative()["refused"])
		s.run(1, refusing, "ask", "--compare", "@prev", "@last", "Why?")
		s.run(125, refusing, "run", "-q", "Why?", "--", program)
		// A key has no place in a URL; one that was put there is not shown.
		in := url.QueryEscape(s.key)
		for _, base := range []string{"http://" + url.UserPassword("me", s.key).String() + "@127.0.0.1:1/v1",
			"http://127.0.0.1:1/v1?key=" + in, "http://127.0.0.1:1/v1?api-version=1&key=" + in} {
			s.run(1, base, "ask", "--retries=-1", "Why?")
			s.run(-1, base, "ask", "--dry-run", "Why?")
			s.run(-1, base, "doctor")
		}
		s.files(3, 4)
	})
	t.Run("file", func(t *testing.T) {
		s := newSecret(t)
		path := filepath.Join(t.TempDir(), "key") // not where the commands write
		if err := os.WriteFile(path, []byte(s.key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.env = append(s.env, "TRACERAG_API_KEY_FILE="+path)
		s.started()
		s.run(0, s.serve(llmtest.Say("By `main.feature`.")), "run", "-q", "What is printed?", "--", program)
		s.run(1, s.serve(s.talkative()["refused"]), "ask", "Why?")
		s.run(0, "https://example.com/v1", "doctor")
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		s.run(1, "https://example.com/v1", "ask", "Why?")
		s.run(0, "https://example.com/v1", "doctor")
		s.files(1, 1)
	})
	t.Run("experiment", func(t *testing.T) {
		s := newSecret(t)
		cache, err := exec.Command("go", "env", "GOCACHE").Output()
		if err != nil {
			t.Fatal(err)
		}
		s.env = append(s.env, "OPENAI_API_KEY="+s.key, "GOCACHE="+strings.TrimSpace(string(cache)))
		s.started()
		file := filepath.Join(s.dir, "experiment.yaml")
		if err := os.WriteFile(file, []byte(twiceExperiment(t, fixtures.Dir("twice"))), 0o600); err != nil {
			t.Fatal(err)
		}
		ask := []string{"eval", "experiment", "--retries=1", "--max-cost=5", "--repetitions=1", "--model=gpt-4o", "--judge=gpt-4o-mini", "--inquiry=who", "--variant=T", file}
		for _, step := range s.talkative() {
			s.run(1, s.serve(step), ask...)
		}
		s.run(0, s.serve(llmtest.Say("By `main.feature`.")), ask...)
		s.files(1, 0)
	})
}

// secret runs commands with a key.
type secret struct {
	t        *testing.T
	dir, key string
	env      []string
}

func newSecret(t *testing.T) *secret {
	dir := t.TempDir()
	return &secret{
		t: t, dir: dir,
		key: `sk-Distinctive/4f1c0ffee+"&=z`, // spelled in their own ways by URLs, JSON and shells
		env: []string{"TRACERAG_MODEL=gpt-4o", "TRACERAG_DIR=" + filepath.Join(dir, "traces")},
	}
}

// talkative are servers that give away the key that they were sent.
func (s *secret) talkative() map[string]llmtest.Step {
	header := map[string]string{"Retry-After-Ms": "1", "WWW-Authenticate": "Bearer " + s.key}
	steps := map[string]llmtest.Step{
		"refused":  llmtest.RefuseCode(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided: "+s.key+"."),
		"unknown":  llmtest.RefuseCode(http.StatusNotFound, "model_not_found", "no model for key "+s.key),
		"busy":     llmtest.Refuse(http.StatusTooManyRequests, "too many requests by "+s.key),
		"page":     {Status: http.StatusBadGateway, Header: header, Body: "<html>Authorization: Bearer " + s.key + "</html>"},
		"bare":     {Status: http.StatusForbidden, Header: header, Body: s.key},
		"encoded":  {Status: http.StatusForbidden, Header: header, Body: "/v1?key=" + url.QueryEscape(s.key)},
		"not JSON": {Status: http.StatusOK, Body: "Authorization: Bearer " + s.key},
		"redirects": {Handle: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/"+url.PathEscape(s.key), http.StatusFound)
		}},
	}
	steps["in the stream"] = llmtest.Step{Handle: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"error\":{\"message\":%q}}\n\n", "the key "+s.key+" was revoked")
	}}
	return steps
}

// serve starts a server that the key is sent to, and returns its base URL.
func (s *secret) serve(step llmtest.Step) string {
	srv := llmtest.New(s.t, step)
	s.t.Cleanup(func() {
		for _, r := range srv.Requests() {
			if r.Header.Get("Authorization") == "Bearer "+s.key {
				return
			}
		}
		s.t.Errorf("%s was never sent the key: this test shows nothing", srv.URL())
	})
	return srv.URL()
}

// run runs a command, which must end with a code (-1: any), and looks for the key
// in its output.
func (s *secret) run(code int, baseURL string, args ...string) {
	s.t.Helper()
	os.Setenv("OPENAI_BASE_URL", baseURL)
	done := runAsUser(s.t, args...)
	line := strings.Join(args, " ")
	if code >= 0 && done.code != code {
		s.t.Errorf("%s: exit code %d, want %d\n%s", line, done.code, code, done.stderr)
	}
	s.look(line+": standard output", []byte(done.stdout))
	s.look(line+": standard error", []byte(done.stderr))
}

// started makes this process one that has the environment.
func (s *secret) started() {
	inDirectory(s.t, s.dir, append([]string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH"), "GORACE=" + goRace}, s.env...))
}

// files looks for the key in all that was written, in the names, too, which is
// so many traces and answers at least.
func (s *secret) files(wantTraces, wantAnswers int) {
	traces, answers := 0, 0
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		s.look("a file name", []byte(path))
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		s.look(path, data)
		switch {
		case strings.HasSuffix(path, ".pb.gz"):
			traces++
		case strings.Contains(path, ".ask-"):
			answers++
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
	if traces < wantTraces || answers < wantAnswers {
		s.t.Errorf("only %d traces and %d answers were written: the test is broken", traces, answers)
	}
}

// look looks for the key as it is and as others spell it, packed and unpacked.
func (s *secret) look(where string, data []byte) {
	s.t.Helper()
	if z, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		plain, err := io.ReadAll(z)
		if err != nil {
			s.t.Errorf("%s: %v", where, err)
		}
		s.look(where+", unpacked", plain)
	}
	for _, form := range []string{s.key, url.QueryEscape(s.key), url.PathEscape(s.key), strings.ReplaceAll(s.key, `"`, `\"`),
		base64.StdEncoding.EncodeToString([]byte(s.key)), "Distinctive"} {
		if i := bytes.Index(data, []byte(form)); i >= 0 {
			s.t.Errorf("%s holds the key: %q", where, data[max(0, i-60):min(len(data), i+60)])
			return
		}
	}
}
