// Package rows is what the stores in databases have in common: how units are numbered, how
// their terms are kept in rows and scored, which declarations a name means, and how all of a store
// is written as text or copied into another one. It knows no database.
//
// Words are scored here and not by a database. So a search has the same hits in the same
// order in every store: SQLite's FTS5 takes ten times as long for a question of many words, and
// PostgreSQL's full text does not know how rare a word is.
package rows
