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
