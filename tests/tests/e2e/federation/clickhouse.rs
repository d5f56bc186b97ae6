//! Filters that go to ClickHouse leave the rows that the host would leave.

use mindhost_tests::{ClickHouse, Host, Mind};
use serde_json::{Value, json};

use super::sent;

const ROWS: &str = "(1, 'a', '2020-01-31', 10, 'x'), (2, 'A', '2021-02-28', -5, 'y'), (3, 'a ', '2024-02-29', 0, 'x'),
    (4, 'ä', '1970-01-02', 9000000000000000000, NULL), (5, '', '2104-01-01', 7, 'a''b')";

/// Statements over `{s}.t`, with a piece of what ClickHouse has to be sent of each; empty if nothing of the condition
/// may be sent.
const STATEMENTS: &[(&str, &str)] = &[
    ("SELECT id FROM {s}.fed_t WHERE word = 'a'", "= 'a'"),
    (
        "SELECT id FROM {s}.fed_t WHERE word <> 'a' AND word > 'A'",
        "> 'A'",
    ),
    (
        "SELECT id FROM {s}.fed_t WHERE maybe IN ('x', 'a''b', 'nothing', 'z')",
        "'a''b'",
    ),
    (
        "SELECT id FROM {s}.fed_t WHERE maybe NOT IN ('x', 'z')",
        "'x'",
    ),
    (
        "SELECT id FROM {s}.fed_t WHERE NOT (maybe = 'x' OR n < 0)",
        "WHERE",
    ),
    ("SELECT id FROM {s}.fed_t WHERE maybe IS NULL", "IS NULL"),
    (
        "SELECT id FROM {s}.fed_t WHERE n BETWEEN -5 AND 7",
        ">= (-5)",
    ),
    (
        "SELECT id FROM {s}.fed_t WHERE n = 9000000000000000000",
        "9000000000000000000",
    ),
    (
        "SELECT id FROM {s}.fed_t WHERE day >= DATE '2020-01-31' AND day < DATE '2024-02-29'",
        "toDate('2020-01-31')",
    ),
    (
        "SELECT id FROM {s}.fed_t WHERE day < DATE '1969-12-31' OR day > DATE '2150-01-01'",
        "",
    ),
    (r"SELECT id FROM {s}.fed_t WHERE word = 'a\'", ""),
    (
        "SELECT count(*) FROM {s}.fed_t WHERE word = 'a' OR n = 7",
        "OR",
    ),
];

async fn check(server: &ClickHouse) {
    let host = Host::start().await;
    host.datasource("ch", "clickhouse", server.connection_data())
        .await
        .load()
        .await;
    let own = format!(
        "CREATE TABLE fed_t (id INTEGER, word TEXT, day DATE, n INTEGER, maybe TEXT); INSERT INTO fed_t VALUES {ROWS};"
    );
    host.sqlite("own", &own).await.load().await;
    let two = "CREATE TABLE one (x INTEGER); INSERT INTO one VALUES (1)";
    host.sqlite("two", two).await.load().await;
    let mind = host
        .mind("all")
        .datasource("ch")
        .datasource("own")
        .datasource("two");
    let mind = mind.direct_queries().create().await;
    let mut found = Vec::new();
    for (statement, piece) in STATEMENTS {
        let of = |source: &str| {
            let inner = statement.replace("{s}", source);
            format!("SELECT q.*, one.x FROM ({inner}) q JOIN two.one ON one.x = 1 ORDER BY 1")
        };
        let item = explained(&mind, &of("ch")).await;
        let expected = mind.query(&of("own")).await["data"].clone();
        let texts = sent(&item, "ch");
        let is_sent = match piece.is_empty() {
            true => !texts.iter().any(|(text, _)| text.contains("WHERE")),
            false => texts.iter().any(|(text, _)| text.contains(piece)),
        };
        if item["data"] != expected || !is_sent {
            found.push(format!(
                "{statement}: {} for {expected}, of {texts:?}",
                item["data"]
            ));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));

    // The keys of a small side are a condition for the large one.
    let query = "SELECT fed_big.id, one.x FROM ch.fed_big JOIN two.one ON one.x = fed_big.id";
    let item = explained(&mind, query).await;
    assert_eq!(item["data"], json!([[1, 1]]));
    assert_eq!(
        sent(&item, "ch").iter().map(|(_, rows)| rows).sum::<u64>(),
        1,
        "{item}"
    );
}

async fn explained(mind: &Mind, sql: &str) -> Value {
    let tool = json!({"type": "sql_query", "query": sql, "explain": true});
    let body = json!({"model": mind.name, "tools": [tool]});
    let reply = mind.host().post("/responses", body).await;
    assert_eq!(reply.status, 200, "{sql}\n{}", reply.text());
    reply.json()["output"][0].clone()
}

/// The statements that make the tables.
fn fixture() -> String {
    [
        "CREATE TABLE default.fed_t (id Int32, word String, day Date, n Int64, maybe Nullable(String)) ENGINE = Memory",
        &format!("INSERT INTO default.fed_t VALUES {}", ROWS.replace("a''b", "a\\'b")),
        "CREATE TABLE default.fed_big ENGINE = MergeTree ORDER BY id AS SELECT toInt32(number) AS id FROM numbers(50000)",
    ]
    .join("\n;;\n")
}

#[tokio::test]
async fn new_server_filters_as_the_host() {
    check(&ClickHouse::new(&fixture())).await;
}

/// It has no `CREATE … AS SELECT` for an engine without columns.
#[tokio::test]
async fn old_server_filters_as_the_host() {
    let server = ClickHouse::old();
    let statements = fixture()
        .replace(
            "CREATE TABLE default.fed_big ENGINE = MergeTree ORDER BY id AS",
            "CREATE TABLE default.fed_big (id Int32) ENGINE = MergeTree ORDER BY id\n;;\nINSERT INTO default.fed_big",
        );
    server.run(&statements).await;
    check(server).await;
}
