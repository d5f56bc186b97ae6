-- A small shop, and something secret beside it.
CREATE TABLE categories (id INTEGER PRIMARY KEY, name TEXT NOT NULL, parent_id INTEGER REFERENCES categories);
INSERT INTO categories VALUES (1, 'Books', NULL), (2, 'Novels', 1), (3, 'Cookbooks', 1), (4, 'Tea', NULL), (5, 'Green tea', 4);

CREATE TABLE products (
  id INTEGER PRIMARY KEY, sku TEXT NOT NULL UNIQUE, name TEXT NOT NULL, category_id INTEGER REFERENCES categories,
  price DECIMAL(12,2) NOT NULL, weight REAL, attributes JSON, image BLOB);
INSERT INTO products VALUES
  (1, 'B-001', 'Moby-Dick', 2, 12.90, 0.8, '{"pages": 635, "lang": "en", "tags": ["sea", "whale"]}', X'89504E47'),
  (2, 'B-002', 'Der Zauberberg', 2, 18.00, 1.1, '{"pages": 1002, "lang": "de"}', NULL),
  (3, 'B-003', 'Plenty', 3, 25.50, 1.4, '{"pages": 288, "lang": "en", "tags": ["vegetables"]}', NULL),
  (4, 'T-001', '煎茶 Sencha', 5, 9.99, 0.1, '{"origin": "日本"}', X'00FF'),
  (5, 'T-002', 'Gunpowder "extra"', 5, 7.45, NULL, NULL, NULL),
  (6, 'X-001', 'Gift card', NULL, 50.00, NULL, '{}', NULL);

CREATE TABLE customers (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT, city TEXT, country TEXT NOT NULL, joined DATE NOT NULL,
  vip BOOLEAN NOT NULL, tags TEXT, profile JSON);
INSERT INTO customers VALUES
  (1, 'Ada Lovelace', 'ada@example.org', 'London', 'GB', '2023-01-15', 1, '["maths","early"]', '{"age": 36, "news": true}'),
  (2, 'Ben O''Hara', 'ben@example.org', 'Dublin', 'IE', '2023-02-28', 0, '[]', '{"age": 41}'),
  (3, 'Chloé Dubois', NULL, 'Lyon', 'FR', '2023-06-01', 0, NULL, NULL),
  (4, 'Dmitri Волков', 'dmitri@example.com', 'Riga', 'LV', '2024-02-29', 1, '["early"]', '{"age": 29, "news": false}'),
  (5, 'Eve', 'eve@example.com', NULL, 'GB', '2024-03-31', 0, '["new","two words"]', '{}');

CREATE TABLE orders (
  id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers, placed_at TIMESTAMP NOT NULL,
  status TEXT NOT NULL, total DECIMAL(12,2), note TEXT);
INSERT INTO orders VALUES
  (1001, 1, '2024-01-05 10:00:00', 'paid', 38.79, 'first'),
  (1002, 1, '2024-02-10 23:30:00', 'shipped', 9.99, NULL),
  (1003, 2, '2024-02-11 08:15:30.5', 'paid', 100.00, ''),
  (1004, 3, '2024-03-01 12:00:00', 'cancelled', NULL, 'c''est la vie'),
  (1005, 4, '2024-03-15 17:45:00', 'shipped', 61.90, 'back\slash'),
  (1006, 4, '2024-04-01 00:00:00', 'paid', 7.45, '50 % off_now'),
  (9007199254740993, 5, '2024-04-02 06:00:00', 'new', 18.00, 'large id');

CREATE TABLE order_items (
  order_id INTEGER NOT NULL REFERENCES orders, line_no INTEGER NOT NULL, product_id INTEGER NOT NULL REFERENCES products,
  quantity INTEGER NOT NULL, unit_price DECIMAL(12,2) NOT NULL, PRIMARY KEY (order_id, line_no));
INSERT INTO order_items VALUES
  (1001, 1, 1, 1, 12.90), (1001, 2, 3, 1, 25.89), (1002, 1, 4, 1, 9.99), (1003, 1, 6, 2, 50.00),
  (1005, 1, 2, 2, 18.00), (1005, 2, 1, 1, 12.90), (1005, 3, 5, 1, 13.00), (1006, 1, 5, 1, 7.45),
  (9007199254740993, 1, 2, 1, 18.00);

CREATE TABLE "Order Notes" ("Order Id" INTEGER NOT NULL, "Free ""Text""" TEXT, lang TEXT);
INSERT INTO "Order Notes" VALUES (1001, 'bitte klingeln', 'de'), (1004, NULL, 'fr'), (1006, 'ドアの前に', 'ja');

CREATE VIEW order_totals AS
  SELECT o.id AS order_id, sum(i.quantity * i.unit_price) AS items_total
  FROM orders o JOIN order_items i ON i.order_id = o.id GROUP BY o.id;

-- Not in scope.
CREATE TABLE salaries (id INTEGER PRIMARY KEY, employee TEXT NOT NULL, amount DECIMAL(12,2) NOT NULL);
INSERT INTO salaries VALUES (1, 'Mallory', 99999.00), (2, 'Trent', 88888.00);
CREATE VIEW salary_view AS SELECT * FROM salaries;
