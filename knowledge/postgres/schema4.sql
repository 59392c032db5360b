-- Version 4. Traces, whole: what was recorded, of which module and commit. Rows of table run have the functions.

CREATE TABLE trace (
	project  int NOT NULL,
	id       text COLLATE "C" NOT NULL,
	module   text COLLATE "C" NOT NULL,
	name     text COLLATE "C" NOT NULL,      -- that the user gave it
	recorded timestamptz NOT NULL,
	file     bytea NOT NULL,                 -- gzip-compressed pprof
	PRIMARY KEY (project, id)
);
ALTER TABLE trace ALTER file SET STORAGE EXTERNAL; -- it is compressed
SELECT keep_apart('trace');

-- People name functions without their packages: "Parse" of "Parse", "T.Parse" and "(*T).Parse".
ALTER TABLE symbol ADD COLUMN last text COLLATE "C" GENERATED ALWAYS AS (substring(name FROM '[^.]*$')) STORED;
CREATE INDEX symbol_last ON symbol (project, last);
