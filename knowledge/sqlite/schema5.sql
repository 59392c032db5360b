-- Version 5. What models said: summaries under the hash of what they were made of, and answers
-- under that of all that was asked. Neither belongs to a repository: what moves, or comes back,
-- has its own again.
CREATE TABLE summary (
	level INTEGER NOT NULL,                  -- knowledge.Level
	hash  BLOB NOT NULL,
	model TEXT NOT NULL,
	text  TEXT NOT NULL,
	substitute INTEGER NOT NULL,               -- 1: the model gave none that was right
	PRIMARY KEY (level, hash, model)
) WITHOUT ROWID;
CREATE TABLE answer (
	key    TEXT PRIMARY KEY,
	answer BLOB NOT NULL
) WITHOUT ROWID;
