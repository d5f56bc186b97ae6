-- # Plain reading
SELECT * FROM customers ORDER BY id
;;
SELECT id, name FROM shop.customers WHERE vip ORDER BY name
;;
select id, name from customers where country = 'GB' order by id;
;;
SELECT customers.id, customers.name FROM customers ORDER BY customers.id
;;
SELECT shop.customers.id FROM shop.customers ORDER BY shop.customers.id
;;
SELECT c.* FROM customers AS c ORDER BY 1
;;
SELECT "customers"."name" FROM "shop"."customers" ORDER BY 1
;;
SELECT * FROM `Order Notes` ORDER BY `Order Id`
;;
SELECT n."Order Id", n.lang FROM "Order Notes" AS n WHERE n.lang != 'de' ORDER BY 1
;;
SELECT /* a comment */ id -- another; one
 FROM orders ORDER BY id
;;
SELECT 1
;;
SELECT 'it''s', '', 'it\'s', 'tab\there', 'back\\slash', '\\'
;;
SELECT -(-1), +1, 5 - -3, 7 % 3, 7 / 2, intDiv(7, 2), 1e3, .5, 0xff, 1_000
;;
SELECT NULL, true, false, NULL IS NULL, NOT true, true AND NULL, 1 IS NOT NULL
;;
SELECT [1, 2, 3], ['a', 'b'], (1, 'a'), tuple(1, 2), map('a', 1, 'b', 2)
;;
SELECT x'4142'
;;
-- # Conditions
SELECT id FROM orders WHERE total BETWEEN 10 AND 50 ORDER BY id
;;
SELECT id FROM orders WHERE status IN ('paid', 'new') AND note IS NOT NULL ORDER BY id
;;
SELECT id FROM orders WHERE status NOT IN ('paid') OR total IS NULL ORDER BY id
;;
SELECT id FROM orders WHERE id IN (1001) ORDER BY id
;;
SELECT id FROM orders WHERE (id, customer_id) IN ((1001, 1), (1003, 2)) ORDER BY id
;;
SELECT id FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE vip) ORDER BY id
;;
SELECT id, note FROM orders WHERE note LIKE '%off\\_now' ORDER BY id
;;
SELECT id FROM customers WHERE name ILIKE '%b%' ORDER BY id
;;
SELECT id FROM customers WHERE match(name, '^[AB]') ORDER BY id
;;
SELECT id FROM customers WHERE has(['GB', 'IE'], toString(country)) ORDER BY id
;;
SELECT id FROM customers WHERE email IS NULL OR city = 'London' ORDER BY id
;;
SELECT id FROM customers PREWHERE vip = 1 WHERE id > 1 ORDER BY id
;;
SELECT id, if(vip, 'yes', 'no') FROM customers ORDER BY id
;;
SELECT id, multiIf(total > 50, 'large', total > 10, 'middle', 'small') FROM orders ORDER BY id
;;
SELECT id, CASE status WHEN 'paid' THEN 1 WHEN 'new' THEN 2 ELSE 0 END FROM orders ORDER BY id
;;
SELECT id, CASE WHEN total > 50 THEN 'large' ELSE 'small' END AS size FROM orders ORDER BY id
;;
SELECT coalesce(note, 'none'), ifNull(note, '-'), nullIf(status, 'new'), assumeNotNull(total) FROM orders WHERE id = 1001
;;
SELECT greatest(1, 2), least(1, 2), clamp(5, 1, 3), isNull(NULL), isNotNull(1), toNullable(1), isZeroOrNull(0)
;;
SELECT id FROM customers WHERE tier = 'gold' ORDER BY id
;;
SELECT id FROM customers WHERE equals(id, 1) AND notEquals(id, 2) AND greater(2, id)
;;
-- # Aggregates
SELECT count() FROM customers
;;
SELECT count(*), count(email), count(DISTINCT country), COUNT(1) FROM customers
;;
SELECT status, count() AS orders, sum(total) AS revenue FROM orders GROUP BY status ORDER BY status
;;
SELECT status, sumIf(total, customer_id = 1), countIf(total > 10), avgIf(total, total > 0), minIf(id, 1), maxIf(id, 1) FROM orders GROUP BY status ORDER BY status
;;
SELECT uniq(status), uniqExact(status), uniqCombined(status), uniqHLL12(status) FROM orders
;;
SELECT quantile(0.5)(toFloat64(total)), quantiles(0.25, 0.75)(toFloat64(total)), median(toFloat64(total)) FROM orders
;;
SELECT quantileExact(0.9)(id), quantileExactIf(0.5)(id, id < 2000) FROM orders
;;
SELECT min(total), max(total), avg(total), any(customer_id) > 0, anyLast(customer_id) > 0 FROM orders
;;
SELECT argMin(id, total), argMax(id, total) FROM orders
;;
SELECT arraySort(groupArray(id)), arraySort(groupUniqArray(customer_id)), length(groupArray(3)(id)) FROM orders
;;
SELECT stddevPop(toFloat64(id)), varSamp(toFloat64(id)), corr(toFloat64(id), toFloat64(customer_id)) FROM order_items AS o JOIN orders ON o.order_id = orders.id WHERE id < 2000
;;
SELECT sumArray([1, 2]), sumOrNull(id), countDistinct(id) FROM customers
;;
SELECT sumMap([id], [1]) FROM customers
;;
SELECT topK(1)(customer_id) FROM orders WHERE customer_id = 4
;;
SELECT customer_id, count() FROM orders GROUP BY customer_id HAVING count() > 1 ORDER BY customer_id
;;
SELECT status, count() FROM orders GROUP BY ALL ORDER BY status
;;
SELECT status, customer_id, count() FROM orders GROUP BY ROLLUP(status, customer_id) ORDER BY status, customer_id, count()
;;
SELECT status, count() FROM orders GROUP BY status WITH ROLLUP ORDER BY status
;;
SELECT status, customer_id, count() FROM orders GROUP BY GROUPING SETS ((status), (customer_id)) ORDER BY status, customer_id
;;
SELECT uniqMerge(s) FROM (SELECT uniqState(status) AS s FROM orders)
;;
SELECT groupBitOr(id), bit_or(id), group_concat(name) != '' FROM customers
;;
-- # Windows
SELECT id, row_number() OVER (ORDER BY id) AS n FROM orders ORDER BY id
;;
SELECT id, sum(total) OVER (PARTITION BY customer_id ORDER BY id) FROM orders ORDER BY id
;;
SELECT id, lagInFrame(id, 1) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM orders ORDER BY id
;;
SELECT id, rank() OVER w, dense_rank() OVER w FROM orders WINDOW w AS (ORDER BY status) ORDER BY id
;;
SELECT id FROM orders QUALIFY row_number() OVER (PARTITION BY customer_id ORDER BY id) = 1 ORDER BY id
;;
-- # Joins
SELECT c.name, o.id FROM customers AS c JOIN orders AS o ON o.customer_id = c.id ORDER BY o.id
;;
SELECT c.name, count(o.id) FROM customers AS c LEFT JOIN orders AS o ON o.customer_id = c.id GROUP BY c.name ORDER BY c.name
;;
SELECT c.id FROM customers AS c LEFT SEMI JOIN orders AS o ON o.customer_id = c.id ORDER BY c.id
;;
SELECT c.id FROM customers AS c LEFT ANTI JOIN orders AS o ON o.customer_id = c.id AND o.status = 'paid' ORDER BY c.id
;;
SELECT p.name, k.name FROM products AS p LEFT JOIN categories AS k ON k.id = p.category_id ORDER BY p.id
;;
SELECT a.id, b.id FROM categories AS a CROSS JOIN categories AS b WHERE a.id < b.id ORDER BY a.id, b.id
;;
SELECT count() FROM orders INNER JOIN order_items ON orders.id = order_items.order_id
;;
SELECT order_id, items_total, total FROM order_totals JOIN orders ON orders.id = order_totals.order_id ORDER BY order_id
;;
SELECT * FROM orders AS o FULL JOIN order_items AS i ON i.order_id = o.id ORDER BY o.id, i.line_no
;;
SELECT name, t FROM products ARRAY JOIN tags AS t ORDER BY name, t
;;
SELECT name, t FROM products LEFT ARRAY JOIN tags AS t ORDER BY name, t
;;
SELECT arrayJoin(tags) AS t, count() FROM products GROUP BY t ORDER BY t
;;
SELECT count() FROM customers ANY LEFT JOIN orders ON customers.id = orders.customer_id
;;
SELECT order_id, line_no FROM order_items FINAL ORDER BY order_id, line_no
;;
-- # Subqueries and WITH
SELECT (SELECT max(id) FROM customers) AS newest
;;
SELECT * FROM (SELECT id, name FROM customers) AS c WHERE c.id = 2
;;
SELECT id FROM customers AS c WHERE id IN (SELECT customer_id FROM orders WHERE total > 50) ORDER BY id
;;
WITH big AS (SELECT * FROM orders WHERE total > 30) SELECT id FROM big ORDER BY id
;;
WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a) SELECT x, y FROM a, b
;;
WITH big AS (SELECT id FROM orders WHERE total > 30) SELECT count() FROM customers WHERE id IN (SELECT id FROM big)
;;
WITH x AS (SELECT 1 AS a) SELECT a FROM x UNION ALL SELECT a + 1 FROM x
;;
SELECT id FROM customers UNION ALL SELECT id FROM categories
;;
SELECT country FROM customers UNION DISTINCT SELECT toFixedString('DE', 2)
;;
SELECT country FROM customers UNION SELECT toFixedString('GB', 2)
;;
SELECT id FROM customers INTERSECT SELECT id FROM categories WHERE id > 2
;;
SELECT id FROM customers EXCEPT SELECT id FROM categories WHERE id > 2
;;
-- # Order and limits
SELECT DISTINCT country FROM customers ORDER BY country
;;
SELECT id FROM orders ORDER BY total DESC NULLS LAST, id LIMIT 3
;;
SELECT id FROM orders ORDER BY id LIMIT 2 OFFSET 3
;;
SELECT id FROM orders ORDER BY id LIMIT 3, 2
;;
SELECT customer_id, id FROM orders ORDER BY customer_id, id LIMIT 1 BY customer_id
;;
SELECT id, name FROM customers ORDER BY ALL
;;
SELECT toStartOfMonth(joined) AS m, count() FROM customers GROUP BY m ORDER BY m WITH FILL STEP INTERVAL 1 MONTH
;;
SELECT number FROM numbers(3) ORDER BY number
;;
SELECT count() FROM numbers(1000000)
;;
SELECT count() >= 0 FROM orders SAMPLE 0.5
;;
SELECT * EXCEPT (email, city) FROM customers ORDER BY id
;;
-- # Numbers
SELECT abs(-1), ceil(1.2), floor(1.7), round(2.567, 2), trunc(1.9), sqrt(16), pow(2, 10), exp(0), log(1), sign(-3)
;;
SELECT floor(1.257, 2), ceil(1.251, 2), CEIL(1.5), FLOOR(1.5), mod(7, 3), gcd(12, 18), lcm(4, 6)
;;
SELECT toInt128('170141183460469231731687303715884105727'), toUInt256('1'), toDecimal128('1.50', 20)
;;
SELECT toFloat64('nan'), toFloat64('inf'), -toFloat64('inf'), isNaN(toFloat64('nan')), isFinite(1.0)
;;
SELECT bitAnd(6, 3), bitOr(6, 3), bitXor(6, 3), bitShiftLeft(1, 4), bitCount(7)
;;
-- # Text
SELECT lower('AB'), upper('ab'), length('abc'), lengthUTF8('é'), reverse('abc'), concat('a', 'b'), 'a' || 'b'
;;
SELECT substring('abcdef', 2, 3), SUBSTRING('abcdef' FROM 2 FOR 3), left('abc', 2), right('abc', 2), trim('  a  ')
;;
SELECT replaceAll('aba', 'a', 'c'), replaceRegexpAll('aba', '[a]', 'x'), splitByChar(',', 'a,b'), position('abc', 'c')
;;
SELECT startsWith(name, 'Ada'), endsWith(name, 'e'), regexpExtract(name, '([A-Z])'), leftPad('7', 3, '0') FROM customers ORDER BY id
;;
SELECT format('{}-{}', 'a', 'b'), hex('a'), unhex('61'), base64Encode('a'), char(65), ascii('A'), repeat('ab', 2)
;;
SELECT toString(id), toTypeName(id), empty(name), notEmpty(name) FROM customers ORDER BY id
;;
SELECT cityHash64('a'), sipHash64('a'), lower(hex(MD5('a'))), hex(SHA256('a'))
;;
SELECT domain('https://example.org/x?y=1'), path('https://example.org/x'), cutQueryString('https://example.org/x?y=1')
;;
-- # Dates and times
SELECT toDate('2024-02-29'), toDateTime('2024-02-29 12:00:00'), toDateTime64('2024-02-29 12:00:00.125', 3), toDate32('1950-01-01')
;;
SELECT toYear(joined), toMonth(joined), toDayOfMonth(joined), toQuarter(joined), toISOWeek(joined), toDayOfWeek(joined) FROM customers ORDER BY id
;;
SELECT toStartOfMonth(placed_at), toStartOfWeek(placed_at), toMonday(placed_at), toStartOfHour(placed_at), toStartOfInterval(placed_at, INTERVAL 15 MINUTE) FROM orders ORDER BY id
;;
SELECT joined + INTERVAL 1 DAY, addMonths(joined, 1), subtractDays(joined, 1), dateDiff('day', joined, toDate('2024-12-31')) FROM customers ORDER BY id
;;
SELECT formatDateTime(placed_at, '%Y-%m'), toYYYYMM(placed_at), toUnixTimestamp(placed_at), date_trunc('month', placed_at) FROM orders ORDER BY id
;;
SELECT EXTRACT(YEAR FROM joined), date_diff('month', joined, toDate('2024-12-31')) FROM customers ORDER BY id
;;
SELECT now() > toDateTime('2024-01-01 00:00:00'), today() > toDate('2024-01-01'), yesterday() < today()
;;
SELECT toTimeZone(placed_at, 'Asia/Tokyo') FROM orders ORDER BY id
;;
SELECT parseDateTimeBestEffort('2024-02-29T12:00:00Z'), fromUnixTimestamp(0), INTERVAL 3 DAY
;;
-- # Arrays, maps, tuples
SELECT arrayMap(x -> x * 2, [1, 2, 3]), arrayFilter(x -> x > 1, [1, 2, 3]), arraySum([1, 2]), arraySort(x -> -x, [1, 3, 2])
;;
SELECT arrayMap((x, y) -> x + y, [1, 2], [10, 20]), arrayReverse([1, 2]), arrayDistinct([1, 1]), arrayConcat([1], [2])
;;
SELECT tags[1], length(tags), has(tags, 'sea'), indexOf(tags, 'whale'), arrayStringConcat(tags, ', ') FROM products ORDER BY id
;;
SELECT attributes['lang'], mapKeys(attributes), mapContains(attributes, 'lang') FROM products ORDER BY id
;;
SELECT tupleElement((1, 'a'), 2), arrayZip([1, 2], ['a', 'b']), range(3), arrayEnumerate(['a', 'b'])
;;
SELECT JSONExtractString('{"a": "b"}', 'a'), JSONExtractInt('{"a": 5}', 'a'), JSONHas('{"a": 5}', 'b'), JSON_VALUE('{"a": 1}', '$.a')
;;
-- # Casts
SELECT CAST('5' AS UInt8), CAST('5' AS Int8), CAST(5 AS String), CAST('1.5' AS Decimal(10, 2)), CAST('2024-01-01' AS Date)
;;
SELECT '5'::UInt64, 5::Nullable(Int32), [1]::Array(UInt8), 'a'::LowCardinality(String), 'ab'::FixedString(2)
;;
SELECT CAST('5' AS Int64), CAST(1.5 AS Float64), CAST(NULL AS Nullable(Float64))
;;
SELECT 7::Int64, '1.5'::Float64, [1]::Array(Int64), toTypeName(id::Int64) FROM orders WHERE id = 1001
;;
SELECT CAST('2024-01-01 00:00:00' AS DateTime64(3, 'UTC')), CAST(1 AS Float32), CAST(NULL AS Nullable(String)), CAST(map('a', 1) AS Map(String, UInt8))
;;
SELECT toUInt8OrNull('x'), toInt32OrZero('x'), toDecimal64('1.5', 2), toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0'), toIPv4('1.2.3.4'), toIPv6('::1')
;;
SELECT accurateCastOrNull(300, 'UInt8'), toFixedString('a', 2), toBool('true'), reinterpretAsUInt8('a')
;;
SELECT CAST(1, 'String'), cast('5', 'Nullable(UInt8)'), CAST('1.50', 'Decimal(10, 2)')
;;
-- # Syntax of ClickHouse
SELECT (1, 'a').1, (1, ('a', 2)).2.1, -tuple(3, 4).1, [(1, 2)][1].2
;;
SELECT t.1 AS a, t.2 FROM (SELECT (id, name) AS t FROM customers) ORDER BY a
;;
SELECT arrayMap(t -> t.1, [(1, 2), (3, 4)])
;;
SELECT id FROM customers WHERE id GLOBAL IN (SELECT customer_id FROM orders) ORDER BY id
;;
SELECT id FROM customers WHERE id GLOBAL NOT IN (SELECT customer_id FROM orders WHERE total > 50) ORDER BY id
;;
SELECT id, n FROM customers JOIN (SELECT id, 1 AS n FROM customers) AS b USING id ORDER BY id
;;
SELECT arrayReduce('sum', [1, 2]), arrayReduce('quantile(0.5)', [1, 2]), arrayReduce('sumIf', [1, 2], [1, 0])
;;
-- # Forms that ClickHouse has in several ways
SELECT count() FROM customers LEFT ANY JOIN orders ON customers.id = orders.customer_id
;;
SELECT count() FROM customers LEFT ALL JOIN orders ON customers.id = orders.customer_id
;;
SELECT count() FROM customers SEMI LEFT JOIN orders ON customers.id = orders.customer_id
;;
SELECT count() FROM customers ANTI LEFT JOIN orders ON customers.id = orders.customer_id
;;
SELECT name FROM customers WHERE id IN [1, 2] ORDER BY name
;;
SELECT name FROM customers WHERE id NOT IN tuple(1, 2) ORDER BY name
;;
SELECT count(*) FILTER (WHERE vip) AS n, length([]) AS l FROM customers
;;
SELECT CAST((5, 1) AS Tuple(String, Int8)) AS t, toDate('2024-01-31') + CAST(1 AS IntervalMonth) AS d
;;
SELECT name, t, n FROM products ARRAY JOIN tags AS t, arrayEnumerate(tags) AS n ORDER BY name, t, n
;;
