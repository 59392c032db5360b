// Package postgres keeps what is known of repositories in a PostgreSQL database: a store of
// package knowledge for many machines and processes.
//
// One database serves several projects. Each row is of a project, and PostgreSQL itself (row-level
// security, which is forced also on the owner of the tables) shows a connection the rows of one
// project only: the one that it named when it was made, and only if its role was admitted to it.
// So a query that forgets the project finds nothing of another one. A role that row-level security
// does not bind, as a superuser, is refused.
//
// Several processes write at once. Those of one repository wait for each other by the lock on
// the repository's row, those of different ones do not. What one method of [knowledge.Writer] writes
// is one transaction; PostgreSQL may end one because of another one's locks, and then it is tried again.
//
// PostgreSQL's texts have no NUL and are UTF-8. What is not is escaped: see encode.
package postgres
