-- # Plain
SELECT 1
;;
SELECT 1;
;;
select Id, NAME from customers
;;
SELECT * FROM customers
;;
SELECT c.* FROM customers c WHERE c.country = 'GB'
;;
SELECT shop.customers.name FROM shop.customers
;;
SELECT `id`, `name` FROM `shop`.`customers`
;;
SELECT `Order Id`, lang FROM `Order Notes`
;;
SELECT n.`Order Id` FROM shop.`Order Notes` AS n
;;
SELECT items_total FROM order_totals ORDER BY order_id LIMIT 3
;;
SELECT DISTINCT country FROM customers
;;
SELECT ALL country FROM customers
;;
SELECT name AS n, city AS `the city` FROM customers ORDER BY n DESC
;;
SELECT name n FROM customers ORDER BY 1 LIMIT 2 OFFSET 1
;;
SELECT name FROM customers ORDER BY id LIMIT 1, 2
;;
SELECT id FROM customers WHERE id IN (1, 2, 3) AND NOT vip
;;
SELECT id FROM customers WHERE (id, country) IN ((1, 'GB'), (2, 'FR'))
;;
SELECT id FROM customers WHERE id BETWEEN 2 AND 4 ORDER BY id
;;
SELECT id FROM customers WHERE email IS NULL OR city IS NOT NULL
;;
SELECT id FROM customers WHERE city <=> NULL
;;
SELECT id FROM customers WHERE name LIKE 'A%' OR name NOT LIKE '%e%'
;;
SELECT id FROM orders WHERE note LIKE '50 !% off!_%' ESCAPE '!'
;;
SELECT id FROM customers WHERE name REGEXP '^[A-C]' ORDER BY id
;;
SELECT id FROM customers WHERE name RLIKE 'e$'
;;
SELECT id FROM customers WHERE name NOT REGEXP 'o'
;;
SELECT id FROM customers WHERE vip = TRUE AND vip IS TRUE AND NOT (vip IS FALSE)
;;
SELECT id FROM customers WHERE vip XOR id = 2
;;
SELECT 7 DIV 2, 7 % 2, 7 / 2, -7, +7
;;
SELECT 6 & 3, 6 | 3, 6 ^ 3, 1 << 4, 256 >> 4, ~0
;;
SELECT 1 = 1, 1 <> 2, 1 != 2, 1 < 2, 2 >= 2
;;
SELECT 'it''s', 'a "quoted" word', 'semi;colon', '-- no comment', '/* none */'
;;
SELECT 'line\nbreak', 'tab\there', 'back\\slash', 'percent\%'
;;
SELECT X'4D79', 0x4D7953514C, b'1010' + 0
;;
SELECT id, 0x41 + 0 AS a, 0xFF & 0x0F AS b FROM customers WHERE id < 0x5 ORDER BY id
;;
SELECT 'it\'s' AS a, "it's" AS b, "say ""hi""" AS c, LENGTH("a""b") AS d, "a''b" AS e, 'a\' OR 1 = 1 -- ' AS f
;;
SELECT 'a\'' , 'b'
;;
SELECT N'national'
;;
SELECT 1.5, .5, 1e3, 1.5E-2, 12345678901234567890123
;;
SELECT TRUE, FALSE, NULL
;;
-- a comment before
SELECT 1 -- and one behind
;;
SELECT /* inside */ id FROM customers WHERE id = 1
;;
SELECT id # the old form
FROM customers WHERE id = 1
;;
-- # Dates
SELECT DATE '2024-02-29', TIME '12:00:00', TIMESTAMP '2024-02-29 12:00:00'
;;
SELECT id FROM orders WHERE placed_at >= '2024-03-01' AND placed_at < '2024-04-01'
;;
SELECT id FROM orders WHERE placed_at >= DATE '2024-03-01' + INTERVAL 1 MONTH
;;
SELECT DATE_ADD(joined, INTERVAL 1 DAY), DATE_SUB(joined, INTERVAL 2 WEEK) FROM customers ORDER BY id
;;
SELECT joined + INTERVAL 1 YEAR, joined - INTERVAL 3 MONTH FROM customers WHERE id = 4
;;
SELECT ADDDATE(joined, INTERVAL 31 DAY), SUBDATE(joined, INTERVAL 1 QUARTER) FROM customers WHERE id = 1
;;
SELECT placed_at + INTERVAL 90 MINUTE, placed_at - INTERVAL 30 SECOND FROM orders ORDER BY id LIMIT 2
;;
SELECT YEAR(joined), MONTH(joined), DAY(joined), DAYNAME(joined), QUARTER(joined), WEEK(joined, 3) FROM customers
;;
SELECT HOUR(placed_at), MINUTE(placed_at), SECOND(placed_at), MICROSECOND(placed_at) FROM orders
;;
SELECT EXTRACT(YEAR FROM placed_at), EXTRACT(MONTH FROM placed_at), EXTRACT(DAY FROM placed_at) FROM orders
;;
SELECT DATE_FORMAT(placed_at, '%Y-%m') AS month, COUNT(*) FROM orders GROUP BY month ORDER BY month
;;
SELECT DATE(placed_at), TIME(placed_at), LAST_DAY(placed_at) FROM orders
;;
SELECT DATEDIFF('2024-03-01', '2024-02-01'), TIMESTAMPDIFF(DAY, '2024-02-01', '2024-03-01')
;;
SELECT TIMESTAMPDIFF(MONTH, joined, '2024-06-01'), TIMESTAMPADD(HOUR, 5, joined) FROM customers
;;
SELECT STR_TO_DATE('29.02.2024', '%d.%m.%Y'), MAKEDATE(2024, 60), MAKETIME(1, 2, 3)
;;
SELECT UNIX_TIMESTAMP('2024-01-01 00:00:00'), FROM_UNIXTIME(1704067200), FROM_UNIXTIME(1704067200, '%Y')
;;
SELECT TO_DAYS('2024-01-01'), FROM_DAYS(739251), DAYOFWEEK('2024-01-01'), DAYOFYEAR('2024-12-31'), WEEKDAY('2024-01-01')
;;
SELECT TIMEDIFF('12:00:00', '10:30:00'), SEC_TO_TIME(3661), TIME_TO_SEC('01:01:01'), ADDTIME('01:00:00', '00:30:00')
;;
SELECT CONVERT_TZ('2024-01-01 12:00:00', '+00:00', '+02:00'), YEARWEEK('2024-01-01'), PERIOD_DIFF(202402, 202401)
;;
SELECT NOW() > '2020-01-01', CURDATE() > '2020-01-01', CURRENT_TIMESTAMP > '2020-01-01', UTC_TIMESTAMP() > '2020-01-01'
;;
SELECT COUNT(*) FROM orders WHERE placed_at < NOW() - INTERVAL 1 DAY
;;
-- # Text
SELECT CONCAT(name, ' (', country, ')'), CONCAT_WS(', ', name, city, country) FROM customers
;;
SELECT UPPER(name), LOWER(name), UCASE(name), LCASE(name), LENGTH(name), CHAR_LENGTH(name) FROM customers
;;
SELECT SUBSTRING(name, 1, 3), SUBSTRING(name FROM 2 FOR 3), SUBSTR(name, -3), LEFT(name, 2), RIGHT(name, 2), MID(name, 2, 2) FROM customers
;;
SELECT TRIM(name), LTRIM('  a'), RTRIM('a  '), TRIM(LEADING 'x' FROM 'xxa'), TRIM(BOTH 'x' FROM 'xax') FROM customers WHERE id = 1
;;
SELECT REPLACE(name, 'a', 'o'), REVERSE(name), REPEAT('ab', 3), LPAD(id, 5, '0'), RPAD('a', 3, '-'), SPACE(2) FROM customers
;;
SELECT LOCATE('a', name), INSTR(name, 'a'), POSITION('a' IN name), FIELD(country, 'GB', 'FR'), FIND_IN_SET('early', tags) FROM customers
;;
SELECT SUBSTRING_INDEX(email, '@', -1) AS domain, COUNT(*) FROM customers WHERE email IS NOT NULL GROUP BY domain
;;
SELECT FORMAT(total, 2), ASCII(note), HEX(note), ORD('a'), CHAR(77, 121), ELT(2, 'a', 'b'), QUOTE(status) FROM orders
;;
SELECT STRCMP('a', 'b'), SOUNDEX('Robert'), INSERT('Quadratic', 3, 4, 'What'), TO_BASE64('abc'), FROM_BASE64('YWJj')
;;
SELECT MD5(name), SHA1(name), SHA2(name, 256), CRC32(name) FROM customers
;;
SELECT REGEXP_REPLACE(name, '[aeiou]', '*'), REGEXP_SUBSTR(name, '[A-Z][a-z]+'), REGEXP_INSTR(name, 'a') FROM customers
;;
SELECT name COLLATE utf8mb4_bin FROM customers ORDER BY name COLLATE utf8mb4_general_ci
;;
SELECT id FROM customers WHERE name = 'ada lovelace' COLLATE utf8mb4_general_ci
;;
SELECT CONVERT(name USING latin1) FROM customers WHERE id = 1
;;
SELECT CAST(name AS CHAR), CAST('12' AS SIGNED), CAST('12' AS UNSIGNED), CAST('1.5' AS DECIMAL(10,2)), CAST('2024-01-01' AS DATE) FROM customers
;;
SELECT CAST('2024-01-01 10:00' AS DATETIME), CAST('10:00' AS TIME), CAST(1 AS DOUBLE), CONVERT('5', SIGNED), CAST('a' AS BINARY)
;;
SELECT BINARY name FROM customers WHERE id = 1
;;
SELECT id FROM customers WHERE BINARY name = 'Ada Lovelace' OR BINARY name = 'ada lovelace' ORDER BY id
;;
SELECT id FROM customers WHERE NOT BINARY name LIKE 'a%' AND name IN (BINARY 'Ada Lovelace', 'x') ORDER BY id
;;
-- # Numbers
SELECT ABS(-1), CEIL(1.2), CEILING(1.2), FLOOR(1.8), ROUND(1.255, 2), TRUNCATE(1.999, 1), SIGN(-3), MOD(7, 3)
;;
SELECT POW(2, 10), POWER(2, 3), SQRT(16), EXP(0), LN(1), LOG(1), LOG2(8), LOG10(100), LOG(2, 8)
;;
SELECT SIN(0), COS(0), TAN(0), ATAN(0), ATAN2(0, 1), PI() > 3, DEGREES(0), RADIANS(0)
;;
SELECT CONV('ff', 16, 10), BIN(5), OCT(8), HEX(255), UNHEX('4D79'), BIT_COUNT(7)
;;
SELECT GREATEST(1, 2, 3), LEAST(1, 2, 3)
;;
SELECT RAND() < 1
;;
SELECT CHAR_LENGTH(UUID())
;;
-- # Choices
SELECT IF(vip, 'yes', 'no'), IFNULL(city, '?'), NULLIF(country, 'GB'), COALESCE(email, city, 'none'), ISNULL(email) FROM customers
;;
SELECT CASE WHEN total > 50 THEN 'large' WHEN total IS NULL THEN 'none' ELSE 'small' END AS size FROM orders
;;
SELECT CASE country WHEN 'GB' THEN 1 ELSE 0 END FROM customers
;;
-- # Aggregates
SELECT COUNT(*), COUNT(email), COUNT(DISTINCT country), COUNT(DISTINCT country, city) FROM customers
;;
SELECT SUM(total), AVG(total), MIN(total), MAX(total), STD(total), STDDEV_SAMP(total), VAR_POP(total), VARIANCE(total) FROM orders
;;
SELECT GROUP_CONCAT(name) FROM customers
;;
SELECT country, GROUP_CONCAT(DISTINCT name ORDER BY name DESC SEPARATOR '; ') FROM customers GROUP BY country ORDER BY country
;;
SELECT GROUP_CONCAT(id ORDER BY id SEPARATOR '|') FROM customers
;;
SELECT BIT_AND(id), BIT_OR(id), BIT_XOR(id) FROM customers
;;
SELECT country, COUNT(*) AS n FROM customers GROUP BY country HAVING n > 1
;;
SELECT country, COUNT(*) FROM customers GROUP BY country HAVING COUNT(*) >= 1 ORDER BY COUNT(*) DESC, country
;;
SELECT YEAR(placed_at) AS y, status, SUM(total) FROM orders GROUP BY y, status
;;
SELECT JSON_ARRAYAGG(id), JSON_OBJECTAGG(id, name) FROM customers
;;
-- # Joins
SELECT c.name, o.id FROM customers c JOIN orders o ON o.customer_id = c.id
;;
SELECT c.name, o.id FROM customers c INNER JOIN orders o ON o.customer_id = c.id AND o.total > 10
;;
SELECT c.name, COUNT(o.id) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id, c.name
;;
SELECT c.name, o.id FROM orders o RIGHT OUTER JOIN customers c ON o.customer_id = c.id
;;
SELECT COUNT(*) FROM customers CROSS JOIN categories
;;
SELECT c.name, o.id FROM customers c, orders o WHERE c.id = o.customer_id
;;
SELECT id, name FROM customers NATURAL JOIN (SELECT 1 AS id) AS one
;;
SELECT order_id, line_no, items_total FROM order_items JOIN order_totals USING (order_id)
;;
SELECT a.name, b.name FROM categories a JOIN categories b ON b.parent_id = a.id
;;
SELECT p.name, c.name FROM products p LEFT JOIN categories c ON c.id = p.category_id ORDER BY p.id
;;
SELECT c.name FROM customers c STRAIGHT_JOIN orders o ON o.customer_id = c.id
;;
SELECT p.name, k.name FROM products p LEFT JOIN categories k ON k.id = p.category_id
UNION ALL SELECT p.name, k.name FROM categories k LEFT JOIN products p ON k.id = p.category_id WHERE p.id IS NULL
;;
SELECT c.name, SUM(i.quantity * i.unit_price) AS spent FROM customers c JOIN orders o ON o.customer_id = c.id
JOIN order_items i ON i.order_id = o.id GROUP BY c.name ORDER BY spent DESC LIMIT 3
;;
-- # Subqueries and sets
SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE status = 'paid')
;;
SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)
;;
SELECT name FROM customers c WHERE NOT EXISTS (SELECT * FROM orders WHERE customer_id = c.id AND status = 'paid')
;;
SELECT name, (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) AS orders FROM customers c
;;
SELECT name FROM products WHERE price > (SELECT AVG(price) FROM products)
;;
SELECT name FROM products WHERE price >= ALL (SELECT price FROM products)
;;
SELECT name FROM products WHERE price > ANY (SELECT price FROM products WHERE category_id = 5)
;;
SELECT t.country, t.n FROM (SELECT country, COUNT(*) AS n FROM customers GROUP BY country) AS t WHERE t.n > 1
;;
SELECT name FROM customers UNION SELECT name FROM products
;;
SELECT country FROM customers UNION ALL SELECT 'XX' ORDER BY country LIMIT 3
;;
(SELECT id FROM customers LIMIT 1) UNION (SELECT 99)
;;
SELECT country FROM customers INTERSECT SELECT 'GB'
;;
SELECT country FROM customers EXCEPT SELECT 'GB'
;;
-- # WITH
WITH big AS (SELECT * FROM orders WHERE total > 50) SELECT COUNT(*) FROM big
;;
WITH a AS (SELECT id FROM customers), b AS (SELECT id FROM a WHERE id > 1) SELECT * FROM b
;;
WITH t (x, y) AS (SELECT id, name FROM customers) SELECT x, y FROM t ORDER BY x
;;
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT SUM(i) FROM n
;;
WITH RECURSIVE tree AS (
  SELECT id, name, parent_id, 0 AS depth FROM categories WHERE parent_id IS NULL
  UNION ALL
  SELECT c.id, c.name, c.parent_id, t.depth + 1 FROM categories c JOIN tree t ON c.parent_id = t.id
) SELECT name, depth FROM tree ORDER BY id
;;
-- # Windows
SELECT id, ROW_NUMBER() OVER (ORDER BY id) FROM orders
;;
SELECT id, RANK() OVER (ORDER BY total DESC), DENSE_RANK() OVER (ORDER BY total DESC) FROM orders
;;
SELECT customer_id, SUM(total) OVER (PARTITION BY customer_id ORDER BY placed_at) FROM orders
;;
SELECT id, LAG(total, 1) OVER (ORDER BY id), LEAD(total) OVER (ORDER BY id) FROM orders
;;
SELECT id, FIRST_VALUE(total) OVER (ORDER BY id), NTILE(3) OVER (ORDER BY id), PERCENT_RANK() OVER (ORDER BY id) FROM orders
;;
SELECT id, SUM(total) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM orders
;;
SELECT id, AVG(total) OVER w, COUNT(*) OVER w FROM orders WINDOW w AS (PARTITION BY status)
;;
SELECT * FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY placed_at DESC) AS r FROM orders) AS t WHERE r = 1
;;
-- # JSON
SELECT JSON_EXTRACT(attributes, '$.pages'), JSON_UNQUOTE(JSON_EXTRACT(attributes, '$.lang')) FROM products
;;
SELECT JSON_VALUE(attributes, '$.lang') FROM products
;;
SELECT name FROM products WHERE JSON_CONTAINS(attributes, '"sea"', '$.tags')
;;
SELECT JSON_LENGTH(attributes), JSON_KEYS(attributes), JSON_TYPE(attributes), JSON_VALID(attributes) FROM products
;;
SELECT JSON_OBJECT('id', id, 'name', name), JSON_ARRAY(id, name) FROM customers
;;
SELECT JSON_SEARCH(attributes, 'one', 'sea'), JSON_DEPTH(attributes), JSON_QUOTE(name) FROM products
;;
SELECT JSON_SET(profile, '$.x', 1), JSON_REMOVE(profile, '$.age'), JSON_MERGE_PATCH(profile, '{"a": 1}') FROM customers
;;
-- # The rest
SELECT INET_ATON('10.0.0.1'), INET_NTOA(167772161), INET6_NTOA(INET6_ATON('::1')), IS_IPV4('10.0.0.1')
;;
SELECT image, HEX(image), LENGTH(image) FROM products WHERE image IS NOT NULL
;;
SELECT id, tags FROM customers WHERE FIND_IN_SET('early', tags) > 0
;;
SELECT status + 0, status FROM orders ORDER BY id
;;
SELECT id FROM orders WHERE status IN ('paid', 'shipped') ORDER BY FIELD(status, 'shipped', 'paid'), id
;;
SELECT id FROM orders ORDER BY total IS NULL, total DESC
;;
SELECT "text"
;;
VALUES (1), (2)
;;
SELECT 1 FROM dual WHERE 1 = 1
;;
SELECT CONVERT(name, CHAR(3)) FROM customers
;;
SELECT 1 FROM DUAL
;;
SELECT name FROM customers ORDER BY RAND() LIMIT 0
;;
SELECT `c`.`name` AS `select` FROM `customers` AS `c` WHERE `c`.`id` = 1
;;
SELECT ((1 + 2) * 3 - 4) / 5
;;
SELECT COUNT(*) FROM customers WHERE NOT EXISTS (SELECT 1 FROM orders WHERE orders.customer_id = customers.id)
;;
SELECT country, COUNT(*) FROM customers GROUP BY country WITH ROLLUP
;;
SELECT country, name, COUNT(*) FROM customers GROUP BY country, name WITH ROLLUP HAVING COUNT(*) > 0
;;
-- # Places
SELECT ST_AsText(ST_GeomFromText('POINT(1 2)')), ST_X(POINT(1, 2)), ST_Y(POINT(1, 2)), ST_SRID(POINT(1, 2))
;;
SELECT ST_Distance(POINT(1, 2), POINT(1, 4)), ST_Distance_Sphere(POINT(1, 2), POINT(1, 2)), ST_Contains(POINT(1, 2), POINT(1, 2))
;;
SELECT ST_Area(ST_GeomFromText('POLYGON((0 0,4 0,4 4,0 0))')), ST_AsText(ST_Centroid(ST_GeomFromText('POLYGON((0 0,2 0,2 2,0 2,0 0))')))
;;
SELECT ST_NumPoints(LINESTRING(POINT(0, 0), POINT(3, 4))), ST_Length(LINESTRING(POINT(0, 0), POINT(3, 4))), MBRWithin(POINT(1, 2), POINT(1, 2))
;;
-- # Functions
SELECT MAKE_SET(5, 'a', 'b', 'c'), EXPORT_SET(5, 'Y', 'N', ',', 4)
;;
SELECT CHARSET(name), COLLATION(name), COERCIBILITY(name) FROM customers WHERE id = 1
;;
SELECT VERSION() <> '', COALESCE(DATABASE(), SCHEMA(), 'none') <> '', SYSDATE() > '2020-01-01'
;;
-- # Syntax of MySQL
SELECT id FROM customers WHERE id>1 && id<4 && NOT vip ORDER BY id
;;
SELECT id MOD 2, 1 + id mod 3 * 2 FROM customers ORDER BY id
;;
SELECT TRIM(TRAILING FROM 'a  '), TRIM(LEADING FROM '  a'), TRIM(BOTH FROM ' a '), TRIM(TRAILING 'x' FROM 'axx')
;;
SELECT EXTRACT(YEAR_MONTH FROM placed_at), EXTRACT(day_hour FROM placed_at) FROM orders ORDER BY id
;;
SELECT placed_at + INTERVAL '1:30' HOUR_MINUTE, DATE_ADD(placed_at, INTERVAL '1 2' DAY_HOUR) FROM orders ORDER BY id
;;
SELECT placed_at - INTERVAL (1 + 2) * 2 DAY, placed_at - INTERVAL id % 7 + 1 HOUR FROM orders ORDER BY id
;;
SELECT INTERVAL(23, 1, 15), interval(id, 2, 4) + 1 FROM customers ORDER BY id
;;
SELECT id FROM customers WHERE ROW(id, country) = ROW(1, 'GB') OR row(id, country) IN (ROW(2, 'IE'), (3, 'FR')) ORDER BY id
;;
