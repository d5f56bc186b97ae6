-- # A Mind with the datasources shop (PostgreSQL), lite (SQLite) and files (CSV): what a statement over several of them
-- # must not do. In scope everywhere are the tables of README.md; salaries is in none.
-- # A table outside of the Mind, next to tables of it
-- expect: sql_table_not_allowed
SELECT * FROM shop.salaries s JOIN lite.orders o ON o.id = s.id
;;
SELECT * FROM shop.orders o JOIN lite.salaries s ON o.id = s.id
;;
SELECT * FROM shop.orders o JOIN files.salaries s ON o.id = s.id
;;
SELECT * FROM shop.orders o, lite.customers c WHERE EXISTS (SELECT 1 FROM files.salaries s WHERE s.id = o.id)
;;
SELECT (SELECT max(pay) FROM shop.salaries) FROM shop.orders o JOIN lite.orders l ON l.id = o.id
;;
WITH s AS (SELECT * FROM shop.public.salaries) SELECT * FROM s JOIN lite.orders o ON o.id = s.id
;;
SELECT id FROM lite.orders UNION ALL SELECT id FROM shop.orders UNION ALL SELECT id FROM files.salaries
;;
SELECT * FROM shop.orders o JOIN lite.orders l ON l.id IN (SELECT id FROM lite.main.salaries)
;;
SELECT * FROM shop.orders o JOIN LATERAL (SELECT * FROM lite.salaries s WHERE s.id = o.id) x ON true
;;
SELECT * FROM (shop.orders o JOIN (lite.orders l JOIN shop.salaries s ON s.id = l.id) ON o.id = l.id)
;;
SELECT * FROM shop."Salaries" s JOIN lite.orders o ON o.id = s.id
;;
SELECT * FROM "shop"."public"."salaries" s JOIN lite.orders o ON o.id = s.id
;;
SELECT * FROM "shop.public.orders" s JOIN lite.orders o ON o.id = s.id
;;
-- # The engines' own catalogs
SELECT * FROM shop.pg_catalog.pg_class c JOIN lite.orders o ON o.id = c.oid
;;
SELECT * FROM shop.information_schema.tables t JOIN lite.orders o ON true
;;
SELECT * FROM information_schema.tables t JOIN lite.orders o ON true JOIN shop.orders s ON true
;;
SELECT * FROM lite.sqlite_master m JOIN shop.orders o ON true
;;
SELECT * FROM lite.main.sqlite_schema m JOIN shop.orders o ON true
;;
SELECT * FROM lite.temp.orders m JOIN shop.orders o ON true
;;
SELECT * FROM lite.pragma_table_info m JOIN shop.orders o ON true
;;
-- # A datasource that the Mind does not have, and names with more parts
SELECT * FROM hr.orders h JOIN shop.orders o ON o.id = h.id
;;
SELECT * FROM hr.public.orders h JOIN shop.orders o ON o.id = h.id JOIN lite.orders l ON l.id = o.id
;;
SELECT * FROM host.shop.public.orders h JOIN lite.orders o ON o.id = h.id
;;
SELECT * FROM datafusion.public.orders h JOIN lite.orders o ON o.id = h.id JOIN shop.orders s ON true
;;
-- # A name that is in scope as a CTE only elsewhere
WITH a AS (WITH salaries AS (SELECT 1 AS id) SELECT * FROM salaries) SELECT * FROM a, shop.orders, lite.salaries
;;
SELECT * FROM shop.orders o, lite.orders l, salaries s
;;
WITH a AS (SELECT * FROM salaries), salaries AS (SELECT 1 AS id) SELECT * FROM a, shop.orders o, lite.orders l
;;
WITH RECURSIVE a AS (SELECT 1 AS id UNION ALL SELECT id FROM salaries) SELECT * FROM a, shop.orders o, lite.orders l
;;
-- # A bare name that several datasources have
-- expect: sql_table_ambiguous
SELECT * FROM orders o JOIN lite.customers c ON c.id = o.id JOIN shop.customers s ON s.id = c.id
;;
-- # Functions that read files, sleep, or are of one engine
-- expect: sql_function_not_allowed
SELECT pg_read_file('/etc/passwd') FROM shop.orders o JOIN lite.orders l ON l.id = o.id
;;
SELECT * FROM shop.orders o JOIN lite.orders l ON l.id = o.id WHERE pg_sleep(10) IS NULL
;;
SELECT pg_catalog.pg_read_file('/etc/passwd') FROM shop.orders o JOIN lite.orders l ON l.id = o.id
;;
SELECT load_extension('x') FROM shop.orders o JOIN lite.orders l ON l.id = o.id
;;
SELECT shop.public.leak(o.id) FROM shop.orders o JOIN lite.orders l ON l.id = o.id
;;
SELECT version() FROM shop.orders o JOIN lite.orders l ON l.id = o.id
;;
SELECT arrow_cast(o.id, 'Utf8') FROM shop.orders o JOIN lite.orders l ON l.id = o.id
;;
SELECT * FROM shop.orders o JOIN lite.orders l ON l.id = o.id, read_csv('/etc/passwd')
;;
SELECT * FROM shop.orders o JOIN lite.orders l ON l.id = o.id, generate_series(1, 1000000000)
;;
SELECT * FROM shop.orders o JOIN lite.orders l ON l.id = o.id, dblink('host=x', 'SELECT 1')
;;
-- # Other things than reading
-- expect: sql_not_read_only
SELECT * INTO stolen FROM shop.orders o JOIN lite.orders l ON l.id = o.id
;;
WITH d AS (DELETE FROM shop.orders RETURNING *) SELECT * FROM d JOIN lite.orders l ON l.id = d.id
;;
SELECT * FROM shop.orders o JOIN lite.orders l ON l.id = o.id FOR UPDATE
;;
INSERT INTO shop.orders SELECT * FROM lite.orders
;;
-- expect: sql_not_single_statement
SELECT * FROM shop.orders o JOIN lite.orders l ON l.id = o.id; SELECT * FROM files.orders
;;
SELECT * FROM shop.orders o JOIN lite.orders l ON l.id = o.id; DROP TABLE shop.orders
;;
-- # What one engine takes for a part of a number or a comment, and another for a name or an operator
-- expect: sql_syntax
SELECT 5 # 1 FROM shop.orders p JOIN lite.orders s ON s.id = p.id
;;
