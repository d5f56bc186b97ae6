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
SELECT 1 # ;
; DELETE FROM orders
;;
SELECT 'a\'; DELETE FROM orders; SELECT \'b'; SELECT 1
;;
;
;;
-- nothing but a comment
;;
-- # Other things than reading
-- expect: sql_not_read_only
INSERT INTO tampered VALUES ('x')
;;
INSERT INTO tampered SELECT name FROM customers
;;
REPLACE INTO tampered VALUES ('x')
;;
UPDATE orders SET total = 0
;;
DELETE FROM orders
;;
DELETE FROM orders ORDER BY id LIMIT 1
;;
TRUNCATE TABLE orders
;;
DROP TABLE customers
;;
DROP DATABASE shop
;;
CREATE TABLE x AS SELECT * FROM customers
;;
CREATE TEMPORARY TABLE x (a int)
;;
CREATE VIEW v AS SELECT * FROM salaries
;;
ALTER TABLE customers ADD COLUMN x int
;;
GRANT ALL ON *.* TO root
;;
SET GLOBAL general_log = 1
;;
SET @a = 1
;;
SET NAMES latin1
;;
USE audit
;;
SHOW TABLES
;;
SHOW GRANTS
;;
SHOW CREATE TABLE salaries
;;
CALL tamper_all()
;;
LOCK TABLES customers WRITE
;;
START TRANSACTION
;;
COMMIT
;;
ROLLBACK
;;
KILL 1
;;
FLUSH TABLES
;;
PREPARE s FROM 'SELECT 1'
;;
EXECUTE IMMEDIATE 'SELECT * FROM salaries'
;;
EXPLAIN ANALYZE SELECT * FROM salaries
;;
DESCRIBE salaries
;;
-- # Statements that the parser does not know either
HANDLER salaries OPEN
;;
DO SLEEP(10)
;;
LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE tampered
;;
BINLOG 'x'
;;
XA START 'x'
;;
-- expect: sql_syntax
SELECT 1 PROCEDURE ANALYSE()
;;
SELECT * INTO OUTFILE '/tmp/x' FROM customers
;;
SELECT * FROM customers INTO OUTFILE '/tmp/x'
;;
SELECT name INTO DUMPFILE '/tmp/x' FROM customers LIMIT 1
;;
SELECT * FROM customers INTO DUMPFILE '/tmp/x'
;;
-- expect: sql_not_read_only
SELECT id INTO @a FROM customers LIMIT 1
;;
-- expect: sql_not_supported
SELECT @a := 1
;;
SELECT 1 FROM customers WHERE (@a := id) > 0
;;
-- expect: sql_syntax
SELECT NEXT VALUE FOR order_numbers
;;
SELECT PREVIOUS VALUE FOR order_numbers
;;
-- # Comments that a server runs
-- expect: sql_table_not_allowed
SELECT 1 /*! , employee FROM salaries */
;;
-- expect: sql_not_supported
SELECT 1 /*!50000 UNION SELECT employee FROM salaries */
;;
SELECT id FROM customers /*!90000 WHERE id = 2 */
;;
SELECT /*!1 + */ 2
;;
SELECT 1 /*M! UNION SELECT employee FROM salaries */
;;
SELECT 1 /*M!100000 UNION SELECT employee FROM salaries */
;;
SELECT id /*!99999 , secret_salary() */ FROM customers
;;
-- expect: sql_function_not_allowed
SELECT id /*! , secret_salary() */ FROM customers
;;
-- # What locks
-- expect: sql_not_read_only
SELECT * FROM customers FOR UPDATE
;;
SELECT * FROM customers FOR SHARE
;;
-- expect: sql_syntax
SELECT * FROM customers LOCK IN SHARE MODE
;;
-- expect: sql_not_read_only
SELECT * FROM customers FOR UPDATE SKIP LOCKED
;;
-- # Variables
-- expect: sql_not_supported
SELECT @@version
;;
SELECT @@global.secure_file_priv
;;
SELECT @@datadir
;;
SELECT @a
;;
SELECT * FROM customers WHERE id = @a
;;
-- # Functions
-- expect: sql_function_not_allowed
SELECT LOAD_FILE('/etc/passwd')
;;
SELECT load_file(0x2F6574632F706173737764)
;;
SELECT `load_file`('/etc/passwd')
;;
SELECT SLEEP(10)
;;
SELECT sleep (10)
;;
SELECT BENCHMARK(1000000000, MD5('x'))
;;
SELECT GET_LOCK('x', 10)
;;
SELECT RELEASE_LOCK('x')
;;
SELECT IS_FREE_LOCK('x')
;;
SELECT MASTER_POS_WAIT('x', 1, 10)
;;
SELECT MASTER_GTID_WAIT('0-1-1', 10)
;;
SELECT EXTRACTVALUE(1, CONCAT(0x7e, (SELECT 1)))
;;
SELECT UPDATEXML(1, CONCAT(0x7e, 'x'), 1)
;;
SELECT NAME_CONST('a', 1)
;;
SELECT USER()
;;
SELECT CURRENT_USER()
;;
SELECT SESSION_USER()
;;
SELECT SYSTEM_USER()
;;
SELECT CONNECTION_ID()
;;
SELECT LAST_INSERT_ID()
;;
SELECT LAST_INSERT_ID(5)
;;
SELECT ROW_COUNT()
;;
SELECT FOUND_ROWS()
;;
SELECT SYS_EXEC('id')
;;
SELECT `count`(id) FROM customers
;;
SELECT `COUNT`(1)
;;
SELECT `now`(1)
;;
SELECT regexp_like(name, '^A') FROM customers
;;
SELECT any_value(name) FROM customers
;;
SELECT country, grouping(country) FROM customers GROUP BY country WITH ROLLUP
;;
SELECT uuid_to_bin(uuid())
;;
SELECT 5 MOD sleep(10)
;;
SELECT SYS_EVAL('id')
;;
SELECT NEXTVAL(order_numbers)
;;
SELECT LASTVAL(order_numbers)
;;
SELECT SETVAL(order_numbers, 1)
;;
SELECT tamper()
;;
SELECT secret_salary()
;;
SELECT shop.secret_salary()
;;
SELECT id FROM customers WHERE tamper() = 1
;;
SELECT id FROM customers ORDER BY SLEEP(1)
;;
SELECT id FROM customers GROUP BY id HAVING SLEEP(1) = 0
;;
SELECT IF(1 = 1, SLEEP(5), 0)
;;
SELECT (SELECT LOAD_FILE('/etc/passwd'))
;;
WITH t AS (SELECT SLEEP(5) AS s) SELECT s FROM t
;;
SELECT ENCRYPT('x')
;;
SELECT AES_ENCRYPT('x', 'y')
;;
SELECT PASSWORD('x')
;;
SELECT COLUMN_JSON('x')
;;
SELECT UUID_SHORT()
;;
SELECT DEFAULT(id) FROM customers
;;
SELECT shop.version()
;;
SELECT NVL(id, 0) FROM customers
;;
SELECT JSON_QUERY('{}', '$')
;;
SELECT SFORMAT('{:2000000000}', 1)
;;
SELECT `row`(1, 2)
;;
SELECT id FROM customers WHERE id = 1 && SLEEP(1)
;;
SELECT TRIM(TRAILING FROM LOAD_FILE('/etc/passwd'))
;;
SELECT EXTRACT(YEAR_MONTH FROM tamper())
;;
SELECT NOW() + INTERVAL SLEEP(1) HOUR_MINUTE
;;
SELECT INTERVAL(23, SLEEP(1))
;;
SELECT ROW(1, SLEEP(1)) = (1, 0)
;;
SELECT shop.count(id) FROM customers
;;
-- # Tables that are not in scope
-- expect: sql_table_not_allowed
SELECT * FROM salaries
;;
SELECT * FROM shop.salaries
;;
SELECT * FROM `salaries`
;;
SELECT * FROM audit.events
;;
SELECT * FROM `audit`.`events`
;;
SELECT * FROM audit.orders
;;
SELECT * FROM mysql.user
;;
SELECT * FROM mysql.global_priv
;;
SELECT * FROM information_schema.tables
;;
SELECT * FROM INFORMATION_SCHEMA.PROCESSLIST
;;
SELECT * FROM performance_schema.threads
;;
SELECT * FROM sys.session
;;
SELECT * FROM seq_1_to_1000000000
;;
SELECT * FROM order_numbers
;;
SELECT name FROM customers UNION SELECT employee FROM salaries
;;
SELECT name, (SELECT MAX(amount) FROM salaries) FROM customers
;;
SELECT name FROM customers WHERE EXISTS (SELECT 1 FROM salaries)
;;
SELECT c.name FROM customers c JOIN salaries s ON s.id = c.id
;;
SELECT * FROM customers, salaries
;;
SELECT * FROM (SELECT * FROM salaries) AS t
;;
WITH t AS (SELECT * FROM salaries) SELECT * FROM t
;;
WITH salaries2 AS (SELECT 1) SELECT * FROM salaries
;;
SELECT INTERVAL(1, (SELECT MAX(amount) FROM salaries))
;;
SELECT TRIM(BOTH FROM (SELECT MAX(employee) FROM salaries))
;;
SELECT NOW() + INTERVAL (SELECT MAX(amount) FROM salaries) DAY_HOUR
;;
SELECT 1 && (SELECT MAX(amount) FROM salaries)
;;
SELECT * FROM Salaries
;;
SELECT * FROM `SALARIES`
;;
SELECT * FROM SHOP.Salaries
;;
SELECT * FROM Audit.Orders
;;
SELECT 1 FROM customers ORDER BY (SELECT MAX(amount) FROM salaries)
;;
-- expect: sql_syntax
SELECT 1 LIMIT 1 OFFSET 0 UNION SELECT employee FROM salaries
;;
-- expect: sql_table_not_allowed
WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT amount FROM salaries) SELECT * FROM t
;;
-- # MariaDB takes both for the name of the WITH, MySQL with most settings does not.
-- expect: sql_not_supported
WITH Orders AS (SELECT 9 AS id) SELECT id FROM orders
;;
WITH orders AS (SELECT 9 AS id) SELECT id FROM (WITH Orders AS (SELECT 8 AS id) SELECT id FROM orders) AS x
;;
-- # Quotes and backslashes
SELECT 'a\\'' OR 1 = 1 -- '
;;
SELECT 'a\\\'' , 'b'
;;
SELECT "a\\' OR 1 = 1 -- "
;;
SELECT 1 AS 'a\nb'
;;
SELECT 0x
;;
SELECT _latin1'\' , (SELECT employee FROM salaries) -- '
;;
SELECT _utf8mb4 X'4D79'
;;
SELECT * FROM customers PARTITION (p0)
;;
SELECT * FROM customers USE INDEX (PRIMARY)
;;
SELECT * FROM JSON_TABLE('[1]', '$[*]' COLUMNS (a int PATH '$')) AS t
;;
-- expect: sql_table_not_allowed
SELECT * FROM `dual`
;;
SELECT * FROM dual AS d JOIN salaries
;;
SELECT CONVERT(employee USING utf8mb4) FROM salaries
;;
-- expect: sql_function_not_allowed
SELECT CONVERT((SELECT SLEEP(1)), CHAR)
;;
-- expect: sql_table_not_allowed
SELECT name FROM customers STRAIGHT_JOIN salaries
;;
-- expect: sql_syntax
TABLE salaries
;;
-- expect: sql_table_not_allowed
SELECT country FROM customers GROUP BY country, (SELECT MAX(id) FROM salaries) WITH ROLLUP
;;
-- # MySQL has no FULL JOIN: it would take FULL for an alias, and join only what fits
-- expect: sql_not_supported
SELECT count(*) FROM customers FULL OUTER JOIN orders ON orders.customer_id = customers.id
;;
SELECT count(*) FROM customers FULL JOIN orders USING (id)
;;
SELECT count(*) FROM customers NATURAL FULL JOIN orders
;;
SELECT count(*) FROM customers c WHERE EXISTS (SELECT 1 FROM orders FULL JOIN order_items ON order_id = c.id)
;;
SELECT name FROM customers LEFT SEMI JOIN orders ON orders.customer_id = customers.id
;;
