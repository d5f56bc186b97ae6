-- A small shop, something secret beside it, and names that lie in wait. The names of the databases stand for others.
CREATE TABLE categories (id integer PRIMARY KEY, name varchar(40) NOT NULL, parent_id integer REFERENCES categories (id));
INSERT INTO categories VALUES (1, 'Books', NULL), (2, 'Novels', 1), (3, 'Cookbooks', 1), (4, 'Tea', NULL), (5, 'Green tea', 4);

CREATE TABLE products (
  id integer PRIMARY KEY, sku varchar(10) NOT NULL UNIQUE, name varchar(60) NOT NULL, category_id integer,
  price decimal(12,2) NOT NULL, weight double, attributes json, image varbinary(20),
  FOREIGN KEY (category_id) REFERENCES categories (id));
INSERT INTO products VALUES
  (1, 'B-001', 'Moby-Dick', 2, 12.90, 0.8, '{"pages": 635, "lang": "en", "tags": ["sea", "whale"]}', X'89504e47'),
  (2, 'B-002', 'Der Zauberberg', 2, 18.00, 1.1, '{"pages": 1002, "lang": "de"}', NULL),
  (3, 'B-003', 'Plenty', 3, 25.50, 1.4, '{"pages": 288, "lang": "en", "tags": ["vegetables"]}', NULL),
  (4, 'T-001', '煎茶 Sencha', 5, 9.99, 0.1, '{"origin": "日本"}', X'00ff'),
  (5, 'T-002', 'Gunpowder "extra"', 5, 7.45, NULL, NULL, NULL),
  (6, 'X-001', 'Gift card', NULL, 50.00, NULL, '{}', NULL);

CREATE TABLE customers (
  id integer unsigned PRIMARY KEY, name varchar(60) NOT NULL, email varchar(60), city varchar(40), country char(2) NOT NULL,
  joined date NOT NULL, vip boolean NOT NULL, tags set('maths', 'early', 'new', 'two words'), profile json);
INSERT INTO customers VALUES
  (1, 'Ada Lovelace', 'ada@example.org', 'London', 'GB', '2023-01-15', true, 'maths,early', '{"age": 36, "news": true}'),
  (2, 'Ben O''Hara', 'ben@example.org', 'Dublin', 'IE', '2023-02-28', false, '', '{"age": 41}'),
  (3, 'Chloé Dubois', NULL, 'Lyon', 'FR', '2023-06-01', false, NULL, NULL),
  (4, 'Dmitri Волков', 'dmitri@example.com', 'Riga', 'LV', '2024-02-29', true, 'early', '{"age": 29, "news": false}'),
  (5, 'Eve', 'eve@example.com', NULL, 'GB', '2024-03-31', false, 'new,two words', '{}');

CREATE TABLE orders (
  id bigint PRIMARY KEY, customer_id integer unsigned NOT NULL, placed_at datetime(3) NOT NULL,
  status enum('new', 'paid', 'shipped', 'cancelled') NOT NULL, total decimal(12,2), note varchar(60),
  FOREIGN KEY (customer_id) REFERENCES customers (id));
INSERT INTO orders VALUES
  (1001, 1, '2024-01-05 10:00:00', 'paid', 38.79, 'first'),
  (1002, 1, '2024-02-10 23:30:00', 'shipped', 9.99, NULL),
  (1003, 2, '2024-02-11 08:15:30.5', 'paid', 100.00, ''),
  (1004, 3, '2024-03-01 12:00:00', 'cancelled', NULL, 'c''est la vie'),
  (1005, 4, '2024-03-15 17:45:00', 'shipped', 61.90, 'back\\slash'),
  (1006, 4, '2024-04-01 00:00:00', 'paid', 7.45, '50 % off_now'),
  (9007199254740993, 5, '2024-04-02 06:00:00', 'new', 18.00, 'large id');

CREATE TABLE order_items (
  order_id bigint NOT NULL REFERENCES orders (id), line_no integer NOT NULL, product_id integer NOT NULL REFERENCES products (id),
  quantity integer NOT NULL, unit_price decimal(12,2) NOT NULL, PRIMARY KEY (order_id, line_no));
INSERT INTO order_items VALUES
  (1001, 1, 1, 1, 12.90), (1001, 2, 3, 1, 25.89), (1002, 1, 4, 1, 9.99), (1003, 1, 6, 2, 50.00),
  (1005, 1, 2, 2, 18.00), (1005, 2, 1, 1, 12.90), (1005, 3, 5, 1, 13.00), (1006, 1, 5, 1, 7.45),
  (9007199254740993, 1, 2, 1, 18.00);

CREATE TABLE `Order Notes` (`Order Id` bigint NOT NULL, `Free ``Text``` varchar(60), lang varchar(2));
INSERT INTO `Order Notes` VALUES (1001, 'bitte klingeln', 'de'), (1004, NULL, 'fr'), (1006, 'ドアの前に', 'ja');

CREATE VIEW order_totals AS
  SELECT o.id AS order_id, sum(i.quantity * i.unit_price) AS items_total
  FROM orders o JOIN order_items i ON i.order_id = o.id GROUP BY o.id;

-- Not in scope.
CREATE TABLE salaries (id integer PRIMARY KEY, employee varchar(40) NOT NULL, amount decimal(12,2) NOT NULL);
INSERT INTO salaries VALUES (1, 'Mallory', 99999.00), (2, 'Trent', 88888.00);
CREATE DATABASE audit CHARACTER SET utf8mb4;
CREATE TABLE audit.events (id integer PRIMARY KEY, what varchar(40) NOT NULL);
INSERT INTO audit.events VALUES (1, 'audit secret');
CREATE TABLE audit.orders (id bigint PRIMARY KEY, secret varchar(40) NOT NULL);
INSERT INTO audit.orders VALUES (1001, 'audit order secret');
CREATE TABLE tampered (at varchar(40)) ENGINE = MyISAM;
CREATE SEQUENCE order_numbers START WITH 5000;

-- Functions of users: one that reads, one that writes, and one that sleeps.
CREATE FUNCTION secret_salary() RETURNS varchar(40) READS SQL DATA RETURN (SELECT max(employee) FROM salaries);
-- Names of functions of MySQL, which MariaDB has only without quotes, or not at all.
CREATE FUNCTION `count`(x integer) RETURNS varchar(40) READS SQL DATA RETURN (SELECT max(employee) FROM salaries);
CREATE FUNCTION regexp_like(x text, y text) RETURNS varchar(40) READS SQL DATA
  RETURN (SELECT max(employee) FROM salaries);
DELIMITER //
CREATE FUNCTION tamper() RETURNS integer MODIFIES SQL DATA
  BEGIN INSERT INTO tampered VALUES ('called'); RETURN 1; END//
DELIMITER ;
CREATE PROCEDURE tamper_all() INSERT INTO tampered VALUES ('called');
