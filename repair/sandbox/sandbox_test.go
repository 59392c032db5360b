package sandbox

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEnvironmentHasNoKeys(t *testing.T) {
	env := Environment([]string{"PATH=/bin", "OPENAI_API_KEY=k", "GITHUB_TOKEN=t", "GOPROXY=https://u:p@proxy", "CGO_CFLAGS=-O1", "HOME=/home/u"}, "/scratch", false)
	for _, kv := range []string{"PATH=/bin", "CGO_CFLAGS=-O1", "GOPROXY=off"} {
		if !slices.Contains(env, kv) {
			t.Errorf("%s is missing: %q", kv, env)
		}
	}
	for _, kv := range []string{"OPENAI_API_KEY=k", "GITHUB_TOKEN=t", "GOPROXY=https://u:p@proxy", "HOME=/home/u"} {
		if slices.Contains(env, kv) {
			t.Errorf("%s was passed", kv)
		}
	}
}

// TestEnvironmentHasEachVariableOnce: a setting counts for programs that take the first of
// two values, and for those that take the last.
func TestEnvironmentHasEachVariableOnce(t *testing.T) {
	env := Environment([]string{"PATH=/old", "PATH=/bin", "GOFLAGS=-v"}, "/scratch", false, "GOFLAGS=-mod=mod", "GOCACHE=/cache", "A=1", "A=2")
	seen := map[string]string{}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if _, again := seen[name]; again {
			t.Errorf("%s is there twice: %q", name, env)
		}
		seen[name] = value
	}
	for name, want := range map[string]string{"PATH": "/bin", "GOFLAGS": "-mod=mod", "GOCACHE": "/cache", "A": "2", "HOME": filepath.Join("/scratch", "home")} {
		if seen[name] != want {
			t.Errorf("%s=%q, want %q", name, seen[name], want)
		}
	}
}

func TestTimeAndOutput(t *testing.T) {
	var out bytes.Buffer
	s := New(nil)
	r, err := s.Run(context.Background(), Command{Args: []string{"sleep", "20"}, Dir: t.TempDir(), Env: os.Environ(), Limits: Limits{Time: 200 * time.Millisecond}})
	if err != nil || r.Stopped != Time {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = s.Run(context.Background(), Command{Args: []string{"yes"}, Dir: t.TempDir(), Env: os.Environ(), Stdout: &out, Limits: Limits{Output: 1000, Time: 10 * time.Second}})
	if err != nil || r.Stopped != Output || out.Len() != 1000 {
		t.Errorf("%+v, %v, %d bytes", r, err, out.Len())
	}
}
