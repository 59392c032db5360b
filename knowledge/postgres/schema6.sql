-- Version 6. Tests of followed URLs are recorded, each commit once.

ALTER TABLE followed ADD COLUMN record boolean NOT NULL DEFAULT false;

CREATE TABLE recorded (
	project  int NOT NULL,
	url      text COLLATE "C" NOT NULL,
	revision text COLLATE "C" NOT NULL,
	tests    int NOT NULL,                   -- that have a trace
	failed   int NOT NULL,                   -- of these
	problem  text COLLATE "C" NOT NULL,      -- why not all of them have one; "": all have
	ended    timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (project, url, revision)
);
SELECT keep_apart('recorded');
