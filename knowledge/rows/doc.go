// Package rows is what the stores in databases have in common: what a row is made of and read into, how
// units are numbered, how their terms are kept in rows and scored, which declarations a name means,
// which rows a change touches, and how all of a store is written as text or copied into another one. It
// knows no database: a store hands it a [Query], with the SQL of its own, and gets what the rows say.
// Queries that SQLite and PostgreSQL have in common, with the columns as they are read, are here.
//
// Words are scored here and not by a database. So a search has the same hits in the same
// order in every store: SQLite's FTS5 takes ten times as long for a question of many words, and
// PostgreSQL's full text does not know how rare a word is.
package rows
