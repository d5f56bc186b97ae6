CREATE DATABASE shop
;;
CREATE TABLE shop.categories (id UInt32, name String, parent_id Nullable(UInt32)) ENGINE = MergeTree ORDER BY id
;;
INSERT INTO shop.categories VALUES (1, 'Books', NULL), (2, 'Novels', 1), (3, 'Cookbooks', 1), (4, 'Tea', NULL), (5, 'Green tea', 4)
;;
CREATE TABLE shop.products (
  id UInt32, sku String, name String, category_id Nullable(UInt32), price Decimal(12, 2), weight Nullable(Float64),
  tags Array(String), attributes Map(String, String)) ENGINE = MergeTree ORDER BY id
;;
INSERT INTO shop.products VALUES
  (1, 'B-001', 'Moby-Dick', 2, 12.90, 0.8, ['sea', 'whale'], {'lang': 'en'}),
  (2, 'B-002', 'Der Zauberberg', 2, 18.00, 1.1, [], {'lang': 'de'}),
  (3, 'B-003', 'Plenty', 3, 25.50, 1.4, ['vegetables'], {'lang': 'en'}),
  (4, 'T-001', '煎茶 Sencha', 5, 9.99, 0.1, ['green', 'hot'], {'origin': '日本'}),
  (5, 'T-002', 'Gunpowder "extra"', 5, 7.45, NULL, [], {}),
  (6, 'X-001', 'Gift card', NULL, 50.00, NULL, [], {})
;;
CREATE TABLE shop.customers (
  id UInt32, name String COMMENT 'as on the letter', email Nullable(String), city LowCardinality(Nullable(String)),
  country FixedString(2), joined Date, vip UInt8, tier Enum8('none' = 0, 'gold' = 1)) ENGINE = MergeTree ORDER BY id
;;
INSERT INTO shop.customers VALUES
  (1, 'Ada Lovelace', 'ada@example.org', 'London', 'GB', '2023-01-15', 1, 'gold'),
  (2, 'Ben O\'Hara', 'ben@example.org', 'Dublin', 'IE', '2023-02-28', 0, 'none'),
  (3, 'Chloé Dubois', NULL, 'Lyon', 'FR', '2023-06-01', 0, 'none'),
  (4, 'Dmitri Волков', 'dmitri@example.com', 'Riga', 'LV', '2024-02-29', 1, 'gold'),
  (5, 'Eve', 'eve@example.com', NULL, 'GB', '2024-03-31', 0, 'none')
;;
CREATE TABLE shop.orders (
  id UInt64, customer_id UInt32, placed_at DateTime64(3, 'UTC'), status LowCardinality(String),
  total Nullable(Decimal(12, 2)), note Nullable(String)) ENGINE = MergeTree ORDER BY (id, intHash32(customer_id))
  SAMPLE BY intHash32(customer_id)
;;
INSERT INTO shop.orders VALUES
  (1001, 1, '2024-01-05 10:00:00', 'paid', 38.79, 'first'),
  (1002, 1, '2024-02-10 23:30:00', 'shipped', 9.99, NULL),
  (1003, 2, '2024-02-11 08:15:30.5', 'paid', 100.00, ''),
  (1004, 3, '2024-03-01 12:00:00', 'cancelled', NULL, 'c\'est la vie'),
  (1005, 4, '2024-03-15 17:45:00', 'shipped', 61.90, 'back\\slash'),
  (1006, 4, '2024-04-01 00:00:00', 'paid', 7.45, '50 % off_now'),
  (9007199254740993, 5, '2024-04-02 06:00:00', 'new', 18.00, 'large id')
;;
CREATE TABLE shop.order_items (order_id UInt64, line_no UInt8, product_id UInt32, quantity UInt16, unit_price Decimal(12, 2))
  ENGINE = ReplacingMergeTree ORDER BY (order_id, line_no)
;;
INSERT INTO shop.order_items VALUES
  (1001, 1, 1, 1, 12.90), (1001, 2, 3, 1, 25.89), (1002, 1, 4, 1, 9.99), (1003, 1, 6, 2, 50.00),
  (1005, 1, 2, 2, 18.00), (1005, 2, 1, 1, 12.90), (1005, 3, 5, 1, 13.00), (1006, 1, 5, 1, 7.45),
  (9007199254740993, 1, 2, 1, 18.00)
;;
CREATE TABLE shop.`Order Notes` (`Order Id` UInt64, `Free "Text"` Nullable(String), lang String) ENGINE = Memory
;;
INSERT INTO shop.`Order Notes` VALUES (1001, 'bitte klingeln', 'de'), (1004, NULL, 'fr'), (1006, 'ドアの前に', 'ja')
;;
CREATE VIEW shop.order_totals AS
  SELECT o.id AS order_id, sum(i.quantity * i.unit_price) AS items_total
  FROM shop.orders AS o JOIN shop.order_items AS i ON i.order_id = o.id GROUP BY o.id
;;
CREATE TABLE shop.salaries (id UInt32, employee String, amount Decimal(12, 2)) ENGINE = MergeTree ORDER BY id
;;
INSERT INTO shop.salaries VALUES (1, 'Mallory', 99999.00), (2, 'Trent', 88888.00)
;;
CREATE DATABASE audit
;;
CREATE TABLE audit.events (id UInt32, what String) ENGINE = Memory
;;
INSERT INTO audit.events VALUES (1, 'audit secret')
;;
CREATE TABLE default.salaries (employee String) ENGINE = Memory
;;
INSERT INTO default.salaries VALUES ('default secret')
;;
CREATE TABLE default.customers (id UInt32, name String) ENGINE = Memory
;;
INSERT INTO default.customers VALUES (1, 'default secret')
;;
CREATE TABLE shop.tampered (at String) ENGINE = Memory
