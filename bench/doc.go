// Package bench measures the recorders: what a recorded call costs, what a
// recorded run costs, and whether a recording is right. It has no code of its own
// but that of its tests.
//
// # Benchmarks
//
// Every figure is a ratio or a difference to the same program run alone in the
// same minute: a round runs all variants one after another, and what is reported
// comes from the medians, or the minima, over the rounds. Absolute times say
// little on a machine that others use, too.
//
//	go test -run '^$' -bench . -benchtime=1x ./bench -rounds 7 | go run ./bench/table
//
// is what `make bench` does: the benchmarks print their figures in the format of
// package testing, which benchstat understands, and bench/table lays them out and
// holds them against the bars that this project has set itself.
//
//   - BenchmarkCall: a call of fib, by recorders of all kinds.
//   - BenchmarkRun: whole runs of gojq, hugo and esbuild on large inputs.
//   - BenchmarkTeamLocate: locate by 8 clients at once, over 10 to 200 repositories.
//   - BenchmarkExecutions: which tests executed a function, over ten million rows.
//   - BenchmarkRebuild, BenchmarkRebuildCall, BenchmarkValues: the recorder by
//     rebuilding beside the probe, and values in the run itself.
//   - BenchmarkWhole: `tracerag run` from beginning to end, and its stages.
//   - BenchmarkWait: what somebody waits for with large programs that run for
//     moments: -rounds 10 at least.
//   - BenchmarkView: how soon a large trace is on the screen, and the memory that
//     its server takes. It needs a Chromium.
//   - BenchmarkFit: ranking the functions of large traces for a question, and fitting
//     them into a budget of tokens.
//   - BenchmarkIndex: indexing a module of 1.6 million lines, again when one file
//     changed, and searching more than 100,000 functions.
//   - BenchmarkSeen: the share of source-level calls that is seen in a program
//     as it is, against the same program built without inlining.
//
// # Tests
//
// Recordings are held against counts that were made by others: by the program
// itself (TestCounters), by the compiler's coverage counters (TestCovered), and
// against a recording of more (TestCallers). TestSoak runs real programs again
// and again and compares what they do with what they do alone; it runs when
// TRACERAG_SOAK says how often, as in `make soak`. TestStd does the same with the
// tests of Go's own packages, and TestMatrix with programs built in every way that the
// toolchain knows, its experiments included; they run when TRACERAG_STD is set, as in
// `make soak STD=1`.
package bench
