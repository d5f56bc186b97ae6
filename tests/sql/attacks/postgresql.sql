-- # More than one statement, or none
-- expect: sql_not_single_statement
SELECT 1; SELECT 2
;;
SELECT 1; DROP TABLE customers
;;
SELECT 1;;; DELETE FROM orders
;;
SELECT 1 -- ;
; UPDATE orders SET total = 0
;;
SELECT 1 /* ; */ ; TRUNCATE orders
;;
SELECT 1; /* comment */ COMMIT; INSERT INTO tampered VALUES ('x')
;;
SELECT ';'; SELECT ';'
;;
SELECT $$;$$; CHECKPOINT
;;
;
;;
-- nothing but a comment
;;
/* nothing */
;;
-- # Other things than reading
-- expect: sql_not_read_only
INSERT INTO tampered VALUES ('x')
;;
/* SELECT */ INSERT INTO tampered VALUES ('x')
;;
-- SELECT 1
DELETE FROM orders
;;
UPDATE orders SET total = 0
;;
DELETE FROM orders RETURNING *
;;
MERGE INTO orders o USING customers c ON o.customer_id = c.id WHEN MATCHED THEN DELETE
;;
DROP TABLE customers
;;
CREATE TABLE x AS SELECT * FROM customers
;;
CREATE TEMP TABLE x (a int)
;;
ALTER TABLE customers ADD COLUMN x int
;;
TRUNCATE orders
;;
GRANT ALL ON salaries TO public
;;
COPY customers TO '/tmp/customers'
;;
COPY (SELECT * FROM salaries) TO STDOUT
;;
COPY customers FROM PROGRAM 'id'
;;
CALL tamper()
;;
DO $$ BEGIN PERFORM tamper(); END $$
;;
EXECUTE p
;;
PREPARE p AS SELECT * FROM salaries
;;
DEALLOCATE ALL
;;
DECLARE c CURSOR FOR SELECT * FROM salaries
;;
FETCH ALL FROM c
;;
SET search_path = public, audit
;;
SET SESSION AUTHORIZATION postgres
;;
SET TRANSACTION READ WRITE
;;
RESET ALL
;;
SHOW data_directory
;;
BEGIN
;;
COMMIT
;;
ROLLBACK
;;
LISTEN x
;;
NOTIFY x
;;
LOCK TABLE orders
;;
VACUUM
;;
ANALYZE orders
;;
REINDEX TABLE orders
;;
REFRESH MATERIALIZED VIEW x
;;
CHECKPOINT
;;
LOAD 'x'
;;
DISCARD ALL
;;
EXPLAIN SELECT * FROM orders
;;
EXPLAIN ANALYZE DELETE FROM orders
;;
COMMENT ON TABLE orders IS 'x'
;;
SECURITY LABEL ON TABLE orders IS 'x'
;;
WITH x AS (INSERT INTO tampered VALUES ('x') RETURNING *) SELECT * FROM x
;;
WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x
;;
WITH x AS (UPDATE orders SET total = 0 RETURNING *) SELECT * FROM x
;;
SELECT * FROM (WITH x AS (DELETE FROM orders RETURNING id) SELECT id FROM x) y
;;
WITH a AS (SELECT 1), b AS (SELECT * FROM (WITH c AS (INSERT INTO tampered VALUES ('x') RETURNING 1) SELECT * FROM c) d) SELECT * FROM b
;;
SELECT (WITH x AS (DELETE FROM orders RETURNING id) SELECT max(id) FROM x)
;;
SELECT 1 UNION (WITH x AS (DELETE FROM orders RETURNING 1) SELECT * FROM x)
;;
WITH x AS (SELECT 1) DELETE FROM orders
;;
WITH x AS (SELECT 1) INSERT INTO tampered SELECT 'x' FROM x
;;
SELECT * INTO stolen FROM customers
;;
SELECT * INTO TEMP stolen FROM customers
;;
SELECT id INTO UNLOGGED stolen FROM customers
;;
SELECT * FROM (SELECT * INTO stolen FROM customers) x
;;
SELECT * FROM orders FOR UPDATE
;;
SELECT * FROM orders FOR SHARE
;;
SELECT * FROM orders o FOR UPDATE OF o NOWAIT
;;
SELECT * FROM (SELECT * FROM orders FOR UPDATE) x
;;
WITH x AS (SELECT * FROM orders FOR UPDATE SKIP LOCKED) SELECT * FROM x
;;
SELECT (SELECT id FROM orders LIMIT 1 FOR SHARE)
;;
-- # Tables that are not the Mind's
-- expect: sql_table_not_allowed
SELECT * FROM salaries
;;
SELECT * FROM Salaries
;;
SELECT * FROM "salaries"
;;
SELECT * FROM public.salaries
;;
SELECT * FROM "public"."salaries"
;;
SELECT * FROM shop.salaries
;;
SELECT * FROM shop.public.salaries
;;
SELECT * FROM postgres.public.salaries
;;
SELECT * FROM sal/**/aries
;;
SELECT * FROM audit.events
;;
SELECT * FROM audit.orders
;;
SELECT * FROM audit . orders
;;
SELECT * FROM "audit"."orders"
;;
SELECT * FROM AUDIT.ORDERS
;;
SELECT * FROM "Customers"
;;
SELECT * FROM "ORDERS"
;;
SELECT * FROM order notes
;;
SELECT * FROM customers, salaries
;;
SELECT * FROM customers c JOIN salaries s ON s.id = c.id
;;
SELECT * FROM customers NATURAL JOIN salaries
;;
SELECT * FROM customers CROSS JOIN LATERAL (SELECT * FROM salaries) s
;;
SELECT * FROM customers c LEFT JOIN LATERAL (SELECT amount FROM salaries WHERE id = c.id) s ON true
;;
SELECT (SELECT max(amount) FROM salaries)
;;
SELECT id FROM customers WHERE id IN (SELECT id FROM salaries)
;;
SELECT id FROM customers WHERE EXISTS (SELECT 1 FROM salaries WHERE amount > 90000)
;;
SELECT id FROM customers WHERE id = ANY (SELECT id FROM salaries)
;;
SELECT id FROM customers WHERE id > ALL (ARRAY(SELECT id FROM salaries))
;;
SELECT ARRAY(SELECT employee FROM salaries)
;;
SELECT id FROM customers UNION SELECT id FROM salaries
;;
SELECT name FROM customers INTERSECT SELECT employee FROM salaries
;;
(SELECT name FROM customers) EXCEPT ALL (SELECT employee FROM salaries)
;;
SELECT id FROM orders ORDER BY (SELECT max(amount) FROM salaries)
;;
SELECT id FROM orders LIMIT (SELECT max(id) FROM salaries)
;;
SELECT id FROM orders OFFSET (SELECT max(id) FROM salaries)
;;
SELECT count(*) FROM orders GROUP BY (SELECT max(amount) FROM salaries)
;;
SELECT count(*) FROM orders HAVING count(*) > (SELECT max(id) FROM salaries)
;;
SELECT sum(total) FILTER (WHERE id IN (SELECT id FROM salaries)) FROM orders
;;
SELECT sum(total) OVER (PARTITION BY (SELECT max(amount) FROM salaries)) FROM orders
;;
SELECT sum(total) OVER w FROM orders WINDOW w AS (ORDER BY (SELECT max(amount) FROM salaries))
;;
SELECT string_agg(note, '' ORDER BY (SELECT max(employee) FROM salaries)) FROM orders
;;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY (SELECT max(amount) FROM salaries)) FROM orders
;;
SELECT CASE WHEN EXISTS (SELECT 1 FROM salaries) THEN 1 ELSE 0 END
;;
SELECT CAST((SELECT employee FROM salaries LIMIT 1) AS text)
;;
SELECT extract(year FROM (SELECT DATE '2024-01-01' FROM salaries LIMIT 1))
;;
SELECT substring((SELECT employee FROM salaries LIMIT 1) FROM 1)
;;
SELECT trim((SELECT employee FROM salaries LIMIT 1))
;;
SELECT 'a' LIKE (SELECT employee FROM salaries LIMIT 1)
;;
SELECT (ARRAY[1, 2])[(SELECT id FROM salaries LIMIT 1)]
;;
SELECT 1 BETWEEN 0 AND (SELECT id FROM salaries LIMIT 1)
;;
SELECT * FROM generate_series(1, (SELECT max(id) FROM salaries))
;;
SELECT * FROM unnest(ARRAY(SELECT employee FROM salaries))
;;
SELECT * FROM (VALUES ((SELECT max(amount) FROM salaries))) v
;;
VALUES ((SELECT employee FROM salaries LIMIT 1))
;;
SELECT DISTINCT ON ((SELECT max(amount) FROM salaries)) id FROM orders
;;
SELECT * FROM orders TABLESAMPLE BERNOULLI ((SELECT max(id) FROM salaries))
;;
SELECT make_interval(days => (SELECT id FROM salaries LIMIT 1))
;;
SELECT INTERVAL '1 day' * (SELECT id FROM salaries LIMIT 1)
;;
-- # CTEs that shadow, and that do not
WITH salaries AS (SELECT * FROM salaries) SELECT * FROM salaries
;;
WITH x AS (SELECT * FROM salaries), salaries AS (SELECT 1) SELECT * FROM x
;;
WITH x AS (SELECT * FROM salaries) SELECT * FROM x
;;
WITH salaries AS (SELECT 1 AS id) SELECT * FROM public.salaries
;;
SELECT * FROM (WITH salaries AS (SELECT 1) SELECT * FROM salaries) x, salaries
;;
(WITH salaries AS (SELECT 1 AS id) SELECT id FROM salaries) UNION SELECT id FROM salaries
;;
SELECT (WITH salaries AS (SELECT 1 AS id) SELECT id FROM salaries), (SELECT id FROM salaries LIMIT 1)
;;
WITH "Salaries" AS (SELECT 1) SELECT * FROM salaries
;;
WITH "SALARIES" AS (SELECT 1) SELECT * FROM SALARIES
;;
WITH a AS (WITH salaries AS (SELECT 1) SELECT * FROM salaries), b AS (SELECT * FROM salaries) SELECT * FROM b
;;
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT s.id::int FROM t JOIN salaries s ON true WHERE n < 3) SELECT * FROM t
;;
-- # The catalog
SELECT * FROM pg_catalog.pg_class
;;
SELECT * FROM pg_class
;;
SELECT * FROM pg_shadow
;;
SELECT rolname, rolpassword FROM pg_authid
;;
SELECT * FROM pg_stats WHERE tablename = 'salaries'
;;
SELECT * FROM information_schema.tables
;;
SELECT * FROM INFORMATION_SCHEMA . columns
;;
SELECT * FROM pg_settings
;;
SELECT query FROM pg_stat_activity
;;
SELECT * FROM pg_toast.pg_toast_1
;;
SELECT * FROM pg_temp.x
;;
SELECT * FROM pg_largeobject
;;
SELECT * FROM a.b.c.d
;;
SELECT * FROM "public.salaries"
;;
SELECT id FROM customers WHERE name LIKE ANY (SELECT employee FROM salaries)
;;
-- expect: sql_not_supported
SELECT * FROM ONLY salaries
;;
SELECT * FROM ONLY (salaries)
;;
-- # Functions that read files, write, wait, run text as SQL, tell about the session, or are not built in
-- expect: sql_function_not_allowed
SELECT pg_read_file('/etc/passwd')
;;
SELECT pg_catalog.pg_read_file('/etc/passwd')
;;
SELECT "pg_read_file"('/etc/passwd')
;;
SELECT PG_READ_FILE('/etc/passwd')
;;
SELECT pg_read_binary_file('/etc/passwd')
;;
SELECT pg_ls_dir('.')
;;
SELECT * FROM pg_ls_dir('/')
;;
SELECT * FROM pg_ls_logdir()
;;
SELECT pg_stat_file('x')
;;
SELECT * FROM pg_read_file('/etc/passwd') AS t(line)
;;
SELECT * FROM customers, LATERAL pg_ls_dir('.')
;;
SELECT lo_import('/etc/passwd')
;;
SELECT lo_export(1, '/tmp/x')
;;
SELECT lo_create(4242)
;;
SELECT lo_from_bytea(4243, 'x')
;;
SELECT lo_put(4242, 0, 'x')
;;
SELECT lo_get(4242)
;;
SELECT lo_unlink(4242)
;;
SELECT pg_notify('a', 'b')
;;
SELECT nextval('order_numbers')
;;
SELECT setval('order_numbers', 1)
;;
SELECT currval('order_numbers')
;;
SELECT lastval()
;;
SELECT set_config('search_path', 'public', false)
;;
SELECT current_setting('data_directory')
;;
SELECT setseed(0.5)
;;
SELECT pg_sleep(10)
;;
SELECT pg_sleep_for('10 seconds')
;;
SELECT id FROM orders WHERE pg_sleep(1) IS NULL
;;
SELECT id FROM orders ORDER BY pg_sleep(1)
;;
SELECT pg_terminate_backend(1)
;;
SELECT pg_cancel_backend(1)
;;
SELECT pg_reload_conf()
;;
SELECT pg_advisory_lock(1)
;;
SELECT pg_try_advisory_xact_lock(1)
;;
SELECT txid_current()
;;
SELECT pg_switch_wal()
;;
SELECT pg_create_restore_point('x')
;;
SELECT pg_logical_emit_message(true, 'a', 'b')
;;
SELECT query_to_xml('SELECT * FROM salaries', true, true, '')
;;
SELECT table_to_xml('salaries', true, true, '')
;;
SELECT schema_to_xml('audit', true, true, '')
;;
SELECT database_to_xml(true, true, '')
;;
SELECT cursor_to_xml('c', 1, true, true, '')
;;
SELECT * FROM ts_stat('SELECT to_tsvector(employee) FROM salaries')
;;
SELECT ts_rewrite('a'::tsquery, 'SELECT a, b FROM salaries')
;;
SELECT dblink('dbname=shop', 'SELECT 1')
;;
SELECT * FROM dblink('dbname=shop', 'SELECT * FROM salaries') AS t(a text)
;;
SELECT public.lower(name::varchar) FROM customers
;;
SELECT public.tamper()
;;
SELECT tamper()
;;
SELECT * FROM all_salaries()
;;
SELECT * FROM public.all_salaries()
;;
SELECT secret_salary(c) FROM customers c
;;
SELECT audit.anything()
;;
SELECT to_regclass('salaries')
;;
SELECT has_table_privilege('salaries', 'select')
;;
SELECT pg_relation_size('salaries')
;;
SELECT pg_get_viewdef('order_totals')
;;
SELECT obj_description(1, 'pg_class')
;;
SELECT current_user
;;
SELECT session_user
;;
SELECT user
;;
SELECT current_role
;;
SELECT current_catalog
;;
SELECT current_schema
;;
SELECT current_database()
;;
SELECT current_schemas(true)
;;
SELECT version()
;;
SELECT inet_server_addr()
;;
SELECT pg_backend_pid()
;;
SELECT pg_postmaster_start_time()
;;
SELECT "coalesce"(1, 2)
;;
SELECT "Count"(*) FROM orders
;;
SELECT U&"pg\005fread_file"('/etc/passwd')
;;
-- # Attribute notation, which calls functions
SELECT ('/etc/passwd'::text).pg_read_file
;;
SELECT ('/etc/passwd').pg_read_file
;;
SELECT (name).pg_ls_dir FROM customers
;;
SELECT p.pg_read_file FROM unnest(ARRAY['/etc/passwd']) AS p
;;
SELECT é.pg_read_file FROM unnest(ARRAY['/etc/passwd']) AS É
;;
SELECT i.pg_sleep FROM generate_series(4, 4) AS İ
;;
SELECT é.pg_sleep FROM generate_series(4, 4) AS É, (SELECT 1 AS id) AS é
;;
SELECT p."pg_read_file" FROM unnest(ARRAY['/etc/passwd']) AS p
;;
SELECT unnest.pg_read_file FROM unnest(ARRAY['/etc/passwd'])
;;
SELECT P.PG_READ_FILE FROM string_to_table('/etc/passwd', ',') AS p
;;
SELECT x FROM generate_series(1, 1) g, LATERAL (SELECT p.pg_read_file AS x FROM jsonb_array_elements_text('["/etc/passwd"]') p) s
;;
SELECT (SELECT p.pg_read_file FROM unnest(ARRAY['/etc/passwd']) AS p) FROM unnest(ARRAY[1]) AS p(pg_read_file)
;;
SELECT * FROM customers WHERE (SELECT p.pg_ls_dir FROM regexp_split_to_table('.', ',') AS p LIMIT 1) IS NOT NULL
;;
SELECT (ARRAY['/etc/passwd'])[1].pg_read_file
;;
SELECT (profile).nextval FROM customers
;;
SELECT CASE WHEN false THEN c.pg_typeof ELSE 'public.salaries' END FROM customers c
;;
SELECT CASE WHEN false THEN (c).pg_typeof ELSE 'public.salaries' END FROM customers c
;;
SELECT CASE WHEN false THEN (1).pg_typeof ELSE 'public.salaries' END
;;
SELECT CASE WHEN false THEN public.customers.pg_typeof ELSE 'public.salaries' END FROM customers
;;
SELECT CASE WHEN false THEN p."pg_typeof" ELSE 'public.salaries' END FROM unnest(ARRAY[1]) AS p
;;
-- # Operators and types of other schemas
SELECT 1 OPERATOR(public.=) 'x'
;;
SELECT 1 OPERATOR(public.~~~) 'x'
;;
SELECT id FROM customers ORDER BY id OPERATOR(audit.+) 1
;;
SELECT 'sad'::public.mood
;;
SELECT * FROM customers WHERE name = ANY (ARRAY[pg_read_file('/etc/passwd')])
;;
SELECT * FROM customers WHERE name LIKE ANY (ARRAY[pg_read_file('/etc/passwd')])
;;
SELECT trim(LEADING FROM pg_read_file('/etc/passwd'))
;;
SELECT pg_size_pretty(pg_database_size('shop'))
;;
-- expect: sql_not_supported
SELECT 'salaries'::regclass
;;
SELECT 'salaries'::regclass::oid
;;
SELECT CAST('salaries' AS regclass)
;;
SELECT 'lower'::regproc
;;
SELECT 'postgres'::regrole
;;
SELECT regclass 'salaries'
;;
SELECT 'salaries'::pg_catalog.regclass
;;
SELECT 'audit'::regnamespace
;;
SELECT '{salaries}'::regclass[]
;;
SELECT 'sad'::mood
;;
SELECT mood 'sad'
;;
SELECT 1 ~~~ 'x'
;;
-- # Forms that hide something
SELECT $1
;;
SELECT * FROM customers WHERE id = $1
;;
SELECT * FROM xmltable('/x' PASSING '<x/>' COLUMNS a text)
;;
SELECT * FROM customers AS this_alias_is_much_longer_than_the_sixty_three_bytes_that_postgresql_keeps
;;
SELECT this_alias_is_much_longer_than_the_sixty_three_bytes_that_postgre.pg_read_file FROM unnest(ARRAY['/etc/passwd']) AS this_alias_is_much_longer_than_the_sixty_three_bytes_that_postgresql_keeps
;;
SELECT JSON_OBJECT('a': 1)
;;
SELECT ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
;;
-- expect: sql_syntax
SELECT * FROM U&"sal\0061ries"
;;
SELECT * FROM
;;
SELECT 'open
;;
SELECT "open
;;
SELECT /* open
;;
SELECT $$open
;;
SELECT E'open\'
;;
SELECT * FROM customers WHERE name = 'x' OR 1 = 1) --
;;
SELECT 1 UNION
;;
SELECT * FROM orders WHERE
;;
SELECT customers FROM (SELECT
;;
SELECT * FROM `salaries`
;;
SELECT * FROM [salaries]
;;
-- expect: sql_syntax
SELECT id FROM orders FETCH FIRST (SELECT max(id) FROM salaries) ROWS ONLY
;;
SELECT * FROM ROWS FROM (pg_ls_dir('.'))
;;
TABLE salaries
;;
SELECT * FROM (TABLE salaries) x
;;
WITH x AS (TABLE salaries) SELECT * FROM x
;;
SELECT xmlparse(document '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>')
;;
SELECT E'a\x00b'
;;
-- expect: sql_not_single_statement
SELECT 'a\'; DROP TABLE customers; --'
;;
-- expect: sql_table_not_allowed
SELECT * FROM 'salaries'
;;
-- # The engine must refuse these: its session sees built-in functions and operators only
-- expect: sql_invalid
SELECT c.secret_salary FROM customers c
;;
SELECT customers.secret_salary FROM customers
;;
SELECT id = 'x' FROM customers
;;
SELECT count(1, 2)
;;
SELECT 1 / 0
;;
SELECT no_such_column FROM customers
;;
SELECT salaries.amount FROM customers
;;
SELECT public.salaries.amount FROM customers
;;
SELECT salaries FROM customers
;;
SELECT * FROM customers WHERE id = @@version
;;
