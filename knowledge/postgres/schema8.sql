-- Version 8. Names may be longer than an index takes: it has their beginnings. See also rows.Key.

ALTER TABLE decl ADD COLUMN begins text COLLATE "C" GENERATED ALWAYS AS (left(name, 500)) STORED;
ALTER TABLE symbol ADD COLUMN begins text COLLATE "C" GENERATED ALWAYS AS (left(name, 500)) STORED;
DROP INDEX decl_package;
CREATE INDEX decl_package ON decl (package, begins);
ALTER TABLE decl ALTER COLUMN name SET STATISTICS 0;   -- as in keep_apart
ALTER TABLE symbol ALTER COLUMN begins SET STATISTICS 0;
