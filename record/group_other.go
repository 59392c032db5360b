//go:build !unix && !windows

package record

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

// askToEnd ends a process: it cannot be asked.
func askToEnd(p *os.Process) { _ = p.Kill() }
