// Package here prints who calls it.
package here

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

//go:noinline
func Call(id string) {
	pc := make([]uintptr, 1)
	runtime.Callers(2, pc)
	frame, _ := runtime.CallersFrames(pc).Next()
	line := frame.Line
	if frame.Func != nil { // nil: the caller was inlined
		_, line = frame.Func.FileLine(frame.Entry)
	}
	os.Stdout.WriteString(strings.Join([]string{id, frame.Function, frame.File, strconv.Itoa(line)}, "\t") + "\n")
}
