-- # Plain reading
SELECT * FROM customers ORDER BY id
;;
SELECT id, name FROM main.customers WHERE vip ORDER BY name
;;
select ID, Name from CUSTOMERS where Country = 'GB' order by Id;
;;
SELECT customers.id, Customers.name FROM customers ORDER BY CUSTOMERS.id
;;
SELECT main.customers.id FROM main.customers ORDER BY main.customers.id
;;
SELECT c.* FROM customers AS c ORDER BY 1
;;
SELECT "customers"."name" FROM "main"."customers" ORDER BY 1
;;
SELECT `name`, [city] FROM `customers` ORDER BY [id]
;;
SELECT * FROM "order notes" ORDER BY "Order Id"
;;
SELECT n."Order Id", n."Free ""Text""" FROM [Order Notes] n WHERE n.lang <> 'de' ORDER BY 1
;;
SELECT /* a comment */ id -- another; one
FROM orders ORDER BY id
;;
SELECT 1
;;
SELECT 'it''s', '', 'two '' '''' quotes', 'back\slash', '\', '\'''
;;
SELECT - -1, +1, - (-2), 5 - -3, 7 % 3, 7 / 2, 7.0 / 2, 1e3, .5, ~1, 1 << 4, 255 & 15, 1 | 2, 0x1F, X'1F', x'ab'
;;
SELECT NULL, true, false, 1 IS NULL, NULL IS NULL, NOT 1, 1 AND NULL, 1 IS NOT 2, 1 IS NOT DISTINCT FROM 1, 1 == 1, 1 <> 2, 1 != 2
;;
SELECT rowid, id FROM customers ORDER BY rowid
;;
-- # Conditions
SELECT id FROM orders WHERE total BETWEEN 10 AND 50 ORDER BY id
;;
SELECT id FROM orders WHERE status IN ('paid', 'new') AND note IS NOT NULL ORDER BY id
;;
SELECT id FROM orders WHERE status NOT IN ('paid') OR total IS NULL OR note NOTNULL ORDER BY id
;;
SELECT id, note FROM orders WHERE note LIKE '%!_%' ESCAPE '!' ORDER BY id
;;
SELECT id FROM customers WHERE email GLOB '*.org' AND name NOT LIKE 'x%' ORDER BY id
;;
SELECT id FROM orders WHERE (customer_id, status) IN (VALUES (1, 'paid'), (4, 'paid')) ORDER BY id
;;
SELECT id, CASE WHEN total > 50 THEN 'large' WHEN total IS NULL THEN 'none' ELSE 'small' END AS size FROM orders ORDER BY id
;;
SELECT id, CASE status WHEN 'paid' THEN 1 ELSE 0 END FROM orders ORDER BY id
;;
SELECT coalesce(city, 'nowhere'), nullif(country, 'GB'), ifnull(email, '-'), iif(vip, 'yes', 'no'), max(id, 3), min(id, 3) FROM customers ORDER BY id
;;
SELECT id FROM orders WHERE placed_at >= '2024-02-01' AND placed_at < date('2024-03-01') ORDER BY id
;;
SELECT id FROM orders WHERE id IN () ORDER BY id
;;
-- # Texts in double quotes
SELECT id FROM customers WHERE name = "Eve" OR name <> "Ben O'Hara" AND country = "GB" ORDER BY id
;;
SELECT id FROM orders WHERE status IN ("paid", 'new') AND note NOT LIKE "%x%" ORDER BY id
;;
SELECT id FROM customers WHERE "joined" BETWEEN "2023-01-01" AND "2023-12-31" AND email != "" ORDER BY id
;;
SELECT CASE country WHEN "GB" THEN 'home' ELSE 'abroad' END AS place, count(*) FROM customers GROUP BY 1 ORDER BY 1
;;
SELECT name="Eve", name GLOB "E*" FROM customers ORDER BY id
;;
SELECT n FROM (SELECT status AS "State", count(*) AS n FROM orders GROUP BY 1) WHERE 'paid' = "state" ORDER BY n
;;
-- # Aggregates
SELECT count(*), count(total), count(DISTINCT status), sum(total), avg(total), min(total), max(note), total(total) FROM orders
;;
SELECT status, count(*) AS n, round(sum(total), 1) FROM orders GROUP BY status HAVING count(*) > 1 ORDER BY n DESC, status
;;
SELECT country, group_concat(name, ', ') FROM (SELECT country, name FROM customers ORDER BY name) GROUP BY 1 ORDER BY 1
;;
SELECT count(*) FILTER (WHERE vip), sum(vip) FROM customers
;;
SELECT json_group_array(name), json_group_object(sku, price) FROM products
;;
SELECT customer_id, max(placed_at), status FROM orders GROUP BY customer_id ORDER BY customer_id
;;
-- # Windows
SELECT id, row_number() OVER (PARTITION BY status ORDER BY placed_at), rank() OVER (ORDER BY total DESC NULLS LAST) FROM orders ORDER BY id
;;
SELECT id, total, sum(total) OVER (ORDER BY placed_at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running FROM orders ORDER BY placed_at
;;
SELECT id, lag(total, 1, 0) OVER w, lead(total) OVER w, first_value(id) OVER w, ntile(2) OVER w FROM orders WINDOW w AS (PARTITION BY customer_id ORDER BY id) ORDER BY id
;;
SELECT id, dense_rank() OVER (ORDER BY status), percent_rank() OVER (ORDER BY id), cume_dist() OVER (ORDER BY id) FROM orders ORDER BY id
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
SELECT o.id, c.name FROM customers c CROSS JOIN orders o ON c.id = o.customer_id WHERE o.total > 10 ORDER BY o.id
;;
SELECT order_id, items_total, total FROM order_totals JOIN orders ON orders.id = order_totals.order_id ORDER BY order_id
;;
SELECT o.id, i.line_no, p.name FROM (orders o JOIN order_items i ON i.order_id = o.id) JOIN products p ON p.id = i.product_id ORDER BY o.id, i.line_no
;;
SELECT order_id, line_no FROM order_items JOIN (SELECT id AS order_id FROM orders WHERE status = 'paid') paid USING (order_id) ORDER BY 1, 2
;;
SELECT count(*) FROM orders NATURAL JOIN (SELECT 1001 AS id)
;;
-- # Subqueries and CTEs
SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE total > 30) ORDER BY name
;;
SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.status = 'paid') ORDER BY name
;;
SELECT name, (SELECT max(total) FROM orders WHERE customer_id = customers.id) AS most FROM customers ORDER BY id
;;
WITH paid AS (SELECT * FROM orders WHERE status = 'paid'), big AS (SELECT * FROM paid WHERE total > 30) SELECT id, total FROM big ORDER BY id
;;
WITH orders AS (SELECT 1 AS id) SELECT * FROM orders
;;
WITH a AS (SELECT x + 1 AS y FROM b), b AS (SELECT 1 AS x) SELECT * FROM a
;;
WITH RECURSIVE tree(id, name, depth) AS (SELECT id, name, 0 FROM categories WHERE parent_id IS NULL UNION ALL SELECT c.id, c.name, t.depth + 1 FROM categories c JOIN tree t ON c.parent_id = t.id) SELECT * FROM tree ORDER BY id
;;
WITH RECURSIVE days(d) AS (SELECT date('2024-02-27') UNION ALL SELECT date(d, '+1 day') FROM days WHERE d < '2024-03-02') SELECT d, (SELECT count(*) FROM orders WHERE date(placed_at) = d) FROM days ORDER BY d
;;
WITH counter(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counter WHERE n < 5) SELECT sum(n) FROM Counter
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
SELECT customer_id FROM orders INTERSECT SELECT id FROM customers ORDER BY 1
;;
SELECT id FROM orders WHERE status = 'paid' UNION ALL SELECT id FROM orders WHERE status = 'new' ORDER BY 1 DESC
;;
VALUES (1, 'a'), (2, 'b')
;;
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) ORDER BY 1 DESC
;;
SELECT id FROM orders ORDER BY id LIMIT 2 OFFSET 1
;;
SELECT id FROM orders ORDER BY id LIMIT 1, 2
;;
SELECT DISTINCT status FROM orders ORDER BY status
;;
-- # Text
SELECT upper(sku), lower(name), length(name), trim('  a '), ltrim('xa', 'x'), rtrim('ax', 'x'), replace('aXa', 'X', '-'), instr(name, 'e') FROM products ORDER BY id
;;
SELECT substr(name, 2, 3), substring(name, 1, 2), name || ' <' || coalesce(email, '?') || '>' AS contact, printf('%05d|%-5s|%.2f', id, country, id / 3.0), format('%s', name) FROM customers ORDER BY id
;;
SELECT hex(image), quote(image), typeof(price), unicode('€'), char(8364, 97) FROM products ORDER BY id
;;
SELECT name FROM customers ORDER BY name COLLATE NOCASE DESC
;;
SELECT 'Order' 'alias', name AS 'Name of it' FROM categories WHERE id = 1
;;
-- # Numbers
SELECT abs(-1), round(2.345, 2), max(1, 2), min(1, 2), sign(-3), random() IS NOT NULL, CAST('12' AS INTEGER), CAST(1.9 AS INTEGER), CAST(1 AS TEXT), CAST('1.5' AS REAL), CAST(price AS DECIMAL(10,2)) FROM products WHERE id = 1
;;
SELECT ceil(1.2), floor(-1.2), sqrt(2), power(2, 10), ln(10), log(100), exp(1), pi(), mod(7, 3), trunc(9.99)
;;
-- # Dates and times
SELECT strftime('%Y-%m', placed_at) AS month, count(*) FROM orders GROUP BY 1 ORDER BY 1
;;
SELECT date(joined, '+1 month'), datetime(joined, 'start of year'), julianday(joined) - julianday('2023-01-01'), time('12:00', '+30 minutes'), unixepoch(joined), strftime('%w', joined) FROM customers ORDER BY id
;;
SELECT current_date = date('now'), current_timestamp IS NOT NULL, current_time IS NOT NULL
;;
-- # JSON
SELECT json_extract(attributes, '$.lang'), attributes ->> '$.tags[0]', attributes -> 'pages', json_type(attributes), json_valid(attributes) FROM products ORDER BY id
;;
SELECT p.id, t.value FROM products p, json_each(p.attributes, '$.tags') AS t ORDER BY 1, 2
;;
SELECT c.id, e.key, e.value FROM customers c JOIN json_each(c.profile) e ORDER BY 1, 2
;;
SELECT fullkey, atom FROM json_tree('{"a": [1, {"b": 2}]}') WHERE atom IS NOT NULL ORDER BY fullkey
;;
SELECT json_object('id', id, 'name', name), json_array(1, 'a', NULL), json_array_length(tags), json_set('{}', '$.a', 1) FROM customers ORDER BY id
;;
SELECT id FROM customers WHERE EXISTS (SELECT 1 FROM json_each(customers.tags) WHERE value = 'early') ORDER BY id
;;
SELECT id AS "Größe", name AS "a ""b""" FROM categories ORDER BY "Größe"
;;
SELECT count(*) AS n FROM orders WHERE note IS NULL OR note = ''
;;
SELECT 9007199254740993, id FROM orders WHERE id > 9007199254740992
;;
SELECT total, total * 2, CAST(total * 100 AS INTEGER) FROM orders ORDER BY id
;;
