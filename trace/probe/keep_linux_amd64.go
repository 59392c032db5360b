package probe

import "tracerag/trace/probe/ptrace"

// Keep is a process of its own for as long as programs run whose starts somebody may have to
// allow: see [Children].
func Keep() error { return ptrace.Keep() }
