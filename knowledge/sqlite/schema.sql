-- Version 1. Rows of one declaration are kept apart by what changes them: decl has its position,
-- unit and what refers to it has what is derived from its tokens and its comments.

CREATE TABLE repository (
	id          INTEGER PRIMARY KEY,
	name        TEXT NOT NULL UNIQUE,
	root        TEXT NOT NULL UNIQUE,
	url         TEXT NOT NULL,
	revision    TEXT NOT NULL DEFAULT '',    -- the commit
	uncommitted BLOB NOT NULL DEFAULT x'',
	newest      INTEGER NOT NULL DEFAULT 0,
	updating    INTEGER NOT NULL DEFAULT 0,  -- number of the update that goes on; 0: none
	calls_made  BLOB NOT NULL DEFAULT x'',   -- key of the calls that are here
	calls_now   BLOB NOT NULL DEFAULT x''    -- key that calls of the snapshot have
);

CREATE TABLE module (
	repository INTEGER NOT NULL,
	ord        INTEGER NOT NULL,
	path       TEXT NOT NULL,
	detail     TEXT NOT NULL,                -- JSON of code.Module
	PRIMARY KEY (repository, ord)
) WITHOUT ROWID;

CREATE TABLE package (
	id         INTEGER PRIMARY KEY,
	repository INTEGER NOT NULL,
	path       TEXT NOT NULL,
	UNIQUE (path, repository)
);

CREATE TABLE file (
	id          INTEGER PRIMARY KEY,
	repository  INTEGER NOT NULL,
	path        TEXT NOT NULL,
	base        TEXT NOT NULL,               -- last element of path
	package     INTEGER NOT NULL,            -- that of its declarations: of "package x_test" another one
	directory   TEXT NOT NULL,               -- import path by directory
	module      INTEGER NOT NULL,            -- module.ord, or -1
	clause      TEXT NOT NULL,               -- name in the package clause
	class       INTEGER NOT NULL,            -- bits: see file.go
	platform    TEXT NOT NULL,
	build       TEXT NOT NULL,               -- constraint
	broken      INTEGER NOT NULL,
	imports     TEXT NOT NULL,               -- a line each
	problem     TEXT NOT NULL,
	size        INTEGER NOT NULL,
	mtime       INTEGER NOT NULL,            -- 0: not to be trusted
	hash        BLOB NOT NULL,
	blob        BLOB NOT NULL,
	calls       BLOB NOT NULL,
	UNIQUE (repository, path)
);
CREATE INDEX file_base ON file (base);

CREATE TABLE decl (
	id        INTEGER PRIMARY KEY,
	file      INTEGER NOT NULL,
	package   INTEGER NOT NULL,
	unit      INTEGER NOT NULL,
	kind      INTEGER NOT NULL,
	name      TEXT NOT NULL,
	short     TEXT NOT NULL COLLATE NOCASE,  -- name without the receiver
	nth       INTEGER NOT NULL,
	start     INTEGER NOT NULL,
	end       INTEGER NOT NULL,
	doc_start INTEGER NOT NULL,
	doc_end   INTEGER NOT NULL,
	line      INTEGER NOT NULL,
	end_line  INTEGER NOT NULL,
	head      INTEGER NOT NULL,
	broken    INTEGER NOT NULL
);
CREATE INDEX decl_file ON decl (file);
CREATE INDEX decl_unit ON decl (unit);
CREATE INDEX decl_short ON decl (short);
CREATE INDEX decl_package ON decl (package, name);

-- The number of a unit has its repository and group: see unit.go.
CREATE TABLE unit (
	id       INTEGER PRIMARY KEY,
	package  INTEGER NOT NULL,
	tokens   BLOB NOT NULL,
	comments BLOB NOT NULL,
	names    TEXT NOT NULL,                  -- of a group, a line each
	length   INTEGER NOT NULL                -- terms
);
CREATE INDEX unit_key ON unit (tokens, comments, package);

-- Units that may have lost their last declaration in an update that goes on.
CREATE TABLE orphan (unit INTEGER PRIMARY KEY);

CREATE TABLE member (
	unit INTEGER NOT NULL,
	name TEXT NOT NULL COLLATE NOCASE,
	ord  INTEGER NOT NULL,
	PRIMARY KEY (unit, ord)
) WITHOUT ROWID;
CREATE INDEX member_name ON member (name);

CREATE TABLE literal (
	unit INTEGER NOT NULL,
	ord  INTEGER NOT NULL,
	text TEXT NOT NULL,
	PRIMARY KEY (unit, ord)
) WITHOUT ROWID;

-- Rows have the number of their unit. The tokenizer takes terms as they are.
CREATE VIRTUAL TABLE posting USING fts5 (
	name, receiver, doc, package, body, literals,
	content = '', contentless_delete = 1,
	tokenize = "ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'"
);
CREATE VIRTUAL TABLE posting_place USING fts5vocab (posting, instance);

CREATE TABLE edge (
	caller INTEGER NOT NULL,
	kind   INTEGER NOT NULL,
	site   INTEGER NOT NULL,
	callee INTEGER NOT NULL,
	PRIMARY KEY (caller, kind, site, callee)
) WITHOUT ROWID;
CREATE INDEX edge_callee ON edge (callee);

CREATE TABLE run (
	id       INTEGER PRIMARY KEY,
	trace    TEXT NOT NULL UNIQUE,
	dir      TEXT NOT NULL,
	package  TEXT NOT NULL,
	test     TEXT NOT NULL,
	command  TEXT NOT NULL,
	revision TEXT NOT NULL,
	passed   INTEGER NOT NULL
);

-- Functions of runs, each once for all runs.
CREATE TABLE symbol (
	id      INTEGER PRIMARY KEY,
	package TEXT NOT NULL,
	name    TEXT NOT NULL,
	nth     INTEGER NOT NULL,
	base    TEXT NOT NULL,
	UNIQUE (package, name, nth, base)
);

CREATE TABLE ran (
	symbol INTEGER NOT NULL,
	run    INTEGER NOT NULL,
	calls  INTEGER NOT NULL,
	PRIMARY KEY (symbol, run)
) WITHOUT ROWID;
CREATE INDEX ran_run ON ran (run);

CREATE TABLE ran_call (
	caller INTEGER NOT NULL,
	callee INTEGER NOT NULL,
	run    INTEGER NOT NULL,
	count  INTEGER NOT NULL,
	PRIMARY KEY (caller, callee, run)
) WITHOUT ROWID;
CREATE INDEX ran_call_callee ON ran_call (callee);
CREATE INDEX ran_call_run ON ran_call (run);

CREATE TABLE revision (
	id         INTEGER PRIMARY KEY,
	repository INTEGER NOT NULL,
	name       TEXT NOT NULL,                -- the commit's hash
	time       INTEGER NOT NULL,
	subject    TEXT NOT NULL,
	UNIQUE (repository, name)
);
CREATE INDEX revision_time ON revision (repository, time);

CREATE TABLE revision_file (
	revision INTEGER NOT NULL,
	path     TEXT NOT NULL,
	PRIMARY KEY (revision, path)
) WITHOUT ROWID;
