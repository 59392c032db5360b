//go:build !linux

package doctor

import "runtime"

// debugger says what breakpoints need of the system. It is not tried: nobody
// has run them here.
func debugger() Finding {
	switch runtime.GOOS {
	case "darwin":
		return Finding{"debugger", "note", "breakpoints use the system's debugserver", "xcode-select --install brings it; DevToolsSecurity -enable avoids the password"}
	case "windows":
		if runtime.GOARCH == "amd64" {
			return Finding{"debugger", "ok", "breakpoints use the system's debugging interface", ""}
		}
	}
	return Finding{"debugger", "missing", "breakpoints do not work on " + runtime.GOOS + "/" + runtime.GOARCH, "give the package or the go command in place of a program"}
}
