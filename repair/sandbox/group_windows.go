package sandbox

import "os/exec"

func group(*exec.Cmd)    {}
func endGroup(*exec.Cmd) {}
