package main

// Exit codes. "run" has those of the program that it runs; its own failures are
// those that docker, env and timeout use for theirs, which programs avoid.
const (
	exitOK       = 0
	exitFailure  = 1 // what was asked for could not be done; compare: the runs differ
	exitUsage    = 2 // the command line is wrong; compare: any error
	exitTooLarge = 3 // the prompt does not fit the model's window, or the budget

	exitRunFailed   = 125 // run: tracerag itself failed
	exitRunCannot   = 126 // run: the program cannot be executed or recorded
	exitRunNotFound = 127 // run: program not found
	exitInterrupted = 130 // run: interrupted in the run of the baseline; attach: before the recording began; index: what was done is kept
)
