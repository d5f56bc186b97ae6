-- # More than one statement, or none
-- expect: sql_not_single_statement
SELECT 1; SELECT 2
;;
SELECT 1; DROP TABLE shop.customers
;;
SELECT 1;;; INSERT INTO shop.tampered VALUES ('x')
;;
SELECT 1 /* ; */ ; DELETE FROM shop.orders
;;
;
;;
-- nothing but a comment
;;
-- # Other things than reading
-- expect: sql_not_read_only
INSERT INTO shop.tampered VALUES ('x')
;;
INSERT INTO shop.tampered SELECT employee FROM shop.salaries
;;
/* SELECT */ INSERT INTO shop.tampered VALUES ('x')
;;
UPDATE shop.orders SET total = 0
;;
DELETE FROM shop.orders
;;
MERGE INTO shop.tampered t USING shop.customers c ON t.at = c.name WHEN NOT MATCHED THEN INSERT VALUES (c.name)
;;
TRUNCATE TABLE shop.orders
;;
DROP TABLE shop.customers
;;
DROP SCHEMA shop CASCADE
;;
CREATE TABLE shop.x AS SELECT * FROM shop.customers
;;
CREATE TABLE shop.x (a bigint)
;;
CREATE VIEW shop.v AS SELECT 1
;;
CREATE SCHEMA memory.x
;;
ALTER TABLE shop.orders RENAME TO other
;;
COMMENT ON TABLE shop.orders IS 'x'
;;
GRANT SELECT ON shop.salaries TO app
;;
REVOKE SELECT ON shop.salaries FROM app
;;
CALL system.runtime.kill_query('x')
;;
PREPARE p FROM SELECT 1
;;
EXECUTE p
;;
DEALLOCATE PREPARE p
;;
SET SESSION query_max_run_time = '1h'
;;
START TRANSACTION
;;
COMMIT
;;
ROLLBACK
;;
USE memory.audit
;;
SHOW TABLES
;;
SHOW CATALOGS
;;
SHOW SCHEMAS
;;
SHOW COLUMNS FROM shop.salaries
;;
SHOW FUNCTIONS
;;
EXPLAIN SELECT * FROM shop.salaries
;;
EXPLAIN ANALYZE SELECT * FROM shop.customers
;;
DESCRIBE shop.salaries
;;
ANALYZE shop.customers
;;
EXECUTE IMMEDIATE 'DROP TABLE shop.customers'
;;
RESET SESSION query_max_run_time
;;
SET ROLE admin
;;
SHOW STATS FOR shop.salaries
;;
DENY SELECT ON shop.orders TO app
;;
REFRESH MATERIALIZED VIEW shop.v
;;
SELECT * FROM customers FOR UPDATE
;;
-- # Tables that the Mind has not
-- expect: sql_table_not_allowed
SELECT * FROM salaries
;;
SELECT * FROM shop.salaries
;;
SELECT * FROM "shop"."salaries"
;;
SELECT * FROM "SHOP"."SALARIES"
;;
SELECT * FROM memory.shop.salaries
;;
SELECT * FROM memory.shop.customers
;;
SELECT * FROM default.salaries
;;
SELECT * FROM audit.events
;;
SELECT * FROM memory.audit.events
;;
SELECT * FROM system.runtime.queries
;;
SELECT * FROM system.runtime.nodes
;;
SELECT * FROM system.metadata.catalogs
;;
SELECT * FROM system.jdbc.tables
;;
SELECT * FROM information_schema.tables
;;
SELECT * FROM memory.information_schema.columns
;;
SELECT * FROM tpch.tiny.nation
;;
SELECT * FROM postgresql.public.customers
;;
SELECT * FROM "customers$partitions"
;;
SELECT * FROM "shop.customers"
;;
SELECT * FROM customers WHERE id IN (SELECT id FROM salaries)
;;
SELECT (SELECT employee FROM salaries LIMIT 1)
;;
SELECT * FROM customers UNION ALL SELECT employee FROM salaries
;;
SELECT * FROM customers AS c JOIN salaries AS s ON s.id = c.id
;;
SELECT * FROM customers, salaries
;;
SELECT * FROM customers CROSS JOIN LATERAL (SELECT * FROM salaries) AS s
;;
SELECT * FROM (SELECT * FROM (SELECT * FROM salaries))
;;
WITH c AS (SELECT * FROM salaries) SELECT * FROM c
;;
WITH salaries AS (SELECT * FROM salaries) SELECT * FROM salaries
;;
WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a
;;
SELECT id FROM customers ORDER BY (SELECT max(amount) FROM salaries)
;;
SELECT count(*) FROM customers HAVING count(*) > (SELECT count(*) FROM audit.events)
;;
SELECT transform(ARRAY[1], x -> (SELECT max(amount) FROM salaries))
;;
SELECT * FROM UNNEST(ARRAY[(SELECT max(amount) FROM salaries)]) AS t (x)
;;
SELECT sum(id) FILTER (WHERE EXISTS (SELECT 1 FROM salaries)) FROM customers
;;
SELECT listagg(name, ',') WITHIN GROUP (ORDER BY (SELECT max(amount) FROM salaries)) FROM customers
;;
SELECT row_number() OVER (ORDER BY (SELECT max(id) FROM salaries)) FROM customers
;;
SELECT CASE WHEN EXISTS (SELECT 1 FROM salaries) THEN 1 END
;;
-- # Functions that tell, fail, or are somebody's own
-- expect: sql_function_not_allowed
SELECT version()
;;
SELECT current_user
;;
SELECT current_catalog
;;
SELECT current_schema
;;
SELECT current_path
;;
SELECT current_role
;;
SELECT current_groups()
;;
SELECT fail('x')
;;
SELECT learn_classifier(1, 2)
;;
SELECT classify(1, 2)
;;
SELECT my_function(1)
;;
SELECT memory.shop.f(1)
;;
SELECT system.builtin.version()
;;
SELECT shop.f(1)
;;
SELECT ai_gen('x')
;;
SELECT ai_classify('x', ARRAY['y'])
;;
SELECT transform(ARRAY[1], x -> fail('x'))
;;
SELECT "version"()
;;
SELECT VERSION()
;;
SELECT sleep(1)
;;
SELECT query('SELECT 1')
;;
SELECT * FROM query('SELECT 1')
;;
SELECT * FROM sequence(1, 10)
;;
SELECT * FROM system.query(query => 'DROP TABLE x')
;;
-- # Clauses
-- expect: sql_not_supported
SELECT * FROM TABLE(system.query(query => 'SELECT 1'))
;;
SELECT * FROM TABLE(sequence(1, 10))
;;
SELECT * FROM customers TABLESAMPLE BERNOULLI (10)
;;
SELECT ?
;;
-- # What the parser does not read
-- expect: sql_syntax
SELECT * FROM customers FOR VERSION AS OF 1
;;
SELECT * FROM customers FOR TIMESTAMP AS OF TIMESTAMP '2024-01-01 00:00:00'
;;
SELECT * FROM orders MATCH_RECOGNIZE (PARTITION BY customer_id ORDER BY id MEASURES A.id AS x PATTERN (A) DEFINE A AS true)
;;
WITH FUNCTION f(x bigint) RETURNS bigint RETURN x SELECT f(1)
;;
SELECT `id` FROM customers
;;
SELECT "id FROM customers
;;
SELECT 'it
;;
TABLE salaries
;;
SELECT * EXCEPT (id) FROM customers
;;
SELECT id FROM customers GROUP BY ROLLUP (id, (SELECT max(id) FROM salaries))
;;
