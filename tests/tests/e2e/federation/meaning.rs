//! Statements that a comparison with another engine found to give other rows, or none.

use mindhost_tests::{Host, MariaDb, Mind, Postgres};
use serde_json::{Value, json};

const SMALL: &str = "
    CREATE TABLE a (id int, k int, n varchar(9));
    INSERT INTO a VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'z'), (4, NULL, NULL);
    CREATE TABLE b (id int, k int, n varchar(9));
    INSERT INTO b VALUES (1, 30, 'x'), (2, 20, 'y'), (7, NULL, 'q');";

/// Enough rows that a join tells them its keys.
const BIG: &str = "CREATE TABLE big (id int, k int, n varchar(9));";

/// One Mind over PostgreSQL (`pg`), MariaDB (`my`), SQLite (`own`) and a CSV file (`files`).
async fn all() -> (Host, Mind) {
    let host = Host::start().await;
    let postgres = format!(
        "{SMALL}{BIG} INSERT INTO big SELECT i, i % 5, 'x' || i % 5 FROM generate_series(1, 2500) i;
         CREATE TABLE r (id int, v real); INSERT INTO r VALUES (1, 0.1), (2, 0.5);
         CREATE TABLE f (id int, k int, v float8);
         INSERT INTO f SELECT i, i % 3, CASE i % 5 WHEN 0 THEN '-0' ELSE i END FROM generate_series(1, 2500) i;
         ANALYZE;"
    );
    let postgres = Postgres::shared().database(&postgres).await;
    host.postgres("pg", &postgres).await.load().await;
    let maria = format!(
        "{SMALL}{BIG} INSERT INTO big SELECT seq, seq % 5, concat('x', seq % 5) FROM seq_1_to_2500;
         CREATE TABLE u (id int, x int, u int unsigned); INSERT INTO u VALUES (1, 1, 3), (2, 5, 2);"
    );
    let maria = MariaDb::shared().database(&maria).await;
    let maria = host.datasource("my", "mysql", maria.connection_data());
    maria.await.load().await;
    let own = format!(
        "{SMALL} CREATE TABLE one (k INTEGER); INSERT INTO one VALUES (1);
         CREATE TABLE f (v REAL); INSERT INTO f VALUES (0), (1), (2);"
    );
    host.sqlite("own", &own).await.load().await;
    let folder = host.files_dir().join("files");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("t.csv"),
        "id,bo,x\n1,true,1\n2,false,2\n3,true,3\n",
    )
    .unwrap();
    let files = host.datasource("files", "files", json!({"path": "files"}));
    files.await.load().await;
    let mind = ["pg", "my", "own", "files"]
        .iter()
        .fold(host.mind("all"), |mind, name| mind.datasource(name));
    let mind = mind.direct_queries().create().await;
    (host, mind)
}

async fn check(mind: &Mind, sql: &str, expected: Value) {
    let mut rows = mind.rows(sql).await;
    rows.sort_by_key(|row| json!(row).to_string());
    assert_eq!(json!(rows), expected, "{sql}");
}

/// A filter that a join finds is about the column of its table, and not about another one of the same name.
#[tokio::test]
async fn keys_reach_the_column_that_they_are_about() {
    let (_host, mind) = all().await;
    for s in ["pg", "my"] {
        let sql = format!(
            "SELECT x.id, x.k, y.k FROM {s}.big x LEFT JOIN {s}.a y ON y.id = x.id JOIN own.b z ON z.k = y.k"
        );
        check(&mind, &sql, json!([[2, 2, 20], [3, 3, 30]])).await;
        let sql = format!(
            "SELECT z.id, q.k FROM own.b z JOIN (SELECT DISTINCT k FROM {s}.big) q ON q.k = z.id"
        );
        check(&mind, &sql, json!([[1, 1], [2, 2]])).await;
        let sql = format!(
            "SELECT z.id, q.c FROM own.b z JOIN (SELECT k, count(*) AS c FROM {s}.big GROUP BY k) q ON q.k = z.id"
        );
        check(&mind, &sql, json!([[1, 500], [2, 500]])).await;
    }
}

