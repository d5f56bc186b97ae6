-- Rows that the best plan of a query moves into the host, with the tables in two datasources (customer, orders and
-- lineitem in one, the others in the other) and in three (part and partsupp in SQLite, supplier, nation and region in
-- the third). By these rules:
--
-- 1. A datasource applies the conditions on its own tables, also those that follow from an OR over several.
-- 2. It joins its own tables by equal keys, and computes the groups that the text of the query has above its own tables
--    alone. No group is added below a join. SQLite applies conditions only: a cell there may have another type than its
--    column, so that a join or a group could give other rows than the host.
-- 3. What was read before is known by its keys to what is read after it, in the best order.
-- 4. A table that the text has twice is read twice.
--
-- A query that is not here lies in one datasource, which gives the rows of the answer.

-- Q2 three: the parts, and partsupp by the keys of both; once more for the least cost of each of these parts.
WITH s AS (SELECT s_suppkey FROM supplier, nation, region
        WHERE s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE'),
    p AS (SELECT p_partkey FROM part WHERE p_size = 15 AND p_type LIKE '%BRASS'),
    ps AS (SELECT * FROM partsupp WHERE ps_partkey IN (FROM p) AND ps_suppkey IN (FROM s))
SELECT (SELECT count(*) FROM p) + 2 * (SELECT count(*) FROM s) + 2 * (SELECT count(*) FROM ps);

-- Q5 both: suppliers with their nation, then lines by both keys.
WITH s AS (SELECT s_suppkey, s_nationkey FROM supplier, nation, region
        WHERE s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA'),
    l AS (SELECT 1 FROM customer, orders, lineitem WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey
        AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01'
        AND (l_suppkey, c_nationkey) IN (FROM s))
SELECT (SELECT count(*) FROM s) + (SELECT count(*) FROM l);

-- Q7 both: suppliers of two nations, the nations of customers, then lines by both keys.
WITH n AS (SELECT n_nationkey FROM nation WHERE n_name IN ('FRANCE', 'GERMANY')),
    s AS (SELECT s_suppkey FROM supplier WHERE s_nationkey IN (FROM n)),
    l AS (SELECT 1 FROM customer, orders, lineitem WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey
        AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
        AND l_suppkey IN (FROM s) AND c_nationkey IN (FROM n))
SELECT (SELECT count(*) FROM n) + (SELECT count(*) FROM s) + (SELECT count(*) FROM l);

-- Q8 both: parts and nations, lines by both keys, then the suppliers of these lines.
WITH n AS (SELECT n_nationkey FROM nation, region WHERE n_regionkey = r_regionkey AND r_name = 'AMERICA'),
    p AS (SELECT p_partkey FROM part WHERE p_type = 'ECONOMY ANODIZED STEEL'),
    l AS (SELECT l_suppkey FROM customer, orders, lineitem WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey
        AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
        AND l_partkey IN (FROM p) AND c_nationkey IN (FROM n))
SELECT (SELECT count(*) FROM n) + (SELECT count(*) FROM p) + (SELECT count(*) + count(DISTINCT l_suppkey) FROM l);

-- Q9 two: all of the shop in one statement, then lines by both keys.
WITH ps AS (SELECT ps_partkey, ps_suppkey FROM part, partsupp WHERE p_partkey = ps_partkey AND p_name LIKE '%green%'),
    l AS (SELECT 1 FROM lineitem WHERE (l_partkey, l_suppkey) IN (FROM ps))
SELECT (SELECT count(*) FROM ps) + (SELECT count(*) FROM l);

-- Q9 three: parts, partsupp by their keys, suppliers and lines by theirs.
WITH ps AS (SELECT ps_partkey, ps_suppkey FROM part, partsupp WHERE p_partkey = ps_partkey AND p_name LIKE '%green%'),
    l AS (SELECT 1 FROM lineitem WHERE (l_partkey, l_suppkey) IN (FROM ps))
SELECT (SELECT count(DISTINCT ps_partkey) + count(*) + count(DISTINCT ps_suppkey) FROM ps) + (SELECT count(*) FROM l);

-- Q10 both: lines, then the nations of their customers.
SELECT count(*) + count(DISTINCT c_nationkey) FROM customer, orders, lineitem
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_returnflag = 'R'
    AND o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01';

-- Q11 three: suppliers, and partsupp by their keys, both for the groups and for the sum of all.
WITH s AS (SELECT s_suppkey FROM supplier, nation WHERE s_nationkey = n_nationkey AND n_name = 'GERMANY')
SELECT 2 * (SELECT count(*) FROM s) + 2 * (SELECT count(*) FROM partsupp WHERE ps_suppkey IN (FROM s));

-- Q14 both: lines of a month, then their parts.
SELECT count(*) + count(DISTINCT l_partkey) FROM lineitem
WHERE l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01';

-- Q15 both: the suppliers with the largest revenue, which the datasource of the lines finds, then their names.
WITH r AS (SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem
        WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01' GROUP BY l_suppkey)
SELECT 2 * count(*) FROM r WHERE revenue = (SELECT max(revenue) FROM r);

-- Q16 three: parts, partsupp by their keys, and the suppliers with complaints.
WITH p AS (SELECT p_partkey FROM part WHERE p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%'
        AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9))
SELECT (SELECT count(*) FROM p) + (SELECT count(*) FROM partsupp WHERE ps_partkey IN (FROM p))
    + (SELECT count(*) FROM supplier WHERE s_comment LIKE '%Customer%Complaints%');

-- Q17 both: parts, then those of their lines whose quantity is below a fifth of the average.
WITH p AS (SELECT p_partkey FROM part WHERE p_brand = 'Brand#23' AND p_container = 'MED BOX')
SELECT (SELECT count(*) FROM p) + (SELECT count(*) FROM lineitem AS l WHERE l_partkey IN (FROM p)
    AND l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = l.l_partkey));

-- Q19 both: parts of three brands, then lines by their keys.
WITH p AS (SELECT p_partkey FROM part
        WHERE (p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
            AND p_size BETWEEN 1 AND 5)
        OR (p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
            AND p_size BETWEEN 1 AND 10)
        OR (p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
            AND p_size BETWEEN 1 AND 15)),
    l AS (SELECT 1 FROM lineitem WHERE l_partkey IN (FROM p) AND l_shipmode IN ('AIR', 'AIR REG')
        AND l_shipinstruct = 'DELIVER IN PERSON' AND l_quantity BETWEEN 1 AND 30)
SELECT (SELECT count(*) FROM p) + (SELECT count(*) FROM l);

-- Q20 two: suppliers, partsupp of the parts and of these suppliers, then groups of lines by both keys.
WITH s AS (SELECT s_suppkey FROM supplier, nation WHERE s_nationkey = n_nationkey AND n_name = 'CANADA'),
    p AS (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%'),
    ps AS (SELECT ps_partkey, ps_suppkey FROM partsupp WHERE ps_partkey IN (FROM p) AND ps_suppkey IN (FROM s)),
    l AS (SELECT DISTINCT l_partkey, l_suppkey FROM lineitem WHERE (l_partkey, l_suppkey) IN (FROM ps)
        AND l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01')
SELECT (SELECT count(*) FROM s) + (SELECT count(*) FROM ps) + (SELECT count(*) FROM l);

-- Q20 three: the same, and the parts.
WITH s AS (SELECT s_suppkey FROM supplier, nation WHERE s_nationkey = n_nationkey AND n_name = 'CANADA'),
    p AS (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%'),
    ps AS (SELECT ps_partkey, ps_suppkey FROM partsupp WHERE ps_partkey IN (FROM p) AND ps_suppkey IN (FROM s)),
    l AS (SELECT DISTINCT l_partkey, l_suppkey FROM lineitem WHERE (l_partkey, l_suppkey) IN (FROM ps)
        AND l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01')
SELECT (SELECT count(*) FROM s) + (SELECT count(*) FROM p) + (SELECT count(*) FROM ps) + (SELECT count(*) FROM l);

-- Q21 both: suppliers, then late lines by their keys, which the datasource compares with the other lines of the order.
WITH s AS (SELECT s_suppkey FROM supplier, nation WHERE s_nationkey = n_nationkey AND n_name = 'SAUDI ARABIA')
SELECT (SELECT count(*) FROM s) + (SELECT count(*) FROM lineitem AS l1, orders
    WHERE o_orderkey = l1.l_orderkey AND o_orderstatus = 'F' AND l1.l_receiptdate > l1.l_commitdate
    AND l1.l_suppkey IN (FROM s)
    AND EXISTS (SELECT 1 FROM lineitem AS l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
    AND NOT EXISTS (SELECT 1 FROM lineitem AS l3 WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey
        AND l3.l_receiptdate > l3.l_commitdate));
