-- # Plain reading
SELECT * FROM customers ORDER BY id
;;
SELECT id, name FROM public.customers WHERE vip ORDER BY name
;;
select ID, Name from CUSTOMERS where Country = 'GB' order by Id;
;;
SELECT customers.id, customers.name FROM customers ORDER BY customers.id
;;
SELECT public.customers.id FROM public.customers ORDER BY public.customers.id
;;
SELECT c.* FROM customers AS c ORDER BY 1
;;
SELECT "customers"."name" FROM "public"."customers" ORDER BY 1
;;
SELECT * FROM "Order Notes" ORDER BY "Order Id"
;;
SELECT n."Order Id", n."Free ""Text""" FROM "Order Notes" n WHERE n.lang <> 'de' ORDER BY 1
;;
SELECT /* a comment */ id -- another; one
FROM orders /* nested /* comments */ too */ ORDER BY id
;;
SELECT 1
;;
SELECT 'it''s', '', 'two '' '''' quotes', E'tab\there', $$dollar 'quoted'$$, $x$a $$ b$x$, U&'\0441\043D', 'back\slash', '\'
;;
SELECT - -1, +1, - (-2), 5 - -3, 2 ^ 3, |/ 16, @ -5, 7 % 3, 7 / 2, 7.0 / 2, 1e3, .5, 5 # 3, ~1, 1 << 4, 255 & 15
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
SELECT id FROM customers WHERE name ILIKE '%b%' ORDER BY id
;;
SELECT id FROM customers WHERE email SIMILAR TO '%@example.(org|com)' ORDER BY id
;;
SELECT id FROM customers WHERE email ~ '^[a-e].*\.org$' AND name !~* 'x' ORDER BY id
;;
SELECT id FROM orders WHERE (customer_id, status) IN ((1, 'paid'), (4, 'paid')) ORDER BY id
;;
SELECT id, CASE WHEN total > 50 THEN 'large' WHEN total IS NULL THEN 'none' ELSE 'small' END AS size FROM orders ORDER BY id
;;
SELECT id, CASE status WHEN 'paid' THEN 1 ELSE 0 END FROM orders ORDER BY id
;;
SELECT coalesce(city, 'nowhere'), nullif(country, 'GB'), greatest(id, 3), least(id, 3) FROM customers ORDER BY id
;;
SELECT id FROM orders WHERE placed_at >= '2024-02-01' AND placed_at < '2024-03-01'::date ORDER BY id
;;
-- # Aggregates
SELECT count(*), count(total), count(DISTINCT status), sum(total), avg(total), min(total), max(note) FROM orders
;;
SELECT status, count(*) AS n, round(sum(total), 1) FROM orders GROUP BY status HAVING count(*) > 1 ORDER BY n DESC, status
;;
SELECT country, array_agg(name ORDER BY name), string_agg(name, ', ' ORDER BY id DESC) FROM customers GROUP BY 1 ORDER BY 1
;;
SELECT count(*) FILTER (WHERE vip), bool_or(vip), bool_and(vip), every(vip) FROM customers
;;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total), percentile_disc(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY total), mode() WITHIN GROUP (ORDER BY status) FROM orders
;;
SELECT stddev(total), variance(total), corr(total, id), regr_slope(total, customer_id) FROM orders
;;
SELECT status, customer_id, sum(total), grouping(status, customer_id) FROM orders GROUP BY ROLLUP (status, customer_id) ORDER BY 1, 2
;;
SELECT status, customer_id, count(*) FROM orders GROUP BY GROUPING SETS ((status), (customer_id), ()) ORDER BY 1, 2
;;
SELECT country, vip, count(*) FROM customers GROUP BY CUBE (country, vip) ORDER BY 1, 2
;;
SELECT jsonb_agg(name ORDER BY id), json_object_agg(id, name ORDER BY id), jsonb_object_agg(sku, price) FROM products
;;
-- # Windows
SELECT id, row_number() OVER (PARTITION BY status ORDER BY placed_at), rank() OVER (ORDER BY total DESC NULLS LAST) FROM orders ORDER BY id
;;
SELECT id, total, sum(total) OVER (ORDER BY placed_at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running FROM orders ORDER BY placed_at
;;
SELECT id, lag(total, 1, 0) OVER w, lead(total) OVER w, first_value(id) OVER w, ntile(2) OVER w FROM orders WINDOW w AS (PARTITION BY customer_id ORDER BY id) ORDER BY id
;;
SELECT id, avg(total) OVER (ORDER BY placed_at RANGE BETWEEN INTERVAL '30 days' PRECEDING AND CURRENT ROW) FROM orders ORDER BY id
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
SELECT order_id, items_total, total FROM order_totals JOIN orders ON orders.id = order_totals.order_id ORDER BY order_id
;;
SELECT * FROM (orders o JOIN order_items i ON i.order_id = o.id) JOIN products p ON p.id = i.product_id ORDER BY o.id, i.line_no
;;
SELECT order_id, line_no FROM order_items JOIN (SELECT id AS order_id FROM orders WHERE status = 'paid') paid USING (order_id) ORDER BY 1, 2
;;
SELECT c.name, latest.id FROM customers c CROSS JOIN LATERAL (SELECT o.id FROM orders o WHERE o.customer_id = c.id ORDER BY o.placed_at DESC LIMIT 1) AS latest ORDER BY c.id
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
SELECT id FROM orders WHERE status = ANY (ARRAY['paid', 'new']) ORDER BY id
;;
SELECT id FROM customers WHERE name LIKE ANY (ARRAY['A%', 'E%']) OR email ILIKE ANY ('{ben%}') ORDER BY id
;;
WITH paid AS (SELECT * FROM orders WHERE status = 'paid'), big AS (SELECT * FROM paid WHERE total > 30) SELECT id, total FROM big ORDER BY id
;;
WITH orders AS (SELECT 1 AS id) SELECT * FROM orders
;;
WITH orders AS (SELECT id, total FROM orders WHERE total > 50) SELECT * FROM orders ORDER BY id
;;
WITH RECURSIVE tree(id, name, depth) AS (SELECT id, name, 0 FROM categories WHERE parent_id IS NULL UNION ALL SELECT c.id, c.name, t.depth + 1 FROM categories c JOIN tree t ON c.parent_id = t.id) SELECT * FROM tree ORDER BY id
;;
WITH t AS MATERIALIZED (SELECT 1 AS x) SELECT * FROM (WITH t AS (SELECT 2 AS x) SELECT * FROM t) u, t
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
SELECT customer_id FROM orders INTERSECT ALL SELECT id FROM customers ORDER BY 1
;;
VALUES (1, 'a'), (2, 'b')
;;
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(n, letter) ORDER BY n DESC
;;
SELECT id FROM orders ORDER BY id LIMIT 2 OFFSET 1
;;
SELECT id FROM orders ORDER BY id OFFSET 1 ROWS FETCH FIRST 2 ROWS ONLY
;;
SELECT DISTINCT ON (customer_id) customer_id, id FROM orders ORDER BY customer_id, placed_at DESC
;;
SELECT DISTINCT status FROM orders ORDER BY status
;;
-- # Text
SELECT upper(name), lower(name), initcap(name), length(name), char_length(name), reverse(sku) FROM products ORDER BY id
;;
SELECT substring(name FROM 2 FOR 3), substring(name, 1, 3), substr(name, 2), left(name, 2), right(name, 2), position('e' IN name), overlay(name PLACING 'X' FROM 1 FOR 1) FROM customers ORDER BY id
;;
SELECT trim(BOTH 'x' FROM 'xxaxx'), trim('  a '), ltrim('xa', 'x'), lpad('7', 3, '0'), repeat('ab', 2), replace('aXa', 'X', '-'), split_part('a,b,c', ',', 2), translate('abc', 'ab', 'xy')
;;
SELECT name || ' <' || coalesce(email, '?') || '>' AS contact, concat(name, NULL, '!'), concat_ws('-', 'a', NULL, 'b'), format('%s has %s', name, id) FROM customers ORDER BY id
;;
SELECT regexp_replace(email, '@.*$', ''), regexp_match(email, '^(\w+)@'), email ~* 'ORG' FROM customers WHERE email IS NOT NULL ORDER BY id
;;
SELECT md5('a'), encode(sha256('a'::bytea), 'hex'), encode(image, 'base64'), ascii('a'), chr(8364), to_hex(255), quote_literal('o''k') FROM products WHERE image IS NOT NULL ORDER BY id
;;
SELECT name FROM customers ORDER BY name COLLATE "C"
;;
SELECT trim(LEADING FROM '  a'), trim(TRAILING FROM 'a  '), trim(BOTH FROM ' a ')
;;
SELECT 'one '
  'text' AS t
;;
-- # Numbers
SELECT abs(-1), ceil(1.2), ceiling(1.2), floor(-1.2), round(2.345, 2), trunc(9.99), mod(7, 3), power(2, 10), sqrt(2), ln(10), log(100), exp(1), sign(-3), pi(), div(7, 2), width_bucket(5, 0, 10, 5), gcd(12, 18)
;;
SELECT price, price::integer, CAST(price AS text), price::numeric(12,1), weight::real, id::bigint FROM products ORDER BY id
;;
-- # Dates and times
SELECT date_trunc('month', placed_at) AS month, count(*) FROM orders GROUP BY 1 ORDER BY 1
;;
SELECT extract(year FROM joined), extract(epoch FROM joined), date_part('dow', joined), to_char(joined, 'YYYY-MM'), joined + 30, joined + INTERVAL '1 month', age(DATE '2024-06-01', joined) FROM customers ORDER BY id
;;
SELECT placed_at AT TIME ZONE 'Europe/Paris', placed_at::date, placed_at - INTERVAL '1 day 2 hours' FROM orders ORDER BY id
;;
SELECT make_date(2024, 2, 29), make_interval(days => 3), to_date('20240229', 'YYYYMMDD'), DATE '2024-01-01' - DATE '2023-01-01', TIMESTAMP '2024-01-01 10:00' + INTERVAL '90' MINUTE, justify_hours(INTERVAL '30 hours')
;;
SELECT extract('month' FROM joined), extract('year' FROM joined) FROM customers ORDER BY id
;;
SELECT current_date = now()::date, current_timestamp = now(), localtimestamp IS NOT NULL
;;
SELECT (DATE '2024-01-01', DATE '2024-02-01') OVERLAPS (DATE '2024-01-15', DATE '2024-03-01')
;;
SELECT d::date FROM generate_series(DATE '2024-01-01', DATE '2024-01-05', INTERVAL '1 day') AS d ORDER BY d
;;
SELECT g.day::date, count(o.id) FROM generate_series(TIMESTAMPTZ '2024-02-09', '2024-02-12', '1 day') AS g(day) LEFT JOIN orders o ON o.placed_at::date = g.day::date GROUP BY 1 ORDER BY 1
;;
-- # JSON, arrays, ranges, full text
SELECT attributes->>'lang', attributes->'tags'->>0, attributes #>> '{tags,1}', (attributes->>'pages')::int, jsonb_typeof(attributes) FROM products ORDER BY id
;;
SELECT id FROM products WHERE attributes @> '{"lang": "en"}' AND attributes ? 'tags' ORDER BY id
;;
SELECT p.id, t.value FROM products p, jsonb_array_elements_text(p.attributes->'tags') AS t(value) ORDER BY 1, 2
;;
SELECT c.id, e.key, e.value FROM customers c CROSS JOIN LATERAL jsonb_each_text(c.profile) AS e ORDER BY 1, 2
;;
SELECT id, jsonb_path_query_array(attributes, '$.tags[*]'), jsonb_build_object('id', id, 'n', name), to_jsonb(tags) FROM (SELECT id, name, attributes, ARRAY['x'] AS tags FROM products) s ORDER BY id
;;
SELECT id, tags[1], array_length(tags, 1), cardinality(tags), 'early' = ANY (tags), tags && ARRAY['new'], array_to_string(tags, '|'), tags[1:2] FROM customers ORDER BY id
;;
SELECT c.id, tag FROM customers c, unnest(c.tags) AS tag ORDER BY 1, 2
;;
SELECT t.tag, t.n FROM customers c, unnest(c.tags) WITH ORDINALITY AS t(tag, n) ORDER BY 1, 2
;;
SELECT a, b FROM unnest(ARRAY[1, 2], ARRAY['x', 'y']) AS t(a, b) ORDER BY a
;;
SELECT ARRAY(SELECT id FROM categories ORDER BY id), ARRAY[[1, 2], [3, 4]], array_append(ARRAY[1], 2), string_to_array('a,b', ',')
;;
SELECT int4range(1, 5) @> 3, numrange(1.0, 2.0) && numrange(1.5, 3.0), lower(int4range(1, 5)), isempty(int4range(1, 1)), daterange('2024-01-01', '2024-02-01', '[]')
;;
SELECT id FROM products WHERE to_tsvector('simple', name) @@ plainto_tsquery('simple', 'sencha') ORDER BY id
;;
SELECT ts_rank(to_tsvector('english', name), to_tsquery('english', 'moby & dick')) > 0 FROM products WHERE id = 1
;;
SELECT x.* FROM jsonb_to_recordset('[{"a": 1, "b": "x"}, {"a": 2}]') AS x(a int, b text) ORDER BY a
;;
SELECT '192.168.1.0/24'::inet >> '192.168.1.5'::inet, host('10.0.0.1/8'::inet), 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid, B'101'::bit(3), '{1,2}'::int[], X'1F'
;;
SELECT inet '10.0.0.1' << inet '10.0.0.0/8', host(cidr '10.0.0.0/8'), int4range '[1,5)' @> 3
;;
SELECT point(1, 2) <-> point(4, 6), box(point(0, 0), point(2, 2)) @> point(1, 1), area(circle(point(0, 0), 2)) > 12
;;
SELECT pg_typeof(1), pg_size_pretty(1024::bigint), row_to_json(c) FROM (SELECT id, name FROM categories WHERE id = 1) c
;;
SELECT ROW(1, 'a') = ROW(1, 'a'), (1, 2) < (1, 3), o.id IS DISTINCT FROM 5 FROM orders o WHERE o.id = 1001
;;
SELECT count(*) > 0 FROM orders TABLESAMPLE BERNOULLI (100) REPEATABLE (1)
;;
SELECT count(c), count(c.*) FROM customers c
;;
SELECT (jsonb_each('{"k": 1}'::jsonb)).key, (e).value FROM jsonb_each('{"k": 1}'::jsonb) AS e
;;
SELECT 1 OPERATOR(pg_catalog.+) 2, pg_catalog.abs(-1), '1'::pg_catalog.int4
;;
SELECT id AS "Größe", name AS "a ""b""" FROM categories ORDER BY "Größe"
;;
SELECT random() < 2, gen_random_uuid() IS NOT NULL
;;
