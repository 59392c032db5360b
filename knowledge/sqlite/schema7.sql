-- Version 7. In how many commits of a repository a term is: a report is routed by it to one of many
-- repositories, whose commits nobody wants to read for it.

CREATE TABLE subject (
	term       TEXT NOT NULL,
	repository INTEGER NOT NULL,
	commits    INTEGER NOT NULL,
	PRIMARY KEY (term, repository)
) WITHOUT ROWID;
CREATE INDEX subject_repository ON subject (repository);

-- Commits that table subject counts; -1: they are not counted yet.
ALTER TABLE repository ADD COLUMN subjects INTEGER NOT NULL DEFAULT -1;
