//! WITH in WITH: names that are defined again.

use super::one;

#[tokio::test]
async fn inner_with_of_the_same_name_is_seen_where_it_stands() {
    for (sql, expected) in [
        (
            "WITH x AS (SELECT 1 AS a) SELECT y.a, (SELECT a FROM x) FROM (WITH x AS (SELECT 2 AS a) SELECT x.a FROM x) y",
            "2 1",
        ),
        (
            "WITH x AS (SELECT 1 AS a), y AS (WITH x AS (SELECT a + 10 AS a FROM x) SELECT * FROM x) \
             SELECT x.a, y.a FROM x, y",
            "1 11",
        ),
        (
            "WITH x AS (SELECT 1 AS a) SELECT a, (WITH \"x\" AS (SELECT 2 AS a) SELECT sum(z.a + x.a) FROM X, x AS z) FROM x",
            "1 4",
        ),
        (
            "SELECT (WITH x AS (SELECT 1 AS a) SELECT a FROM x), (WITH x AS (SELECT 2 AS a) SELECT a FROM x)",
            "1 2",
        ),
        (
            "WITH x AS (SELECT 1 AS a), y AS (WITH x AS (WITH x AS (SELECT a + 2 AS a FROM x) SELECT a * 10 AS a FROM x) \
             SELECT a FROM x UNION ALL SELECT a FROM x) SELECT sum(a), (SELECT a FROM x) FROM y",
            "60 1",
        ),
    ] {
        assert_eq!(one(sql).await.join(" "), expected, "{sql}");
    }
}
