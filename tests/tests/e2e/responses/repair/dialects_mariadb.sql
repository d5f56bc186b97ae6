SELECT DATE_FORMAT(placed_at, '%Y-%m'), count(*) FROM orders GROUP BY DATE_FORMAT(placed_at, '%Y-%m') ORDER BY 1
SELECT strftime('%Y-%m', placed_at), count(*) FROM orders GROUP BY strftime('%Y-%m', placed_at) ORDER BY 1

SELECT count(*) FROM orders WHERE YEAR(placed_at) = 2024
SELECT count(*) FROM orders WHERE toYear(placed_at) = 2024

SELECT MONTH(opened_at), count(*) FROM tickets GROUP BY MONTH(opened_at) ORDER BY 1
SELECT toMonth(opened_at), count(*) FROM tickets GROUP BY toMonth(opened_at) ORDER BY 1

SELECT length(name) FROM customers ORDER BY id
SELECT LEN(name) FROM customers ORDER BY id

SELECT title FROM products ORDER BY unit_price DESC LIMIT 2
SELECT TOP 2 title FROM products ORDER BY unit_price DESC

SELECT date(placed_at) FROM orders ORDER BY id
SELECT date_trunc('day', placed_at) FROM orders ORDER BY id
SELECT toStartOfDay(placed_at) FROM orders ORDER BY id

SELECT CASE WHEN total > 10 THEN 'big' ELSE 'small' END FROM orders ORDER BY id
SELECT IIF(total > 10, 'big', 'small') FROM orders ORDER BY id

SELECT COALESCE(zip, '-') FROM customers ORDER BY id
SELECT ISNULL(zip, '-') FROM customers ORDER BY id

SELECT DATEDIFF('2024-03-01', placed_at) FROM orders ORDER BY id
SELECT DATEDIFF(day, placed_at, '2024-03-01') FROM orders ORDER BY id

SELECT PERIOD_DIFF(DATE_FORMAT(opened_at, '%Y%m'), DATE_FORMAT(placed_at, '%Y%m')) FROM tickets, orders ORDER BY tickets.id, orders.id
SELECT DATEDIFF(MONTH, placed_at, opened_at) FROM tickets, orders ORDER BY tickets.id, orders.id

SELECT MAKEDATE(YEAR(placed_at), 1) + INTERVAL (QUARTER(placed_at) - 1) QUARTER FROM orders ORDER BY id
SELECT date_trunc('quarter', placed_at) FROM orders ORDER BY id

SELECT DATE(placed_at) - INTERVAL WEEKDAY(placed_at) DAY FROM orders ORDER BY id
SELECT date_trunc('week', placed_at) FROM orders ORDER BY id

SELECT placed_at + INTERVAL 2 MONTH FROM orders ORDER BY id
SELECT placed_at + INTERVAL '2 months' FROM orders ORDER BY id
SELECT DATEADD(month, 2, placed_at) FROM orders ORDER BY id

SELECT GROUP_CONCAT(name ORDER BY name DESC SEPARATOR '; ') FROM customers
SELECT STRING_AGG(name, '; ' ORDER BY name DESC) FROM customers
SELECT LISTAGG(name, '; ') WITHIN GROUP (ORDER BY name DESC) FROM customers

SELECT CAST(total AS double) / 3 FROM orders ORDER BY id
SELECT total::float8 / 3 FROM orders ORDER BY id

SELECT title FROM products ORDER BY unit_price DESC LIMIT 2
SELECT TOP (2) title FROM products ORDER BY unit_price DESC
