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

-- What admits a role takes the same time for the first project and for the thousandth. Before, each queue of the role was granted
-- again, and each GRANT ... ON ALL TABLES read pg_class, which has more than thirty rows for each project.

-- The tables and sequences of a schema, by an index.
CREATE FUNCTION relations_of(of_schema text) RETURNS TABLE (name text, kind "char", apart boolean) LANGUAGE sql STABLE SET search_path = tracerag, pg_temp AS $$
	SELECT format('%I.%I', of_schema, c.relname), c.relkind, c.relforcerowsecurity
	FROM pg_catalog.pg_namespace n
	JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_namespace'::regclass AND d.refobjid = n.oid AND d.classid = 'pg_catalog.pg_class'::regclass
	JOIN pg_catalog.pg_class c ON c.oid = d.objid
	WHERE n.nspname = of_schema AND c.relkind IN ('r', 'S')
$$;

-- What a role needs that was admitted, but for the queues.
CREATE FUNCTION grant_tables(admitted name) RETURNS void LANGUAGE plpgsql SET search_path = tracerag, pg_temp AS $$
BEGIN
	EXECUTE format('GRANT USAGE ON SCHEMA tracerag TO %I', admitted);
	EXECUTE format('GRANT SELECT ON schema_version TO %I', admitted);
	EXECUTE (SELECT format('GRANT USAGE ON SEQUENCE %s TO %I', string_agg(name, ', '), admitted) FROM relations_of('tracerag') WHERE kind = 'S');
	EXECUTE format('GRANT EXECUTE ON FUNCTION entered(), use_token(bytea), revoke_token(text), forget_audit() TO %I', admitted);
	EXECUTE (SELECT format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', string_agg(name, ', '), admitted) FROM relations_of('tracerag')
		WHERE kind = 'r' AND apart AND name NOT IN ('tracerag.token', 'tracerag.audit'));
	EXECUTE format('GRANT SELECT, INSERT (project, hash, name) ON token TO %I', admitted);
	EXECUTE format('GRANT SELECT, INSERT (project, who, what, text) ON audit TO %I', admitted);
END $$;

-- What it needs in the queue of a project.
CREATE FUNCTION grant_queue(project int, admitted name) RETURNS void LANGUAGE plpgsql SET search_path = tracerag, pg_temp AS $$
DECLARE
	q text := queue_of(project);
BEGIN
	EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', q, admitted);
	EXECUTE (SELECT format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', string_agg(name, ', '), admitted) FROM relations_of(q) WHERE kind = 'r');
	EXECUTE (SELECT format('GRANT USAGE ON SEQUENCE %s TO %I', string_agg(name, ', '), admitted) FROM relations_of(q) WHERE kind = 'S');
END $$;

-- All of it, in the queues of all its projects: a migration may have made tables.
CREATE OR REPLACE FUNCTION grant_to(admitted name) RETURNS void LANGUAGE plpgsql SET search_path = tracerag, pg_temp AS $$
BEGIN
	PERFORM grant_tables(admitted);
	PERFORM grant_queue(a.project, admitted) FROM access a WHERE a.role = admitted;
END $$;

CREATE OR REPLACE FUNCTION admit(project_name text, admitted name) RETURNS void LANGUAGE plpgsql SET search_path = tracerag, pg_temp AS $$
DECLARE
	new int;
	known boolean;
BEGIN
	PERFORM pg_advisory_xact_lock(8390876135276306791); -- migrationLock: others admit, or make tables
	INSERT INTO project (name) VALUES (project_name) ON CONFLICT DO NOTHING RETURNING id INTO new;
	IF new IS NOT NULL THEN
		PERFORM make_queue(new);
	END IF;
	INSERT INTO access SELECT p.id, admitted FROM project p WHERE p.name = project_name ON CONFLICT DO NOTHING;
	-- A role that has nothing may be one that was dropped and made again: then it is given all that access says.
	SELECT count(*) > 0 INTO known FROM pg_catalog.pg_namespace n, pg_catalog.aclexplode(n.nspacl) x
		WHERE n.nspname = 'tracerag' AND x.grantee = (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = admitted);
	IF known THEN
		PERFORM grant_tables(admitted);
		PERFORM grant_queue(p.id, admitted) FROM project p WHERE p.name = project_name;
	ELSE
		PERFORM grant_to(admitted);
	END IF;
END $$;

REVOKE ALL ON FUNCTION relations_of(text), grant_tables(name), grant_queue(int, name), grant_to(name), admit(text, name) FROM PUBLIC;
