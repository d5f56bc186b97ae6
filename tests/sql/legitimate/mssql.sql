-- # There is no SQL Server for the tests: the statements run against a double of it.
SELECT 1
;;
SELECT 1 AS one, 'two' AS two, NULL AS three
;;
SELECT N'☃' AS snow, 'it''s' AS quoted
;;
SELECT 'it''''s' AS two_quotes, N'☃''''' AS more
;;
SELECT * FROM customers
;;
SELECT * FROM dbo.customers
;;
SELECT * FROM [dbo].[customers]
;;
SELECT * FROM "dbo"."customers"
;;
SELECT * FROM Customers
;;
SELECT * FROM shop.dbo.customers
;;
SELECT * FROM shop.customers
;;
SELECT c.* FROM customers c
;;
SELECT c.id, c.name FROM customers AS c
;;
SELECT [c].[id] FROM [customers] [c]
;;
SELECT id, name, city FROM customers WHERE city = 'Rome'
;;
SELECT id FROM customers WHERE city <> 'Rome' OR city IS NULL
;;
SELECT id FROM customers WHERE city != 'Rome'
;;
SELECT id FROM customers WHERE id IN (1, 2, 3)
;;
SELECT id FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)
;;
SELECT id FROM customers WHERE id BETWEEN 1 AND 5
;;
SELECT id FROM customers WHERE name LIKE 'A%'
;;
SELECT id FROM customers WHERE name LIKE N'%[a-c]_' ESCAPE '!'
;;
SELECT id FROM customers WHERE NOT name LIKE '%x%'
;;
SELECT id FROM customers WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = customers.id)
;;
SELECT id FROM orders WHERE total > ALL (SELECT price FROM products)
;;
SELECT id FROM orders WHERE total > ANY (SELECT price FROM products)
;;
SELECT DISTINCT city FROM customers
;;
SELECT TOP 5 * FROM orders
;;
SELECT TOP (5) * FROM orders ORDER BY total DESC
;;
SELECT TOP 5 WITH TIES id, total FROM orders ORDER BY total DESC
;;
SELECT TOP (10) PERCENT id FROM orders ORDER BY id
;;
SELECT DISTINCT TOP 3 city FROM customers ORDER BY city
;;
SELECT TOP 1 id FROM (SELECT id FROM orders) AS t ORDER BY id
;;
SELECT id FROM orders ORDER BY id OFFSET 5 ROWS
;;
SELECT id FROM orders ORDER BY id OFFSET 5 ROWS FETCH NEXT 10 ROWS ONLY
;;
SELECT id FROM orders ORDER BY id OFFSET 0 ROWS FETCH FIRST 1 ROW ONLY
;;
SELECT COUNT(*) FROM orders
;;
SELECT COUNT_BIG(*) AS n FROM orders
;;
SELECT COUNT(DISTINCT customer_id) AS n FROM orders
;;
SELECT customer_id, SUM(total) AS total FROM orders GROUP BY customer_id
;;
SELECT customer_id, SUM(total) AS total FROM orders GROUP BY customer_id HAVING SUM(total) > 100 ORDER BY 2 DESC
;;
SELECT customer_id, AVG(CAST(total AS float)) AS average FROM orders GROUP BY customer_id
;;
SELECT MIN(placed), MAX(placed) FROM orders
;;
SELECT STDEV(total), VAR(total), CHECKSUM_AGG(id) FROM orders
;;
SELECT city, COUNT(*) FROM customers GROUP BY ROLLUP (city)
;;
SELECT city, country, COUNT(*) FROM customers GROUP BY CUBE (city, country)
;;
SELECT name FROM customers WHERE name = N'it''s ☃'
;;
SELECT city, GROUPING(city) FROM customers GROUP BY ROLLUP (city)
;;
SELECT STRING_AGG(name, ', ') AS names FROM customers
;;
SELECT city, STRING_AGG(name, N', ') WITHIN GROUP (ORDER BY name) AS names FROM customers GROUP BY city
;;
SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer_id
;;
SELECT o.id, c.name FROM orders o INNER JOIN customers c ON c.id = o.customer_id
;;
SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON c.id = o.customer_id
;;
SELECT o.id, c.name FROM orders o LEFT OUTER JOIN customers c ON c.id = o.customer_id WHERE c.id IS NULL
;;
SELECT o.id, c.name FROM orders o RIGHT JOIN customers c ON c.id = o.customer_id
;;
SELECT o.id, c.name FROM orders o FULL OUTER JOIN customers c ON c.id = o.customer_id
;;
SELECT o.id, c.name FROM orders o CROSS JOIN customers c
;;
SELECT o.id, c.name FROM orders o, customers c WHERE c.id = o.customer_id
;;
SELECT c.name, o.total FROM customers c CROSS APPLY (SELECT TOP 1 total FROM orders WHERE customer_id = c.id ORDER BY total DESC) o
;;
SELECT c.name, o.total FROM customers c OUTER APPLY (SELECT TOP (1) total FROM orders WHERE customer_id = c.id ORDER BY placed DESC) AS o
;;
SELECT v.n FROM (VALUES (1), (2), (3)) AS v (n)
;;
SELECT n.id, n.text FROM [Order Notes] AS n
;;
SELECT [Order Notes].id FROM [Order Notes]
;;
SELECT * FROM order_totals
;;
SELECT 1 UNION SELECT 2
;;
SELECT id FROM customers UNION ALL SELECT id FROM orders ORDER BY 1
;;
SELECT id FROM customers EXCEPT SELECT customer_id FROM orders
;;
SELECT id FROM customers INTERSECT SELECT customer_id FROM orders
;;
WITH big AS (SELECT * FROM orders WHERE total > 100) SELECT COUNT(*) FROM big
;;
WITH big AS (SELECT * FROM orders WHERE total > 100) SELECT COUNT(*) FROM Big
;;
WITH a AS (SELECT 1 AS n), b AS (SELECT n + 1 AS n FROM a) SELECT a.n, b.n FROM a CROSS JOIN b
;;
WITH a (x, y) AS (SELECT id, total FROM orders) SELECT x, y FROM a
;;
WITH counted AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM counted WHERE n < 10) SELECT n FROM counted
;;
WITH Orders AS (SELECT 1 AS id) SELECT id FROM Orders
;;
SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS place FROM orders
;;
SELECT id, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY placed DESC) AS place FROM orders
;;
SELECT id, RANK() OVER (ORDER BY total), DENSE_RANK() OVER (ORDER BY total), NTILE(4) OVER (ORDER BY total) FROM orders
;;
SELECT id, LAG(total) OVER (ORDER BY id), LEAD(total, 1, 0) OVER (ORDER BY id) FROM orders
;;
SELECT id, FIRST_VALUE(total) OVER (PARTITION BY customer_id ORDER BY id) FROM orders
;;
SELECT id, LAST_VALUE(total) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM orders
;;
SELECT id, SUM(total) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM orders
;;
SELECT id, SUM(total) OVER () FROM orders
;;
SELECT id, PERCENT_RANK() OVER (ORDER BY total), CUME_DIST() OVER (ORDER BY total) FROM orders
;;
SELECT DISTINCT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY total) OVER (PARTITION BY customer_id) FROM orders
;;
SELECT CASE WHEN total > 100 THEN 'big' ELSE 'small' END AS size FROM orders
;;
SELECT CASE customer_id WHEN 1 THEN 'a' WHEN 2 THEN 'b' END FROM orders
;;
SELECT IIF(total > 100, 'big', 'small') AS size FROM orders
;;
SELECT CHOOSE(2, 'a', 'b', 'c') AS chosen
;;
SELECT COALESCE(city, 'nowhere'), ISNULL(city, N'nowhere'), NULLIF(city, '') FROM customers
;;
SELECT GREATEST(1, 2, 3), LEAST(1, 2, 3)
;;
SELECT CAST(total AS int) FROM orders
;;
SELECT CAST(total AS decimal(12, 2)) FROM orders
;;
SELECT CAST(name AS nvarchar(max)) FROM customers
;;
SELECT CAST(name AS varchar(10)) FROM customers
;;
SELECT CAST('2024-01-01' AS date), CAST('12:30' AS time(0)), CAST('2024-01-01' AS datetime2(3))
;;
SELECT CAST(1 AS bit), CAST(1 AS tinyint), CAST(1 AS bigint), CAST(1 AS money), CAST(1 AS real)
;;
SELECT TRY_CAST('x' AS int)
;;
SELECT CONVERT(int, '1')
;;
SELECT CONVERT(varchar(10), placed, 120) FROM orders
;;
SELECT CONVERT(nvarchar(30), placed, 126) AS day FROM orders
;;
SELECT CONVERT(date, placed) FROM orders
;;
SELECT TRY_CONVERT(decimal(10, 2), name) FROM customers
;;
SELECT FORMAT(placed, 'yyyy-MM') AS month FROM orders
;;
SELECT FORMAT(total, 'N2', 'en-US') FROM orders
;;
SELECT DATEADD(day, 1, placed) FROM orders
;;
SELECT DATEADD(MONTH, DATEDIFF(MONTH, 0, placed), 0) AS month FROM orders
;;
SELECT DATEDIFF(day, placed, GETDATE()) FROM orders
;;
SELECT DATEDIFF_BIG(second, '2000-01-01', SYSUTCDATETIME())
;;
SELECT DATEPART(year, placed), DATEPART(quarter, placed), DATEPART(weekday, placed) FROM orders
;;
SELECT DATENAME(month, placed) FROM orders
;;
SELECT YEAR(placed), MONTH(placed), DAY(placed) FROM orders
;;
SELECT EOMONTH(placed) FROM orders
;;
SELECT EOMONTH(placed, -1) FROM orders
;;
SELECT DATEFROMPARTS(2024, 1, 1), DATETIME2FROMPARTS(2024, 1, 1, 12, 0, 0, 0, 3)
;;
SELECT DATETRUNC(month, placed) FROM orders
;;
SELECT DATE_BUCKET(week, 1, placed) FROM orders
;;
SELECT ISDATE('2024-01-01'), ISNUMERIC('1')
;;
SELECT CURRENT_TIMESTAMP, GETUTCDATE(), SYSDATETIME(), SYSDATETIMEOFFSET()
;;
SELECT placed AT TIME ZONE 'UTC' FROM orders
;;
SELECT placed AT TIME ZONE 'UTC' AT TIME ZONE 'Central European Standard Time' FROM orders
;;
SELECT SWITCHOFFSET(SYSDATETIMEOFFSET(), '+00:00'), TODATETIMEOFFSET(placed, '+01:00') FROM orders
;;
SELECT id FROM orders WHERE placed >= '2024-01-01' AND placed < '2024-02-01'
;;
SELECT id FROM orders WHERE placed >= DATEADD(day, -30, CAST(GETDATE() AS date))
;;
SELECT LEN(name), UPPER(name), LOWER(name), LTRIM(RTRIM(name)), TRIM(name) FROM customers
;;
SELECT LEFT(name, 3), RIGHT(name, 2), SUBSTRING(name, 2, 3) FROM customers
;;
SELECT CHARINDEX('a', name), PATINDEX('%a%', name) FROM customers
;;
SELECT REPLACE(name, 'a', 'b'), STUFF(name, 1, 1, 'X'), REVERSE(name), REPLICATE('x', 3), SPACE(2) FROM customers
;;
SELECT CONCAT(name, ' ', city), CONCAT_WS(', ', name, city) FROM customers
;;
SELECT name + N' from ' + city AS who FROM customers
;;
SELECT ASCII('a'), CHAR(65), UNICODE(N'☃'), NCHAR(9731), QUOTENAME('a')
;;
SELECT TRANSLATE('abc', 'ab', 'xy'), STR(1.5, 5, 2), SOUNDEX(name), DIFFERENCE(name, 'x') FROM customers
;;
SELECT ABS(-1), ROUND(1.567, 2), CEILING(1.2), FLOOR(1.8), POWER(2, 10), SQRT(2), SIGN(-1), PI()
;;
SELECT EXP(1), LOG(10), LOG(8, 2), LOG10(100), SIN(1), COS(1), TAN(1), ATN2(1, 2), DEGREES(1), RADIANS(1)
;;
SELECT 7 / 2, 7 % 2, 7.0 / 2, -total, +total FROM orders
;;
SELECT 6 & 3, 6 | 3, 6 ^ 3, ~6
;;
SELECT HASHBYTES('SHA2_256', name), DATALENGTH(name) FROM customers
;;
SELECT JSON_VALUE(name, '$.a'), JSON_QUERY(name, '$.b'), ISJSON(name) FROM customers
;;
SELECT j.[key], j.value FROM OPENJSON('{"a": 1}') AS j
;;
SELECT o.id, j.value FROM orders AS o CROSS APPLY OPENJSON(N'[1, 2]') AS j
;;
SELECT j.a, j.b FROM OPENJSON('[{"a": 1, "b": "x"}]') WITH (a int '$.a', b nvarchar(20) '$.b') AS j
;;
SELECT s.value FROM STRING_SPLIT('a,b,c', ',') AS s
;;
SELECT c.id, s.value FROM customers AS c CROSS APPLY STRING_SPLIT(c.name, ' ') AS s
;;
SELECT g.value FROM GENERATE_SERIES(1, 10) AS g
;;
SELECT p.[1], p.[2] FROM (SELECT customer_id, total FROM orders) AS t PIVOT (SUM(total) FOR customer_id IN ([1], [2])) AS p
;;
SELECT total AS [Total of order], id AS "Order" FROM orders
;;
SELECT total AS 'Total' FROM orders
;;
SELECT Total = total, id FROM orders
;;
SELECT id [commit], total shipped FROM orders [update]
;;
SELECT name COLLATE Latin1_General_CI_AS FROM customers
;;
SELECT id FROM customers WHERE name = N'Ada' COLLATE Latin1_General_BIN2
;;
SELECT id FROM customers ORDER BY name COLLATE Latin1_General_CI_AI DESC, id
;;
SELECT id FROM orders WHERE (total > 10 AND total < 20) OR (customer_id = 1 AND NOT (total = 5))
;;
SELECT id FROM orders -- a remark
;;
SELECT /* a remark /* within */ */ id FROM orders
;;
SELECT id FROM orders;
;;
SELECT o.id, (SELECT name FROM customers c WHERE c.id = o.customer_id) AS name FROM orders o
;;
SELECT t.n FROM (SELECT COUNT(*) AS n FROM orders) t
;;
SELECT c.city, p.category_id, SUM(i.quantity * i.price) AS revenue FROM orders o JOIN customers c ON c.id = o.customer_id JOIN order_items i ON i.order_id = o.id JOIN products p ON p.id = i.product_id GROUP BY c.city, p.category_id
;;
SELECT name FROM categories WHERE parent_id IS NULL ORDER BY CASE WHEN name = 'x' THEN 0 ELSE 1 END, name
;;
SELECT id FROM orders WHERE customer_id IS NOT DISTINCT FROM 1
;;
SELECT CAST('6F9619FF-8B86-D011-B42D-00C04FC964FF' AS uniqueidentifier) AS id, NEWID() AS other
;;
SELECT SUM(CASE WHEN total > 10 THEN 1 ELSE 0 END) * 100.0 / NULLIF(COUNT(*), 0) AS share FROM orders
;;
SELECT 1e3, .5, 1.5E-3
;;
-- # Binary numbers, joins in joins, the older ROLLUP
SELECT id, 0xAE AS b FROM customers ORDER BY id
;;
SELECT c.id, i.quantity FROM customers AS c LEFT JOIN orders AS o JOIN order_items AS i ON i.order_id = o.id ON o.customer_id = c.id
;;
SELECT city, COUNT(*) AS n FROM customers GROUP BY city WITH ROLLUP
;;
