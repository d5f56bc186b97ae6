-- # Plain reading
SELECT * FROM customers ORDER BY id
;;
SELECT id, name FROM shop.customers WHERE vip ORDER BY name
;;
select ID, Name from CUSTOMERS where Country = 'GB' order by Id;
;;
SELECT customers.id, customers.name FROM customers ORDER BY customers.id
;;
SELECT shop.customers.id FROM shop.customers ORDER BY shop.customers.id
;;
SELECT c.* FROM customers AS c ORDER BY 1
;;
SELECT "Customers"."NAME" FROM "shop"."customers" ORDER BY 1
;;
SELECT * FROM "Order Notes" ORDER BY "Order Id"
;;
SELECT n."Order Id", n."Free ""Text""" FROM "order notes" n WHERE n.lang <> 'de' ORDER BY 1
;;
SELECT /* a comment */ id -- another; one
FROM orders ORDER BY id
;;
SELECT 1
;;
SELECT 'it''s', '', 'two '' '''' quotes', 'back\slash', '\', 'line', U&'\0441\043D'
;;
SELECT - -1, +1, -(-2), 5 - -3, 7 % 3, 7 / 2, 7.0 / 2, 1e3, .5, X'00ff', DECIMAL '1.50', BIGINT '5', DOUBLE '1.5'
;;
SELECT NULL, true, false, 1 IS NULL, NULL IS NOT DISTINCT FROM NULL, NOT true, true AND NULL
;;
-- # Conditions
SELECT id FROM orders WHERE total BETWEEN 10 AND 50 ORDER BY id
;;
SELECT id FROM orders WHERE status IN ('paid', 'new') AND note IS NOT NULL ORDER BY id
;;
SELECT id FROM orders WHERE status NOT IN ('paid') OR total IS NULL ORDER BY id
;;
SELECT id, note FROM orders WHERE note LIKE '%!_%' ESCAPE '!' ORDER BY id
;;
SELECT id FROM customers WHERE regexp_like(email, '^[a-e].*\.org$') ORDER BY id
;;
SELECT id FROM orders WHERE (customer_id, status) IN ((1, 'paid'), (4, 'paid')) ORDER BY id
;;
SELECT id, CASE WHEN total > 50 THEN 'large' WHEN total IS NULL THEN 'none' ELSE 'small' END AS size FROM orders ORDER BY id
;;
SELECT id, CASE status WHEN 'paid' THEN 1 ELSE 0 END FROM orders ORDER BY id
;;
SELECT coalesce(city, 'nowhere'), nullif(id, 3), greatest(id, 3), least(id, 3), if(vip, 'yes', 'no') FROM customers ORDER BY id
;;
SELECT id FROM orders WHERE placed_at >= TIMESTAMP '2024-02-01 00:00:00 UTC' AND placed_at < DATE '2024-03-01' ORDER BY id
;;
SELECT try(CAST('x' AS integer)), TRY_CAST('x' AS integer), TRY_CAST('5' AS bigint), CAST(5 AS varchar)
;;
SELECT id FROM customers WHERE joined IS DISTINCT FROM DATE '2023-01-15' ORDER BY id
;;
-- # Aggregates
SELECT count(*), count(total), count(DISTINCT status), sum(total), avg(total), min(total), max(note) FROM orders
;;
SELECT status, count(*) AS n, round(sum(total), 1) FROM orders GROUP BY status HAVING count(*) > 1 ORDER BY n DESC, status
;;
SELECT country, array_agg(name ORDER BY name), listagg(name, ', ') WITHIN GROUP (ORDER BY id DESC) FROM customers GROUP BY 1 ORDER BY 1
;;
SELECT count(*) FILTER (WHERE vip), bool_or(vip), bool_and(vip), every(vip), count_if(vip) FROM customers
;;
SELECT approx_percentile(total, 0.5), approx_distinct(status), max_by(id, total), min_by(id, total) FROM orders
;;
SELECT stddev(total), variance(total), corr(total, id), regr_slope(total, customer_id) FROM orders
;;
SELECT status, customer_id, sum(total), grouping(status, customer_id) FROM orders GROUP BY ROLLUP (status, customer_id) ORDER BY 1, 2
;;
SELECT status, customer_id, count(*) FROM orders GROUP BY GROUPING SETS ((status), (customer_id), ()) ORDER BY 1, 2
;;
SELECT country, vip, count(*) FROM customers GROUP BY CUBE (country, vip) ORDER BY 1, 2
;;
SELECT map_agg(id, name) FROM categories
;;
SELECT cardinality(histogram(status)), checksum(status) IS NULL, arbitrary(1), any_value(2) FROM orders
;;
SELECT reduce_agg(id, 0, (a, b) -> a + b, (a, b) -> a + b) FROM categories
;;
-- # Windows
SELECT id, row_number() OVER (PARTITION BY status ORDER BY placed_at), rank() OVER (ORDER BY total DESC NULLS LAST) FROM orders ORDER BY id
;;
SELECT id, total, sum(total) OVER (ORDER BY placed_at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running FROM orders ORDER BY placed_at
;;
SELECT id, lag(total, 1, 0) OVER w, lead(total) OVER w, first_value(id) OVER w, ntile(2) OVER w FROM orders WINDOW w AS (PARTITION BY customer_id ORDER BY id) ORDER BY id
;;
SELECT id, avg(total) OVER (ORDER BY CAST(placed_at AS date) RANGE BETWEEN INTERVAL '30' DAY PRECEDING AND CURRENT ROW) FROM orders ORDER BY id
;;
SELECT id, dense_rank() OVER (ORDER BY status), cume_dist() OVER (ORDER BY id), percent_rank() OVER (ORDER BY id) FROM orders ORDER BY id
;;
-- # Joins
SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer_id ORDER BY o.id
;;
SELECT c.name, count(o.id) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.status = 'paid' GROUP BY c.name ORDER BY c.name
;;
SELECT p.name, k.name FROM products p FULL OUTER JOIN categories k ON k.id = p.category_id ORDER BY 1, 2
;;
SELECT a.name, b.name FROM categories a, categories b WHERE b.parent_id = a.id ORDER BY 2
;;
SELECT count(*) FROM customers CROSS JOIN categories
;;
SELECT order_totals.order_id, items_total, total FROM order_totals JOIN orders ON orders.id = order_totals.order_id ORDER BY 1
;;
SELECT o.id, i.line_no, p.name FROM (orders o JOIN order_items i ON i.order_id = o.id) JOIN products p ON p.id = i.product_id ORDER BY o.id, i.line_no
;;
SELECT order_id, line_no FROM order_items JOIN (SELECT id AS order_id FROM orders WHERE status = 'paid') paid USING (order_id) ORDER BY 1, 2
;;
SELECT c.name, latest.id FROM customers c CROSS JOIN LATERAL (SELECT max(o.id) AS id FROM orders o WHERE o.customer_id = c.id) AS latest ORDER BY c.id
;;
-- # Arrays, maps, rows and lambda functions
SELECT p.id, t.tag FROM products p CROSS JOIN UNNEST(p.tags) AS t (tag) ORDER BY 1, 2
;;
SELECT p.id, t.tag, t.n FROM products p CROSS JOIN UNNEST(p.tags) WITH ORDINALITY AS t (tag, n) ORDER BY 1, 3
;;
SELECT p.id, a.k, a.v FROM products AS p CROSS JOIN UNNEST(p.attributes) AS a (k, v) ORDER BY 1, 2
;;
SELECT x, y FROM UNNEST(ARRAY[1, 2, 3], ARRAY['a', 'b']) AS t (x, y) ORDER BY 1
;;
SELECT transform(ARRAY[1, 2], x -> x * 10), filter(ARRAY[1, 2, 3], x -> x > 1), reduce(ARRAY[1, 2], 0, (s, x) -> s + x, s -> s)
;;
SELECT any_match(tags, t -> t = 'sea'), array_join(tags, '-'), cardinality(tags), contains(tags, 'hot') FROM products ORDER BY id
;;
SELECT map_filter(attributes, (k, v) -> k = 'lang'), transform_values(attributes, (k, v) -> upper(v)), map_keys(attributes) FROM products ORDER BY id
;;
SELECT zip_with(ARRAY[1, 2], ARRAY[3, 4], (x, y) -> x + y), array_sort(ARRAY[3, 1, 2]), array_distinct(ARRAY[1, 1])
;;
SELECT ARRAY[1, 2][1], element_at(ARRAY[1], 5), slice(ARRAY[1, 2, 3], 1, 2), sequence(1, 3), flatten(ARRAY[ARRAY[1], ARRAY[2]])
;;
SELECT MAP(ARRAY['a'], ARRAY[1]), element_at(attributes, 'lang') FROM products ORDER BY id
;;
SELECT ROW(1, 'a'), row(2, NULL)
;;
SELECT attributes['lang'] FROM products WHERE id < 4 ORDER BY id
;;
-- # Subqueries and CTEs
SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE total > 30) ORDER BY name
;;
SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.status = 'paid') ORDER BY name
;;
SELECT name, (SELECT max(total) FROM orders WHERE customer_id = customers.id) AS most FROM customers ORDER BY id
;;
SELECT id FROM orders WHERE total > ALL (SELECT price FROM products WHERE category_id = 5) ORDER BY id
;;
SELECT id FROM orders WHERE total = ANY (SELECT price FROM products) ORDER BY id
;;
WITH paid AS (SELECT * FROM orders WHERE status = 'paid'), big AS (SELECT * FROM paid WHERE total > 30) SELECT id, total FROM big ORDER BY id
;;
WITH orders AS (SELECT 1 AS id) SELECT * FROM orders
;;
WITH orders AS (SELECT id, total FROM orders WHERE total > 50) SELECT * FROM ORDERS ORDER BY id
;;
WITH RECURSIVE tree(id, name, depth) AS (SELECT id, name, 0 FROM categories WHERE parent_id IS NULL UNION ALL SELECT c.id, c.name, t.depth + 1 FROM categories c JOIN tree t ON c.parent_id = t.id) SELECT * FROM tree ORDER BY id
;;
SELECT s.status, s.n FROM (SELECT status, count(*) AS n FROM orders GROUP BY status) AS s WHERE s.n > 1 ORDER BY 1
;;
-- # Set operations, VALUES, limits
SELECT name FROM customers UNION SELECT name FROM products ORDER BY name LIMIT 5
;;
SELECT id FROM orders EXCEPT SELECT order_id FROM order_items
;;
(SELECT id FROM orders WHERE status = 'paid' ORDER BY id LIMIT 2) UNION ALL (SELECT id FROM orders WHERE status = 'new') ORDER BY 1
;;
SELECT customer_id FROM orders INTERSECT SELECT id FROM customers ORDER BY 1
;;
VALUES (1, 'a'), (2, 'b')
;;
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(n, letter) ORDER BY n DESC
;;
SELECT id FROM orders ORDER BY id OFFSET 1 LIMIT 2
;;
SELECT id FROM orders ORDER BY id OFFSET 1 ROWS FETCH FIRST 2 ROWS ONLY
;;
SELECT id FROM orders ORDER BY status FETCH FIRST 2 ROWS WITH TIES
;;
SELECT id FROM orders ORDER BY id OFFSET 5
;;
SELECT * FROM (SELECT id FROM orders ORDER BY id OFFSET 2 LIMIT 3) AS some ORDER BY id
;;
SELECT DISTINCT status FROM orders ORDER BY status
;;
-- # Text
SELECT upper(name), lower(name), length(name), reverse(sku), substr(sku, 1, 1), substring(sku FROM 3 FOR 2), strpos(name, 'e') FROM products ORDER BY id
;;
SELECT trim(BOTH ' ' FROM ' a '), ltrim('  a'), rtrim('a  '), lpad('a', 3, 'x'), rpad('a', 3, 'x'), replace('aXa', 'X', '-'), split_part('a-b', '-', 2)
;;
SELECT concat('a', 'b'), concat_ws('-', 'a', 'b'), 'a' || 'b', position('b' IN 'abc'), starts_with('abc', 'ab'), split('a,b', ',')
;;
SELECT regexp_replace('abc', '(b)', '[$1]'), regexp_extract('a12', '\d+'), regexp_extract_all('a1b2', '\d'), format('%s-%d', 'a', 5)
;;
SELECT to_hex(md5(to_utf8('x'))), to_base64(X'00ff'), from_utf8(X'41'), url_encode('a b'), levenshtein_distance('a', 'b')
;;
-- # Numbers
SELECT abs(-1), ceil(1.2), floor(1.8), round(1.255, 2), truncate(1.9), power(2, 3), sqrt(16), mod(7, 3), sign(-5), cbrt(27)
;;
SELECT nan(), infinity(), -infinity(), is_nan(nan()), ln(1), log10(100), pi(), bitwise_and(5, 3), from_base('ff', 16), to_base(255, 16)
;;
SELECT CAST(1.5 AS decimal(38, 10)), CAST('12345678901234567890123456789012345678' AS decimal(38)), CAST(1 AS real), CAST(1 AS tinyint)
;;
-- # Dates and times
SELECT date_trunc('month', placed_at), extract(YEAR FROM placed_at), year(placed_at), date_format(placed_at, '%Y-%m') FROM orders ORDER BY id
;;
SELECT date_add('day', 1, DATE '2024-02-28'), date_diff('day', DATE '2024-01-01', DATE '2024-03-01'), DATE '2024-01-31' + INTERVAL '1' MONTH, last_day_of_month(DATE '2024-02-01')
;;
SELECT TIMESTAMP '2024-01-01 12:00:00' AT TIME ZONE 'Europe/Berlin', with_timezone(TIMESTAMP '2024-01-01 12:00:00', 'Asia/Tokyo')
;;
SELECT TIME '10:20:30.5', TIMESTAMP '2024-01-01 00:00:00.123456', from_unixtime(0), to_unixtime(TIMESTAMP '1970-01-01 00:00:01 UTC'), from_iso8601_date('2024-02-29')
;;
SELECT INTERVAL '2' DAY, INTERVAL '1' YEAR, date_parse('2024-01-31', '%Y-%m-%d'), format_datetime(TIMESTAMP '2024-01-01 00:00:00', 'yyyy')
;;
SELECT CAST('2024-02-29' AS date), CAST('2024-02-29 01:02:03' AS timestamp(6)), day_of_week(DATE '2024-02-29'), quarter(DATE '2024-02-29')
;;
SELECT current_date IS NULL, now() IS NULL, current_timestamp IS NULL, localtimestamp IS NULL
;;
-- # JSON
SELECT json_extract_scalar(details, '$.pages'), json_extract(details, '$.pages'), json_format(details) FROM products ORDER BY id
;;
SELECT json_parse('{"a": [1]}'), json_array_length('[1,2]'), JSON '{"a": 1}', UUID '12151fd2-7586-11e9-8f9e-2a86e4085a59'
;;
