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
SELECT 1 /* ; */ ; DELETE FROM orders
;;
SELECT ';'; SELECT ';'
;;
SELECT 1; ATTACH '/tmp/x.db' AS x
;;
SELECT 1; VACUUM INTO '/tmp/x.db'
;;
;
;;
-- nothing but a comment
;;
/* nothing */
;;
-- # Other things than reading
-- expect: sql_not_read_only
INSERT INTO orders (id) VALUES (1)
;;
/* SELECT */ INSERT INTO orders (id) VALUES (1)
;;
-- SELECT 1
DELETE FROM orders
;;
REPLACE INTO orders (id) VALUES (1)
;;
UPDATE orders SET total = 0
;;
DELETE FROM orders RETURNING *
;;
DROP TABLE customers
;;
CREATE TABLE x AS SELECT * FROM customers
;;
CREATE TEMP TABLE x (a)
;;
CREATE TEMP VIEW orders AS SELECT * FROM salaries
;;
CREATE VIRTUAL TABLE x USING csv(filename='/etc/passwd')
;;
ALTER TABLE customers ADD COLUMN x
;;
ATTACH DATABASE '/etc/passwd' AS x
;;
ATTACH 'file:/tmp/x.db?mode=rwc' AS x
;;
DETACH main
;;
PRAGMA table_info(salaries)
;;
PRAGMA writable_schema = ON
;;
PRAGMA query_only = OFF
;;
VACUUM
;;
VACUUM INTO '/tmp/x.db'
;;
ANALYZE
;;
REINDEX
;;
BEGIN
;;
COMMIT
;;
ROLLBACK
;;
SAVEPOINT x
;;
RELEASE x
;;
EXPLAIN SELECT 1
;;
EXPLAIN QUERY PLAN SELECT * FROM salaries
;;
WITH x AS (SELECT 1) DELETE FROM orders
;;
WITH x AS (SELECT 1) INSERT INTO orders (id) SELECT * FROM x
;;
WITH x AS (SELECT 1) UPDATE orders SET total = 0
;;
WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x
;;
SELECT * FROM (WITH x AS (INSERT INTO orders (id) VALUES (1) RETURNING id) SELECT id FROM x) y
;;
SELECT * INTO stolen FROM customers
;;
SELECT * FROM orders FOR UPDATE
;;
-- # Tables that are not the Mind's
-- expect: sql_table_not_allowed
SELECT * FROM salaries
;;
SELECT * FROM SALARIES
;;
SELECT * FROM SaLaRiEs
;;
SELECT * FROM "salaries"
;;
SELECT * FROM `salaries`
;;
SELECT * FROM [salaries]
;;
SELECT * FROM 'salaries'
;;
SELECT * FROM main.salaries
;;
SELECT * FROM "main"."salaries"
;;
SELECT * FROM 'main'.'salaries'
;;
SELECT * FROM main . salaries
;;
SELECT * FROM temp.orders
;;
SELECT * FROM shop.salaries
;;
SELECT * FROM shop.main.salaries
;;
SELECT * FROM sal/**/aries
;;
SELECT * FROM salary_view
;;
SELECT * FROM customers, salaries
;;
SELECT * FROM customers c JOIN salaries s ON s.id = c.id
;;
SELECT * FROM customers NATURAL JOIN salaries
;;
SELECT * FROM customers LEFT OUTER JOIN main.salaries USING (id)
;;
SELECT * FROM (customers JOIN salaries USING (id))
;;
SELECT (SELECT max(amount) FROM salaries)
;;
SELECT id FROM customers WHERE id IN (SELECT id FROM salaries)
;;
SELECT id FROM customers WHERE EXISTS (SELECT 1 FROM salaries WHERE amount > 90000)
;;
SELECT id FROM customers UNION SELECT id FROM salaries
;;
SELECT id FROM customers WHERE name = "x" UNION SELECT id FROM salaries
;;
SELECT id FROM customers WHERE name = "'" OR id IN (SELECT id FROM salaries) OR name = "'"
;;
SELECT * FROM customers c CROSS JOIN salaries s ON s.id = c.id
;;
SELECT name FROM customers INTERSECT SELECT employee FROM salaries
;;
SELECT name FROM customers EXCEPT SELECT employee FROM salaries
;;
SELECT id FROM orders ORDER BY (SELECT max(amount) FROM salaries)
;;
SELECT id FROM orders LIMIT (SELECT max(id) FROM salaries)
;;
SELECT id FROM orders LIMIT 1 OFFSET (SELECT max(id) FROM salaries)
;;
SELECT id FROM orders LIMIT (SELECT max(id) FROM salaries), 1
;;
SELECT count(*) FROM orders GROUP BY (SELECT max(amount) FROM salaries)
;;
SELECT count(*) FROM orders GROUP BY status HAVING count(*) > (SELECT max(id) FROM salaries)
;;
SELECT sum(total) FILTER (WHERE id IN (SELECT id FROM salaries)) FROM orders
;;
SELECT sum(total) OVER (PARTITION BY (SELECT max(amount) FROM salaries)) FROM orders
;;
SELECT sum(total) OVER w FROM orders WINDOW w AS (ORDER BY (SELECT max(amount) FROM salaries))
;;
SELECT group_concat(note, (SELECT max(employee) FROM salaries)) FROM orders
;;
SELECT CASE WHEN EXISTS (SELECT 1 FROM salaries) THEN 1 ELSE 0 END
;;
SELECT CAST((SELECT employee FROM salaries LIMIT 1) AS TEXT)
;;
SELECT 'a' LIKE (SELECT employee FROM salaries LIMIT 1)
;;
SELECT 'a' GLOB (SELECT employee FROM salaries LIMIT 1)
;;
SELECT 'a' MATCH (SELECT employee FROM salaries LIMIT 1)
;;
SELECT 1 IS (SELECT id FROM salaries LIMIT 1)
;;
SELECT 1 IS NOT (SELECT id FROM salaries LIMIT 1)
;;
SELECT 1 BETWEEN 0 AND (SELECT id FROM salaries LIMIT 1)
;;
SELECT '{}' -> (SELECT employee FROM salaries LIMIT 1)
;;
SELECT * FROM json_each((SELECT json_group_array(employee) FROM salaries))
;;
SELECT * FROM (VALUES ((SELECT max(amount) FROM salaries)))
;;
VALUES ((SELECT employee FROM salaries LIMIT 1))
;;
SELECT (1, (SELECT employee FROM salaries LIMIT 1)) = (1, 'x')
;;
SELECT substr((SELECT employee FROM salaries LIMIT 1), 1)
;;
SELECT trim((SELECT employee FROM salaries LIMIT 1))
;;
SELECT * FROM customers c JOIN orders o ON o.id = (SELECT max(id) FROM salaries)
;;
-- # CTEs that shadow, and that do not
WITH x AS (SELECT * FROM salaries) SELECT * FROM x
;;
WITH salaries AS (SELECT 1 AS id) SELECT * FROM main.salaries
;;
SELECT * FROM (WITH salaries AS (SELECT 1) SELECT * FROM salaries) x, salaries
;;
SELECT id FROM (WITH salaries AS (SELECT 1 AS id) SELECT id FROM salaries) UNION SELECT id FROM salaries
;;
SELECT (WITH salaries AS (SELECT 1 AS id) SELECT id FROM salaries), (SELECT id FROM salaries LIMIT 1)
;;
WITH a AS (WITH salaries AS (SELECT 1) SELECT * FROM salaries), b AS (SELECT * FROM salaries) SELECT * FROM b
;;
WITH a AS (WITH b AS (SELECT 1) SELECT * FROM b) SELECT * FROM b
;;
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT s.id FROM t JOIN salaries s WHERE n < 3) SELECT * FROM t
;;
WITH "sälaries" AS (SELECT 1) SELECT * FROM "SÄLARIES"
;;
-- # The schema, pragmas and other tables that the engine makes up
SELECT * FROM sqlite_master
;;
SELECT * FROM sqlite_schema
;;
SELECT * FROM main.sqlite_master
;;
SELECT * FROM SQLITE_MASTER
;;
SELECT * FROM "sqlite_master"
;;
SELECT * FROM sqlite_temp_master
;;
SELECT * FROM sqlite_sequence
;;
SELECT * FROM sqlite_stat1
;;
SELECT * FROM sqlite_dbpage
;;
SELECT * FROM dbstat
;;
SELECT * FROM pragma_database_list
;;
SELECT * FROM pragma_table_list
;;
SELECT * FROM main.pragma_table_list
;;
SELECT * FROM bytecode
;;
SELECT * FROM json_each
;;
SELECT * FROM orders.salaries
;;
SELECT * FROM a.b.c.d
;;
SELECT * FROM "main.salaries"
;;
-- # Functions that read files, load code, make memory, run text, or are not built in
-- expect: sql_function_not_allowed
SELECT load_extension('/tmp/x.so')
;;
SELECT LOAD_EXTENSION('/tmp/x.so')
;;
SELECT "load_extension"('/tmp/x.so')
;;
SELECT [load_extension]('/tmp/x.so')
;;
SELECT readfile('/etc/passwd')
;;
SELECT writefile('/tmp/x', 'x')
;;
SELECT edit('x')
;;
SELECT * FROM fsdir('/')
;;
SELECT * FROM zipfile('/tmp/x.zip')
;;
SELECT eval('SELECT * FROM salaries')
;;
SELECT fts3_tokenizer('simple')
;;
SELECT randomblob(1000000000)
;;
SELECT zeroblob(1000000000)
;;
SELECT hex(zeroblob(1000000000))
;;
SELECT * FROM pragma_table_info('salaries')
;;
SELECT * FROM PRAGMA_TABLE_INFO('salaries')
;;
SELECT * FROM main.pragma_table_info('salaries')
;;
SELECT name FROM customers, pragma_table_info('salaries')
;;
SELECT (SELECT group_concat(name) FROM pragma_table_xinfo('salaries'))
;;
SELECT * FROM pragma_database_list()
;;
SELECT * FROM customers(1)
;;
SELECT * FROM salaries('x')
;;
SELECT sqlite_version()
;;
SELECT sqlite_source_id()
;;
SELECT sqlite_compileoption_get(0)
;;
SELECT sqlite_offset(id) FROM orders
;;
SELECT sqlite_log(1, 'x')
;;
SELECT last_insert_rowid()
;;
SELECT changes()
;;
SELECT total_changes()
;;
SELECT usleep(1000)
;;
SELECT sha3_query('SELECT * FROM salaries')
;;
SELECT tamper()
;;
SELECT main.tamper()
;;
SELECT id FROM orders WHERE load_extension('x') IS NULL
;;
SELECT id FROM orders ORDER BY readfile('/etc/passwd')
;;
SELECT sum(length(readfile('/etc/passwd'))) OVER () FROM orders
;;
SELECT count(*) FILTER (WHERE readfile('/etc/passwd') LIKE 'r%') FROM orders
;;
SELECT 'a' || readfile('/etc/passwd')
;;
WITH x AS (SELECT readfile('/etc/passwd')) SELECT * FROM x
;;
SELECT CASE WHEN 1 THEN readfile('/etc/passwd') END
;;
SELECT * FROM json_each(readfile('/etc/passwd'))
;;
-- # Forms that hide something
-- expect: sql_not_supported
SELECT ?
;;
SELECT ?1
;;
SELECT :name
;;
SELECT @name
;;
SELECT $name
;;
SELECT ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
;;
SELECT (1).load_extension
;;
-- expect: sql_syntax
SELECT * FROM
;;
SELECT 'open
;;
SELECT "open
;;
SELECT [open
;;
SELECT * FROM customers WHERE name = 'x' OR 1 = 1) --
;;
SELECT 1 UNION
;;
SELECT id FROM customers WHERE id IN salaries
;;
SELECT id FROM customers WHERE id IN main.salaries
;;
SELECT id FROM customers WHERE id NOT IN salaries
;;
SELECT id FROM customers WHERE id IN pragma_table_info('salaries')
;;
-- expect: sql_not_single_statement
CREATE TRIGGER t AFTER INSERT ON orders BEGIN SELECT 1; END
;;
SELECT 'a\'; DROP TABLE customers; --'
;;
-- expect: sql_syntax
TABLE salaries
;;
SELECT * FROM (TABLE salaries)
;;
-- expect: sql_function_not_allowed
SELECT U&"load\005fextension"('x')
;;
-- # The engine must refuse these
-- expect: sql_invalid
WITH salaries AS (SELECT * FROM salaries) SELECT * FROM salaries
;;
WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM a
;;
SELECT no_such_column FROM customers
;;
SELECT "no_such_column" FROM customers
;;
SELECT id FROM customers WHERE "no_such_column" = 'Eve'
;;
SELECT id FROM customers ORDER BY "no_such_column"
;;
SELECT salaries.amount FROM customers
;;
SELECT main.salaries.amount FROM customers
;;
-- # What one engine takes for a part of a number or a comment, and another for a name or an operator
-- expect: sql_syntax
SELECT 1_000
;;
SELECT id FROM orders WHERE id = 1AND id = 2
;;
