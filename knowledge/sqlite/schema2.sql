-- Version 2. Terms are kept by chunks of units instead of an FTS5 index, which scored every row
-- that has any term of a question. It can't be made from that index: what follows from the
-- files is made again.

DROP TABLE posting_place;
DROP TABLE posting;
DELETE FROM edge;
DELETE FROM literal;
DELETE FROM member;
DELETE FROM orphan;
DELETE FROM unit;
DELETE FROM decl;
DELETE FROM file;
DELETE FROM package;
UPDATE repository SET calls_made = x'', updating = 1;
ALTER TABLE unit DROP COLUMN length;

-- A chunk is up to 4,096 units of a repository and group: see posting.go.
CREATE TABLE chunk (
	id      INTEGER PRIMARY KEY,             -- number of its first unit >> 12
	lengths BLOB NOT NULL                    -- terms of each unit, four bytes each
);

-- Which units of a chunk have a term, and how often in which field.
CREATE TABLE posting (
	chunk INTEGER NOT NULL,
	term  TEXT NOT NULL,
	units BLOB NOT NULL,
	PRIMARY KEY (chunk, term)
) WITHOUT ROWID;
