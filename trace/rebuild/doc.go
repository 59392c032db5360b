// Package rebuild records programs that the go command builds: each function of theirs calls a recorder first, which is
// compiled into the Go runtime.
//
// Nothing is written into the user's files. The go command starts its compiler through this program ([Tool], by -toolexec),
// which gives the compiler other sources: those of all packages outside the standard library, and of package runtime.
// The go command's flag -overlay would do the same without a process between, but refuses to replace what is in the
// module cache, and with -cover the inserted calls would count as statements. Builds are cached as usual: the
// compiler's version names the recorder. [Record] starts the program and reads what it recorded.
//
// # What is inserted
//
// One call, and a test of a mark if lines are asked for, right behind the brace that begins the body of a function or function literal, and of each loop over
// what may be an iterator (rewrite.go). It is on the line of the brace, so that all lines keep their
// numbers. Inlining is switched off by package gocmd, as for every recorder, or
// inlined bodies would be taken for calls in the frame of their caller. To tell these apart would gain little: the call of the recorder
// leaves hardly a body small enough. Of gojq's processor time, 1.46 times that of the program as it is without lines and 1.49 with them,
// inlining all that can be makes 1.40 and 1.49, in wrong trees; 1.20 is the program without inlining and without a recorder.
//
// # How the recorder works
//
// It is the probe's algorithm (package payload) in Go: for each goroutine a shadow stack of the depths, nodes and return
// addresses of calls that may not have returned, in a word that runtime.g gets. Nothing is done at returns: an entry's
// call is over if it is not above the new one on the stack, if its return address is not in its
// place, or if the chain of frame pointers passes it over. So panics, recover, Goexit, callbacks and loops over iterators need nothing
// of their own. A deferred call at each return would have made all functions slower, and would have had to
// be kept out of loop bodies.
//
// The memory (memory.go) is shared with the recorder, and outlives the program in whichever way it ends: on Linux a file
// in no directory, elsewhere a temporary file that is removed by itself (share_*.go; map_*.go.txt on the program's side). Names, files and
// lines are those of the built program: the tree has addresses.
//
// # Lines
//
// Marks, bytes of the same memory, say which statements began (rewrite_lines.go, lines.go). The argument [Mark] of the compiler, which the
// tool takes out, asks for them: so both flavours of a package are in the go command's cache, beside one standard library.
//
// # Limits
//
// Linux, macOS and Windows on amd64 and arm64. Functions marked go:nosplit, those that cgo generates, and those not written in Go are listed by name.
package rebuild
