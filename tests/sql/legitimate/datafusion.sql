SELECT 1
;;
SELECT * FROM customers ORDER BY id
;;
SELECT name, city FROM customers WHERE city IS NOT NULL ORDER BY name DESC LIMIT 2 OFFSET 1
;;
SELECT count(*), count(DISTINCT customer_id), min(total), max(total), sum(total), avg(total) FROM orders
;;
SELECT "Note Text" FROM "Order Notes" WHERE "Order Id" = 1
;;
SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer_id
;;
SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON c.id = o.customer_id AND c.city = 'Rome'
;;
SELECT c.name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)
;;
SELECT c.name FROM customers c WHERE c.id IN (SELECT customer_id FROM orders WHERE total > 10)
;;
SELECT name, (SELECT sum(total) FROM orders o WHERE o.customer_id = c.id) AS spent FROM customers c
;;
SELECT files.orders.id FROM files.orders
;;
SELECT shop.files.orders.id FROM shop.files.orders
;;
SELECT ORDERS.ID FROM ORDERS
;;
WITH x AS (SELECT customer_id, sum(total) AS t FROM orders GROUP BY customer_id) SELECT * FROM x WHERE t > 1
;;
WITH a AS (SELECT 1 AS n), b AS (SELECT n + 1 AS n FROM a) SELECT * FROM a UNION ALL SELECT * FROM b
;;
SELECT id, row_number() OVER (PARTITION BY customer_id ORDER BY total DESC) FROM orders
;;
SELECT id, sum(total) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM orders
;;
SELECT id, lag(total) OVER (ORDER BY id), lead(total, 1, 0) OVER (ORDER BY id) FROM orders
;;
SELECT CASE WHEN total > 20 THEN 'much' ELSE 'little' END AS size, count(*) FROM orders GROUP BY 1 ORDER BY 1
;;
SELECT date_trunc('month', placed) AS month, count(*) FROM orders GROUP BY month ORDER BY month
;;
SELECT EXTRACT(YEAR FROM placed), date_part('month', placed) FROM orders
;;
SELECT placed + INTERVAL '1 day', CAST(placed AS TIMESTAMP) FROM orders
;;
SELECT placed::varchar || '!' FROM orders
;;
SELECT upper(name), lower(name), length(name), substring(name FROM 1 FOR 2), trim(name), position('a' IN name) FROM customers
;;
SELECT name || ' of ' || coalesce(city, '?') FROM customers
;;
SELECT concat(name, '-', city), replace(name, 'A', 'B'), split_part(name, 'd', 1), left(name, 2), lpad(name, 10, '.') FROM customers
;;
SELECT name FROM customers WHERE name LIKE 'A%' OR name ILIKE '%O%' OR name SIMILAR TO 'E.e'
;;
SELECT regexp_replace(name, '[aeiou]', '_', 'g'), regexp_like(name, '^A') FROM customers
;;
SELECT round(total, 1), floor(total), ceil(total), abs(-total), total % 7, power(2, 3), sqrt(16) FROM orders
;;
SELECT CAST(total AS DECIMAL(12,2)) * 1.19, CAST(id AS VARCHAR), CAST('12' AS BIGINT), total::int FROM orders
;;
SELECT CAST('2024-02-28' AS DATE), DATE '2024-02-29', TIMESTAMP '2024-02-29 12:00:00', now() > TIMESTAMP '2020-01-01'
;;
SELECT id FROM orders WHERE total BETWEEN 5 AND 30 AND id NOT IN (2, 4) AND paid
;;
SELECT id FROM orders WHERE paid IS TRUE OR paid IS DISTINCT FROM false
;;
SELECT paid, string_agg(CAST(id AS VARCHAR), ',' ORDER BY id) FROM orders GROUP BY paid
;;
SELECT array_agg(id ORDER BY id) FROM orders
;;
SELECT median(total), stddev(total), approx_distinct(customer_id), corr(id, total) FROM orders
;;
SELECT count(*) FILTER (WHERE paid) FROM orders
;;
SELECT customer_id, paid, count(*) FROM orders GROUP BY ROLLUP (customer_id, paid)
;;
SELECT customer_id FROM orders GROUP BY customer_id HAVING count(*) > 1
;;
SELECT DISTINCT city FROM customers
;;
SELECT id FROM orders UNION SELECT id FROM customers ORDER BY id
;;
SELECT id FROM orders EXCEPT SELECT id FROM customers
;;
SELECT id FROM orders INTERSECT SELECT id FROM customers
;;
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(n, t)
;;
VALUES (1, 'x'), (2, 'y')
;;
SELECT 'it''s', 'a\b', 'ü', '''''', E'a'
;;
SELECT greatest(1, 2), least(1, 2), nullif(1, 1), nvl(NULL, 2), coalesce(NULL, 3)
;;
SELECT to_date('2024-01-02'), to_timestamp('2024-01-02T03:04:05'), date_bin(INTERVAL '15 minutes', TIMESTAMP '2024-01-02 03:04:05')
;;
SELECT current_date IS NOT NULL, current_timestamp IS NOT NULL
;;
SELECT a.id, b.id FROM orders a, orders b WHERE a.id = b.id
;;
SELECT * FROM orders a CROSS JOIN customers b
;;
SELECT count(*) FROM orders a FULL OUTER JOIN customers b ON a.id = b.id
;;
SELECT 1 AS "select", 2 AS "Mixed Case"
;;
SELECT -1, +1, 1e3, 1.5e-3, 9007199254740993, 1 / 2.0
;;
SELECT * FROM orders ;
;;
/* of the evening */ SELECT id -- the id
FROM orders
;;
SELECT c.* FROM customers AS c
;;
SELECT count(*) AS n FROM (SELECT DISTINCT customer_id FROM orders) AS d
;;
SELECT id FROM orders ORDER BY total DESC NULLS LAST LIMIT 2
;;
SELECT CAST(NULL AS BIGINT), NULL IS NULL
;;
SELECT o.id FROM orders AS o JOIN customers USING (id)
;;
SELECT min(placed), max(placed) - min(placed) FROM orders
;;
SELECT id, id + 1 AS next FROM orders WHERE id > 0 OR true
;;
SELECT id, (SELECT c.name FROM customers AS c WHERE c.id = o.customer_id) FROM orders AS o
;;
SELECT c.id, (SELECT o.total FROM orders AS o WHERE o.customer_id = c.id ORDER BY o.total DESC NULLS LAST LIMIT 1) FROM customers AS c
;;
