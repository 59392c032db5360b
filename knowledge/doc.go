// Package knowledge is what tracerag knows of repositories without running them, and what
// their recorded runs add: units, their versions, words, calls, runs.
//
// Everything that is derived from a unit is kept under the hashes of what it was made of
// (see package code). So an update makes exactly what has no entry under today's
// hashes: to continue after an interruption, to bring a store up to date and to share the work
// are the same thing.
//
// A store is a [Reader] and a [Writer]. Package knowledge/sqlite has the one for a developer's
// machine. Package knowledge/index finds out what changed and fills it, package locate reads it.
//
// Three kinds of facts are in a store:
//
//   - Positions: files, and where in them declarations are. They follow the files.
//   - Derived facts: the terms and string literals of a declaration ([Facts]), kept under its
//     hashes, and the calls of a repository, kept under a hash of all that they depend on.
//   - Observed facts: runs and commits. They never change; they come and go.
package knowledge
