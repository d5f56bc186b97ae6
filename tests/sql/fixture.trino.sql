CREATE SCHEMA memory.shop
;;
CREATE SCHEMA memory.audit
;;
CREATE TABLE memory.shop.categories AS SELECT * FROM (VALUES
  (1, VARCHAR 'Books', CAST(NULL AS integer)), (2, 'Novels', 1), (3, 'Cookbooks', 1), (4, 'Tea', NULL), (5, 'Green tea', 4))
  AS t (id, name, parent_id)
;;
CREATE TABLE memory.shop.products (
  id integer, sku varchar, name varchar, category_id integer, price decimal(12, 2), weight double, tags array(varchar),
  attributes map(varchar, varchar), details json)
;;
INSERT INTO memory.shop.products VALUES
  (1, 'B-001', 'Moby-Dick', 2, 12.90, 0.8e0, ARRAY['sea', 'whale'], MAP(ARRAY['lang'], ARRAY['en']), JSON '{"pages": 635}'),
  (2, 'B-002', 'Der Zauberberg', 2, 18.00, 1.1e0, ARRAY[], MAP(ARRAY['lang'], ARRAY['de']), JSON '{"pages": 1002}'),
  (3, 'B-003', 'Plenty', 3, 25.50, 1.4e0, ARRAY['vegetables'], MAP(ARRAY['lang'], ARRAY['en']), JSON '{"pages": 288}'),
  (4, 'T-001', '煎茶 Sencha', 5, 9.99, 0.1e0, ARRAY['green', 'hot'], MAP(ARRAY['origin'], ARRAY['日本']), NULL),
  (5, 'T-002', 'Gunpowder "extra"', 5, 7.45, NULL, NULL, NULL, NULL),
  (6, 'X-001', 'Gift card', NULL, 50.00, NULL, NULL, NULL, JSON '{}')
;;
CREATE TABLE memory.shop.customers (
  id integer, name varchar COMMENT 'as on the letter', email varchar, city varchar, country char(2), joined date, vip boolean)
  COMMENT 'who buys'
;;
INSERT INTO memory.shop.customers VALUES
  (1, 'Ada Lovelace', 'ada@example.org', 'London', 'GB', DATE '2023-01-15', true),
  (2, 'Ben O''Hara', 'ben@example.org', 'Dublin', 'IE', DATE '2023-02-28', false),
  (3, 'Chloé Dubois', NULL, 'Lyon', 'FR', DATE '2023-06-01', false),
  (4, 'Dmitri Волков', 'dmitri@example.com', 'Riga', 'LV', DATE '2024-02-29', true),
  (5, 'Eve', 'eve@example.com', NULL, 'GB', DATE '2024-03-31', false)
;;
CREATE TABLE memory.shop.orders (
  id bigint, customer_id integer, placed_at timestamp(3) with time zone, status varchar, total decimal(12, 2), note varchar)
;;
INSERT INTO memory.shop.orders VALUES
  (1001, 1, TIMESTAMP '2024-01-05 10:00:00 UTC', 'paid', 38.79, 'first'),
  (1002, 1, TIMESTAMP '2024-02-10 23:30:00 UTC', 'shipped', 9.99, NULL),
  (1003, 2, TIMESTAMP '2024-02-11 08:15:30.5 UTC', 'paid', 100.00, ''),
  (1004, 3, TIMESTAMP '2024-03-01 12:00:00 UTC', 'cancelled', NULL, 'c''est la vie'),
  (1005, 4, TIMESTAMP '2024-03-15 17:45:00 UTC', 'shipped', 61.90, 'back\slash'),
  (1006, 4, TIMESTAMP '2024-04-01 00:00:00 UTC', 'paid', 7.45, '50 % off_now'),
  (9007199254740993, 5, TIMESTAMP '2024-04-02 06:00:00 UTC', 'new', 18.00, 'large id')
;;
CREATE TABLE memory.shop.order_items (
  order_id bigint, line_no integer, product_id integer, quantity integer, unit_price decimal(12, 2))
;;
INSERT INTO memory.shop.order_items VALUES
  (1001, 1, 1, 1, 12.90), (1001, 2, 3, 1, 25.89), (1002, 1, 4, 1, 9.99), (1003, 1, 6, 2, 50.00),
  (1005, 1, 2, 2, 18.00), (1005, 2, 1, 1, 12.90), (1005, 3, 5, 1, 13.00), (1006, 1, 5, 1, 7.45),
  (9007199254740993, 1, 2, 1, 18.00)
;;
CREATE TABLE memory.shop."order notes" ("order id" bigint, "free ""text""" varchar, lang varchar)
;;
INSERT INTO memory.shop."order notes" VALUES (1001, 'bitte klingeln', 'de'), (1004, NULL, 'fr'), (1006, 'ドアの前に', 'ja')
;;
CREATE VIEW memory.shop.order_totals AS
  SELECT o.id AS order_id, sum(i.quantity * i.unit_price) AS items_total
  FROM memory.shop.orders o JOIN memory.shop.order_items i ON i.order_id = o.id GROUP BY o.id
;;
CREATE TABLE memory.shop.salaries AS SELECT * FROM (VALUES (1, VARCHAR 'Mallory', 99999.00), (2, 'Trent', 88888.00))
  AS t (id, employee, amount)
;;
CREATE TABLE memory.audit.events AS SELECT 1 AS id, VARCHAR 'audit secret' AS what
;;
CREATE TABLE memory.default.salaries AS SELECT VARCHAR 'default secret' AS employee
;;
CREATE TABLE memory.default.customers AS SELECT 1 AS id, VARCHAR 'default secret' AS name
;;
CREATE TABLE memory.shop.tampered (at varchar)
