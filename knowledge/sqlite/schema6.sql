-- Version 6. String literals that "+" joins are one. What follows from the files is made again; what
-- vectors are made of did not change.

DELETE FROM posting;
DELETE FROM chunk;
DELETE FROM edge;
DELETE FROM literal;
DELETE FROM member;
DELETE FROM orphan;
DELETE FROM unit;
DELETE FROM decl;
DELETE FROM file;
DELETE FROM package;
UPDATE repository SET listing = x'', calls_made = x'', updating = 1;