/// Ranks are integers that can be less than others, and whole parts of them are whole.
#[tokio::test]
async fn ranks_calculate_as_other_integers() {
    let (_host, mind) = all().await;
    let over = "FROM pg.big x JOIN own.one o ON o.k = 1";
    let page = format!(
        "SELECT (rn - 1) / 1000 AS page, count(*) FROM (SELECT row_number() OVER (ORDER BY x.id) AS rn {over}) r \
         GROUP BY (rn - 1) / 1000"
    );
    check(&mind, &page, json!([[0, 1000], [1, 1000], [2, 500]])).await;
    let ranks = "SELECT id, rank() OVER (ORDER BY id) - rank() OVER (ORDER BY id DESC) AS d, \
                 -row_number() OVER (ORDER BY id) AS n, ntile(2) OVER (ORDER BY id) / 2 AS half, \
                 abs(dense_rank() OVER (ORDER BY id) - 2) AS away FROM files.t";
    let expected = json!([[1, -2, -1, 0, 1], [2, 0, -2, 0, 0], [3, 2, -3, 1, 1]]);
    check(&mind, ranks, expected).await;
    let list = "SELECT cardinality(array_agg(id)) / 2 AS half, array_length(array_agg(id), 1) / 2 AS same FROM files.t";
    check(&mind, list, json!([[1, 1]])).await;
    let names = mind
        .query("SELECT rank() OVER (ORDER BY id) FROM files.t")
        .await;
    assert_eq!(names["column_names"], json!(["rank() OVER (ORDER BY id)"]));
}

/// A power of ten that a float has no place for is no reason to give no number.
#[tokio::test]
async fn floats_are_rounded_to_any_number_of_places() {
    let (_host, mind) = all().await;
    let sql = "SELECT id, round(f * 1.5, 400), trunc(f * 1.5, 400), round(f * 1.5, -400), round(f * 1e300, 10), \
               round(f * 1.26, 1) FROM (SELECT id, CAST(x AS double precision) AS f FROM files.t) t WHERE id = 1";
    check(&mind, sql, json!([[1, 1.5, 1.5, 0.0, 1e300, 1.3]])).await;
    let constants = "SELECT round(CAST(1e300 AS double precision), 10), round(CAST(1.5 AS double precision), 400) \
                     FROM files.t WHERE id = 1";
    check(&mind, constants, json!([[1e300, 1.5]])).await;
    let beyond =
        "SELECT date_trunc('year', to_timestamp_micros(-9223372036854775808)) FROM files.t";
    mind.sql(beyond).await.expect_error(400, "sql_invalid");
}

/// The key of a join is computed beside the value that it is computed from.
#[tokio::test]
async fn values_cast_to_texts_are_keys_of_joins() {
    let (_host, mind) = all().await;
    let left =
        "(SELECT id, CAST('2024-02-29' AS date) AS d, CAST(k AS double precision) AS f FROM pg.a)";
    let right = "(SELECT '2024-02-29' AS t, CAST(k AS text) AS f FROM own.one)";
    for (key, expected) in [
        ("CAST(x.d AS text) = y.t", json!([[1, "2024-02-29", "1"]])),
        (
            "CAST(x.f / 10 AS text) = y.f",
            json!([[1, "2024-02-29", "1"]]),
        ),
    ] {
        let sql =
            format!("SELECT x.id, x.d, y.f FROM {left} x JOIN {right} y ON {key} WHERE x.id = 1");
        check(&mind, &sql, expected).await;
    }
}

/// Two parts of a statement share the only connection of their datasource, one after the other.
#[tokio::test]
async fn one_connection_is_enough_for_several_parts() {
    let host = Host::start().await;
    let rows = "CREATE TABLE big (id INTEGER, t TEXT); \
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000) \
                INSERT INTO big SELECT i, 'text ' || i FROM n; CREATE TABLE big2 AS SELECT * FROM big;";
    host.sqlite("own", rows).await.load().await;
    host.sqlite(
        "other",
        "CREATE TABLE z (id INTEGER); INSERT INTO z VALUES (1), (50000);",
    )
    .await
    .load()
    .await;
    let mind = host.mind("two").datasource("own").datasource("other");
    let mind = mind.direct_queries().create().await;
    let whole = "SELECT count(*) FROM own.big x FULL JOIN own.big2 y ON upper(x.t) = upper(y.t) \
                 FULL JOIN other.z ON z.id = x.id";
    // The first part waits for the keys of the other datasource.
    let keyed = "SELECT count(*) FROM (SELECT x.id, x.t FROM own.big x JOIN other.z ON z.id = x.id) s \
                 FULL JOIN own.big2 y ON upper(s.t) = upper(y.t)";
    let below = "SELECT count(*) FROM (SELECT x.id FROM own.big x JOIN other.z ON z.id = x.id) s \
                 LEFT JOIN own.big2 y ON y.id < s.id";
    for connections in [1, 2] {
        let few = json!({"max_connections": connections});
        host.patch("/datasources/own", few).await.expect_status(200);
        let several = (0..8).map(|number| match number % 4 {
            0 | 1 => (whole, 40_001),
            2 => (keyed, 40_000),
            _ => (below, 1),
        });
        let several = several.map(async |(sql, count)| (mind.rows(sql).await, count));
        for (rows, count) in futures_util::future::join_all(several).await {
            assert_eq!(rows, [[json!(count)]]);
        }
    }
}

