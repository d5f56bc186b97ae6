//! Names of columns: those that two columns share, and places in ORDER BY.

use super::{names, one};

/// Tables with columns of one name, and with NULLs.
const TABLES: &str = "
    WITH a(x, k) AS (VALUES (1, 10), (2, 20), (NULL, 30)),
         p(id, k) AS (VALUES (1, 10), (2, 20), (3, 30)),
         d(id, v) AS (VALUES (1, 1.25), (2, 1.75), (3, 2.00))
    ";

#[tokio::test]
async fn columns_of_one_name_are_told_apart() {
    for (sql, expected) in [
        ("SELECT k, k FROM p ORDER BY k DESC LIMIT 1", "30 30"),
        (
            "SELECT k, CAST(k AS text) FROM p ORDER BY 1 LIMIT 1",
            "10 10",
        ),
        (
            "SELECT *, k, id + 1, id + 1 FROM p ORDER BY id LIMIT 1",
            "1 10 10 2 2",
        ),
        (
            "SELECT sum(v), sum(CAST(v AS bigint)) AS whole FROM d",
            "5.00 4",
        ),
        (
            "SELECT k, CAST(k AS text), count(*) FROM p GROUP BY k, CAST(k AS text) HAVING max(CAST(k AS double)) > 20",
            "30 30 1",
        ),
        (
            "SELECT count(x) OVER () AS a, count(CAST(x AS text)) OVER () AS b FROM a LIMIT 1",
            "2 2",
        ),
        (
            "SELECT s.x, s.y FROM (SELECT k AS x, CAST(k AS text) AS y FROM p UNION SELECT id, id::text FROM p) AS s ORDER BY 1 LIMIT 1",
            "1 1",
        ),
        ("SELECT k AS n, id AS n FROM p ORDER BY 1 LIMIT 1", "10 1"),
        (
            "SELECT k, k FROM p WHERE k = 10 UNION SELECT id, id FROM p WHERE id = 0",
            "10 10",
        ),
        // Those of subqueries, by place or not at all.
        ("SELECT count(*) FROM (SELECT k, k, k FROM p) AS s", "3"),
        (
            "SELECT * FROM (SELECT k, k FROM p) AS s(a, b) WHERE b > 20",
            "30 30",
        ),
        (
            "SELECT id FROM p WHERE (k, k) IN (SELECT k, k FROM p WHERE id = 2)",
            "2",
        ),
        (
            "SELECT id FROM p WHERE id > 2 AND EXISTS (SELECT x, x FROM a)",
            "3",
        ),
        (
            "SELECT c.m FROM (SELECT count(*), count(*), max(k) AS m FROM p) AS c",
            "30",
        ),
        (
            "SELECT s.k FROM (SELECT k, k FROM p WHERE id = 2) AS s",
            "20",
        ),
    ] {
        let cells = one(&format!("{TABLES} {sql}")).await;
        assert_eq!(cells.join(" "), expected, "{sql}");
    }
}

#[tokio::test]
async fn place_in_order_by_is_that_of_any_expression() {
    for (sql, expected) in [
        ("SELECT round(avg(k), 1) FROM p ORDER BY 1", "20.0"),
        ("SELECT count(*) * 2 FROM p ORDER BY 1 DESC", "6"),
        (
            "SELECT k, rank() OVER (ORDER BY sum(id) DESC) FROM p GROUP BY k ORDER BY 2 LIMIT 1",
            "30 1",
        ),
        (
            "SELECT k, CAST(k AS text), count(*) + 1 FROM p GROUP BY k, 2 ORDER BY 3, 1 LIMIT 1",
            "10 10 2",
        ),
        ("SELECT DISTINCT max(k) + 1 FROM p ORDER BY 1", "31"),
        (
            "SELECT s.* FROM (SELECT max(k) + 1 FROM p ORDER BY 1) AS s",
            "31",
        ),
        (
            "SELECT id FROM p WHERE k < (SELECT max(k) - 15 FROM p ORDER BY 1 LIMIT 1)",
            "1",
        ),
    ] {
        let cells = one(&format!("{TABLES} {sql}")).await;
        assert_eq!(cells.join(" "), expected, "{sql}");
    }
}

#[tokio::test]
async fn columns_of_one_name_keep_it() {
    let sql = format!("{TABLES} SELECT k, p.k, CAST(k AS text), k AS n, id AS n FROM p");
    let expected = ["k", "k", "CAST(k AS TEXT)", "n", "n"];
    assert_eq!(names(&sql).await, expected);
    let sql = format!("{TABLES} SELECT round(avg(k), 1) FROM p ORDER BY 1");
    assert_eq!(names(&sql).await, ["round(avg(k), 1)"]);
}
