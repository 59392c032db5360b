-- Version 12. Where pgvector is installed vectors are kept in a second form, which it reads: see pgvector.go. Nothing
-- here is of its type, so it may come and go, and a backup is restored without it.

ALTER TABLE vector ADD COLUMN reals real[];          -- what numbers has; NULL: not made yet; '{}': pgvector can't compare it
ALTER TABLE vector ALTER numbers SET STORAGE EXTERNAL; -- out of the row beside reals, which are read to compare
ALTER TABLE vector ALTER reals SET STORAGE MAIN;
ALTER TABLE vector ALTER reals SET STATISTICS 0;     -- as in keep_apart
CREATE INDEX vector_unmade ON vector (project) WHERE reals IS NULL;

-- An older tracerag that still runs changes numbers alone.
CREATE FUNCTION unmake_reals() RETURNS trigger LANGUAGE plpgsql SET search_path = tracerag, pg_temp AS $$
BEGIN
	NEW.reals := NULL;
	RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION unmake_reals() FROM PUBLIC;
CREATE TRIGGER unmake_reals BEFORE UPDATE OF numbers ON vector FOR EACH ROW
	WHEN (NEW.numbers <> OLD.numbers AND NEW.reals IS NOT DISTINCT FROM OLD.reals) EXECUTE FUNCTION unmake_reals();
