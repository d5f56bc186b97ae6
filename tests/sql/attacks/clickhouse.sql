-- # More than one statement, or none
-- expect: sql_not_single_statement
SELECT 1; SELECT 2
;;
SELECT 1; DROP TABLE shop.customers
;;
SELECT 1;;; INSERT INTO shop.tampered VALUES ('x')
;;
SELECT 1 /* ; */ ; TRUNCATE TABLE shop.orders
;;
;
;;
-- nothing but a comment
;;
-- # Other things than reading
-- expect: sql_not_read_only
INSERT INTO shop.tampered VALUES ('x')
;;
INSERT INTO FUNCTION file('x.csv', 'CSV', 'a UInt8') SELECT 1
;;
INSERT INTO shop.tampered SELECT employee FROM shop.salaries
;;
/* SELECT */ INSERT INTO shop.tampered VALUES ('x')
;;
ALTER TABLE shop.orders DELETE WHERE 1
;;
ALTER TABLE shop.orders UPDATE total = 0 WHERE 1
;;
DELETE FROM shop.orders WHERE 1
;;
DROP TABLE shop.customers
;;
DROP DATABASE shop
;;
TRUNCATE TABLE shop.orders
;;
CREATE TABLE shop.x ENGINE = Memory AS SELECT * FROM shop.customers
;;
CREATE TEMPORARY TABLE x (a UInt8)
;;
CREATE FUNCTION f AS x -> x + 1
;;
CREATE DICTIONARY d (id UInt64) PRIMARY KEY id SOURCE(FILE(path 'x' format 'CSV')) LAYOUT(FLAT()) LIFETIME(0)
;;
OPTIMIZE TABLE shop.orders FINAL
;;
RENAME TABLE shop.orders TO shop.other
;;
SET readonly = 0
;;
SYSTEM SHUTDOWN
;;
SYSTEM FLUSH LOGS
;;
KILL QUERY WHERE 1
;;
GRANT ALL ON *.* TO app
;;
ATTACH TABLE shop.x (a UInt8) ENGINE = File(CSV)
;;
DETACH TABLE shop.orders
;;
EXCHANGE TABLES shop.orders AND shop.salaries
;;
BACKUP DATABASE shop TO File('x')
;;
USE audit
;;
SHOW TABLES
;;
SHOW CREATE TABLE shop.salaries
;;
DESCRIBE TABLE shop.salaries
;;
DESC shop.salaries
;;
EXPLAIN SELECT * FROM shop.salaries
;;
EXISTS TABLE shop.salaries
;;
CHECK TABLE shop.orders
;;
WATCH shop.orders
;;
FROM customers SELECT id
;;
-- # Tables that the Mind has not
-- expect: sql_table_not_allowed
SELECT * FROM salaries
;;
SELECT * FROM shop.salaries
;;
SELECT * FROM "shop"."salaries"
;;
SELECT * FROM `shop`.`salaries`
;;
SELECT * FROM default.salaries
;;
SELECT * FROM audit.events
;;
SELECT * FROM default.customers
;;
SELECT * FROM system.tables
;;
SELECT * FROM system.one
;;
SELECT * FROM system.processes
;;
SELECT * FROM system.query_log
;;
SELECT * FROM system.numbers LIMIT 1
;;
SELECT * FROM INFORMATION_SCHEMA.TABLES
;;
SELECT * FROM information_schema.columns
;;
SELECT * FROM Customers
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
SELECT * FROM customers LEFT SEMI JOIN salaries ON salaries.id = customers.id
;;
SELECT * FROM customers GLOBAL LEFT JOIN salaries ON salaries.id = customers.id
;;
SELECT * FROM customers JOIN salaries USING id
;;
SELECT 'Mallory' GLOBAL IN (SELECT employee FROM salaries)
;;
SELECT 1 GLOBAL NOT IN (SELECT id FROM audit.events)
;;
SELECT * FROM (SELECT * FROM (SELECT * FROM salaries))
;;
WITH c AS (SELECT * FROM salaries) SELECT * FROM c
;;
WITH salaries AS (SELECT * FROM salaries) SELECT * FROM salaries
;;
WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a
;;
SELECT * FROM customers PREWHERE id IN (SELECT id FROM salaries)
;;
SELECT id FROM customers ORDER BY (SELECT max(amount) FROM salaries)
;;
SELECT count() FROM customers HAVING count() > (SELECT count() FROM audit.events)
;;
SELECT arrayMap(x -> (SELECT max(amount) FROM salaries), [1])
;;
SELECT quantile(0.5)((SELECT max(amount) FROM salaries))
;;
SELECT id FROM customers LIMIT 1 BY (SELECT max(id) FROM salaries)
;;
SELECT id FROM customers QUALIFY row_number() OVER (ORDER BY (SELECT max(id) FROM salaries)) = 1
;;
-- # WITH RECURSIVE, whose name is a table to some versions
-- expect: sql_not_supported
WITH RECURSIVE salaries AS (SELECT * FROM salaries) SELECT * FROM salaries
;;
WITH RECURSIVE salaries AS (SELECT * FROM salaries UNION ALL SELECT * FROM salaries WHERE 1 = 0) SELECT * FROM salaries
;;
WITH RECURSIVE salaries AS (SELECT 1 AS id, '' AS name UNION ALL SELECT 2, (SELECT max(name) FROM salaries) FROM salaries WHERE id < 2) SELECT * FROM salaries
;;
-- # A table behind IN
-- expect: sql_not_supported
SELECT 'Mallory' IN (salaries)
;;
SELECT (1, 'Mallory', 99999) IN (shop.salaries)
;;
SELECT id FROM customers WHERE name NOT IN (salaries)
;;
SELECT id FROM customers WHERE name IN ((salaries))
;;
SELECT id FROM customers WHERE name IN (((default.salaries)))
;;
SELECT id FROM customers WHERE name IN (`salaries`)
;;
SELECT id FROM customers WHERE name IN (customers)
;;
-- expect: sql_syntax
SELECT 'x' IN salaries
;;
SELECT 'x' IN default.salaries
;;
SELECT 'x' GLOBAL IN (salaries)
;;
SELECT 'x' NOT IN salaries
;;
-- # Functions that read, wait, tell or run what is given as text
-- expect: sql_function_not_allowed
SELECT in('Mallory', salaries)
;;
SELECT notIn('Mallory', salaries)
;;
SELECT globalIn('Mallory', salaries)
;;
SELECT nullIn('Mallory', salaries)
;;
SELECT joinGet('shop.salaries', 'employee', 1)
;;
SELECT dictGet('shop.d', 'a', 1)
;;
SELECT dictGetString('shop.d', 'a', toUInt64(1))
;;
SELECT dictHas('d', 1)
;;
SELECT hasColumnInTable('shop', 'salaries', 'amount')
;;
SELECT file('/etc/passwd')
;;
SELECT sleep(3)
;;
SELECT sleepEachRow(1) FROM customers
;;
SELECT throwIf(1)
;;
SELECT getSetting('readonly')
;;
SELECT getMacro('x')
;;
SELECT getServerPort('tcp_port')
;;
SELECT getClientHTTPHeader('x-clickhouse-key')
;;
SELECT hostName()
;;
SELECT hostname()
;;
SELECT fqdn()
;;
SELECT version()
;;
SELECT uptime()
;;
SELECT user()
;;
SELECT currentUser()
;;
SELECT currentDatabase()
;;
SELECT database()
;;
SELECT currentProfiles()
;;
SELECT currentRoles()
;;
SELECT queryID()
;;
SELECT tcpPort()
;;
SELECT serverUUID()
;;
SELECT filesystemAvailable()
;;
SELECT timezone()
;;
SELECT arrayReduce('sleep', [1])
;;
SELECT arrayReduce(concat('su', 'm'), [1])
;;
SELECT arrayReduce('sum', [sleep(1)])
;;
SELECT arrayResize([1], 1000000000)
;;
SELECT (1, sleep(1)).1
;;
SELECT CAST(sleep(1), 'String')
;;
SELECT globalNotIn('Mallory', salaries)
;;
SELECT globalIn('Mallory', (salaries))
;;
SELECT initializeAggregation('sum', 1)
;;
SELECT formatRow('CSV', 1)
;;
SELECT formatQuery('SELECT 1')
;;
SELECT evalMLMethod(1, 2)
;;
SELECT aiGenerate('x', 'y')
;;
SELECT encrypt('aes-128-ecb', 'a', '0123456789abcdef')
;;
SELECT decrypt('aes-128-ecb', 'a', '0123456789abcdef')
;;
SELECT addressToLine(1)
;;
SELECT demangle('x')
;;
SELECT logTrace('x')
;;
SELECT catboostEvaluate('/model', 1)
;;
SELECT arrayWithConstant(1000000000, 'x')
;;
SELECT randomString(1000000000)
;;
SELECT TOSTRING(1)
;;
SELECT tostring(1)
;;
SELECT uniqexact(1)
;;
SELECT sumIfNothing(1)
;;
SELECT sleepIf(1, 1)
;;
SELECT fileIf('/etc/passwd', 1)
;;
SELECT my_function(1)
;;
SELECT shop.f(1)
;;
SELECT arrayMap(x -> sleep(x), [1])
;;
SELECT quantile(sleep(1))(id) FROM customers
;;
-- # Functions in FROM
-- expect: sql_function_not_allowed
SELECT * FROM file('/etc/passwd', 'LineAsString')
;;
SELECT * FROM url('http://169.254.169.254/', 'LineAsString', 's String')
;;
SELECT * FROM s3('https://x/y', 'CSV')
;;
SELECT * FROM remote('127.0.0.1', shop.salaries)
;;
SELECT * FROM remoteSecure('127.0.0.1', 'shop', 'salaries')
;;
SELECT * FROM cluster('default', shop.salaries)
;;
SELECT * FROM clusterAllReplicas('default', shop.salaries)
;;
SELECT * FROM mysql('h:3306', 'd', 't', 'u', 'p')
;;
SELECT * FROM postgresql('h:5432', 'd', 't', 'u', 'p')
;;
SELECT * FROM mongodb('h:27017', 'd', 't', 'u', 'p', 'a UInt8')
;;
SELECT * FROM sqlite('/x.db', 't')
;;
SELECT * FROM jdbc('x', 't')
;;
SELECT * FROM odbc('x', 't')
;;
SELECT * FROM hdfs('hdfs://x', 'CSV')
;;
SELECT * FROM executable('x.py', 'CSV', 'a UInt8')
;;
SELECT * FROM input('a UInt8')
;;
SELECT * FROM merge('shop', '.*')
;;
SELECT * FROM merge(shop, '^salaries$')
;;
SELECT * FROM dictionary('d')
;;
SELECT * FROM numbers_of(1)
;;
SELECT * FROM format(CSV, '1')
;;
SELECT * FROM loop(shop.salaries)
;;
SELECT * FROM mergeTreeIndex('shop', 'salaries')
;;
SELECT * FROM customers AS c JOIN url('http://x/', 'CSV', 'id UInt32') AS u ON u.id = c.id
;;
-- expect: sql_syntax
SELECT * FROM view(SELECT * FROM salaries)
;;
-- # Clauses
-- expect: sql_not_supported
SELECT * FROM customers SETTINGS max_execution_time = 0
;;
SELECT * FROM customers FORMAT Null
;;
SELECT id, count() FROM customers GROUP BY id WITH TOTALS
;;
WITH "shop.customers" AS (SELECT 77 AS id) SELECT id FROM customers
;;
SELECT id FROM (WITH `shop.customers` AS (SELECT 77 AS id) SELECT id FROM customers) AS t
;;
SELECT id, (a, b) -> 1 AS equals FROM customers
;;
SELECT ((x -> (SELECT 1))) AS "lower", id FROM customers
;;
SELECT id FROM customers WHERE id IN (SELECT x -> x AS `toString`)
;;
SELECT * REPLACE (1 AS id) FROM customers
;;
SELECT id FROM orders ORDER BY id INTERPOLATE (id AS id + 1)
;;
SELECT {id: UInt8}
;;
SELECT {'a': 1}
;;
SELECT $$it's$$
;;
SELECT "a\" FROM customers
;;
SELECT `a\` FROM customers
;;
SELECT "name\" FROM customers -- "
;;
SELECT * FROM products ARRAY JOIN (SELECT employee FROM salaries) AS x
;;
-- expect: sql_syntax
SELECT * FROM customers INTO OUTFILE '/tmp/x'
;;
SELECT 1 INTO OUTFILE '/tmp/x' FORMAT CSV
;;
SELECT * FROM customers asof JOIN orders ON customers.id = orders.id
;;
SELECT 1 FORMAT JSON
;;
SELECT 1 SETTINGS readonly = 0
;;
SELECT 'it\'
;;
WITH 1 AS x SELECT x
;;
WITH (a, b) -> 1 AS equals SELECT id FROM customers
;;
SELECT arrayMap((a, b) -> 1 AS equals, [id], [id]) FROM customers
;;
SELECT 1 AS x ? 2 : 3
;;
SELECT # comment
;;
SELECT 1 # comment
;;
-- # Behind ARRAY JOIN a comma stands between arrays, of which a table is none
-- expect: sql_invalid
SELECT * FROM products ARRAY JOIN tags AS t, salaries AS s
;;
SELECT * FROM products ARRAY JOIN tags AS t, shop.salaries AS s
;;
-- expect: sql_table_not_allowed
SELECT * FROM products ARRAY JOIN tags AS t, tags AS u JOIN customers AS c ON 1 = 1, salaries
;;
SELECT 1 IN [1, (SELECT id FROM salaries)]
;;
SELECT count(*) FILTER (WHERE 1 IN (SELECT id FROM salaries)) FROM customers
;;
-- expect: sql_syntax
SELECT 1 IN [salaries]
;;
SELECT 1 IN tuple(salaries)
;;
-- expect: sql_function_not_allowed
SELECT * FROM products ARRAY JOIN tags AS t, sleep(1) AS s
;;
SELECT "user"
;;
SELECT "current_user" FROM customers
;;
