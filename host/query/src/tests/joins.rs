//! Joins whose keys compare NULL in two ways, and grouping sets of columns that a join makes equal.

use super::meaning::table;

#[tokio::test]
async fn keys_that_compare_nulls_stay_apart_from_others() {
    let tables =
        ", t(id, k) AS (VALUES (1, NULL), (2, 5)), n(id, k) AS (VALUES (NULL, 1), (2, 2)) ";
    for (rest, expected) in [
        (
            "FROM t a JOIN t b ON a.k IS NOT DISTINCT FROM b.k JOIN t c ON a.id = c.id",
            "2",
        ),
        (
            "FROM t a JOIN t b ON a.k = b.k JOIN t c ON a.id IS NOT DISTINCT FROM c.id",
            "1",
        ),
        (
            "FROM t a JOIN t b ON a.k IS NOT DISTINCT FROM b.k CROSS JOIN t c WHERE a.id = c.id",
            "2",
        ),
        (
            "FROM n a JOIN n b ON a.k IS NOT DISTINCT FROM b.k WHERE a.id = b.id",
            "1",
        ),
        (
            "FROM n a LEFT JOIN n b ON (a.k IS NOT DISTINCT FROM b.k) AND a.id = b.id WHERE b.k IS NULL",
            "1",
        ),
        ("FROM t a JOIN t b ON a.k IS NOT DISTINCT FROM b.k", "2"),
    ] {
        let sql = format!("{tables} SELECT count(*) {rest}");
        assert_eq!(table(&sql).await, expected, "{rest}");
    }
}

#[tokio::test]
async fn grouping_sets_keep_apart_what_is_equal_below_them() {
    let tables = ", e(id, k) AS (VALUES (1, 1), (2, 2), (3, 3)) ";
    for (rest, expected) in [
        (
            "SELECT id, k, count(*) FROM e WHERE id = k GROUP BY ROLLUP (id, k) ORDER BY 1, 2",
            "1,1,1 1,,1 2,2,1 2,,1 3,3,1 3,,1 ,,3",
        ),
        (
            "SELECT a.id, b.id AS b, count(*) FROM e a JOIN e b ON a.id = b.id GROUP BY CUBE (a.id, b.id) \
             ORDER BY 1, 2 LIMIT 2",
            "1,1,1 1,,1",
        ),
        (
            "SELECT id, k, count(*) FROM e WHERE id = 2 GROUP BY GROUPING SETS ((id, k), (k), ()) ORDER BY id, k",
            "2,2,1 ,2,1 ,,1",
        ),
        (
            "SELECT a.id, b.id AS b, sum(count(*)) OVER (PARTITION BY a.id ORDER BY b.id) FROM e a \
             JOIN e b ON a.id = b.id WHERE a.id < 3 GROUP BY ROLLUP (a.id, b.id) ORDER BY 1, 2",
            "1,1,1 1,,2 2,2,1 2,,2 ,,2",
        ),
    ] {
        assert_eq!(table(&format!("{tables}{rest}")).await, expected, "{rest}");
    }
}
