// Package jobs has what is to be done for a project's knowledge, in a queue that any number of workers share.
//
// The queue is river's, in PostgreSQL, beside the data: a job is added in the transaction of what makes it necessary.
// Each project has a queue of its own, which only roles may use that were admitted to it.
//
// A [Task] says what is to be done and for which version of it. While one is waiting or running an equal one
// is not added. One that fails is tried again, later each time, until it is set aside with its error.
//
// A [Worker] works in sessions. A session is over when its connection is: PostgreSQL knows when
// a process is killed, and the other workers take its jobs at once. A worker that was cut off and lives on can
// write nothing more, neither knowledge nor states of jobs: so no two work on one job.
package jobs
