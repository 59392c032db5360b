-- Version 7. Reports whose places workers find, with the answers.

CREATE TABLE report (
	project int NOT NULL,
	key     text COLLATE "C" NOT NULL,       -- hash of what is asked
	id      text COLLATE "C" NOT NULL,       -- what who asks calls it
	text    text COLLATE "C" NOT NULL,
	within  text COLLATE "C" NOT NULL,
	asked   timestamptz NOT NULL DEFAULT now(),
	made    timestamptz,
	answer  text COLLATE "C",                -- JSON
	PRIMARY KEY (project, key)
);
SELECT keep_apart('report');