#[tokio::test]
async fn computed_columns_are_null_where_an_outer_join_has_no_match() {
    let (_host, mind) = all().await;
    for s in ["pg", "my"] {
        let sql = format!(
            "SELECT x.id, y.f FROM {s}.a x LEFT JOIN (SELECT k AS bk, 1 AS f FROM {s}.b) y ON y.bk = x.k
             CROSS JOIN own.one o"
        );
        check(&mind, &sql, json!([[1, null], [2, 1], [3, 1], [4, null]])).await;
        let sql = format!(
            "SELECT q.id, q.n FROM (SELECT x.id, (SELECT count(*) FROM {s}.b WHERE b.k = x.k) n FROM {s}.a x) q
             CROSS JOIN own.one o"
        );
        check(&mind, &sql, json!([[1, 0], [2, 1], [3, 1], [4, 0]])).await;
        let sql = format!(
            "SELECT x.id FROM own.a x WHERE (SELECT count(*) FROM {s}.b WHERE b.k = x.k) > 0"
        );
        check(&mind, &sql, json!([[2], [3]])).await;
        let sql = format!(
            "SELECT x.id, w.zid FROM {s}.a x LEFT JOIN
                 (SELECT y.k, z.id AS zid FROM (SELECT id, k FROM {s}.b WHERE id > 1) y
                  LEFT JOIN {s}.a z ON y.k = z.k) w ON x.k = w.k
             CROSS JOIN own.one o"
        );
        check(
            &mind,
            &sql,
            json!([[1, null], [2, 2], [3, null], [4, null]]),
        )
        .await;
    }
}

/// The subquery reads the table of the statement, by the same name.
#[tokio::test]
async fn any_and_all_compare_with_the_rows_of_the_subquery() {
    let (_host, mind) = all().await;
    for s in ["pg", "my"] {
        for (condition, expected) in [
            (
                format!("k >= ALL (SELECT k FROM {s}.a WHERE k IS NOT NULL)"),
                json!([[3]]),
            ),
            (format!("k >= ALL (SELECT k FROM {s}.a)"), json!([])),
            (
                format!("k > ANY (SELECT k FROM {s}.a WHERE id < 3)"),
                json!([[2], [3]]),
            ),
            (
                format!("k = ANY (SELECT k FROM {s}.a WHERE id < 3)"),
                json!([[1], [2]]),
            ),
            (
                format!("k <> ALL (SELECT k FROM {s}.a WHERE id < 3)"),
                json!([[3]]),
            ),
            (
                format!("(id, k) IN (SELECT id, k FROM {s}.b)"),
                json!([[2]]),
            ),
        ] {
            let sql =
                format!("SELECT id FROM {s}.a WHERE {condition} AND id IN (SELECT id FROM own.a)");
            check(&mind, &sql, expected).await;
        }
    }
}

#[tokio::test]
async fn constants_are_no_numbers_of_columns() {
    let (_host, mind) = all().await;
    for s in ["pg", "my"] {
        let sql = format!(
            "SELECT q.* FROM (SELECT 2 AS c, id, k FROM {s}.a ORDER BY c, k DESC NULLS LAST LIMIT 2) q
             CROSS JOIN own.one o"
        );
        check(&mind, &sql, json!([[2, 2, 20], [2, 3, 30]])).await;
        let sql = format!(
            "SELECT q.* FROM (SELECT DISTINCT id, 7 AS c FROM {s}.a) q CROSS JOIN own.one o"
        );
        check(&mind, &sql, json!([[1, 7], [2, 7], [3, 7], [4, 7]])).await;
        let sql = format!(
            "SELECT q.n, o.k FROM (SELECT n, count(*) FROM {s}.big GROUP BY n ORDER BY n LIMIT 2) q
             CROSS JOIN own.one o"
        );
        check(&mind, &sql, json!([["x0", 1], ["x1", 1]])).await;
    }
}

#[tokio::test]
async fn numbers_are_compared_as_they_are_shown() {
    let (_host, mind) = all().await;
    let with =
        |condition: &str| format!("SELECT r.id FROM pg.r CROSS JOIN own.one o WHERE {condition}");
    check(&mind, &with("r.v = CAST(0.1 AS double)"), json!([[1]])).await;
    check(&mind, &with("r.v > CAST(0.1 AS double)"), json!([[2]])).await;
    check(&mind, &with("r.v = CAST(0.1 AS real)"), json!([[1]])).await;
    check(
        &mind,
        &with("CAST(r.v AS real) = 0.1::float4"),
        json!([[1]]),
    )
    .await;
    let sql = "SELECT u.id FROM my.u CROSS JOIN own.one o WHERE u.x - u.u < 0";
    check(&mind, sql, json!([[1]])).await;
}

