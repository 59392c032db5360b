// Package index brings a store of package knowledge up to date with a repository.
//
// [Update] compares sizes and times of the files with those in the store, reads the files that
// differ, and parses those of which the text differs. What the store has under the hashes of a
// declaration is not made again. An update that ends half-way, by an error, by its context or
// because the process was killed, keeps what it wrote: the next one makes the rest.
//
// Beside files it takes in the history of a git repository, saved traces, and calls if a
// function for them is given: [Options].
//
// [Stale] says what changed since, by sizes and times alone: a hash of all of them tells that nothing did. [Refresh] is for commands that read
// a store: it brings up to date what takes less than a given time, and says what it left.
package index
