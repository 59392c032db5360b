package sandbox

import (
	"context"
	"fmt"
	"os"
)

// tried is a mechanism, and why it can't be had here.
type tried struct {
	name    string
	refused error
}

// mechanisms are all that there are, the strongest first, tried until one works. What is
// set somewhere doesn't tell: kernels, distributions and containers each refuse in their
// own way. They are tried in a directory below the one named, "" for the system's temporary directory.
func (s *Sandbox) mechanisms(ctx context.Context, below string) []tried {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tried != nil {
		return s.tried
	}
	var list []tried
	for _, name := range []string{namespaces, landlock, watched} {
		err := s.try(ctx, name, below)
		if ctx.Err() != nil {
			return list
		}
		list = append(list, tried{name, err})
		if err == nil {
			break
		}
	}
	s.tried = list
	return list
}

// try prepares a command without running one.
func (s *Sandbox) try(ctx context.Context, mechanism, below string) error {
	dir, err := os.MkdirTemp(below, "tracerag-sandbox-")
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	defer os.RemoveAll(dir)
	_, err = s.inside(ctx, Command{Dir: dir, Write: []string{dir}}, mechanism)
	return err
}
