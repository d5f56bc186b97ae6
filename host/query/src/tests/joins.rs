//! Joins whose keys compare NULL in two ways.

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
