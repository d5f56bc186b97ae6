-- # There is no SQL Server for the tests: the host has a double of it, which none of these reaches.
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
SELECT 1 /* ; */ ; TRUNCATE TABLE orders
;;
SELECT ';'; EXEC sp_who
;;
SELECT N';'; SHUTDOWN
;;
SELECT [;] FROM orders; DROP TABLE orders
;;
SELECT 1; WAITFOR DELAY '00:00:30'
;;
SELECT 1; USE master
;;
-- nothing but a comment
;;
/* nothing /* nested */ */
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
UPDATE orders SET total = 0
;;
DELETE FROM orders OUTPUT deleted.id WHERE id = 1
;;
UPDATE TOP (1) orders SET total = 0 OUTPUT inserted.id
;;
MERGE INTO orders AS o USING customers AS c ON o.customer_id = c.id WHEN MATCHED THEN DELETE;
;;
TRUNCATE TABLE orders
;;
DROP TABLE orders
;;
CREATE TABLE x (a int)
;;
CREATE VIEW x AS SELECT 1 AS a
;;
ALTER TABLE orders ADD x int
;;
EXEC sp_who
;;
EXECUTE ('DROP TABLE orders')
;;
EXEC sp_executesql N'DROP TABLE orders'
;;
EXEC xp_cmdshell 'dir'
;;
EXEC sp_configure 'xp_cmdshell', 1
;;
sp_who
;;
xp_cmdshell 'dir'
;;
DECLARE @x int = 1
;;
DECLARE c CURSOR FOR SELECT id FROM orders
;;
SET ROWCOUNT 1
;;
SET NOCOUNT ON
;;
USE master
;;
GO
;;
GOTO label
;;
WAITFOR DELAY '00:00:30'
;;
WAITFOR TIME '23:00'
;;
BEGIN TRANSACTION
;;
COMMIT
;;
ROLLBACK
;;
SHUTDOWN WITH NOWAIT
;;
CHECKPOINT
;;
RECONFIGURE
;;
BACKUP DATABASE shop TO DISK = 'x'
;;
RESTORE DATABASE shop FROM DISK = 'x'
;;
BULK INSERT orders FROM 'x'
;;
DBCC CHECKDB
;;
KILL 51
;;
PRINT 'x'
;;
RAISERROR ('x', 16, 1)
;;
GRANT SELECT ON orders TO public
;;
IF 1 = 1 SELECT 1
;;
WHILE 1 = 1 SELECT 1
;;
RECEIVE * FROM q
;;
-- # Two statements without a semicolon between them
-- expect: sql_syntax
SELECT 1 DROP TABLE orders
;;
SELECT 1 FROM orders DROP TABLE orders
;;
SELECT * FROM orders DELETE FROM orders
;;
SELECT * FROM orders UPDATE orders SET total = 0
;;
SELECT 1 SELECT 2
;;
SELECT * FROM orders o EXEC sp_who
;;
SELECT * FROM orders EXEC sp_who
;;
SELECT * FROM orders WHERE id = 1 EXEC ('DROP TABLE orders')
;;
SELECT * FROM orders ORDER BY id WAITFOR DELAY '00:00:30'
;;
SELECT 1 AS a SHUTDOWN WITH NOWAIT
;;
SELECT * FROM orders AS o SHUTDOWN
;;
SELECT 1 /* */ TRUNCATE TABLE orders
;;
SELECT 1
GO
DROP TABLE orders
;;
WITH a AS (SELECT 1 AS n) SELECT n FROM a DELETE FROM orders
;;
SELECT id FROM orders ORDER BY id OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY COMMIT
;;
-- # A word that begins a statement in the place of a name
-- expect: sql_not_read_only
SELECT shutdown
;;
SELECT 1 + SHUTDOWN
;;
SELECT orders.id FROM orders WHERE COMMIT = 1
;;
SELECT id FROM orders ORDER BY CHECKPOINT
;;
-- # Words that are operators of other dialects, and names here
-- expect: sql_not_supported
SELECT 1 XOR [a] FROM orders
;;
SELECT id ILIKE 'x' FROM orders
;;
SELECT id RLIKE 'x' FROM orders
;;
SELECT id SIMILAR TO 'x' FROM orders
;;
SELECT INTERVAL '1' DAY
;;
SELECT id IS TRUE FROM orders
;;
SELECT DATE '2024-01-01'
;;
-- # Writing inside of what reads
-- expect: sql_not_read_only
SELECT * INTO copy FROM orders
;;
SELECT 1 AS a INTO #copy
;;
SELECT * FROM (SELECT * INTO copy FROM orders) AS t
;;
-- # Locks and hints
-- expect: sql_not_supported
SELECT * FROM orders WITH (TABLOCKX)
;;
SELECT * FROM orders WITH (UPDLOCK, HOLDLOCK)
;;
SELECT * FROM orders WITH (XLOCK, ROWLOCK)
;;
SELECT * FROM orders WITH (INDEX(1))
;;
SELECT * FROM orders FOR XML AUTO
;;
SELECT * FROM orders FOR JSON AUTO
;;
SELECT * FROM orders FOR BROWSE
;;
SELECT * FROM orders FOR SYSTEM_TIME AS OF '2024-01-01'
;;
SELECT * FROM orders TABLESAMPLE (10 PERCENT)
;;
-- expect: sql_not_supported
SELECT * FROM orders OPTION (RECOMPILE)
;;
SELECT * FROM orders HOLDLOCK
;;
-- expect: sql_syntax
SELECT * FROM orders OPTION (MAXDOP 1)
;;
SELECT * FROM orders OPTION (QUERYTRACEON 9481)
;;
-- # Other servers and files
-- expect: sql_function_not_allowed
SELECT * FROM OPENROWSET('SQLNCLI', 'Server=x;Trusted_Connection=yes;', 'SELECT 1') AS t
;;
SELECT * FROM OPENQUERY(other, 'DELETE FROM t') AS t
;;
SELECT * FROM OPENXML(1, '/a') AS t
;;
SELECT * FROM fn_trace_gettable('x', 1) AS t
;;
SELECT * FROM sys.fn_trace_gettable('x', 1) AS t
;;
SELECT * FROM sys.fn_xe_file_target_read_file('x', NULL, NULL, NULL) AS t
;;
SELECT * FROM fn_dblog(NULL, NULL) AS t
;;
SELECT * FROM fn_get_audit_file('x', NULL, NULL) AS t
;;
SELECT * FROM dbo.secrets(1) AS t
;;
SELECT * FROM sys.dm_exec_sql_text(1) AS t
;;
SELECT * FROM CONTAINSTABLE(orders, *, 'x') AS t
;;
SELECT xp_cmdshell('dir')
;;
SELECT dbo.writes(1)
;;
SELECT master.dbo.fn_varbintohexstr(1)
;;
SELECT OBJECT_ID('salaries')
;;
SELECT OBJECT_DEFINITION(1)
;;
SELECT DB_NAME()
;;
SELECT SUSER_SNAME()
;;
SELECT SERVERPROPERTY('ProductVersion')
;;
SELECT HAS_PERMS_BY_NAME('salaries', 'OBJECT', 'SELECT')
;;
SELECT IS_SRVROLEMEMBER('sysadmin')
;;
SELECT ERROR_MESSAGE()
;;
SELECT PWDENCRYPT('x')
;;
SELECT CURRENT_USER
;;
SELECT SYSTEM_USER
;;
SELECT SESSION_USER FROM orders
;;
-- # Tables that are not in the Mind
-- expect: sql_table_not_allowed
SELECT * FROM salaries
;;
SELECT * FROM dbo.salaries
;;
SELECT * FROM [dbo].[salaries]
;;
SELECT * FROM [SALARIES]
;;
SELECT * FROM "salaries"
;;
SELECT * FROM sys.tables
;;
SELECT * FROM sys.sql_logins
;;
SELECT * FROM sys.dm_exec_sessions
;;
SELECT * FROM INFORMATION_SCHEMA.TABLES
;;
SELECT * FROM master.dbo.spt_values
;;
SELECT * FROM msdb.dbo.sysjobs
;;
SELECT * FROM other.master.dbo.sysdatabases
;;
SELECT * FROM orders, salaries
;;
SELECT * FROM orders WHERE id IN (SELECT id FROM salaries)
;;
SELECT (SELECT MAX(amount) FROM salaries)
;;
SELECT * FROM orders CROSS APPLY (SELECT TOP 1 * FROM salaries) AS s
;;
WITH a AS (SELECT * FROM salaries) SELECT * FROM a
;;
WITH salaries AS (SELECT 1 AS n) SELECT * FROM dbo.salaries
;;
SELECT 1 UNION ALL SELECT amount FROM salaries
;;
SELECT * FROM (SELECT * FROM salaries) AS t PIVOT (SUM(amount) FOR employee IN ([a], [b])) AS p
;;
-- # Variables and temporary tables
-- expect: sql_not_supported
SELECT @@VERSION
;;
SELECT @x
;;
SELECT @x = 1
;;
SELECT @x = id FROM orders
;;
SELECT @@SERVERNAME, @@SPID
;;
SELECT id FROM orders WHERE id = @id
;;
-- expect: sql_table_not_allowed
SELECT * FROM #temporary
;;
SELECT * FROM ##everybody
;;
SELECT * FROM @table
;;
-- # Texts and names that are something else to the engine than they look
-- expect: sql_syntax
SELECT 'it's'
;;
SELECT 'open
;;
SELECT [open
;;
SELECT "open
;;
SELECT /* open
;;
SELECT 1 /* /* */ */ */ DROP TABLE orders
;;
SELECT ‘x’
;;
-- expect: sql_not_supported
SELECT [a]]b] FROM orders
;;
SELECT $1
;;
SELECT X'DEADBEEF'
;;
SELECT 0XDEADBEEF
;;
SELECT $1.5
;;
-- expect: sql_syntax
SELECT NEXT VALUE FOR dbo.numbers
;;
-- expect: sql_function_not_allowed
SELECT o.id FROM orders AS o WHERE o.x.value('.', 'int') = 1
;;
-- # T-SQL has neither word: NATURAL would be an alias, USING an alias with a hint
-- expect: sql_not_supported
SELECT name FROM customers NATURAL JOIN orders
;;
SELECT name FROM customers JOIN orders USING (id)
;;
