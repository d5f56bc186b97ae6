-- A small shop, something secret beside it, and names that lie in wait.
CREATE TABLE categories (id integer PRIMARY KEY, name text NOT NULL, parent_id integer REFERENCES categories);
INSERT INTO categories VALUES (1, 'Books', NULL), (2, 'Novels', 1), (3, 'Cookbooks', 1), (4, 'Tea', NULL), (5, 'Green tea', 4);

CREATE TABLE products (
  id integer PRIMARY KEY, sku text NOT NULL UNIQUE, name text NOT NULL, category_id integer REFERENCES categories,
  price numeric(12,2) NOT NULL, weight double precision, attributes jsonb, image bytea);
INSERT INTO products VALUES
  (1, 'B-001', 'Moby-Dick', 2, 12.90, 0.8, '{"pages": 635, "lang": "en", "tags": ["sea", "whale"]}', '\x89504e47'),
  (2, 'B-002', 'Der Zauberberg', 2, 18.00, 1.1, '{"pages": 1002, "lang": "de"}', NULL),
  (3, 'B-003', 'Plenty', 3, 25.50, 1.4, '{"pages": 288, "lang": "en", "tags": ["vegetables"]}', NULL),
  (4, 'T-001', '煎茶 Sencha', 5, 9.99, 0.1, '{"origin": "日本"}', '\x00ff'),
  (5, 'T-002', 'Gunpowder "extra"', 5, 7.45, NULL, NULL, NULL),
  (6, 'X-001', 'Gift card', NULL, 50.00, NULL, '{}', NULL);

CREATE TABLE customers (
  id integer PRIMARY KEY, name text NOT NULL, email text, city text, country char(2) NOT NULL, joined date NOT NULL,
  vip boolean NOT NULL, tags text[], profile jsonb);
INSERT INTO customers VALUES
  (1, 'Ada Lovelace', 'ada@example.org', 'London', 'GB', '2023-01-15', true, '{maths,early}', '{"age": 36, "news": true}'),
  (2, 'Ben O''Hara', 'ben@example.org', 'Dublin', 'IE', '2023-02-28', false, '{}', '{"age": 41}'),
  (3, 'Chloé Dubois', NULL, 'Lyon', 'FR', '2023-06-01', false, NULL, NULL),
  (4, 'Dmitri Волков', 'dmitri@example.com', 'Riga', 'LV', '2024-02-29', true, '{early}', '{"age": 29, "news": false}'),
  (5, 'Eve', 'eve@example.com', NULL, 'GB', '2024-03-31', false, '{new,"two words"}', '{}');

CREATE TABLE orders (
  id bigint PRIMARY KEY, customer_id integer NOT NULL REFERENCES customers, placed_at timestamptz NOT NULL,
  status text NOT NULL, total numeric(12,2), note text);
INSERT INTO orders VALUES
  (1001, 1, '2024-01-05 10:00:00+00', 'paid', 38.79, 'first'),
  (1002, 1, '2024-02-10 23:30:00+00', 'shipped', 9.99, NULL),
  (1003, 2, '2024-02-11 08:15:30.5+00', 'paid', 100.00, ''),
  (1004, 3, '2024-03-01 12:00:00+00', 'cancelled', NULL, 'c''est la vie'),
  (1005, 4, '2024-03-15 17:45:00+00', 'shipped', 61.90, E'back\\slash'),
  (1006, 4, '2024-04-01 00:00:00+00', 'paid', 7.45, '50 % off_now'),
  (9007199254740993, 5, '2024-04-02 06:00:00+00', 'new', 18.00, 'large id');

CREATE TABLE order_items (
  order_id bigint NOT NULL REFERENCES orders, line_no integer NOT NULL, product_id integer NOT NULL REFERENCES products,
  quantity integer NOT NULL, unit_price numeric(12,2) NOT NULL, PRIMARY KEY (order_id, line_no));
INSERT INTO order_items VALUES
  (1001, 1, 1, 1, 12.90), (1001, 2, 3, 1, 25.89), (1002, 1, 4, 1, 9.99), (1003, 1, 6, 2, 50.00),
  (1005, 1, 2, 2, 18.00), (1005, 2, 1, 1, 12.90), (1005, 3, 5, 1, 13.00), (1006, 1, 5, 1, 7.45),
  (9007199254740993, 1, 2, 1, 18.00);

CREATE TABLE "Order Notes" ("Order Id" bigint NOT NULL, "Free ""Text""" text, lang text);
INSERT INTO "Order Notes" VALUES (1001, 'bitte klingeln', 'de'), (1004, NULL, 'fr'), (1006, 'ドアの前に', 'ja');

CREATE VIEW order_totals AS
  SELECT o.id AS order_id, sum(i.quantity * i.unit_price) AS items_total
  FROM orders o JOIN order_items i ON i.order_id = o.id GROUP BY o.id;

-- Not in scope.
CREATE TABLE salaries (id integer PRIMARY KEY, employee text NOT NULL, amount numeric(12,2) NOT NULL);
INSERT INTO salaries VALUES (1, 'Mallory', 99999.00), (2, 'Trent', 88888.00);
CREATE SCHEMA audit;
CREATE TABLE audit.events (id integer PRIMARY KEY, what text NOT NULL);
INSERT INTO audit.events VALUES (1, 'audit secret');
CREATE TABLE audit.orders (id bigint PRIMARY KEY, secret text NOT NULL);
INSERT INTO audit.orders VALUES (1001, 'audit order secret');
CREATE SEQUENCE order_numbers START 5000;
CREATE TABLE tampered (at text);
CREATE TYPE mood AS ENUM ('sad', 'happy');

-- Names of built-in functions and operators with something else behind them.
CREATE FUNCTION public.lower(varchar) RETURNS text LANGUAGE sql AS $$ SELECT employee FROM public.salaries LIMIT 1 $$;
CREATE FUNCTION public.upper(customers) RETURNS text LANGUAGE sql AS $$ SELECT employee FROM public.salaries LIMIT 1 $$;
CREATE FUNCTION public.count(integer, integer) RETURNS text LANGUAGE sql AS $$ SELECT 'shadowed'::text $$;
CREATE FUNCTION public.secret_salary(customers) RETURNS text LANGUAGE sql AS $$ SELECT employee FROM public.salaries LIMIT 1 $$;
CREATE FUNCTION public.all_salaries() RETURNS SETOF salaries LANGUAGE sql AS $$ SELECT * FROM public.salaries $$;
CREATE FUNCTION public.tamper() RETURNS integer LANGUAGE sql AS $$ INSERT INTO public.tampered VALUES ('called') RETURNING 1 $$;
CREATE FUNCTION public.yes(integer, text) RETURNS boolean LANGUAGE sql AS $$ SELECT EXISTS (SELECT 1 FROM public.salaries) $$;
CREATE OPERATOR public.= (LEFTARG = integer, RIGHTARG = text, FUNCTION = public.yes);
CREATE OPERATOR public.~~~ (LEFTARG = integer, RIGHTARG = text, FUNCTION = public.yes);
