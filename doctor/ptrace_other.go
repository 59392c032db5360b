//go:build !linux

package doctor

import "runtime"

// debugger says what recorders need of the system. It is not tried: nobody
// has run tracerag here.
func debugger() Finding {
	switch runtime.GOOS {
	case "darwin":
		return Finding{"debugger", "note", "recording uses the system's debugserver", "xcode-select --install brings it; DevToolsSecurity -enable avoids the password"}
	case "windows":
		return Finding{"debugger", "ok", "recording uses the system's debugging interface", ""}
	}
	return Finding{"debugger", "missing", "no recorder works on " + runtime.GOOS, "record on linux, and import the trace"}
}
