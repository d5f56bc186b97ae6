//! Totals, merged columns, dates and texts: values that DataFusion alone gives otherwise.

use super::{meaning::table, one, refused};
use mindhost_base::error::Code;

#[tokio::test]
async fn wildcard_over_using_has_the_merged_columns_first() {
    for (sql, expected) in [
        // The name that is earlier in the alphabet is that of the side without a row.
        (
            "SELECT * FROM (SELECT k FROM p) s LEFT JOIN (SELECT id, k FROM q WHERE k > 15) d USING (k) ORDER BY k",
            "10, 20,2 30,1",
        ),
        (
            "SELECT * FROM q s JOIN p d USING (k) ORDER BY k",
            "10,3,1 20,2,2 30,1,3",
        ),
        (
            "SELECT * FROM p z LEFT JOIN (SELECT * FROM q WHERE k > 25) b USING (k) LEFT JOIN a USING (k) ORDER BY k",
            "10,1,,1 20,2,,2 30,3,1,",
        ),
        (
            "SELECT * FROM (SELECT * FROM q WHERE k > 15) z RIGHT JOIN p b USING (k) ORDER BY 1",
            "10,,1 20,2,2 30,1,3",
        ),
        (
            "SELECT * FROM (SELECT k FROM p WHERE k < 25) z FULL JOIN (SELECT k FROM q WHERE k > 15) b USING (k) ORDER BY k",
            "10 20 30",
        ),
        (
            "SELECT count(*) FROM (SELECT * FROM p s LEFT JOIN (SELECT * FROM q WHERE k > 90) d USING (k)) x WHERE x.k IS NULL",
            "0",
        ),
    ] {
        assert_eq!(table(sql).await, expected, "{sql}");
    }
}

#[tokio::test]
async fn total_of_no_rows_is_a_row_that_can_be_filtered() {
    for (sql, expected) in [
        (
            "SELECT * FROM (SELECT 'p' AS src, count(*) AS n FROM p UNION ALL SELECT 'q', sum(k) FROM q) t WHERE src = 'q'",
            "q,60",
        ),
        (
            "SELECT t.n FROM (SELECT count(*) AS n, 1 AS k FROM p) t WHERE t.k <> 1",
            "",
        ),
        (
            "SELECT n FROM (SELECT count(*) AS n, 1 AS k FROM p) t WHERE k = 1",
            "3",
        ),
        (
            ", t AS (SELECT 'p' AS what, max(k) AS v FROM p) SELECT * FROM t WHERE what = 'q'",
            "",
        ),
        (
            "SELECT id, n FROM (SELECT id, count(*) AS n FROM p GROUP BY ROLLUP (id)) t WHERE id = 2",
            "2,1",
        ),
        (
            "SELECT n FROM (SELECT id, count(*) AS n, 'a' AS w FROM p GROUP BY ROLLUP (id)) t WHERE w = 'b'",
            "",
        ),
        (
            "SELECT p.id FROM p JOIN (SELECT max(k) AS m, 'x' AS w FROM q) t ON p.k = t.m AND t.w = 'y'",
            "",
        ),
    ] {
        assert_eq!(table(sql).await, expected, "{sql}");
    }
}

#[tokio::test]
async fn dates_and_times_are_what_sql_means() {
    for (value, expected) in [
        (
            "date '2024-01-31' + interval '25 hours'",
            "2024-02-01T01:00:00",
        ),
        ("date '2024-01-31' - interval '1 day'", "2024-01-30"),
        (
            "interval '90 minutes' + date '2024-01-31'",
            "2024-01-31T01:30:00",
        ),
        (
            "extract(epoch from timestamp '2024-01-01 00:00:01.5' - timestamp '2024-01-01 00:00:00')",
            "1.5",
        ),
        (
            "extract(second from timestamp '2024-01-01 00:00:01.5')",
            "1.500000",
        ),
        ("date_part('SECONDS', time '10:00:59.000001')", "59.000001"),
        ("extract(second from '2024-01-01 00:00:07.25')", "7.25"),
        ("extract(second from interval '75 seconds')", "15"),
        ("extract(minute from time '10:07:59')", "7"),
        ("timestamp '2024-01-31 10:00'", "2024-01-31T10:00:00"),
        ("timestamp '2024-01-31 10:00:00' < '9999-01-01'", "true"),
        ("time '10:00' < time '10:00:01'", "true"),
        (
            "to_char(timestamp '2024-01-31 14:05:00', 'YYYY-MM-DD HH24:MI')",
            "2024-01-31 14:05",
        ),
        ("to_char(date '2024-01-31', '%d.%m.')", "31.01."),
        (
            "timestamp '2024-07-01 10:00:00' AT TIME ZONE 'Europe/Paris'",
            "2024-07-01T08:00:00Z",
        ),
        (
            "CAST('2024-07-01T10:00:00Z' AS timestamp with time zone) AT TIME ZONE 'Europe/Paris'",
            "2024-07-01T12:00:00",
        ),
        ("CAST('abc' AS varchar(2))", "ab"),
        ("'abc'::char", "a"),
        ("CAST(NULL AS varchar(2)) IS NULL", "true"),
        ("1 / 1000000.0", "0.000001"),
        ("CAST(5 AS decimal(10, 2)) / 3", "1.666666666666"),
    ] {
        let found = one(&format!("SELECT {value}")).await.remove(0);
        assert_eq!(
            found.trim_end_matches('0'),
            expected.trim_end_matches('0'),
            "{value}"
        );
    }
    for (value, says) in [
        ("to_char(date '2024-01-31', 'YYYY-Q')", "does not know"),
        ("substring('abc' FROM 'b.')", "regexp_replace"),
        ("(1, NULL) IS NOT NULL", "one by one"),
        ("2 ^ 10", "power(a, b)"),
    ] {
        let error = refused(&format!("SELECT {value}")).await;
        assert!(error.to_string().contains(says), "{value}: {error}");
    }
}

