//! Joins over three datasources: the keys of one reach the column that they are about, and the parts of a statement
//! share the connections of a datasource.

use mindhost_tests::{Host, MariaDb, Mind, Postgres};
use serde_json::json;

use super::{mariadb::explained, sent};

const POSTGRES: &str = "
    CREATE TABLE ord (id integer, ref integer, k integer);
    INSERT INTO ord SELECT i, i % 50, (i * 7) % 100 FROM generate_series(1, 1000) i;
    CREATE TABLE a (k integer, big integer);
    INSERT INTO a SELECT i % 60, (i * 7) % 100 FROM generate_series(1, 1000) i;
    CREATE TABLE tiny (v integer); INSERT INTO tiny VALUES (1), (2), (3);
    CREATE TABLE large (id integer, note text);
    INSERT INTO large SELECT i, 'note ' || i FROM generate_series(1, 60000) i;
    CREATE TABLE price (p numeric(10, 2)); INSERT INTO price SELECT i / 4.0 FROM generate_series(1, 1000) i;
    ANALYZE;";

const MARIADB: &str = "
    CREATE TABLE item (id INT, k INT, ref INT);
    INSERT INTO item SELECT seq, (seq * 13) % 100, (seq * 3) % 50 FROM seq_1_to_1000;
    CREATE TABLE b (big INT, k INT);
    INSERT INTO b SELECT seq % 60, (seq * 7) % 100 FROM seq_1_to_1000;
    ANALYZE TABLE item, b;";

const SQLITE: &str = "CREATE TABLE few (id INTEGER); INSERT INTO few VALUES (3), (5), (8), (21);";

async fn three() -> (Host, Mind) {
    let host = Host::start().await;
    let postgres = Postgres::shared().database(POSTGRES).await;
    host.postgres("pg", &postgres).await.load().await;
    let maria = MariaDb::shared().database(MARIADB).await;
    host.datasource("maria", "mysql", maria.connection_data())
        .await
        .load()
        .await;
    host.sqlite("lite", SQLITE).await.load().await;
    let mind = host.mind("all").datasource("pg").datasource("maria");
    let mind = mind.datasource("lite").direct_queries().create().await;
    (host, mind)
}

/// What is joined with the few keys by its column `k`, and the rows that there are. Each has a column `k` on the other
/// side of its semi join, too, which is another one.
const CROSSED: &[(&str, u64)] = &[
    (
        "SELECT o.k, o.id FROM pg.ord o WHERE EXISTS (SELECT 1 FROM maria.item i WHERE i.id = o.k AND i.k > o.ref)",
        30,
    ),
    (
        "SELECT a.k, a.big FROM pg.a WHERE (a.k, a.big) IN (SELECT b.big, b.k FROM maria.b)",
        68,
    ),
    (
        "SELECT k, big FROM pg.a INTERSECT SELECT big, k FROM maria.b",
        20,
    ),
];

#[tokio::test]
async fn keys_reach_no_other_column_of_a_semi_join_that_has_their_name() {
    let (_host, mind) = three().await;
    for (inner, rows) in CROSSED {
        for join in ["JOIN", "LEFT JOIN"] {
            let sql = format!("SELECT count(q.k) FROM lite.few f {join} ({inner}) q ON q.k = f.id");
            assert_eq!(json!(mind.rows(&sql).await), json!([[rows]]), "{sql}");
        }
    }
}

#[tokio::test]
async fn keys_reach_both_sides_of_a_semi_join_by_one_name() {
    let (_host, mind) = three().await;
    let sql = "SELECT count(*) FROM lite.few f JOIN
        (SELECT o.k FROM pg.ord o WHERE o.k IN (SELECT i.k FROM maria.item i)) q ON q.k = f.id";
    let item = explained(&mind, sql).await;
    assert_eq!(item["data"], json!([[40]]));
    for source in ["pg", "maria"] {
        assert_eq!(sent(&item, source)[0].1, 40, "{item}");
    }
}

#[tokio::test]
async fn keys_reach_each_part_of_a_union() {
    let (_host, mind) = three().await;
    let sql = "SELECT count(*) FROM lite.few f JOIN
        (SELECT k FROM pg.ord UNION ALL SELECT k FROM maria.item) u ON u.k = f.id";
    let item = explained(&mind, sql).await;
    assert_eq!(item["data"], json!([[80]]));
    for source in ["pg", "maria"] {
        assert_eq!(sent(&item, source)[0].1, 40, "{item}");
    }
}

