SELECT strftime('%Y-%m', placed_at), count(*) FROM orders GROUP BY strftime('%Y-%m', placed_at) ORDER BY 1
SELECT to_char(placed_at, 'YYYY-MM'), count(*) FROM orders GROUP BY to_char(placed_at, 'YYYY-MM') ORDER BY 1
SELECT DATE_FORMAT(placed_at, '%Y-%m'), count(*) FROM orders GROUP BY DATE_FORMAT(placed_at, '%Y-%m') ORDER BY 1

SELECT count(*) FROM orders WHERE CAST(strftime('%Y', placed_at) AS INTEGER) = 2024
SELECT count(*) FROM orders WHERE EXTRACT(YEAR FROM placed_at) = 2024
SELECT count(*) FROM orders WHERE YEAR(placed_at) = 2024

SELECT CAST(strftime('%m', opened_at) AS INTEGER), count(*) FROM tickets GROUP BY CAST(strftime('%m', opened_at) AS INTEGER) ORDER BY 1
SELECT EXTRACT(MONTH FROM opened_at), count(*) FROM tickets GROUP BY EXTRACT(MONTH FROM opened_at) ORDER BY 1
SELECT MONTH(opened_at), count(*) FROM tickets GROUP BY MONTH(opened_at) ORDER BY 1

SELECT name, coalesce(zip, '-') FROM customers ORDER BY id
SELECT name, coalesce(zip, '-') FROM customers ORDER BY id
SELECT name, NVL(zip, '-') FROM customers ORDER BY id

SELECT length(name) FROM customers ORDER BY id
SELECT length(name) FROM customers ORDER BY id
SELECT LEN(name) FROM customers ORDER BY id

SELECT title FROM products ORDER BY unit_price DESC LIMIT 2
SELECT title FROM products ORDER BY unit_price DESC LIMIT 2
SELECT TOP 2 title FROM products ORDER BY unit_price DESC

SELECT upper(name) FROM customers ORDER BY id
SELECT upper(name) FROM customers ORDER BY id
SELECT UCASE(name) FROM customers ORDER BY id

SELECT date(placed_at) FROM orders ORDER BY id
SELECT date_trunc('day', placed_at) FROM orders ORDER BY id
SELECT toStartOfDay(placed_at) FROM orders ORDER BY id

SELECT CASE WHEN total > 10 THEN 'big' ELSE 'small' END FROM orders ORDER BY id
SELECT CASE WHEN total > 10 THEN 'big' ELSE 'small' END FROM orders ORDER BY id
SELECT IIF(total > 10, 'big', 'small') FROM orders ORDER BY id
SELECT IF(total > 10, 'big', 'small') FROM orders ORDER BY id

SELECT substr(name, -2) FROM customers ORDER BY id
SELECT right(name, 2) FROM customers ORDER BY id
SELECT RIGHT(name, 2) FROM customers ORDER BY id

SELECT datetime(placed_at, '+3 hours') FROM orders ORDER BY id
SELECT placed_at + INTERVAL '3 hours' FROM orders ORDER BY id
SELECT DATEADD(hour, 3, placed_at) FROM orders ORDER BY id

SELECT date(placed_at, '+2 months') FROM orders ORDER BY id
SELECT placed_at + INTERVAL '2 months' FROM orders ORDER BY id
SELECT DATEADD(mm, 3 - 1, placed_at) FROM orders ORDER BY id
