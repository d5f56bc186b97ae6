//! Forms of SQL that DataFusion alone takes for something else.

use super::{names, one, refused};
use mindhost_base::error::Code;

/// Tables with columns of one name, and with NULLs.
const TABLES: &str = "
    WITH a(x, k) AS (VALUES (1, 10), (2, 20), (NULL, 30)),
         b(y, k) AS (VALUES (1, 10), (NULL, 20)),
         p(id, k) AS (VALUES (1, 10), (2, 20), (3, 30)),
         q(id, k) AS (VALUES (1, 30), (2, 20), (3, 10)),
         d(id, v) AS (VALUES (1, 1.25), (2, 1.75), (3, 2.00)),
         f(id, v) AS (VALUES (1, CAST(4.07 AS double)), (2, CAST('1e20' AS double)), (3, CAST('NaN' AS double))),
         s(id, v) AS (VALUES (1, '1.254'), (2, '1.25'), (3, '12'))
    ";

/// The ids of the rows for which a condition holds.
async fn holds(ids: &str, condition: &str) -> String {
    let sql =
        format!("{TABLES} SELECT string_agg(CAST({ids} AS text), ' ' ORDER BY {ids}) {condition}");
    one(&sql).await.remove(0)
}

#[tokio::test]
async fn in_a_subquery_of_the_same_table_is_a_value_too() {
    let sql = format!(
        "{TABLES} SELECT string_agg(CAST(CASE WHEN k IN (SELECT k FROM a WHERE x = 1) THEN 1 ELSE 0 END AS text), ' ' \
         ORDER BY k) FROM a"
    );
    assert_eq!(one(&sql).await, ["1 0 0"]);
}

#[tokio::test]
async fn similar_to_compares_the_whole_text() {
    for (condition, expected) in [
        ("v SIMILAR TO '1%'", "1 2 3"),
        ("v SIMILAR TO '1.2'", ""),
        ("v SIMILAR TO '(1.25|12)'", "2 3"),
        ("v NOT SIMILAR TO '_.25_?'", "3"),
    ] {
        let found = holds("id", &format!("FROM s WHERE {condition}")).await;
        assert_eq!(found.trim_start_matches("NULL"), expected, "{condition}");
    }
}

#[tokio::test]
async fn in_a_subquery_is_unknown_beside_a_null() {
    for (condition, expected) in [
        ("x NOT IN (SELECT y FROM b)", ""),
        ("x NOT IN (SELECT y FROM b) OR x = 99", ""),
        (
            "x = 2 OR x NOT IN (SELECT y FROM b WHERE y > 5)",
            "10 20 30",
        ),
        (
            "x NOT IN (SELECT y FROM b WHERE y IS NOT NULL) OR x = 99",
            "20",
        ),
        ("NOT (x IN (SELECT y FROM b) AND k > 0)", ""),
        ("NOT (x IN (SELECT y FROM b) AND k > 20)", "10 20"),
        ("(x IN (SELECT y FROM b)) IS NULL", "20 30"),
        ("(x IN (SELECT y FROM b)) IS NOT TRUE", "20 30"),
        ("x IN (SELECT y FROM b) OR k = 30", "10 30"),
        (
            "CASE WHEN x IN (SELECT y FROM b) THEN k = 10 ELSE k = 20 END",
            "10 20",
        ),
        ("x NOT IN (SELECT y FROM b WHERE b.k = a.k) OR x = 99", "30"),
        ("x NOT IN (SELECT y FROM b WHERE b.k = a.k)", "30"),
        // The condition is about a column that the list does not have.
        (
            "k NOT IN (SELECT q.k FROM q WHERE q.id = a.x AND q.k IS NOT NULL)",
            "10 30",
        ),
        (
            "NOT (k IN (SELECT q.k FROM q WHERE q.id = a.x AND q.k > 0))",
            "10 30",
        ),
        ("x NOT IN (SELECT y FROM b WHERE b.k > a.k)", "20 30"),
        (
            "NOT (x IN (SELECT y FROM b WHERE b.k > a.k + 100))",
            "10 20 30",
        ),
        ("9 NOT IN (SELECT y FROM b)", ""),
        ("NOT (9 IN (SELECT y FROM b))", ""),
        ("9 NOT IN (SELECT y FROM b WHERE y = 1)", "10 20 30"),
        ("NULL NOT IN (SELECT y FROM b WHERE y > 5)", "10 20 30"),
        // The same table by the same name: its `x` is not that of the statement.
        ("x IN (SELECT x FROM a WHERE k = 20) OR k = 30", "20 30"),
        ("x NOT IN (SELECT x FROM a WHERE k = 20) OR k = 30", "10 30"),
        (
            "NOT (k IN (SELECT k FROM a WHERE x = 1) AND k > 0)",
            "20 30",
        ),
        (
            "CASE WHEN k IN (SELECT k FROM a WHERE x = 1) THEN 1 ELSE 0 END = 1",
            "10",
        ),
        (
            "NOT (x IN (SELECT y FROM b WHERE b.k = a.k) AND k > 0)",
            "30",
        ),
    ] {
        let found = holds("k", &format!("FROM a WHERE {condition}")).await;
        assert_eq!(found, expected, "{condition}");
    }
}

