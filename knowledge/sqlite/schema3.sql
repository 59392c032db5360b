-- Version 3. Vectors are kept under the hashes of what they were made of, so they outlive moves,
-- and a function that comes back has its own again.
CREATE TABLE vector (
	tokens   BLOB NOT NULL,
	comments BLOB NOT NULL,
	model    TEXT NOT NULL,
	numbers  BLOB NOT NULL,                  -- float32, little-endian, of length 1
	PRIMARY KEY (tokens, comments, model)
) WITHOUT ROWID;
