-- Version 5. In how many commits of a repository a term is: a report is routed by it to one of hundreds of
-- repositories, whose commits nobody wants to read for it.

CREATE TABLE subject (
	project    int NOT NULL,
	term       text COLLATE "C" NOT NULL,
	repository bigint NOT NULL,
	commits    int NOT NULL,
	PRIMARY KEY (project, term, repository)
);
CREATE INDEX subject_repository ON subject (project, repository);
SELECT keep_apart('subject');

-- Commits that table subject counts; -1: they are not counted yet.
ALTER TABLE repository ADD COLUMN subjects int NOT NULL DEFAULT -1;