#[tokio::test]
async fn correlated_subquery_is_about_the_column_that_it_names() {
    for (condition, expected) in [
        (
            "EXISTS (SELECT * FROM p JOIN q ON p.id = q.id WHERE q.k = a.k AND p.id = 3)",
            "10",
        ),
        (
            "EXISTS (SELECT p.k FROM p JOIN q ON p.id = q.id WHERE q.k = a.k AND p.id = 3)",
            "10",
        ),
        (
            "NOT EXISTS (SELECT * FROM p JOIN q ON p.id = q.id WHERE q.k = a.k AND p.id = 3)",
            "20 30",
        ),
        (
            "k IN (SELECT p.k FROM p JOIN q ON p.id = q.id WHERE q.k = a.k)",
            "20",
        ),
        (
            "(SELECT max(p.k) FROM p JOIN q ON p.id = q.id WHERE q.k = a.k) = 30",
            "10",
        ),
        (
            "(SELECT count(*) FROM p JOIN q ON p.id = q.id WHERE q.k = a.k AND p.k = a.k) = 0",
            "10 30",
        ),
        (
            "EXISTS (SELECT w.k FROM (SELECT id, k FROM q WHERE q.k = a.k) w JOIN p ON p.id = w.id WHERE p.k = 30)",
            "10",
        ),
    ] {
        let found = holds("k", &format!("FROM a WHERE {condition}")).await;
        assert_eq!(found, expected, "{condition}");
    }
    for (condition, says) in [
        (
            "EXISTS (SELECT 1 FROM b WHERE b.k = a.k OFFSET 1)",
            "OFFSET in EXISTS",
        ),
        (
            "EXISTS (SELECT count(*) FROM b WHERE b.k = a.k)",
            "without GROUP BY",
        ),
        ("CAST(x AS text) SIMILAR TO CAST(k AS text)", "LIKE"),
        (
            "0 IN (SELECT count(*) FROM b WHERE b.k = a.k)",
            "without GROUP BY",
        ),
        (
            "EXISTS (SELECT 1 FROM p NATURAL JOIN q WHERE k = 1)",
            "NATURAL, and USING",
        ),
    ] {
        let error = refused(&format!("{TABLES} SELECT x FROM a WHERE {condition}")).await;
        assert!(error.to_string().contains(says), "{error}");
    }
    assert_eq!(
        holds("k", "FROM a WHERE 2 IN (SELECT count(*) FROM b)").await,
        "10 20 30"
    );
}