#[tokio::test]
async fn exponents_are_decimals() {
    for (number, expected) in [
        ("CAST(1e3 / 7 AS text)", "142.8571"),
        ("CAST(2 * 1e2 AS text)", "200.0"),
        ("CAST(5 < 1e300 AS text)", "true"),
        ("CAST(3 / 1e2 AS text)", "0.03"),
    ] {
        let found = one(&format!("SELECT {number}")).await.remove(0);
        assert!(found.starts_with(expected), "{number}: {found}");
    }
}

#[tokio::test]
async fn set_operations_and_values_stand_behind_in() {
    for (condition, expected) in [
        (
            "k IN (SELECT k FROM p EXCEPT SELECT k FROM q WHERE k > 15)",
            "10",
        ),
        (
            "k IN (SELECT k FROM p INTERSECT SELECT k FROM q WHERE k > 15)",
            "20 30",
        ),
        (
            "k NOT IN (SELECT k FROM p EXCEPT SELECT k FROM q WHERE k > 15)",
            "20 30",
        ),
        (
            "k IN (SELECT id FROM p UNION (SELECT k FROM p EXCEPT SELECT 10))",
            "20 30",
        ),
        (
            "k IN (SELECT k FROM p EXCEPT SELECT 20 ORDER BY 1 LIMIT 1)",
            "10",
        ),
        (
            "k = 30 OR k IN (SELECT k FROM p EXCEPT SELECT k FROM q WHERE k > 15)",
            "10 30",
        ),
        ("k IN (VALUES (10), (30), (50))", "10 30"),
        ("k NOT IN (VALUES (10), (30), (50))", "20"),
    ] {
        let sql = format!("SELECT k FROM p WHERE {condition} ORDER BY k");
        assert_eq!(table(&sql).await, expected, "{condition}");
    }
}

#[tokio::test]
async fn constant_text_beside_a_truth_value_is_one() {
    for (expr, expected) in [
        ("flag = 't'", "1"),
        ("flag = 'TRUE'", "1"),
        ("'off' = flag", "2"),
        ("flag <> 'yes'", "2"),
        ("flag IN ('true', '0')", "1 2"),
        ("flag IS DISTINCT FROM 'f'", "1 3"),
        ("CASE flag WHEN 't' THEN 1 ELSE 0 END = 1", "1"),
    ] {
        let flags = ", w(id, flag) AS (VALUES (1, true), (2, false), (3, NULL))";
        let sql = format!("{flags} SELECT id FROM w WHERE {expr} ORDER BY id");
        assert_eq!(table(&sql).await, expected, "{expr}");
    }
    assert_eq!(one("SELECT (1 < 2) = 't'").await, ["true"]);
    for sql in [
        "SELECT (1 < 2) = 'maybe'",
        "SELECT 1 WHERE (1 < 2) IN ('maybe', 't')",
    ] {
        let error = refused(sql).await;
        assert_eq!(error.code(), Code::SqlInvalid, "{sql}");
        let message = error.to_string();
        assert!(message.contains("TRUE or FALSE"), "{sql}: {message}");
    }
}

#[tokio::test]
async fn refused_value_of_a_subquery_says_what_to_write() {
    for query in [
        "SELECT DISTINCT k FROM q WHERE q.id = p.id",
        "SELECT k FROM q WHERE q.id = p.id LIMIT 2",
        "SELECT k FROM q WHERE q.id = p.id ORDER BY k LIMIT 1 OFFSET 1",
        "SELECT k FROM q WHERE q.id = p.id UNION ALL SELECT k FROM q WHERE q.id = p.id",
    ] {
        let tables = "WITH p(id) AS (VALUES (1)), q(id, k) AS (VALUES (1, 2), (2, 3))";
        let error = refused(&format!("{tables} SELECT id, ({query}) FROM p")).await;
        assert_eq!(error.code(), Code::SqlNotSupported, "{query}");
        let message = error.to_string();
        assert!(
            message.contains("max(x)") && message.contains("LEFT JOIN"),
            "{query}: {message}"
        );
    }
}

#[tokio::test]
async fn seconds_are_grouped_and_compared_with_their_fraction() {
    let moments =
        "(VALUES (timestamp '2024-01-01 00:00:01.5'), (timestamp '2024-01-01 00:01:01.5'),
        (timestamp '2024-01-01 00:00:02')) AS v(t)";
    let sql = format!(
        "SELECT extract(second FROM t) AS s, count(*) AS n FROM {moments} WHERE extract(second FROM t) < 1.75
         GROUP BY extract(second FROM t) HAVING extract(second FROM t) > 1"
    );
    assert_eq!(one(&sql).await, ["1.500000", "2"]);
}

#[tokio::test]
async fn groups_may_stand_in_brackets() {
    for (sql, expected) in [
        (
            "SELECT id, k, count(*) FROM p GROUP BY (id, k) ORDER BY id",
            "1,10,1 2,20,1 3,30,1",
        ),
        (
            "SELECT id, k, count(*) FROM p WHERE id < 3 GROUP BY id, (k, 2) ORDER BY 1",
            "1,10,1 2,20,1",
        ),
        ("SELECT k FROM p GROUP BY (k) ORDER BY k", "10 20 30"),
    ] {
        assert_eq!(table(sql).await, expected, "{sql}");
    }
}
