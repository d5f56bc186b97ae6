SELECT count(*) FROM customers
SELECT name FROM customers ORDER BY name
SELECT name, country FROM customers ORDER BY id
SELECT count(*) FROM customers WHERE country = 'DE'
SELECT name FROM customers WHERE country IN ('DE', 'FR') ORDER BY name
SELECT country, count(*) FROM customers GROUP BY country ORDER BY country
SELECT name FROM customers WHERE zip = '10115' ORDER BY name
SELECT DISTINCT country FROM customers ORDER BY country
SELECT title FROM products ORDER BY unit_price DESC LIMIT 1
SELECT title, unit_price FROM products WHERE category = 'furniture' ORDER BY title
SELECT category, count(*) FROM products GROUP BY category ORDER BY category
SELECT max(unit_price) FROM products
SELECT min(unit_price) FROM products WHERE category = 'office'
SELECT category, avg(unit_price) FROM products GROUP BY category ORDER BY category
SELECT title FROM products WHERE unit_price > 30 ORDER BY title
SELECT title FROM products WHERE unit_price BETWEEN 1 AND 50 ORDER BY title
SELECT count(*) FROM orders
SELECT sum(total) FROM orders
SELECT sum(total) FROM orders WHERE status = 'shipped'
SELECT status, count(*) FROM orders GROUP BY status ORDER BY status
SELECT status, sum(total) FROM orders GROUP BY status ORDER BY status
SELECT status, sum(total) FROM orders GROUP BY status HAVING sum(total) > 10 ORDER BY status
SELECT max(total) FROM orders
SELECT id FROM orders WHERE total > 10 ORDER BY id
SELECT id, total FROM orders ORDER BY total DESC LIMIT 2
SELECT customer_id, count(*) FROM orders GROUP BY customer_id ORDER BY customer_id
SELECT count(DISTINCT customer_id) FROM orders
SELECT avg(total) FROM orders WHERE status <> 'cancelled'
SELECT id FROM orders WHERE status = 'open' OR status = 'cancelled' ORDER BY id
SELECT sum(quantity) FROM order_items
SELECT product_id, sum(quantity) FROM order_items GROUP BY product_id ORDER BY product_id
SELECT order_id, count(*) FROM order_items GROUP BY order_id ORDER BY order_id
SELECT max(quantity) FROM order_items
SELECT order_id FROM order_items WHERE quantity > 1 ORDER BY order_id
SELECT count(*) FROM tickets
SELECT subject FROM tickets WHERE priority = 'high' ORDER BY subject
SELECT priority, count(*) FROM tickets GROUP BY priority ORDER BY priority
SELECT customer_id, count(*) FROM tickets GROUP BY customer_id ORDER BY customer_id
SELECT subject FROM tickets ORDER BY opened_at DESC LIMIT 1
SELECT sum(amount) FROM payments
SELECT method, sum(amount) FROM payments GROUP BY method ORDER BY method
SELECT method, count(*) FROM payments GROUP BY method ORDER BY method
SELECT max(amount) FROM payments WHERE method = 'card'
SELECT order_id, amount FROM payments ORDER BY amount DESC LIMIT 2
SELECT customers.name, orders.total FROM orders JOIN customers ON orders.customer_id = customers.id ORDER BY orders.id
SELECT customers.name, sum(orders.total) FROM orders JOIN customers ON orders.customer_id = customers.id GROUP BY customers.name ORDER BY customers.name
SELECT customers.country, count(*) FROM orders JOIN customers ON orders.customer_id = customers.id GROUP BY customers.country ORDER BY customers.country
SELECT customers.country, sum(orders.total) FROM orders JOIN customers ON orders.customer_id = customers.id WHERE orders.status = 'shipped' GROUP BY customers.country ORDER BY customers.country
SELECT products.title, sum(order_items.quantity) FROM order_items JOIN products ON order_items.product_id = products.id GROUP BY products.title ORDER BY products.title
SELECT products.category, sum(order_items.quantity) FROM order_items JOIN products ON order_items.product_id = products.id GROUP BY products.category ORDER BY products.category
SELECT products.category, sum(order_items.quantity * products.unit_price) FROM order_items JOIN products ON order_items.product_id = products.id GROUP BY products.category ORDER BY products.category
SELECT customers.name, tickets.subject FROM tickets JOIN customers ON tickets.customer_id = customers.id ORDER BY tickets.id
SELECT customers.country, count(*) FROM tickets JOIN customers ON tickets.customer_id = customers.id GROUP BY customers.country ORDER BY customers.country
SELECT orders.status, sum(payments.amount) FROM payments JOIN orders ON payments.order_id = orders.id GROUP BY orders.status ORDER BY orders.status
SELECT orders.id, payments.method FROM payments JOIN orders ON payments.order_id = orders.id ORDER BY orders.id
SELECT orders.status, count(*) FROM order_items JOIN orders ON order_items.order_id = orders.id GROUP BY orders.status ORDER BY orders.status
SELECT orders.id, order_items.quantity FROM order_items JOIN orders ON order_items.order_id = orders.id ORDER BY order_items.id
SELECT customers.name, count(*) FROM tickets JOIN customers ON tickets.customer_id = customers.id WHERE tickets.priority = 'high' GROUP BY customers.name ORDER BY customers.name
SELECT products.title, order_items.quantity FROM order_items JOIN products ON order_items.product_id = products.id WHERE products.unit_price > 20 ORDER BY order_items.id
SELECT customers.name FROM orders JOIN customers ON orders.customer_id = customers.id WHERE orders.total > 50 ORDER BY customers.name
SELECT count(*) FROM orders JOIN customers ON orders.customer_id = customers.id WHERE customers.country = 'DE'
SELECT customers.name, max(orders.total) FROM orders JOIN customers ON orders.customer_id = customers.id GROUP BY customers.name ORDER BY customers.name