/// A condition about both sides of a join is about the columns that it names, where both have columns of these names.
#[tokio::test]
async fn conditions_above_a_join_are_about_the_columns_that_they_name() {
    let (_host, mind) = all().await;
    for s in ["pg", "my"] {
        for (sql, expected) in [
            (
                "SELECT x.id, z.id FROM {s}.a x RIGHT JOIN own.b z ON x.k = z.k
                 WHERE z.k = 30 AND (z.id > 5 OR x.id > 2)",
                json!([[3, 1]]),
            ),
            (
                "SELECT x.id, z.id FROM own.a x LEFT JOIN {s}.b z ON x.k = z.k
                 WHERE x.id > 1 AND (z.n = 'y' OR x.n = 'z')",
                json!([[2, 2], [3, 1]]),
            ),
            (
                "SELECT x.id FROM {s}.a x JOIN own.b z ON x.k = z.k
                 WHERE z.id > 0 AND (z.id > 9 OR x.id = (SELECT max(id) - 1 FROM own.a))",
                json!([[3]]),
            ),
        ] {
            check(&mind, &sql.replace("{s}", s), expected).await;
        }
    }
}

/// The optimiser writes a short list as comparisons, one of them with NULL, after the table has taken the list.
#[tokio::test]
async fn list_with_the_column_itself_is_tested_in_the_host() {
    let (_host, mind) = all().await;
    for (s, other) in [("pg", "own"), ("my", "own"), ("own", "pg")] {
        let sql = |condition: &str| {
            format!(
                "SELECT x.id FROM {s}.a x LEFT JOIN {other}.b z ON z.id = x.id WHERE {condition} AND x.id > 1"
            )
        };
        let of = async |condition: &str, rows| check(&mind, &sql(condition), rows).await;
        of("x.k IN (x.k, 1, 5)", json!([[2], [3]])).await;
        of("x.k NOT IN (x.k, 1, 5)", json!([])).await;
        of("(x.k IN (x.k, 1) OR x.n IS NULL)", json!([[2], [3], [4]])).await;
    }
}

/// The window sorts the larger table before the join, which tells it its keys: -0 has other bits than 0, and is equal.
#[tokio::test]
async fn zero_joins_minus_zero_below_a_window() {
    let (_host, mind) = all().await;
    let sql = "SELECT count(*), sum(m) FROM
        (SELECT max(y.id) OVER (PARTITION BY y.k) AS m FROM own.f x JOIN pg.f y ON x.v = y.v)";
    check(&mind, sql, json!([[502, 1_252_500]])).await;
}

#[tokio::test]
async fn is_distinct_from_ends_before_and() {
    let (_host, mind) = all().await;
    for (condition, expected) in [
        ("bo IS NOT DISTINCT FROM true AND x = 1", json!([[1]])),
        ("bo IS DISTINCT FROM true AND id > 1", json!([[2]])),
        (
            "NOT (x IS DISTINCT FROM 1 + 1) OR id = 3",
            json!([[2], [3]]),
        ),
    ] {
        let sql = format!("SELECT id FROM files.t WHERE {condition}");
        check(&mind, &sql, expected.clone()).await;
        let sql = format!("SELECT t.id FROM files.t CROSS JOIN own.one o WHERE {condition}");
        check(&mind, &sql, expected).await;
    }
}

#[tokio::test]
async fn what_would_mean_something_else_is_refused() {
    let (_host, mind) = all().await;
    for (sql, says) in [
        (
            "SELECT k FROM pg.a INTERSECT ALL SELECT k FROM own.b",
            "INTERSECT ALL",
        ),
        (
            "SELECT k FROM pg.a EXCEPT ALL SELECT k FROM own.b",
            "EXCEPT ALL",
        ),
        (
            "SELECT a.id FROM pg.a CROSS JOIN own.one o WHERE (a.id, a.k) < (2, NULL)",
            "comparisons of rows",
        ),
        (
            "SELECT x.id FROM pg.a x JOIN own.one o ON true WHERE x.k = 1 OR x.k IN (SELECT k FROM own.b UNION SELECT k FROM pg.b)",
            "join it in place of IN",
        ),
    ] {
        let error = mind.sql(sql).await.expect_error(400, "sql_not_supported");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(says), "{message}");
    }
}
