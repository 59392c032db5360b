-- Version 4. A key of all files' sizes and times tells that nothing changed, without a row of
-- theirs. The next update makes it: it reads no file, but finds the snapshot incomplete.
ALTER TABLE repository ADD COLUMN listing BLOB NOT NULL DEFAULT x'';
UPDATE repository SET updating = 1;
