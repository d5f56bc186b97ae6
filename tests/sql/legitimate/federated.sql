-- # Statements over crm (PostgreSQL), sales (SQLite) and world (CSV), with the tables of `federated`. The rows are
-- # compared with those of DuckDB over the same tables, in order: each statement orders all of its rows, or has one.
-- # Joins
SELECT c.id, c.name, o.id, o.total FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id ORDER BY c.id, o.id
;;
SELECT c.id, o.id FROM crm.customers c LEFT JOIN sales.orders o ON o.customer_id = c.id ORDER BY c.id, o.id NULLS LAST
;;
SELECT c.id, o.id FROM crm.customers c RIGHT JOIN sales.orders o ON o.customer_id = c.id ORDER BY o.id, c.id
;;
SELECT c.id, o.id FROM crm.customers c FULL JOIN sales.orders o ON o.customer_id = c.id
ORDER BY c.id NULLS FIRST, o.id NULLS FIRST
;;
SELECT c.id, w.city FROM crm.customers c CROSS JOIN world.cities w ORDER BY c.id, w.city
;;
SELECT c.id, w.country FROM crm.customers c, world.cities w WHERE w.city = c.city ORDER BY c.id
;;
SELECT city, id, country FROM crm.customers JOIN world.cities USING (city) ORDER BY city, id
;;
SELECT city, id, country FROM crm.customers LEFT JOIN world.cities USING (city) ORDER BY city NULLS LAST, id
;;
SELECT id, country FROM crm.customers NATURAL JOIN world.cities ORDER BY id
;;
SELECT c.id, o.id FROM crm.customers c JOIN sales.orders o ON o.customer_id < c.id AND o.total > c.credit
ORDER BY c.id, o.id
;;
SELECT c.id, o.id FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id AND o.total > 40 ORDER BY 1, 2
;;
SELECT c.id, o.id FROM crm.customers c LEFT JOIN sales.orders o ON o.customer_id = c.id AND o.total > 60 ORDER BY 1, 2
;;
SELECT c.name, o.id, w.country FROM sales.orders o JOIN crm.customers c ON c.id = o.customer_id
JOIN world.cities w ON w.city = c.city ORDER BY o.id
;;
SELECT o.id, c.name, w.country FROM sales.orders o LEFT JOIN crm.customers c ON c.id = o.customer_id
LEFT JOIN world.cities w ON w.city = c.city ORDER BY o.id
;;
SELECT o.id, i.product, c.name FROM sales.orders o JOIN sales.items i ON i.order_id = o.id
JOIN crm.customers c ON c.id = o.customer_id WHERE i.quantity > 2 ORDER BY o.id, i.product
;;
SELECT a.id, b.id, w.country FROM crm.customers a JOIN crm.customers b ON b.city = a.city AND b.id > a.id
JOIN world.cities w ON w.city = a.city ORDER BY 1, 2
;;
SELECT c.id, t.year, t.goal FROM crm.customers c JOIN world.cities w ON w.city = c.city
LEFT JOIN world.targets t ON t.country = w.country ORDER BY c.id, t.year
;;
SELECT c.id, v.id FROM crm.customers c JOIN (crm.visits v JOIN sales.orders o ON o.id = v.id) ON v.customer_id = c.id
ORDER BY 1, 2
;;
SELECT c.id, o.id FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id OR o.code = c.name ORDER BY 1, 2
;;
SELECT c.id, o.id FROM crm.customers c JOIN sales.orders o ON o.customer_id + 1 = c.id * 1 ORDER BY 1, 2
;;
SELECT c.id, o.id FROM crm.customers c JOIN sales.orders o ON upper(o.code) = upper(c.name) ORDER BY 1, 2
;;
SELECT c.id, o.id FROM crm.customers c JOIN sales.orders o ON o.placed > c.since AND o.customer_id = c.id ORDER BY 1, 2
;;
SELECT c.id, o.id FROM crm.customers c JOIN sales.orders o ON o.customer_id IS NOT DISTINCT FROM c.id ORDER BY 1, 2
;;
-- # Groups
SELECT c.city, count(*) AS orders, sum(o.total) AS total FROM crm.customers c
JOIN sales.orders o ON o.customer_id = c.id GROUP BY c.city ORDER BY c.city NULLS FIRST
;;
SELECT c.id, count(o.id), min(o.total), max(o.total), avg(o.total) FROM crm.customers c
LEFT JOIN sales.orders o ON o.customer_id = c.id GROUP BY c.id ORDER BY c.id
;;
SELECT c.city, count(DISTINCT o.code), count(DISTINCT c.id) FROM crm.customers c
JOIN sales.orders o ON o.customer_id = c.id GROUP BY c.city ORDER BY 1
;;
SELECT c.city, count(*) FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id
GROUP BY c.city HAVING count(*) > 4 ORDER BY 1
;;
SELECT w.country, sum(i.quantity * i.price) FROM sales.items i JOIN sales.orders o ON o.id = i.order_id
JOIN crm.customers c ON c.id = o.customer_id JOIN world.cities w ON w.city = c.city GROUP BY w.country ORDER BY 1
;;
SELECT w.country, i.product, sum(i.quantity) FROM sales.items i JOIN sales.orders o ON o.id = i.order_id
JOIN crm.customers c ON c.id = o.customer_id JOIN world.cities w ON w.city = c.city
GROUP BY w.country, i.product ORDER BY 1, 2
;;
SELECT c.vip, count(*) FILTER (WHERE o.total > 50) AS large, sum(o.total) FILTER (WHERE o.code IS NULL) AS plain
FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id GROUP BY c.vip ORDER BY c.vip NULLS LAST
;;
SELECT CASE WHEN o.total > 50 THEN 'much' WHEN o.total > 20 THEN 'some' ELSE 'little' END AS size, count(*)
FROM sales.orders o JOIN crm.customers c ON c.id = o.customer_id GROUP BY 1 ORDER BY 1
;;
SELECT extract(month FROM o.placed) AS month, count(c.id) FROM sales.orders o
LEFT JOIN crm.customers c ON c.id = o.customer_id GROUP BY 1 ORDER BY 1 NULLS LAST
;;
SELECT CAST(date_trunc('quarter', o.placed) AS date) AS quarter, sum(o.total) FROM sales.orders o
JOIN crm.customers c ON c.id = o.customer_id GROUP BY 1 ORDER BY 1 NULLS LAST
;;
SELECT w.country, c.vip, count(*) FROM crm.customers c JOIN world.cities w ON w.city = c.city
GROUP BY ROLLUP (w.country, c.vip) ORDER BY w.country NULLS LAST, c.vip NULLS LAST, count(*)
;;
SELECT w.country, o.code, count(*), grouping(w.country), grouping(o.code) FROM crm.customers c
JOIN world.cities w ON w.city = c.city JOIN sales.orders o ON o.customer_id = c.id
GROUP BY CUBE (w.country, o.code) ORDER BY 4, 5, 1 NULLS LAST, 2 NULLS LAST
;;
SELECT w.country, o.code, sum(o.total) FROM crm.customers c JOIN world.cities w ON w.city = c.city
JOIN sales.orders o ON o.customer_id = c.id GROUP BY GROUPING SETS ((w.country), (o.code), ())
ORDER BY 1 NULLS LAST, 2 NULLS LAST, 3
;;
SELECT string_agg(o.code, ',' ORDER BY o.id), c.city FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id
GROUP BY c.city ORDER BY c.city NULLS LAST
;;
SELECT bool_and(c.vip), bool_or(c.vip), w.country FROM crm.customers c JOIN world.cities w ON w.city = c.city
GROUP BY w.country ORDER BY w.country
;;
SELECT round(stddev_samp(o.total), 6), round(var_pop(o.customer_id), 6) FROM sales.orders o
JOIN crm.customers c ON c.id = o.customer_id
;;
SELECT corr(o.total, v.seconds), covar_pop(o.total, v.seconds) FROM sales.orders o JOIN crm.visits v ON v.id = o.id
ORDER BY 1
;;
SELECT count(*), count(c.city), count(DISTINCT c.city) FROM crm.customers c
LEFT JOIN world.cities w ON w.city = c.city ORDER BY 1
;;
SELECT c.city, sum(o.total) / count(*) FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id
GROUP BY c.city ORDER BY sum(o.total) / count(*) DESC, c.city
;;
SELECT length(c.name) AS n, count(*) FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id
GROUP BY length(c.name) ORDER BY n
;;
SELECT bit_and(o.id), bit_or(o.id), bit_xor(o.id), c.city FROM crm.customers c
JOIN sales.orders o ON o.customer_id = c.id GROUP BY c.city ORDER BY c.city NULLS LAST
;;
-- # Set operations
SELECT id FROM crm.customers UNION SELECT customer_id FROM sales.orders ORDER BY 1 NULLS FIRST
;;
SELECT id FROM crm.customers UNION ALL SELECT customer_id FROM sales.orders ORDER BY 1 NULLS LAST
;;
SELECT id FROM crm.customers INTERSECT SELECT customer_id FROM sales.orders ORDER BY 1
;;
SELECT id FROM crm.customers EXCEPT SELECT customer_id FROM sales.orders ORDER BY 1
;;
SELECT customer_id FROM sales.orders EXCEPT SELECT id FROM crm.customers ORDER BY 1 NULLS FIRST
;;
SELECT city FROM crm.customers UNION SELECT city FROM world.cities UNION SELECT code FROM sales.orders
ORDER BY 1 NULLS LAST
;;
(SELECT id FROM crm.customers WHERE id < 4 UNION SELECT id FROM sales.orders WHERE id > 57)
EXCEPT SELECT people FROM world.cities ORDER BY 1
;;
SELECT 'crm' AS place, count(*) FROM crm.customers UNION ALL SELECT 'sales', count(*) FROM sales.orders
UNION ALL SELECT 'world', count(*) FROM world.cities ORDER BY 1
;;
SELECT id, name FROM crm.customers UNION ALL SELECT id, code FROM sales.orders WHERE id < 5 ORDER BY 1, 2 NULLS LAST
;;
SELECT x.id, count(*) FROM (SELECT id FROM crm.customers UNION ALL SELECT customer_id FROM sales.orders) x
GROUP BY x.id ORDER BY 1 NULLS LAST
;;
SELECT id FROM crm.customers WHERE vip UNION SELECT customer_id FROM sales.orders WHERE total > 80
INTERSECT SELECT id FROM crm.customers ORDER BY 1
;;
-- # Subqueries
SELECT c.id FROM crm.customers c WHERE c.id IN (SELECT o.customer_id FROM sales.orders o WHERE o.total > 60) ORDER BY 1
;;
SELECT c.id FROM crm.customers c WHERE c.id NOT IN
(SELECT o.customer_id FROM sales.orders o WHERE o.customer_id IS NOT NULL) ORDER BY 1
;;
SELECT c.id FROM crm.customers c WHERE c.id NOT IN (SELECT o.customer_id FROM sales.orders o) ORDER BY 1
;;
SELECT c.id FROM crm.customers c WHERE EXISTS (SELECT 1 FROM sales.orders o WHERE o.customer_id = c.id AND o.total > 70)
ORDER BY 1
;;
SELECT c.id FROM crm.customers c WHERE NOT EXISTS (SELECT 1 FROM sales.orders o WHERE o.customer_id = c.id) ORDER BY 1
;;
SELECT c.id, (SELECT count(*) FROM sales.orders o WHERE o.customer_id = c.id) AS n FROM crm.customers c ORDER BY c.id
;;
SELECT c.id, (SELECT max(o.total) FROM sales.orders o WHERE o.customer_id = c.id) FROM crm.customers c ORDER BY 1
;;
SELECT o.id FROM sales.orders o WHERE o.total > (SELECT avg(credit) FROM crm.customers WHERE id > 4) ORDER BY 1
;;
SELECT o.id, o.total - (SELECT min(credit) FROM crm.customers) FROM sales.orders o WHERE o.id < 9 ORDER BY 1
;;
SELECT c.id FROM crm.customers c WHERE c.credit > (SELECT avg(o.total) FROM sales.orders o WHERE o.customer_id = c.id)
ORDER BY 1
;;
SELECT c.id FROM crm.customers c WHERE c.city IN (SELECT w.city FROM world.cities w WHERE w.country IN
(SELECT t.country FROM world.targets t WHERE t.goal > 100)) ORDER BY 1
;;
SELECT d.city, d.n, w.country FROM (SELECT city, count(*) AS n FROM crm.customers GROUP BY city) d
JOIN world.cities w ON w.city = d.city ORDER BY 1
;;
SELECT d.customer_id, d.total, c.name FROM (SELECT customer_id, sum(total) AS total FROM sales.orders
GROUP BY customer_id) d JOIN crm.customers c ON c.id = d.customer_id WHERE d.total > 100 ORDER BY 1
;;
SELECT c.id, c.id IN (SELECT o.customer_id FROM sales.orders o WHERE o.customer_id IS NOT NULL AND o.total > 50) AS big
FROM crm.customers c ORDER BY 1
;;
SELECT c.id, CASE WHEN EXISTS (SELECT 1 FROM sales.orders o WHERE o.customer_id = c.id) THEN 'yes' ELSE 'no' END
FROM crm.customers c ORDER BY 1
;;
SELECT o.id FROM sales.orders o WHERE (SELECT bool_or(c.vip) FROM crm.customers c WHERE c.id = o.customer_id) ORDER BY 1
;;
SELECT c.id FROM crm.customers c WHERE (SELECT count(*) FROM crm.visits v WHERE v.customer_id = c.id)
> (SELECT count(*) FROM sales.orders o WHERE o.customer_id = c.id) ORDER BY 1
;;
SELECT t.id, t.n FROM (SELECT c.id, (SELECT count(*) FROM sales.orders o WHERE o.customer_id = c.id) AS n
FROM crm.customers c) t WHERE t.n > 3 ORDER BY 1
;;
SELECT c.id, (SELECT count(*) FROM sales.orders o WHERE o.customer_id = c.id HAVING count(*) < c.id) AS n
FROM crm.customers c ORDER BY 1
;;
SELECT c.id, (SELECT max(o.id) + c.id FROM sales.orders o WHERE o.customer_id = c.id HAVING count(*) > 3) AS n
FROM crm.customers c ORDER BY 1
;;
SELECT o.id, (SELECT (SELECT w.country FROM world.cities w WHERE w.city = c.city) FROM crm.customers c
WHERE c.id = o.customer_id) AS country FROM sales.orders o ORDER BY 1
;;
SELECT o.id, (SELECT o.id + c.id * (SELECT count(*) FROM world.cities w WHERE w.city = c.city) FROM crm.customers c
WHERE c.id = o.customer_id) AS n FROM sales.orders o ORDER BY 1
;;
SELECT c.id, (SELECT count(*) FROM (SELECT DISTINCT o.code FROM sales.orders o WHERE o.customer_id = c.id) d) AS n
FROM crm.customers c ORDER BY 1
;;
SELECT c.id, (SELECT max(d.n) FROM (SELECT o.code, count(*) AS n FROM sales.orders o WHERE o.customer_id = c.id
GROUP BY o.code) d) AS n FROM crm.customers c ORDER BY 1
;;
SELECT c.id FROM crm.customers c WHERE EXISTS (SELECT 1 FROM (SELECT total FROM sales.orders o
WHERE o.customer_id = c.id) d WHERE d.total > 80) ORDER BY 1
;;
SELECT c.id, (SELECT count(*) FROM sales.orders o WHERE o.customer_id = c.id AND c.vip) AS n
FROM crm.customers c ORDER BY 1
;;
SELECT c.id FROM crm.customers c WHERE c.id IN ((SELECT max(o.customer_id) - 2 FROM sales.orders o), 2, 4) ORDER BY 1
;;
SELECT c.id FROM crm.customers c WHERE c.id NOT IN ((SELECT min(o.customer_id) + 1 FROM sales.orders o),
(SELECT min(i.quantity) + 1 FROM sales.items i)) ORDER BY 1
;;
SELECT c.id FROM crm.customers c ORDER BY EXISTS (SELECT 1 FROM sales.orders o WHERE o.customer_id = c.id
AND o.total > 80), c.id
;;
WITH per AS (SELECT customer_id, count(*) AS n FROM sales.orders GROUP BY customer_id)
SELECT c.id, (SELECT max(p.n) FROM per p WHERE p.customer_id = c.id GROUP BY p.customer_id) AS n
FROM crm.customers c ORDER BY 1
;;
WITH per AS (SELECT customer_id, count(*) AS n FROM sales.orders GROUP BY customer_id)
SELECT per.n, count(*) AS k, (SELECT c.name FROM crm.customers c WHERE c.id = per.n) AS name
FROM per GROUP BY per.n ORDER BY 1
;;
-- # WITH
WITH big AS (SELECT customer_id, sum(total) AS total FROM sales.orders GROUP BY customer_id)
SELECT c.name, big.total FROM crm.customers c JOIN big ON big.customer_id = c.id ORDER BY c.id
;;
WITH o AS (SELECT * FROM sales.orders WHERE total > 20), c AS (SELECT * FROM crm.customers WHERE vip)
SELECT c.id, o.id FROM c JOIN o ON o.customer_id = c.id ORDER BY 1, 2
;;
WITH a(n) AS (SELECT id FROM crm.customers), b(n) AS (SELECT customer_id FROM sales.orders)
SELECT a.n, count(b.n) FROM a LEFT JOIN b ON b.n = a.n GROUP BY a.n ORDER BY a.n
;;
WITH per AS (SELECT w.country, c.id FROM crm.customers c JOIN world.cities w ON w.city = c.city),
sums AS (SELECT per.country, sum(o.total) AS total FROM per JOIN sales.orders o ON o.customer_id = per.id
GROUP BY per.country) SELECT s.country, s.total, t.goal, s.total >= t.goal AS reached FROM sums s
JOIN world.targets t ON t.country = s.country AND t.year = 2024 ORDER BY 1
;;
WITH x AS (SELECT id FROM crm.customers) SELECT x.id, y.id FROM x JOIN x y ON y.id = x.id + 1
JOIN sales.orders o ON o.id = x.id ORDER BY 1
;;
WITH c AS (SELECT id, city FROM crm.customers) SELECT * FROM (WITH o AS (SELECT customer_id, count(*) AS n
FROM sales.orders GROUP BY customer_id) SELECT c.id, o.n FROM c JOIN o ON o.customer_id = c.id) z ORDER BY 1
;;
-- # Windows
SELECT o.id, row_number() OVER (PARTITION BY c.city ORDER BY o.id) FROM sales.orders o
JOIN crm.customers c ON c.id = o.customer_id ORDER BY o.id
;;
SELECT o.id, rank() OVER (ORDER BY o.customer_id), dense_rank() OVER (ORDER BY o.customer_id) FROM sales.orders o
JOIN crm.customers c ON c.id = o.customer_id ORDER BY o.id
;;
SELECT o.id, sum(o.total) OVER (PARTITION BY c.id ORDER BY o.id) AS running FROM sales.orders o
JOIN crm.customers c ON c.id = o.customer_id ORDER BY o.id
;;
SELECT o.id, avg(o.customer_id) OVER (ORDER BY o.id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) FROM sales.orders o
JOIN crm.customers c ON c.id = o.customer_id ORDER BY o.id
;;
SELECT o.id, lag(o.total) OVER (PARTITION BY c.id ORDER BY o.id), lead(o.id, 2, -1) OVER (ORDER BY o.id)
FROM sales.orders o JOIN crm.customers c ON c.id = o.customer_id ORDER BY o.id
;;
SELECT o.id, first_value(o.id) OVER w, last_value(o.id) OVER w, nth_value(o.id, 2) OVER w FROM sales.orders o
JOIN crm.customers c ON c.id = o.customer_id WINDOW w AS (PARTITION BY c.city ORDER BY o.id
ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) ORDER BY o.id
;;
SELECT o.id, ntile(4) OVER (ORDER BY o.id), round(percent_rank() OVER (ORDER BY o.id), 6),
round(cume_dist() OVER (ORDER BY o.id), 6) FROM sales.orders o JOIN crm.customers c ON c.id = o.customer_id
ORDER BY o.id
;;
SELECT * FROM (SELECT o.id, c.city, row_number() OVER (PARTITION BY c.city ORDER BY o.total DESC, o.id) AS place
FROM sales.orders o JOIN crm.customers c ON c.id = o.customer_id) r WHERE r.place <= 2
ORDER BY r.city NULLS LAST, r.place
;;
SELECT r.* FROM (SELECT c.city, sum(o.total) AS total, rank() OVER (ORDER BY sum(o.total) DESC) AS place
FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id GROUP BY c.city) r ORDER BY r.place, r.city
;;
SELECT o.id, count(*) OVER (PARTITION BY c.vip), sum(o.total) OVER () FROM sales.orders o
JOIN crm.customers c ON c.id = o.customer_id ORDER BY o.id
;;
SELECT o.id, count(*) FILTER (WHERE o.total > 40) OVER (PARTITION BY c.id ORDER BY o.id) FROM sales.orders o
JOIN crm.customers c ON c.id = o.customer_id ORDER BY o.id
;;
SELECT o.id, sum(o.customer_id) OVER (ORDER BY o.customer_id RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)
FROM sales.orders o JOIN crm.customers c ON c.id = o.customer_id ORDER BY o.id
;;
SELECT o.id, min(o.total) OVER (PARTITION BY c.id ORDER BY o.id DESC), max(o.total) OVER (PARTITION BY c.id)
FROM sales.orders o JOIN crm.customers c ON c.id = o.customer_id ORDER BY o.id
;;
-- # Conditions
SELECT c.id, o.id FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id
WHERE o.total BETWEEN 10 AND 50 AND c.name LIKE '%a%' AND o.code NOT LIKE 'A%' ORDER BY 1, 2
;;
SELECT c.id, o.id FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id
WHERE c.name ILIKE 'a%' OR o.code IN ('ab', 'é') OR c.city IS NULL ORDER BY 1, 2
;;
SELECT c.id, o.id FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id
WHERE o.placed >= DATE '2024-06-01' AND o.placed < DATE '2024-09-01' ORDER BY 1, 2
;;
SELECT c.id, o.id FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id
WHERE NOT (o.total > 20 AND c.vip) ORDER BY 1, 2
;;
SELECT c.id, o.id FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id
WHERE c.vip IS NOT TRUE AND o.code IS DISTINCT FROM 'ab' ORDER BY 1, 2
;;
SELECT c.id, o.id FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id
WHERE (c.id, o.code) IN ((4, 'AB'), (8, 'é'), (5, 'ab'), (5, 'AB')) ORDER BY 1, 2
;;
SELECT c.id, o.id FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id
WHERE o.total % 7 > 3 AND c.id % 2 = 1 ORDER BY 1, 2
;;
SELECT c.id, w.people FROM crm.customers c JOIN world.cities w ON w.city = c.city
WHERE w.people > 700000 AND c.credit IS NOT NULL AND w.founded < DATE '1900-01-01' ORDER BY 1
;;
SELECT c.id, v.id FROM crm.customers c JOIN crm.visits v ON v.customer_id = c.id JOIN world.cities w ON w.city = c.city
WHERE v.seen >= TIMESTAMP '2024-01-10 06:00:00' AND v.seconds < 30 ORDER BY 1, 2
;;
SELECT DISTINCT c.city, o.code FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id
ORDER BY c.city NULLS LAST, o.code NULLS LAST
;;
SELECT DISTINCT ON (c.city) c.city, o.id FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id
ORDER BY c.city NULLS LAST, o.id DESC
;;
SELECT c.id, o.id FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id ORDER BY o.total DESC, o.id LIMIT 7
;;
SELECT c.id, o.id FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id ORDER BY o.id LIMIT 5 OFFSET 11
;;
-- # Expressions
SELECT c.id, c.credit + o.total, c.credit - o.total, o.total * 2, -o.total, abs(o.total - 50) FROM crm.customers c
JOIN sales.orders o ON o.customer_id = c.id ORDER BY o.id
;;
SELECT o.id, o.id / 7, o.id % 7, o.total / 3, round(o.total, 1), floor(o.total), ceil(o.total) FROM sales.orders o
JOIN crm.customers c ON c.id = o.customer_id ORDER BY o.id
;;
SELECT o.id, power(c.id, 2), sqrt(o.id), ln(o.id), exp(1.0), pi() > 3 FROM sales.orders o
JOIN crm.customers c ON c.id = o.customer_id ORDER BY o.id
;;
SELECT c.id, upper(c.name), lower(c.name), length(c.name), reverse(c.name), c.name || ' of ' || w.country
FROM crm.customers c JOIN world.cities w ON w.city = c.city ORDER BY 1
;;
SELECT c.id, left(c.name, 2), right(c.name, 2), substr(c.name, 2, 3), substring(c.name FROM 2), repeat(w.country, 2)
FROM crm.customers c JOIN world.cities w ON w.city = c.city ORDER BY 1
;;
SELECT c.id, lpad(c.name, 8, '.'), rpad(w.city, 8, '-'), trim(' ' || c.name || ' '), ltrim(w.city, 'R'),
rtrim(c.name, 'a') FROM crm.customers c JOIN world.cities w ON w.city = c.city ORDER BY 1
;;
SELECT c.id, replace(c.name, 'a', 'oo'), translate(c.name, 'abe', 'xyz'), strpos(c.name, 'a'), position('o' IN w.city)
FROM crm.customers c JOIN world.cities w ON w.city = c.city ORDER BY 1
;;
SELECT c.id, concat(c.name, '-', w.city), concat_ws('/', w.country, NULL, w.city), split_part(w.city, 'o', 1),
starts_with(c.name, 'A'), ascii(c.name), chr(64 + c.id) FROM crm.customers c JOIN world.cities w ON w.city = c.city
ORDER BY 1
;;
SELECT o.id, coalesce(o.code, c.city, '-'), nullif(o.code, 'ab'), greatest(c.id, o.id), least(c.credit, o.total)
FROM sales.orders o JOIN crm.customers c ON c.id = o.customer_id ORDER BY o.id
;;
SELECT o.id, CASE o.code WHEN 'ab' THEN 1 WHEN 'AB' THEN 2 ELSE 0 END, CASE WHEN c.vip THEN o.total END
FROM sales.orders o JOIN crm.customers c ON c.id = o.customer_id ORDER BY o.id
;;
SELECT o.id, extract(year FROM o.placed), extract(quarter FROM o.placed), extract(doy FROM o.placed),
date_part('week', o.placed), date_part('dow', o.placed) FROM sales.orders o
JOIN crm.customers c ON c.id = o.customer_id ORDER BY o.id
;;
SELECT o.id, CAST(o.placed + INTERVAL '1 month' AS date), CAST(o.placed - INTERVAL '10 days' AS date),
CAST(date_trunc('month', o.placed) AS date), o.placed > c.since FROM sales.orders o
JOIN crm.customers c ON c.id = o.customer_id ORDER BY o.id
;;
SELECT v.id, v.seen + INTERVAL '90 minutes', date_trunc('hour', v.seen), extract(hour FROM v.seen),
extract(minute FROM v.seen), CAST(v.seen AS date) FROM crm.visits v JOIN sales.orders o ON o.id = v.id ORDER BY v.id
;;
SELECT o.id, CAST(o.id AS varchar) || ':' || CAST(c.credit AS varchar), CAST(floor(o.total) AS integer)
FROM sales.orders o JOIN crm.customers c ON c.id = o.customer_id WHERE o.total <> 42.5 ORDER BY o.id
;;
SELECT o.id, CAST(o.placed AS varchar), CAST(o.total AS double), CAST(c.id AS decimal(10,3)) FROM sales.orders o
JOIN crm.customers c ON c.id = o.customer_id ORDER BY o.id
;;
SELECT o.id, o.total > 50 AND c.vip, o.total > 50 OR c.vip, NOT c.vip, o.code IS NULL FROM sales.orders o
JOIN crm.customers c ON c.id = o.customer_id ORDER BY o.id
;;
SELECT c.id, v.n, v.word FROM crm.customers c JOIN (VALUES (1, 'one'), (2, 'two'), (5, 'five')) AS v(n, word)
ON v.n = c.id JOIN sales.orders o ON o.id = c.id ORDER BY 1
;;
-- # Rows of lists
SELECT u.* FROM (SELECT s.city, unnest(s.ids) AS id FROM (SELECT c.city, array_agg(o.id ORDER BY o.id) AS ids
FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id WHERE o.id < 30 GROUP BY c.city) s) u ORDER BY u.id
;;
SELECT c.id, x.n, x.total FROM crm.customers c CROSS JOIN LATERAL
(SELECT count(*) AS n, sum(o.total) AS total FROM sales.orders o WHERE o.customer_id = c.id) x ORDER BY 1
;;
SELECT c.id, x.id FROM crm.customers c, LATERAL (SELECT o.id FROM sales.orders o WHERE o.customer_id = c.id
AND o.total > 50) x ORDER BY 1, 2
;;
-- # Questions of people
SELECT w.country, count(DISTINCT c.id) AS customers, sum(o.total) AS sales, round(avg(o.total), 4) AS mean,
max(o.placed) AS last FROM sales.orders o JOIN crm.customers c ON c.id = o.customer_id
JOIN world.cities w ON w.city = c.city WHERE o.placed >= DATE '2024-01-01' GROUP BY w.country ORDER BY sales DESC
;;
SELECT i.product, sum(i.quantity * i.price) AS sales, sum(sum(i.quantity * i.price)) OVER () AS whole FROM sales.items i
JOIN sales.orders o ON o.id = i.order_id JOIN crm.customers c ON c.id = o.customer_id GROUP BY i.product ORDER BY 1
;;
WITH monthly AS (SELECT CAST(date_trunc('month', o.placed) AS date) AS month, sum(o.total) AS total
FROM sales.orders o JOIN crm.customers c ON c.id = o.customer_id WHERE o.placed IS NOT NULL GROUP BY 1)
SELECT month, total, total - lag(total) OVER (ORDER BY month) AS change FROM monthly ORDER BY month
;;
SELECT c.name, sum(v.seconds) AS seconds, count(DISTINCT o.id) AS orders FROM crm.customers c
LEFT JOIN crm.visits v ON v.customer_id = c.id LEFT JOIN sales.orders o ON o.customer_id = c.id
GROUP BY c.id, c.name ORDER BY c.id
;;
SELECT c.city, sum(CASE WHEN o.code = 'ab' THEN o.total ELSE 0 END) AS ab,
sum(CASE WHEN o.code = 'AB' THEN o.total ELSE 0 END) AS big FROM crm.customers c
JOIN sales.orders o ON o.customer_id = c.id GROUP BY c.city ORDER BY c.city NULLS LAST
;;
SELECT c.id, c.name FROM crm.customers c LEFT JOIN sales.orders o ON o.customer_id = c.id WHERE o.id IS NULL ORDER BY 1
;;
SELECT t.country, t.year, t.goal, coalesce(s.total, 0) AS total FROM world.targets t LEFT JOIN
(SELECT w.country, sum(o.total) AS total FROM sales.orders o JOIN crm.customers c ON c.id = o.customer_id
JOIN world.cities w ON w.city = c.city GROUP BY w.country) s ON s.country = t.country ORDER BY 1, 2
;;
-- # Values of other rows
SELECT o.id, (SELECT c.name FROM crm.customers c WHERE c.id = o.customer_id) AS name FROM sales.orders o ORDER BY o.id
;;
SELECT c.id, (SELECT o.total FROM sales.orders o WHERE o.customer_id = c.id ORDER BY o.total DESC NULLS LAST, o.id LIMIT 1)
AS largest FROM crm.customers c ORDER BY c.id
;;
SELECT c.id FROM crm.customers c WHERE (SELECT w.country FROM world.cities w WHERE w.city = c.city) IS NULL ORDER BY c.id
;;
