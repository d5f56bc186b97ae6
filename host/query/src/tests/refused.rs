//! Forms of SQL that are refused, and what is said in place of DataFusion's own words.

use super::{meaning::table, refused};
use mindhost_base::error::Code;

const TABLES: &str = "WITH a(x, k) AS (VALUES (1, 10), (2, 20), (3, 20))";

#[tokio::test]
async fn refused_form_is_told_with_what_to_write() {
    for (sql, expected) in [
        (
            "SELECT k, count(*) FROM a GROUP BY ROLLUP (1)",
            "no numbers of columns",
        ),
        (
            "SELECT k, x, count(*) FROM a GROUP BY GROUPING SETS ((1, 2), ())",
            "no numbers of columns",
        ),
        (
            "SELECT k, count(*) FROM a GROUP BY ROLLUP (k, k)",
            "each column once",
        ),
        (
            "SELECT k, count(*) FROM a GROUP BY CUBE (k, x, k)",
            "each column once",
        ),
        (
            "SELECT k, count(*) FROM a GROUP BY GROUPING SETS ((k, k), ())",
            "each column once",
        ),
        (
            "SELECT k, count(*) FROM a GROUP BY ROLLUP (a.k, k)",
            "each column once",
        ),
        ("SELECT count(DISTINCT k, x) FROM a", "SELECT DISTINCT a, b"),
        (
            "SELECT x FROM a ORDER BY k FETCH FIRST 1 ROW WITH TIES",
            "rank() OVER",
        ),
        (
            "SELECT k, x, count(*) FROM a GROUP BY ROLLUP ((k, x))",
            "write the sets",
        ),
        (
            "SELECT k, count(*) FROM a GROUP BY k WITH ROLLUP",
            "GROUP BY ROLLUP (a, b)",
        ),
        (
            "SELECT x FROM a WHERE (x, k) = (SELECT 1, 10)",
            "(a, b) IN (SELECT x, y …)",
        ),
        (
            "SELECT x FROM a WHERE (SELECT 1, 10) <> (x, k)",
            "(a, b) IN (SELECT x, y …)",
        ),
        (
            "SELECT x FROM a ORDER BY x LIMIT (SELECT 1 + 1)",
            "row_number() OVER",
        ),
        (
            "SELECT x FROM (SELECT x FROM a ORDER BY x OFFSET (SELECT 1)) b",
            "row_number() OVER",
        ),
    ] {
        let error = refused(&format!("{TABLES} {sql}")).await;
        assert_eq!(error.code(), Code::SqlNotSupported, "{sql}: {error}");
        assert!(error.message().contains(expected), "{sql}: {error}");
    }
}

#[tokio::test]
async fn column_that_is_not_grouped_is_told_in_plain_words() {
    for (sql, expected) in [
        (
            "SELECT k, sum(x) AS x FROM a GROUP BY k HAVING x > 1",
            "a.x in HAVING must be in GROUP BY or inside an aggregate; if SELECT gives this name to an aggregate, \
             repeat the aggregate, for the name of a column means the column",
        ),
        (
            "SELECT k, x FROM a GROUP BY k",
            "a.x in SELECT must be in GROUP BY or inside an aggregate",
        ),
    ] {
        let error = refused(&format!("{TABLES} {sql}")).await;
        assert_eq!(
            (error.code(), error.message()),
            (Code::SqlInvalid, expected),
            "{sql}"
        );
    }
}

#[tokio::test]
async fn what_is_to_be_written_in_place_of_it_gives_rows() {
    for (sql, expected) in [
        (
            "SELECT k, count(*) FROM p GROUP BY ROLLUP (k) ORDER BY k",
            "10,1 20,1 30,1 ,3",
        ),
        (
            "SELECT count(*) FROM p GROUP BY GROUPING SETS ((id, k), (id), ()) ORDER BY 1 DESC LIMIT 1",
            "3",
        ),
        ("SELECT id FROM p WHERE (id, k) IN (SELECT 2, 20)", "2"),
        (
            "SELECT id FROM p ORDER BY id OFFSET 1 ROWS FETCH NEXT 1 ROW ONLY",
            "2",
        ),
        (
            "SELECT id FROM p ORDER BY id DESC FETCH FIRST ROW ONLY",
            "3",
        ),
        (
            "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM p) x \
             WHERE n <= (SELECT count(*) / 2 FROM p) ORDER BY id",
            "1",
        ),
        (
            "SELECT k AS v, count(*) AS n FROM q GROUP BY k HAVING n > 0 AND v > 10 ORDER BY v",
            "20,1 30,1",
        ),
    ] {
        assert_eq!(table(sql).await, expected, "{sql}");
    }
}
