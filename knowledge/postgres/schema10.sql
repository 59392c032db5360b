-- Version 10. Vectors of the functions of followed URLs are made.

ALTER TABLE followed ADD COLUMN vectors boolean NOT NULL DEFAULT false;
