-- Version 11. Changes that workers try, with the verdicts.

CREATE TABLE candidate (
	project  int NOT NULL,
	key      text COLLATE "C" NOT NULL,      -- hash of what is asked
	id       text COLLATE "C" NOT NULL,      -- what who asks calls it
	url      text COLLATE "C" NOT NULL,      -- "URL#REF"
	test     text COLLATE "C" NOT NULL,      -- that the change makes pass; "": none
	change   text COLLATE "C" NOT NULL,      -- a diff, or files with whole declarations
	asked    timestamptz NOT NULL DEFAULT now(),
	made     timestamptz,
	revision text COLLATE "C" NOT NULL DEFAULT '', -- that it was tried with
	verdict  text COLLATE "C",               -- JSON of trial.Verdict
	problem  text COLLATE "C" NOT NULL DEFAULT '', -- why there is no verdict
	PRIMARY KEY (project, key)
);
SELECT keep_apart('candidate');
