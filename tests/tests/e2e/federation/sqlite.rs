//! Groups that SQLite computes are those of the host, or an error where one of its cells has another type than its
//! column.

use mindhost_tests::{Host, Mind, Postgres};
use serde_json::{Value, json};

use super::{mariadb::explained, sent};

/// Cells that fit, with NULL in each column, texts that NOCASE and RTRIM take for equal, and the ends of 64 bits.
const ROWS: &str = "
    INSERT INTO t VALUES
        (1, 5, 'a', 1.50, '2024-01-31'), (2, 5, 'A', 2.25, '2024-02-29'), (3, NULL, 'a ', NULL, NULL),
        (4, -3, NULL, 0.10, '2024-01-31'), (5, 9223372036854775807, 'ä', 0.20, '1999-12-31'), (6, 0, 'a', 1.50, NULL);";

const SQLITE: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, qty INTEGER, code TEXT COLLATE NOCASE, price DECIMAL(12,2),
    day DATE);";
const POSTGRES: &str =
    "CREATE TABLE t (id bigint PRIMARY KEY, qty bigint, code text, price numeric(12,2), day date);";

async fn both() -> (Host, Mind) {
    let host = Host::start().await;
    let own = format!("{SQLITE}{ROWS}");
    host.sqlite("lite", &own).await.load().await;
    let postgres = Postgres::shared()
        .database(&format!(
            "{POSTGRES}{ROWS} CREATE TABLE one (x integer); INSERT INTO one VALUES (1);"
        ))
        .await;
    host.postgres("pg", &postgres).await.load().await;
    let mind = host.mind("all").datasource("lite").datasource("pg");
    let mind = mind.direct_queries().create().await;
    (host, mind)
}

/// The rows of a statement over one of the datasources, joined with the other.
async fn over(mind: &Mind, source: &str, statement: &str) -> Value {
    let inner = statement.replace("{s}", source);
    // Two rows of SQLite and one of PostgreSQL, so that the statement is over both.
    let sql = format!(
        "SELECT q.*, one.x, l.id AS l FROM ({inner}) q JOIN pg.one ON one.x = 1 JOIN lite.t l ON l.id = one.x ORDER BY 1, 2"
    );
    explained(mind, &sql).await
}

/// Statements over `{s}`, and whether SQLite computes their groups.
const STATEMENTS: &[(&str, bool)] = &[
    ("SELECT count(*) AS k, 1 AS c FROM {s}.t", true),
    ("SELECT code, count(*) AS k FROM {s}.t GROUP BY code", true),
    (
        "SELECT qty, count(*) AS k, count(code) AS c FROM {s}.t GROUP BY qty",
        true,
    ),
    (
        "SELECT price, count(*) AS k FROM {s}.t GROUP BY price",
        true,
    ),
    (
        "SELECT day, code, count(qty) AS k FROM {s}.t GROUP BY day, code",
        true,
    ),
    ("SELECT DISTINCT code, day FROM {s}.t", true),
    (
        "SELECT count(*) AS k, sum(qty) AS s FROM {s}.t WHERE qty < 9 AND qty IS NOT NULL",
        true,
    ),
    (
        "SELECT min(qty) AS a, max(qty) AS b, sum(id) AS d FROM {s}.t",
        true,
    ),
    (
        "SELECT count(DISTINCT qty) AS c, count(DISTINCT day) AS d, count(code) AS k FROM {s}.t",
        true,
    ),
    (
        "SELECT code, max(qty) AS m, sum(id) AS s FROM {s}.t WHERE code <> 'A' GROUP BY code",
        true,
    ),
    (
        "SELECT code, count(*) AS k FROM {s}.t WHERE code IN ('a', 'x', 'y', 'z') OR qty = 5 GROUP BY code",
        true,
    ),
    (
        "SELECT count(*) AS k, 1 AS c FROM {s}.t WHERE day >= DATE '2024-01-31' AND day < DATE '2024-02-01'",
        true,
    ),
    (
        "SELECT count(*) AS k, max(id) AS m FROM {s}.t WHERE NOT (code = 'a' OR qty > 0)",
        true,
    ),
    (
        "SELECT code, count(*) AS k FROM {s}.t GROUP BY code HAVING count(*) > 1",
        true,
    ),
    (
        "SELECT count(*) AS k, sum(qty) AS s FROM {s}.t WHERE id > 100",
        true,
    ),
    // Decimals are floats there, texts have another order in databases in UTF-16, and patterns see zero bytes.
    ("SELECT sum(price) AS s, avg(price) AS a FROM {s}.t", false),
    (
        "SELECT count(*) AS k, 1 AS c FROM {s}.t WHERE price = 1.5",
        false,
    ),
    (
        "SELECT max(code) AS m, count(DISTINCT code) AS k FROM {s}.t",
        false,
    ),
    (
        "SELECT count(*) AS k, 1 AS c FROM {s}.t WHERE code < 'b'",
        false,
    ),
    (
        "SELECT count(*) AS k, 1 AS c FROM {s}.t WHERE code LIKE 'a%'",
        false,
    ),
    ("SELECT min(day) AS d, 1 AS c FROM {s}.t", false),
];

