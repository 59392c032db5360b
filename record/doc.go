// Package record makes saved traces of a specification: it chooses the recorder, runs
// the baseline and the program, observes values in a second run, and saves the trace,
// elsewhere if its store fails.
//
// A [Spec] says what is recorded. A [Runner] records it, in one of these ways:
//
//   - [Runner.Run]: a program that is there;
//   - [Runner.Go]: what a go command builds. The go command starts this program in place
//     of each program that it has built, and [Job.Run] records that;
//   - [Runner.Each]: each test of a test program in a run of its own;
//   - [Runner.Windows] and [Runner.Attach]: a program that runs on while stretches of its
//     run, the windows, become traces; [Ask] starts and stops them from another process.
//
// A caller whose standard input and output must not be shared with the program records
// in a process of its own, a [Child], which passes back a [Report].
//
// Nothing is printed here but what the recorded program prints. What a user may want to
// know meanwhile is an [Event]; what went wrong is an error of a type of its own.
//
// # A new recorder
//
// A recorder is a package below trace, beside trace/probe and trace/breakpoint, with one
// function from a [target.Target] to a [trace.Trace]. [Options] names it, and
// recorder.go chooses it and says when another one is taken. The flag --recorder
// (cmd/tracerag/recorders.go) and package doctor name the recorders, too.
package record
