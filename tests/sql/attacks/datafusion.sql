-- # More than one statement, or none
-- expect: sql_not_single_statement
SELECT 1; SELECT 2
;;
SELECT 1; COPY orders TO '/tmp/x.csv'
;;
SELECT 1 -- ;
; DROP ;
;;
-- nothing but a comment
;;
-- # Other things than reading
-- expect: sql_not_read_only
INSERT INTO orders VALUES (1)
;;
DELETE FROM orders
;;
UPDATE orders SET total = 0
;;
DROP TABLE orders
;;
CREATE TABLE x AS SELECT 1
;;
CREATE VIEW x AS SELECT 1
;;
CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'
;;
CREATE EXTERNAL TABLE x (a INT) STORED AS PARQUET LOCATION 's3://bucket/x'
;;
CREATE UNBOUNDED EXTERNAL TABLE x STORED AS CSV LOCATION '/dev/zero'
;;
COPY orders TO '/tmp/x.csv'
;;
COPY (SELECT 1) TO '/tmp/x.parquet' STORED AS PARQUET
;;
SET datafusion.execution.batch_size = 1
;;
RESET datafusion.execution.batch_size
;;
SHOW TABLES
;;
SHOW ALL
;;
SHOW COLUMNS FROM orders
;;
SHOW FUNCTIONS
;;
DESCRIBE orders
;;
EXPLAIN SELECT 1
;;
EXPLAIN ANALYZE SELECT 1
;;
PREPARE p AS SELECT 1
;;
EXECUTE p
;;
DEALLOCATE p
;;
CREATE FUNCTION f() RETURNS INT RETURN 1
;;
ANALYZE TABLE orders
;;
TRUNCATE TABLE orders
;;
USE x
;;
CALL f()
;;
BEGIN
;;
COMMIT
;;
MERGE INTO orders USING customers ON true WHEN MATCHED THEN DELETE
;;
-- # Tables outside of the Mind, in every spelling
-- expect: sql_table_not_allowed
SELECT * FROM salaries
;;
SELECT * FROM files.salaries
;;
SELECT * FROM "files"."salaries"
;;
SELECT * FROM shop.files.salaries
;;
SELECT * FROM source.files.orders
;;
SELECT * FROM (SELECT * FROM salaries) AS x
;;
SELECT (SELECT max(pay) FROM salaries)
;;
SELECT * FROM orders WHERE EXISTS (SELECT 1 FROM salaries)
;;
WITH x AS (SELECT * FROM salaries) SELECT * FROM x
;;
SELECT 1 UNION ALL SELECT pay FROM salaries
;;
SELECT * FROM orders o JOIN salaries s ON true
;;
WITH orders AS (SELECT * FROM salaries) SELECT * FROM orders
;;
SELECT * FROM "../salaries"
;;
SELECT * FROM "/etc/passwd"
;;
SELECT * FROM "salaries.csv"
;;
SELECT * FROM "https://example.com/x.csv"
;;
SELECT * FROM information_schema.tables
;;
SELECT * FROM information_schema.df_settings
;;
SELECT * FROM information_schema.columns
;;
SELECT * FROM pg_catalog.pg_class
;;
-- # Functions that read, tell of the server, or have no bound
-- expect: sql_function_not_allowed
SELECT version()
;;
SELECT arrow_cast(1, 'Int8')
;;
SELECT arrow_typeof(1)
;;
SELECT arrow_metadata(id) FROM orders
;;
SELECT uuid()
;;
SELECT md5('x')
;;
SELECT get_field(id, 'x') FROM orders
;;
SELECT range(1, 1000000000)
;;
SELECT array_repeat(1, 1000000000)
;;
SELECT array_resize(array_agg(id), 1000000000) FROM orders
;;
SELECT read_csv('/etc/passwd')
;;
SELECT named_struct('a', 1)
;;
SELECT make_array(1, 2)
;;
SELECT map('a', 1)
;;
SELECT pg_sleep(1)
;;
SELECT file('x')
;;
SELECT union_extract(id, 'x') FROM orders
;;
-- # Nodes that no query needs here
-- expect: sql_not_supported
SELECT $1
;;
SELECT ?
;;
SELECT :name
;;
SELECT @@version
;;
SELECT * FROM orders TABLESAMPLE BERNOULLI (10)
;;
SELECT * FROM orders MATCH_RECOGNIZE (MEASURES 1 AS a PATTERN (x) DEFINE x AS true)
;;
SELECT CAST('orders' AS regclass)
;;
SELECT [1, 2]
;;
SELECT ARRAY[1, 2]
;;
SELECT {'a': 1}
;;
SELECT MAP {'a': 1}
;;
SELECT struct(1)
;;
-- # Tables outside of the Mind, more spellings
-- expect: sql_table_not_allowed
SELECT * FROM SALARIES
;;
SELECT * FROM "Salaries"
;;
SELECT * FROM files . salaries
;;
SELECT * FROM/**/salaries
;;
SELECT * FROM -- x
salaries
;;
SELECT * FROM orders, salaries
;;
SELECT * FROM orders NATURAL JOIN salaries
;;
SELECT * FROM orders WHERE id = ANY (SELECT pay FROM salaries)
;;
SELECT count(*) FROM orders HAVING (SELECT true FROM salaries)
;;
SELECT * FROM orders ORDER BY (SELECT max(pay) FROM salaries)
;;
SELECT * FROM orders LIMIT (SELECT max(pay) FROM salaries)
;;
SELECT sum(total) OVER (ORDER BY (SELECT max(pay) FROM salaries)) FROM orders
;;
SELECT CASE WHEN (SELECT count(*) FROM salaries) > 0 THEN 1 END
;;
WITH a AS (WITH b AS (SELECT * FROM salaries) SELECT * FROM b) SELECT * FROM a
;;
SELECT * FROM orders INTERSECT SELECT * FROM salaries
;;
-- # Rows out of functions
-- expect: sql_function_not_allowed
SELECT * FROM generate_series(1, 1000000000000)
;;
SELECT * FROM range(1, 1000000000000)
;;
SELECT * FROM read_parquet('/etc/passwd')
;;
SELECT * FROM parquet_metadata('/etc/passwd')
;;
SELECT * FROM metadata_cache()
;;
SELECT * FROM orders, LATERAL generate_series(1, id) AS g
;;
-- expect: sql_syntax
SELECT current_user()
;;
TABLE orders
;;
SELECT * FROM orders WHERE id IN (TABLE salaries)
;;
-- expect: sql_not_read_only
SELECT * INTO x FROM orders
;;
SELECT * FROM orders FOR UPDATE
;;
-- # What one engine takes for a part of a number or a comment, and another for a name or an operator
-- expect: sql_syntax
SELECT 1_000
;;
SELECT 5 # 1 FROM orders
;;
