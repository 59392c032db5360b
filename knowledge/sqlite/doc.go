// Package sqlite keeps what is known of repositories in one file: a store of package knowledge.
//
// The file is an SQLite database in WAL mode, written and read by modernc.org/sqlite,
// which is SQLite translated to Go: it needs no C compiler. Words are in rows of its own and
// scored in Go: FTS5 takes ten times as long for a question of many words. Any number of
// processes may read while one writes; a second writer waits. A process may be killed at any
// moment: what one method of [knowledge.Writer] writes is one transaction.
//
// The file is derived but for the runs of traces that were removed since. Who
// deletes it loses the time to make it again.
package sqlite
