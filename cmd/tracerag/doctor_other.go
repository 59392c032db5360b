//go:build !linux

package main

import "runtime"

// doctorDebugger says what recorders need of the system. It is not tried: nobody
// has run tracerag here.
func doctorDebugger() finding {
	switch runtime.GOOS {
	case "darwin":
		return finding{"debugger", "note", "recording uses the system's debugserver", "xcode-select --install brings it; DevToolsSecurity -enable avoids the password"}
	case "windows":
		return finding{"debugger", "ok", "recording uses the system's debugging interface", ""}
	}
	return finding{"debugger", "missing", "no recorder works on " + runtime.GOOS, "record on linux, and import the trace"}
}
