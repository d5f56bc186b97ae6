SELECT name FROM customers WHERE zip = '10115' ORDER BY name
SELECT name FROM customers WHERE zip = 10115 ORDER BY name

SELECT count(*) FROM customers WHERE zip = '75001'
SELECT count(*) FROM customers WHERE zip = 75001

SELECT count(*) FROM orders WHERE EXTRACT(YEAR FROM placed_at) = 2024
SELECT count(*) FROM orders WHERE placed_at = 2024

SELECT id FROM orders WHERE EXTRACT(YEAR FROM placed_at) < 2024 ORDER BY id
SELECT id FROM orders WHERE placed_at < 2024 ORDER BY id

SELECT count(*) FROM orders WHERE CAST(placed_at AS text) LIKE '2024-02%'
SELECT count(*) FROM orders WHERE placed_at LIKE '2024-02%'

SELECT subject FROM tickets WHERE CAST(opened_at AS text) LIKE '2024-03%' ORDER BY subject
SELECT subject FROM tickets WHERE opened_at LIKE '2024-03%' ORDER BY subject

SELECT count(*) FROM orders WHERE EXTRACT(YEAR FROM placed_at) BETWEEN 2023 AND 2024
SELECT count(*) FROM orders WHERE placed_at BETWEEN 2023 AND 2024

SELECT count(*) FROM orders WHERE EXTRACT(YEAR FROM placed_at) IN (2022, 2023)
SELECT count(*) FROM orders WHERE placed_at IN (2022, 2023)

SELECT count(*) FROM orders WHERE EXTRACT(YEAR FROM placed_at) = 2023
SELECT count(*) FROM orders WHERE placed_at = '2023'

SELECT status, sum(total) AS total FROM orders GROUP BY status HAVING sum(total) > 10 ORDER BY status
SELECT status, sum(total) AS total FROM orders GROUP BY status HAVING total > 10 ORDER BY status