#[tokio::test]
async fn table_is_no_column_of_a_subquery() {
    // `s` has a column `v`, which has no field `id`.
    let tables = "WITH v(id) AS (VALUES (1), (7)), s(id, v) AS (VALUES (1, 'a'), (2, 'b'))";
    for (rest, expected) in [
        ("v WHERE EXISTS (SELECT 1 FROM s WHERE s.id = v.id)", "1"),
        (
            "v WHERE v.id NOT IN (SELECT s.id FROM s WHERE s.id < v.id + 1)",
            "7",
        ),
        (
            "s AS v WHERE EXISTS (SELECT 1 FROM s WHERE s.id > v.id)",
            "1",
        ),
    ] {
        let sql = format!("{tables} SELECT v.id AS \"first\", v.id AS \"again\" FROM {rest}");
        assert_eq!(one(&sql).await, [expected, expected], "{rest}");
        assert_eq!(names(&sql).await, ["first", "again"]);
    }
    let hidden = "FROM v WHERE EXISTS (SELECT 1 FROM s WHERE s.id = v.id)";
    for (list, expected) in [
        (
            "SELECT v.id + 1, v.id + 1 HIDDEN",
            ["v.id + 1", "v.id + 1"].as_slice(),
        ),
        (
            "SELECT * FROM (SELECT max(v.id), 1 AS one HIDDEN) d",
            &["max(v.id)", "one"],
        ),
    ] {
        let sql = format!("{tables} {}", list.replace("HIDDEN", hidden));
        assert_eq!(names(&sql).await, expected);
    }
    // What is wrong besides is said, in the caller's words.
    for (sql, expected) in [
        ("SELECT s.v.id FROM s", "Cannot access field"),
        (
            "SELECT v.id FROM v WHERE EXISTS (SELECT count(*) FROM s WHERE s.id = v.id)",
            "EXISTS",
        ),
    ] {
        let error = refused(&format!("{tables} {sql}")).await.to_string();
        assert!(
            error.contains(expected) && !error.contains("__table"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn decimal_that_is_cast_to_fewer_digits_loses_them_first() {
    for (condition, expected) in [
        ("CAST(v AS int) = 1", "1 2"),
        ("CAST(v AS int) IN (1, 7)", "1 2"),
        ("CAST(v AS int) BETWEEN 1 AND 1", "1 2"),
        ("CAST(v AS decimal(4,1)) = 1.3", "1"),
        ("1 BETWEEN CAST(v AS int) AND 1", "1 2"),
        ("1 IN (CAST(v AS int))", "1 2"),
        ("1 < CAST(v AS int)", "3"),
        ("round(v, 1) = 1.3", "1"),
        ("round(v, 1) IN (1.3, 1.8)", "1 2"),
        ("round(v, 3 - 2) = 1.3", "1"),
        ("round(v, -1) = 0", "1 2 3"),
        ("CASE round(v, 1) WHEN 1.3 THEN true ELSE false END", "1"),
        ("round(v) = 2", "2 3"),
    ] {
        let found = holds("id", &format!("FROM d WHERE {condition}")).await;
        assert_eq!(found, expected, "{condition}");
    }
    let derived = "FROM (SELECT id, CAST(v AS int) AS v FROM d) x WHERE v = 1";
    assert_eq!(holds("id", derived).await, "1 2");
    let groups = "SELECT CAST(v AS int) FROM d GROUP BY CAST(v AS int) HAVING CAST(v AS int) < 2";
    assert_eq!(one(&format!("{TABLES} {groups}")).await, ["1"]);
    let joined = "FROM d JOIN (VALUES (1.3), (2.0)) AS r(v) ON round(d.v, 1) = r.v";
    assert_eq!(holds("id", joined).await, "1 3");
}

#[tokio::test]
async fn float_beside_a_decimal_is_compared_as_a_float() {
    for (condition, expected) in [
        ("v = 4.07", "1"),
        ("v <> 4.07", "2 3"),
        ("v > 4.06", "1 2 3"),
        ("v IN (4.07, 5.0)", "1"),
        ("v BETWEEN 4.07 AND 4.08", "1"),
        ("CASE v WHEN 4.07 THEN true ELSE false END", "1"),
        ("v IN (SELECT d.v + 2.32 FROM d WHERE d.id = 2)", "1"),
        ("v + 0.0 = 4.07", "1"),
        ("v IS NOT DISTINCT FROM 4.07", "1"),
    ] {
        let found = holds("id", &format!("FROM f WHERE {condition}")).await;
        assert_eq!(found, expected, "{condition}");
    }
    let joined = "FROM f JOIN (VALUES (4.07)) AS r(v) ON f.v = r.v";
    assert_eq!(holds("id", joined).await, "1");
    let using = "FROM f JOIN (VALUES (4.07)) AS r(v) USING (v)";
    assert_eq!(holds("id", using).await, "1");
}

#[tokio::test]
async fn text_beside_a_decimal_keeps_its_digits() {
    for (condition, expected) in [
        ("v = 1.25", "2"),
        ("v > 1.25", "1 3"),
        ("v IN (1.25, 12.0)", "2 3"),
    ] {
        let found = holds("id", &format!("FROM s WHERE {condition}")).await;
        assert_eq!(found, expected, "{condition}");
    }
    assert_eq!(holds("id", "FROM d WHERE v = '1.254'").await, "");
    assert_eq!(holds("id", "FROM d WHERE v = '1.250'").await, "1");
}

#[tokio::test]
async fn intervals_are_compared_by_their_length() {
    for (condition, expected) in [
        (
            "timestamp '2024-01-02 12:00:00' - timestamp '2024-01-01 00:00:00' > interval '1 day'",
            "true",
        ),
        (
            "timestamp '2024-01-01 12:00:00' - timestamp '2024-01-01 00:00:00' < interval '1 day'",
            "true",
        ),
        ("interval '24 hours' = interval '1 day'", "true"),
        ("interval '1 month' > interval '29 days'", "true"),
        (
            "interval '25 hours' BETWEEN interval '1 day' AND interval '2 days'",
            "true",
        ),
        ("interval '24 hours' IN (interval '1 day')", "true"),
        ("interval '1 day' < NULL", ""),
    ] {
        assert_eq!(
            one(&format!("SELECT {condition}")).await,
            [expected],
            "{condition}"
        );
    }
}

#[tokio::test]
async fn distinct_values_are_counted_beside_sums_of_decimals() {
    let sql = r#"SELECT count(DISTINCT name), sum(price) FROM "main"."t" HAVING sum(price) > 1"#;
    assert_eq!(one(sql).await, ["9", "50000.00"]);
}

#[tokio::test]
async fn what_is_never_null_can_be_grouped() {
    for (value, expected) in [
        ("CASE WHEN x < k THEN x ELSE 3 END", "3"),
        ("CASE WHEN x BETWEEN 1 AND k THEN x ELSE 3 END", "3"),
        (
            "CASE WHEN NOT (x IN (5, 6) OR k = 30) THEN x ELSE 3 END",
            "3",
        ),
    ] {
        let sql = format!("{TABLES} SELECT count(*) FROM (SELECT DISTINCT {value} AS v FROM a)");
        assert_eq!(one(&sql).await, [expected], "{value}");
        let sql =
            format!("{TABLES} SELECT max(n) FROM (SELECT count(*) AS n FROM a GROUP BY {value})");
        assert_eq!(one(&sql).await, ["1"], "{value}");
    }
}

#[tokio::test]
async fn values_of_different_types_meet_without_loss() {
    for (sql, expected) in [
        (
            "SELECT CAST(max(v) AS text) FROM (SELECT v FROM f WHERE id = 2 UNION ALL SELECT v FROM d)",
            "1e+20",
        ),
        (
            "SELECT CAST(coalesce(f.v, 1.5) AS text) FROM f WHERE id = 2",
            "1e+20",
        ),
        (
            "SELECT CAST(CASE WHEN id = 2 THEN v ELSE 1.5 END AS text) FROM f WHERE id = 2",
            "1e+20",
        ),
        (
            "SELECT CAST(greatest(v, 1.5) AS text) FROM f WHERE id = 2",
            "1e+20",
        ),
        (
            "SELECT CAST(nullif(v, 1.5) AS text) FROM f WHERE id = 2",
            "1e+20",
        ),
        (
            "SELECT CAST(sum(CASE WHEN id = 1 THEN v ELSE 0.0 END) AS text) FROM f",
            "4.07",
        ),
    ] {
        assert_eq!(one(&format!("{TABLES} {sql}")).await, [expected], "{sql}");
    }
}

/// The cells of some rows as one text, in an order.
async fn listed(tables: &str, cells: &str, from: &str, order: &str) -> String {
    let sql = format!(
        "WITH {tables}, numbered AS (SELECT {cells} AS cells, row_number() OVER (ORDER BY {order}) AS place FROM {from})
         SELECT string_agg(cells, ' ' ORDER BY place) FROM numbered"
    );
    one(&sql).await.remove(0)
}

/// Groups, joined and grouped again: `k` alone is no key of them.
#[tokio::test]
async fn keys_of_groups_end_at_a_join() {
    let groups = "v(k) AS (VALUES (1), (1), (2)), b(k, u) AS (VALUES (1, 'x'), (1, 'y'), (2, 'x')),
        z AS (SELECT a.k, b.u, count(*) AS c FROM (SELECT DISTINCT k FROM v) a JOIN b ON a.k = b.k GROUP BY a.k, b.u)";
    for (cells, from, order, expected) in [
        (
            "concat(k, u)",
            "(SELECT * FROM z ORDER BY k, u DESC LIMIT 2) q",
            "k, u DESC",
            "1y 1x",
        ),
        (
            "CAST(k AS text)",
            "(SELECT DISTINCT k FROM z) q",
            "k",
            "1 2",
        ),
        (
            "concat(k, '-', n)",
            "(SELECT k, count(*) AS n FROM z GROUP BY k, u) q",
            "k",
            "1-1 1-1 2-1",
        ),
        (
            "CAST(k AS text)",
            "(SELECT v.k FROM v LEFT JOIN z ON z.k = v.k) q",
            "k",
            "1 1 1 1 2",
        ),
        (
            "CAST(k AS text)",
            "(SELECT k FROM b WHERE k IN (SELECT k FROM z GROUP BY k, u HAVING count(*) = 1)) q",
            "k",
            "1 1 2",
        ),
    ] {
        assert_eq!(listed(groups, cells, from, order).await, expected, "{from}");
    }
}

/// A constant is NULL where an outer join finds no match, so it orders and groups rows.
#[tokio::test]
async fn constants_end_at_an_outer_join() {
    let tables =
        "y(id) AS (VALUES (1), (2), (3)), v(k, u) AS (VALUES (2, 'a'), (2, 'b'), (3, 'a'))";
    for (cells, from, order, expected) in [
        (
            "concat(id, '-', c)",
            "(SELECT y.id, x.c FROM y LEFT JOIN (SELECT count(*) AS c, min(k) AS m FROM v) x ON x.m = y.id) q",
            "c NULLS LAST, id DESC",
            "2-3 3- 1-",
        ),
        (
            "concat(u, '-', n)",
            "(SELECT x.u, count(*) AS n FROM (SELECT * FROM v WHERE u = 'a') x RIGHT JOIN y ON x.k = y.id GROUP BY x.u) q",
            "n",
            "-1 a-2",
        ),
        (
            "concat(id, '-', u)",
            "(SELECT y.id, x.u FROM (SELECT * FROM v WHERE u = 'b') x FULL JOIN (SELECT * FROM y WHERE id > 1) y
              ON x.k = y.id) q",
            "u NULLS FIRST, id DESC",
            "3- 2-b",
        ),
    ] {
        assert_eq!(listed(tables, cells, from, order).await, expected, "{from}");
    }
}

/// The rows of a statement, cells with commas between and NULL as nothing.
pub(super) async fn table(sql: &str) -> String {
    let connector = super::connector(&super::scripted(1, super::Pushdown::No), &super::settings());
    let rows = super::rows(&connector, &format!("{TABLES} {sql}")).await;
    let rows = rows.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let rows: Vec<_> = rows.iter().map(|row| row.join(",")).collect();
    rows.join(" ")
}

/// `p` without its last row, and `q` without the row of the same key.
const HALVES: &str =
    "(SELECT * FROM p WHERE k < 25) l {} JOIN (SELECT * FROM q WHERE k > 15) r USING (k)";

#[tokio::test]
async fn column_of_using_is_that_of_the_side_that_has_a_row() {
    for (join, expected) in [
        ("", "20,2"),
        ("LEFT", "10, 20,2"),
        ("RIGHT", "20,2 30,1"),
        ("FULL", "10, 20,2 30,1"),
    ] {
        let from = HALVES.replace("{}", join);
        let sql = format!("SELECT k, r.id FROM {from} ORDER BY k");
        assert_eq!(table(&sql).await, expected, "{join}");
        let sql = format!("SELECT k, count(*) FROM {from} WHERE k > 15 GROUP BY k HAVING k < 25");
        assert_eq!(table(&sql).await, "20,1", "{join}");
    }
    for (sql, expected) in [
        (
            "SELECT DISTINCT k FROM p JOIN q USING (k) ORDER BY k DESC",
            "30 20 10",
        ),
        (
            "SELECT k AS id FROM p JOIN q USING (k) ORDER BY id",
            "10 20 30",
        ),
        (
            "SELECT p.id FROM p JOIN q USING (k) JOIN a USING (k) ORDER BY k DESC",
            "3 2 1",
        ),
        (
            "SELECT p.k, b.y FROM p LEFT JOIN (q JOIN b USING (k)) USING (k) WHERE k > 15 ORDER BY k",
            "20, 30,",
        ),
        (
            "SELECT x FROM a WHERE EXISTS (SELECT 1 FROM p JOIN q USING (k) WHERE k = a.k AND q.id < 3) ORDER BY x",
            "2 ",
        ),
        (
            "SELECT x FROM a WHERE k IN (SELECT k FROM p FULL JOIN q USING (k) WHERE k < 30) ORDER BY k",
            "1 2",
        ),
        (
            "SELECT x FROM a WHERE k = (SELECT k FROM p JOIN q USING (k) ORDER BY k LIMIT 1)",
            "1",
        ),
    ] {
        assert_eq!(table(sql).await, expected, "{sql}");
    }
    for (from, says) in [
        ("SELECT * FROM p NATURAL LEFT JOIN q", "name the columns"),
        (
            "SELECT * FROM p JOIN q ON p.id = q.id LEFT JOIN a USING (k)",
            "name the columns",
        ),
        ("SELECT k FROM p NATURAL FULL JOIN q", "NATURAL"),
        (
            "SELECT k FROM p FULL JOIN q USING (k) JOIN a USING (k)",
            "joined again",
        ),
        (
            "SELECT k FROM p JOIN q ON p.id = q.id FULL JOIN a USING (k)",
            "after several tables",
        ),
    ] {
        let error = refused(&format!("{TABLES} {from}")).await;
        assert!(error.to_string().contains(says), "{from}: {error}");
    }
}

#[tokio::test]
async fn truth_of_a_subquery_is_a_value() {
    for (sql, expected) in [
        (
            "SELECT k, x IN (SELECT y FROM b) FROM a ORDER BY k",
            "10,true 20, 30,",
        ),
        (
            "SELECT k, x NOT IN (SELECT y FROM b) FROM a ORDER BY k",
            "10,false 20, 30,",
        ),
        (
            "SELECT k, x IN (SELECT y FROM b WHERE y > 0) FROM a ORDER BY k",
            "10,true 20,false 30,",
        ),
        (
            "SELECT k, x NOT IN (SELECT y FROM b WHERE y > 8) FROM a ORDER BY k",
            "10,true 20,true 30,true",
        ),
        (
            "SELECT id, id IN (SELECT id FROM q WHERE k > 10) FROM p ORDER BY id",
            "1,true 2,true 3,false",
        ),
        (
            "SELECT k, EXISTS (SELECT y FROM b WHERE b.k = a.k ORDER BY y LIMIT 1) AS e FROM a ORDER BY e, k",
            "30,false 10,true 20,true",
        ),
        (
            "SELECT CASE WHEN NOT EXISTS (SELECT * FROM b WHERE b.k = a.k AND y > 0) THEN k END FROM a ORDER BY k",
            " 20 30",
        ),
        (
            "SELECT EXISTS (SELECT 1 FROM b WHERE y > 100) AS e, EXISTS (SELECT 1 FROM b) AS f",
            "false,true",
        ),
        (
            "SELECT sum(CASE WHEN x IN (SELECT y FROM b WHERE y > 0) THEN k ELSE 1 END) FROM a",
            "12",
        ),
        (
            "SELECT k IN (SELECT k FROM b) AS found, count(*) FROM a GROUP BY k IN (SELECT k FROM b) ORDER BY 2",
            "false,1 true,2",
        ),
    ] {
        assert_eq!(table(sql).await, expected, "{sql}");
    }
    for sql in [
        "SELECT EXISTS (SELECT 1 FROM b WHERE b.k > a.k) FROM a",
        "SELECT x IN (SELECT y FROM b WHERE b.k = a.k) FROM a",
    ] {
        let error = refused(&format!("{TABLES} {sql}")).await;
        assert!(error.to_string().contains("by `=` alone"), "{sql}: {error}");
    }
    // The first row of each, not of all: a join would take the limit away.
    for sql in [
        "SELECT x IN (SELECT y FROM b WHERE b.k = a.k LIMIT 1) FROM a",
        "SELECT k IN (SELECT id FROM q WHERE q.k = a.k ORDER BY id LIMIT 1) FROM a",
        "SELECT EXISTS (SELECT 1 FROM (SELECT y FROM b WHERE b.k = a.k LIMIT 1) c WHERE y > 0) FROM a",
    ] {
        let error = refused(&format!("{TABLES} {sql}")).await;
        assert_eq!(error.code(), Code::SqlNotSupported, "{sql}: {error}");
    }
}
