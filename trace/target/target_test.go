package target

import (
	"strings"
	"testing"

	"tracerag/trace/executable"
)

// A library has all that a Go program has, but cannot be started.
func TestLibrariesAreNoPrograms(t *testing.T) {
	for mode, program := range map[string]bool{"": true, "exe": true, "pie": true, "plugin": false, "c-shared": false, "shared": false, "c-archive": false} {
		f := &executable.File{Settings: []executable.Setting{{Key: "-compiler", Value: "gc"}}}
		if mode != "" {
			f.Settings = append(f.Settings, executable.Setting{Key: "-buildmode", Value: mode})
		}
		err := isProgram(f)
		if program != (err == nil) {
			t.Errorf("-buildmode=%s: %v, want that it is a program: %v", mode, err, program)
		}
		if err != nil && (!strings.Contains(err.Error(), mode) || !strings.Contains(err.Error(), "record the program that loads it")) {
			t.Errorf("-buildmode=%s: the error %q does not name the mode and the way out", mode, err)
		}
	}
}