#[tokio::test]
async fn groups_give_what_postgresql_gives() {
    let (_host, mind) = both().await;
    let mut found = Vec::new();
    for (statement, is_sent) in STATEMENTS {
        let lite = over(&mind, "lite", statement).await;
        let postgres = over(&mind, "pg", statement).await;
        if lite["data"] != postgres["data"] {
            found.push(format!("{statement}\n{lite}\nbut\n{}", postgres["data"]));
        }
        let texts = sent(&lite, "lite");
        let computes = |(text, _): &(&str, u64)| {
            text.contains("GROUP BY") || text.contains("count(") || text.contains("min(")
        };
        if texts.iter().any(computes) != *is_sent {
            found.push(format!("{statement}: {texts:?}"));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

/// Statements that read the cell `many` of an integer, the bytes of a text, or a day that there is not.
const MISFITS: &[&str] = &[
    "SELECT count(*) AS k, 1 AS c FROM {s}.t WHERE qty > 0",
    "SELECT code, count(*) AS k FROM {s}.t WHERE qty IS NOT NULL GROUP BY code",
    "SELECT sum(qty) AS k, 1 AS c FROM {s}.t",
    "SELECT count(qty) AS k, 1 AS c FROM {s}.t",
    "SELECT max(qty) AS k, 1 AS c FROM {s}.t",
    "SELECT qty, count(*) AS k FROM {s}.t GROUP BY qty",
    "SELECT count(*) AS k, 1 AS c FROM {s}.t WHERE code <> 'a'",
    "SELECT count(*) AS k, 1 AS c FROM {s}.t WHERE day > DATE '2024-02-29'",
];

#[tokio::test]
async fn group_of_a_cell_of_another_type_is_an_error() {
    let (host, mind) = both().await;
    let misfit = "INSERT INTO t VALUES (7, 'many', X'61', 1, '2024-02-30')";
    host.write_sqlite("lite.db", misfit);
    for statement in MISFITS {
        let inner = statement.replace("{s}", "lite");
        let sql = format!("SELECT q.*, one.x FROM ({inner}) q JOIN pg.one ON one.x = 1");
        let reply = mind.sql(&sql).await.json();
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(
            message.contains("does not fit its type"),
            "{statement}: {reply}"
        );
    }
    // Nothing of it is read, and what no condition kept is not.
    for (statement, rows) in [
        ("SELECT count(*) AS k FROM lite.t", json!([[7, 1]])),
        (
            "SELECT count(*) AS k FROM lite.t WHERE qty < 9 AND id < 7",
            json!([[4, 1]]),
        ),
        // The same text for the host, whatever SQLite stores.
        (
            "SELECT count(*) AS k FROM lite.t WHERE id IN (1, 2, 6, 7) GROUP BY code HAVING count(*) > 1",
            json!([[3, 1]]),
        ),
    ] {
        let sql = format!("SELECT q.*, one.x FROM ({statement}) q JOIN pg.one ON one.x = 1");
        assert_eq!(mind.query(&sql).await["data"], rows, "{statement}");
    }
}

/// Keys that a join found go into the groups, but no condition on what they computed: it would drop what tells of a
/// cell of another type.
#[tokio::test]
async fn join_with_groups_tells_of_a_cell_of_another_type() {
    let (host, mind) = both().await;
    host.write_sqlite("lite.db", "INSERT INTO t VALUES (7, 'many', 'b', 1, NULL)");
    let sql = "SELECT q.code, one.x FROM (SELECT code, count(*) AS k FROM lite.t WHERE qty > 0 OR qty = 0 GROUP BY code) q
        JOIN pg.one ON one.x = q.k";
    let reply = mind.sql(sql).await.json();
    let message = reply["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("does not fit its type"), "{reply}");
}

#[tokio::test]
async fn sum_beyond_64_bits_is_an_error_in_sqlite_too() {
    let (host, mind) = both().await;
    host.write_sqlite("lite.db", "INSERT INTO t VALUES (7, 1, 'b', 1, NULL)");
    for rows in ["lite.t", "(SELECT qty FROM lite.t LIMIT 1000000)"] {
        let sql = format!(
            "SELECT q.s, one.x FROM (SELECT sum(qty) AS s FROM {rows}) q JOIN pg.one ON true"
        );
        let reply = mind.sql(&sql).await;
        assert_ne!(reply.json()["error"], Value::Null, "{}", reply.text());
    }
}

/// The first five cells are beyond 64 bits, and all of them are not.
#[tokio::test]
async fn sum_that_is_beyond_64_bits_only_on_the_way_is_one() {
    let (host, mind) = both().await;
    let rest =
        "INSERT INTO t VALUES (7, -9, 'b', 1, NULL), (8, -9223372036854775808, 'c', 1, NULL)";
    host.write_sqlite("lite.db", rest);
    for (condition, rows) in [
        ("id < 8", json!([["9223372036854775805", 1]])),
        // An error: -3 and the least number are beyond 64 bits together.
        ("id IN (4, 8)", Value::Null),
        ("true", json!([[-3, 1]])),
        ("qty < 0 AND id < 8", json!([[-12, 1]])),
    ] {
        let sql = format!(
            "SELECT q.s, one.x FROM (SELECT sum(qty) AS s FROM lite.t WHERE {condition}) q JOIN pg.one ON true"
        );
        let reply = mind.sql(&sql).await.json();
        assert_eq!(reply["output"][0]["data"], rows, "{condition}: {reply}");
    }
}

/// A view has the declared type of one of its tables, and the cells of all.
#[tokio::test]
async fn decimals_that_are_stored_in_two_ways_are_one_group() {
    let (host, _) = both().await;
    let mixed = "CREATE TABLE a (price DECIMAL(10,2)); INSERT INTO a VALUES (1.5), (2.5);
        CREATE TABLE b (price TEXT); INSERT INTO b VALUES ('1.5'), ('1.50');
        CREATE VIEW w AS SELECT price FROM b UNION ALL SELECT price FROM a;";
    host.sqlite("mixed", mixed).await.load().await;
    let mind = host.mind("mixed").datasource("mixed").datasource("pg");
    let mind = mind.direct_queries().create().await;
    let sql = "SELECT q.price, q.k FROM (SELECT price, count(*) AS k FROM mixed.w GROUP BY price) q
        JOIN pg.one ON true ORDER BY 1";
    let rows = mind.query(sql).await["data"].clone();
    assert_eq!(rows, json!([["1.50", 3], ["2.50", 1]]), "{rows}");
}

/// In UTF-16 the letter stands before `b`, and beside a column of the affinity of numbers `05` is 5.
#[tokio::test]
async fn texts_that_sqlite_orders_or_converts_are_compared_in_the_host() {
    let (host, _) = both().await;
    let wide = "PRAGMA encoding = 'UTF-16le'; CREATE TABLE w (id INTEGER, code TEXT, key UUID);
        INSERT INTO w VALUES (1, 'Ā', '5'), (2, 'a', '7');";
    host.sqlite("wide", wide).await.load().await;
    let mind = host.mind("wide").datasource("wide").datasource("pg");
    let mind = mind.direct_queries().create().await;
    for (condition, id) in [("code > 'b'", 1), ("key <> '05' AND code <> 'a'", 1)] {
        let sql = format!("SELECT w.id FROM wide.w JOIN pg.one ON one.x = 1 WHERE {condition}");
        let item = explained(&mind, &sql).await;
        assert_eq!(item["data"], json!([[id]]), "{item}");
    }
}

/// SQLite tells no type of it.
#[tokio::test]
async fn computed_column_of_a_view_is_a_text_that_can_be_cast() {
    let (host, _) = both().await;
    let view = "CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (1), (2), (3);
        CREATE VIEW sevens AS SELECT id, id * 7 AS n FROM t;";
    host.sqlite("computed", view).await.load().await;
    let mind = host.mind("computed").datasource("computed");
    let mind = mind.datasource("pg").direct_queries().create().await;
    for (value, greatest) in [("v.n", json!("7")), ("CAST(v.n AS bigint)", json!(21))] {
        let sql = format!("SELECT max({value}) FROM computed.sevens v JOIN pg.one ON one.x = 1");
        assert_eq!(
            mind.query(&sql).await["data"],
            json!([[greatest]]),
            "{value}"
        );
    }
}
