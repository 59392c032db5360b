//go:build !unix

package main

import "os/exec"

// together has a command and what it starts end together, where that is possible.
func together(*exec.Cmd) {}