/// Joined in PostgreSQL, each of the few rows of `a` would have 20 of `b`.
#[tokio::test]
async fn tables_whose_join_gives_more_rows_than_they_have_wait_for_keys_apart() {
    let (_host, mind) = three().await;
    let sql = "SELECT count(*) FROM lite.few f JOIN pg.ord a ON a.id = f.id JOIN pg.ord b ON b.ref = a.ref
        JOIN lite.few g ON g.id = b.id";
    let item = explained(&mind, sql).await;
    assert_eq!(item["data"], json!([[4]]));
    let moved: u64 = sent(&item, "pg").iter().map(|(_, rows)| rows).sum();
    assert!(moved <= 8, "{item}");
}

#[tokio::test]
async fn keys_reach_a_statement_with_two_columns_of_one_name() {
    let (_host, mind) = three().await;
    for key in ["l.id", "o.id"] {
        let sql = format!(
            "SELECT l.id, o.id FROM pg.large l JOIN pg.ord o ON o.k + 1 = l.id JOIN lite.few f ON f.id = {key}"
        );
        let item = explained(&mind, &sql).await;
        let rows = item["data"].as_array().map(Vec::len);
        let expected = if key == "l.id" { 40 } else { 4 };
        assert_eq!(rows, Some(expected), "{item}");
        let moved: u64 = sent(&item, "pg").iter().map(|(_, rows)| rows).sum();
        assert_eq!(moved, expected as u64, "{item}");
    }
}

/// The few rows have no condition that would say that a join with them gives few.
#[tokio::test]
async fn keys_of_few_rows_reach_the_third_table() {
    let (_host, mind) = three().await;
    let sql = "SELECT count(*) FROM lite.few f JOIN pg.large l ON l.id = f.id JOIN maria.item i ON i.id = l.id % 100";
    let item = explained(&mind, sql).await;
    assert_eq!(item["data"], json!([[4]]));
    for source in ["pg", "maria"] {
        assert_eq!(sent(&item, source)[0].1, 4, "{item}");
    }
}

#[tokio::test]
async fn value_of_a_subquery_is_a_condition_for_another_datasource() {
    let (_host, mind) = three().await;
    for (condition, rows) in [
        ("ord WHERE id = (SELECT max(id) FROM lite.few)", 1),
        (
            "ord WHERE id = (SELECT DISTINCT id FROM lite.few WHERE id > 8)",
            1,
        ),
        (
            "ord WHERE (SELECT min(id) FROM lite.few) * 2 > id AND k > 0",
            5,
        ),
        ("ord WHERE id < (SELECT avg(id) FROM lite.few)", 9),
        (
            "price WHERE p < (SELECT avg(CAST(id AS decimal(10, 2))) FROM lite.few)",
            36,
        ),
        ("ord WHERE id = (SELECT id FROM lite.few WHERE id > 100)", 0),
    ] {
        let sql = format!("SELECT count(*) FROM pg.{condition}");
        let item = explained(&mind, &sql).await;
        assert_eq!(item["data"], json!([[rows]]), "{sql}");
        let moved: u64 = sent(&item, "pg").iter().map(|(_, rows)| rows).sum();
        assert_eq!(moved, rows, "{sql}: {item}");
    }
}

#[tokio::test]
async fn one_connection_is_enough_for_a_cross_join() {
    let (host, mind) = three().await;
    let few = json!({"max_connections": 1});
    host.patch("/datasources/pg", few).await.expect_status(200);
    for (sql, row) in [
        (
            "SELECT count(*), sum(t.v) FROM pg.tiny t CROSS JOIN pg.large l CROSS JOIN lite.few f",
            json!([720_000, 1_440_000]),
        ),
        // No column of any of them is read.
        (
            "SELECT count(*), 1 AS one FROM pg.large l CROSS JOIN pg.tiny t CROSS JOIN lite.few f",
            json!([720_000, 1]),
        ),
    ] {
        assert_eq!(json!(mind.rows(sql).await), json!([row]), "{sql}");
    }
}
