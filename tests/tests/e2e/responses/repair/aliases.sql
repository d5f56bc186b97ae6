SELECT status, sum(total) AS revenue FROM orders GROUP BY status HAVING sum(total) > 10 ORDER BY status
SELECT status, sum(total) AS revenue FROM orders GROUP BY status HAVING revenue > 10 ORDER BY status

SELECT id, total * 2 AS doubled FROM orders WHERE total * 2 > 20 ORDER BY id
SELECT id, total * 2 AS doubled FROM orders WHERE doubled > 20 ORDER BY id

SELECT id, total * 2 AS doubled, total * 2 + 1 AS more FROM orders ORDER BY id
SELECT id, total * 2 AS doubled, doubled + 1 AS more FROM orders ORDER BY id

SELECT status, count(*) AS n FROM orders GROUP BY status ORDER BY count(*) + 1, status
SELECT status, count(*) AS n FROM orders GROUP BY status ORDER BY n + 1, status

SELECT upper(status) AS kind, count(*) FROM orders GROUP BY lower(upper(status)), upper(status) ORDER BY 1
SELECT upper(status) AS kind, count(*) FROM orders GROUP BY lower(kind), kind ORDER BY 1
