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
SELECT DATE_ADD(placed_at, INTERVAL 2 MONTH) FROM orders ORDER BY id

SELECT title FROM products ORDER BY unit_price DESC LIMIT 2
SELECT title FROM products ORDER BY unit_price DESC LIMIT 2
SELECT TOP (2) title FROM products ORDER BY unit_price DESC
SELECT title FROM products ORDER BY unit_price DESC FETCH FIRST 2 ROWS ONLY

SELECT title FROM products ORDER BY unit_price DESC LIMIT 1 OFFSET 1
SELECT title FROM products ORDER BY unit_price DESC LIMIT 1 OFFSET 1
SELECT title FROM products ORDER BY unit_price DESC OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY

SELECT date(placed_at, 'start of month', '-' || ((strftime('%m', placed_at) - 1) % 3) || ' months') FROM orders ORDER BY id
SELECT date_trunc('quarter', placed_at) FROM orders ORDER BY id
SELECT toStartOfQuarter(placed_at) FROM orders ORDER BY id
SELECT DATETRUNC(quarter, placed_at) FROM orders ORDER BY id

SELECT date(placed_at, '-6 days', 'weekday 1') FROM orders ORDER BY id
SELECT date_trunc('week', placed_at) FROM orders ORDER BY id
SELECT toMonday(placed_at) FROM orders ORDER BY id

SELECT (CAST(strftime('%m', placed_at) AS INTEGER) + 2) / 3 FROM orders ORDER BY id
SELECT EXTRACT(QUARTER FROM placed_at) FROM orders ORDER BY id
SELECT QUARTER(placed_at) FROM orders ORDER BY id
SELECT DATEPART(quarter, placed_at) FROM orders ORDER BY id

SELECT CAST(strftime('%H', placed_at) AS INTEGER) FROM orders ORDER BY id
SELECT EXTRACT(HOUR FROM placed_at) FROM orders ORDER BY id
SELECT HOUR(placed_at) FROM orders ORDER BY id

SELECT CAST(julianday('2024-03-01') - julianday(date(placed_at)) AS INTEGER) FROM orders ORDER BY id
SELECT CAST('2024-03-01' AS date) - CAST(placed_at AS date) FROM orders ORDER BY id
SELECT DATEDIFF(day, placed_at, '2024-03-01') FROM orders ORDER BY id
SELECT DATEDIFF('2024-03-01', placed_at) FROM orders ORDER BY id

SELECT (strftime('%Y', opened_at) - strftime('%Y', placed_at)) * 12 + strftime('%m', opened_at) - strftime('%m', placed_at) FROM tickets, orders ORDER BY tickets.id, orders.id
SELECT (EXTRACT(YEAR FROM opened_at) - EXTRACT(YEAR FROM placed_at)) * 12 + EXTRACT(MONTH FROM opened_at) - EXTRACT(MONTH FROM placed_at) FROM tickets, orders ORDER BY tickets.id, orders.id
SELECT DATEDIFF(MONTH, placed_at, opened_at) FROM tickets, orders ORDER BY tickets.id, orders.id

SELECT group_concat(name, '; ' ORDER BY name DESC) FROM customers
SELECT string_agg(name, '; ' ORDER BY name DESC) FROM customers
SELECT LISTAGG(name, '; ') WITHIN GROUP (ORDER BY name DESC) FROM customers
SELECT STRING_AGG(name, '; ') WITHIN GROUP (ORDER BY name DESC) FROM customers
SELECT GROUP_CONCAT(name ORDER BY name DESC SEPARATOR '; ') FROM customers

SELECT CAST(total AS REAL) / 3 FROM orders ORDER BY id
SELECT CAST(total AS double precision) / 3 FROM orders ORDER BY id
SELECT orders.total::float8 / 3 FROM orders ORDER BY id
