//go:build !linux

package sandbox

import "context"

func (s *Sandbox) run(ctx context.Context, c Command) (Result, error) { return s.plain(ctx, c) }

// Inner is the inner step, which only Linux has.
func Inner() int { return 2 }

// tried is a mechanism, and why it can't be had here.
type tried struct {
	name    string
	refused error
}

func (s *Sandbox) mechanisms(context.Context, string) []tried { return nil }

func enforced(string) []Enforced { return plainly() }
