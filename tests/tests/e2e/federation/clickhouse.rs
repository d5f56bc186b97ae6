//! Filters and groups that go to ClickHouse give the rows that the host would make.

use mindhost_tests::{ClickHouse, Host, Mind};
use serde_json::json;

use super::{mariadb::explained, sent};

/// The last two columns have names that a statement for a datasource gives to its own.
const ROWS: &str = "(1, 'a', '2020-01-31', 10, 'x', 10.50, 0.125, 1, 5), (2, 'A', '2021-02-28', -5, 'y', -3.33, NULL, 2, 4),
    (3, 'a ', '2024-02-29', 0, 'x', 0.01, 2.5, 3, 3),
    (4, 'ä', '1970-01-02', 9000000000000000000, NULL, 9999999999.99, NULL, 4, 2),
    (5, '', '2104-01-01', 7, 'a''b', 0, 0.001, 5, 1)";

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
        "SELECT count(*) AS k FROM {s}.fed_t WHERE word = 'a' OR n = 7",
        "count(*)",
    ),
    (
        "SELECT id FROM {s}.fed_t WHERE NOT (maybe IN ('x', 'z', 'w', 'v') AND n >= 0)",
        "IS NOT NULL",
    ),
    (
        "SELECT maybe, count(*) AS k, max(n) AS m, min(word) AS w, count(DISTINCT day) AS d, max(tip) AS t
         FROM {s}.fed_t WHERE id < 5 GROUP BY maybe",
        "GROUP BY",
    ),
    (
        "SELECT maybe, sum(price) AS s, avg(price) AS a, sum(tip) AS t, avg(tip) AS b, sum(id) AS i, count(tip) AS k
         FROM {s}.fed_t GROUP BY maybe",
        "greatest(count",
    ),
    (
        "SELECT max(n) AS m, min(word) AS w, sum(price) AS s, avg(tip) AS a, max(day) AS d, sum(id) AS i, count(*) AS k
         FROM {s}.fed_t WHERE id > 100",
        "toNullable",
    ),
    (
        "SELECT day, count(*) AS k, sum(price) AS s FROM {s}.fed_t GROUP BY day HAVING sum(price) > 0.01 AND count(*) < 2",
        "toDecimal128('0.01', 2)",
    ),
    (
        "SELECT id FROM {s}.fed_t WHERE price >= 0.01 AND price < 10.505 AND tip <> 2.5",
        "toDecimal128('10.505', 3)",
    ),
    (
        "SELECT id FROM {s}.fed_t WHERE price > 9000000000000000000 OR tip < 1",
        "toDecimal128(",
    ),
    ("SELECT id FROM {s}.fed_t WHERE price IN (0.01, 0, 1, 2)", ""),
    ("SELECT id FROM {s}.fed_t WHERE price < n OR price < tip", ""),
    (
        "SELECT c1, c0 FROM {s}.fed_t WHERE c1 > 2 AND c0 < 5 AND id > 1",
        "WHERE",
    ),
    (
        "SELECT c1, max(c0) AS m, sum(id) AS i FROM {s}.fed_t WHERE c0 > 1 GROUP BY c1",
        "GROUP BY",
    ),
    (
        "SELECT q.m, q.k FROM (SELECT word, max(c1) AS m, count(*) AS k FROM {s}.fed_t GROUP BY word) q WHERE q.m > 2",
        "GROUP BY",
    ),
    (
        "SELECT q.word, q.c FROM (SELECT word, maybe, sum(c0) AS s, count(*) AS c FROM {s}.fed_t GROUP BY word, maybe) q
         WHERE q.s > 2 AND q.c < 2",
        "GROUP BY",
    ),
    (
        "SELECT a.id, b.maybe FROM {s}.fed_t a JOIN {s}.fed_t b ON b.id = a.c1 UNION ALL
         SELECT id + 10, 'w' FROM {s}.fed_t WHERE id > 3 AND word <> 'a'",
        "<> 'a'",
    ),
    (
        "SELECT id, true AS t FROM {s}.fed_t WHERE id > 2",
        "> 2",
    ),
    (
        "SELECT id FROM {s}.fed_t WHERE price = (SELECT max(price) FROM {s}.fed_t)",
        "max(",
    ),
];

/// Conditions on `ch.fed_at`, with the rows that they keep and a piece of what has to be sent; empty as above.
type Conditions = &'static [(&'static str, &'static [u64], &'static str)];

/// Moments of whole seconds, and integers without a sign.
const SECONDS: Conditions = &[
    (
        "at >= TIMESTAMP '2024-02-29 12:00:00'",
        &[2, 3, 4],
        ">= toDateTime('2024-02-29 12:00:00', 'UTC')",
    ),
    ("at = '2024-02-29 12:00:00'", &[2], "= toDateTime("),
    ("at <> '2024-02-29 12:00:00'", &[1, 3, 4], "<> toDateTime("),
    (
        "at < TIMESTAMP '2024-02-29 12:00:00.999999'",
        &[1, 2],
        "<= toDateTime('2024-02-29 12:00:00', 'UTC')",
    ),
    (
        "at BETWEEN TIMESTAMP '2024-02-29 00:00:00' AND TIMESTAMP '2024-02-29 23:59:59.999999'",
        &[2, 3],
        "<= toDateTime('2024-02-29 23:59:59', 'UTC')",
    ),
    (
        "NOT (at > TIMESTAMP '2024-02-29 12:00:00.5' AND id < 9)",
        &[1, 2],
        "<= toDateTime('2024-02-29 12:00:00', 'UTC')",
    ),
    (
        "at >= DATE '2024-02-29' AND at < DATE '2024-03-01'",
        &[2, 3],
        ">= toDateTime(",
    ),
    (
        "at IN ('1970-01-02 00:00:00', '2024-02-29 12:00:01', '2024-01-01 00:00:00', '2024-01-02 00:00:00')",
        &[1, 3],
        " IN (toDateTime(",
    ),
    (
        "at NOT IN ('1970-01-02 00:00:00', '2024-02-29 12:00:01', '2024-01-01 00:00:00', '2024-01-02 00:00:00')",
        &[2, 4],
        " NOT IN (toDateTime(",
    ),
    ("at = TIMESTAMP '2024-02-29 12:00:00.5'", &[], ""),
    (
        "at < TIMESTAMP '1969-12-31 00:00:00' OR at > TIMESTAMP '2150-01-01 00:00:00'",
        &[],
        "",
    ),
    ("at > TIMESTAMP '1950-01-01 00:00:00'", &[1, 2, 3, 4], ""),
    ("big = 18446744073709551615", &[4], "18446744073709551615"),
    (
        "big > 9223372036854775807",
        &[3, 4],
        "> 9223372036854775807",
    ),
    (
        "big >= 9223372036854775808 AND big <> 18446744073709551615",
        &[3],
        "<> 18446744073709551615",
    ),
    ("big > -1", &[1, 2, 3, 4], "> (-1)"),
    ("big <= 0", &[1], "<= 0"),
    ("big < 0.5", &[1], ""),
    ("big > 18446744073709551616", &[], ""),
    (
        "big IN (0, 1, 2, 3, 9223372036854775808)",
        &[1, 3],
        " IN (0, 1, 2, 3, 9223372036854775808)",
    ),
    (
        "big NOT IN (0, 1, 2, 3, 18446744073709551615)",
        &[2, 3],
        " NOT IN (",
    ),
    ("signed > 9007199254740993.5", &[4], ""),
    ("signed = 9007199254740993.0", &[3], "= 9007199254740993"),
];

/// Moments of another zone, and with a fraction, before 1970 and behind 2106 too. The table is sorted by `fine`.
const FRACTIONS: Conditions = &[
    ("berlin = '2024-02-29 12:00:00'", &[2], "= toDateTime("),
    (
        "fine >= TIMESTAMP '2024-02-29 12:00:00.501'",
        &[3, 4],
        ">= toDateTime64('2024-02-29 12:00:00.501', 3, 'UTC')",
    ),
    (
        "fine < TIMESTAMP '2024-02-29 12:00:00.500001'",
        &[1, 2],
        "<= toDateTime64('2024-02-29 12:00:00.500', 3, 'UTC')",
    ),
    (
        "fine > TIMESTAMP '2024-02-29 12:00:00.499999'",
        &[2, 3, 4],
        "> toDateTime64('2024-02-29 12:00:00.499', 3, 'UTC')",
    ),
    (
        "fine >= TIMESTAMP '1970-01-01 00:00:00'",
        &[2, 3, 4],
        ">= toDateTime64(",
    ),
    (
        "fine = TIMESTAMP '2024-02-29 12:00:00.5'",
        &[2],
        "= toDateTime64(",
    ),
    ("fine > TIMESTAMP '2150-01-01 00:00:00'", &[4], ""),
    (
        "micro = TIMESTAMP '2024-02-29 12:00:00.500002'",
        &[3],
        "= toDateTime64('2024-02-29 12:00:00.500002', 6, 'UTC')",
    ),
    (
        "micro NOT IN (TIMESTAMP '2024-02-29 12:00:00.500002', TIMESTAMP '2024-01-01 00:00:00',
            TIMESTAMP '2024-01-02 00:00:00', TIMESTAMP '2024-01-03 00:00:00')",
        &[1, 2, 4],
        " NOT IN (toDateTime64(",
    ),
    (
        "micro < TIMESTAMP '2024-02-29 12:00:00.500002'",
        &[1, 2],
        "< toDateTime64(",
    ),
    (
        "nano <= TIMESTAMP '2024-02-29 12:00:00.500001'",
        &[1, 2],
        "",
    ),
];

/// What the old server has in another zone, it tells in the time of that zone.
const OLD: Conditions = &[("berlin = '2024-02-29 13:00:00'", &[2], "")];

/// The statements that make `fed_at`, without or with fractions.
fn moments(has_fractions: bool) -> String {
    let (columns, engine) = match has_fractions {
        true => (
            ", fine DateTime64(3), micro DateTime64(6, 'Europe/Berlin'), nano DateTime64(9)",
            "MergeTree ORDER BY fine SETTINGS index_granularity = 1",
        ),
        false => ("", "Memory"),
    };
    let rows = [
        (
            "1970-01-02 00:00:00",
            "0",
            "0",
            "1950-01-01 00:00:00.000000000",
        ),
        (
            "2024-02-29 12:00:00",
            "9223372036854775807",
            "9007199254740992",
            "2024-02-29 12:00:00.500001001",
        ),
        (
            "2024-02-29 12:00:01",
            "9223372036854775808",
            "9007199254740993",
            "2024-02-29 12:00:00.501002000",
        ),
        (
            "2104-01-01 00:00:00",
            "18446744073709551615",
            "9007199254740994",
            "2200-01-01 00:00:00.000000000",
        ),
    ];
    let rows = rows.iter().zip(1..).map(|((at, big, signed, fine), id)| {
        let micro = fine.replace(".501002", ".500002");
        let fractions = match has_fractions {
            true => [(*fine, 3), (micro.as_str(), 6), (*fine, 9)]
                .map(|(at, digits)| format!(", toDateTime64('{at}', {digits}, 'UTC')"))
                .concat(),
            false => String::new(),
        };
        format!(
            "SELECT {id}, toDateTime('{at}', 'UTC'), toDateTime('{at}', 'UTC'), toUInt64({big}), {signed}{fractions}"
        )
    });
    format!(
        "CREATE TABLE default.fed_at (id Int32, at DateTime, berlin DateTime('Europe/Berlin'), big UInt64,
            signed Int64{columns}) ENGINE = {engine}\n;;\nINSERT INTO default.fed_at {}",
        rows.collect::<Vec<_>>().join(" UNION ALL ")
    )
}

/// What is wrong with the rows of `ch.fed_at` under some conditions.
async fn wrong(mind: &Mind, conditions: Conditions) -> Vec<String> {
    let mut found = Vec::new();
    for (condition, ids, piece) in conditions {
        let sql = format!(
            "SELECT q.id, one.x FROM (SELECT id FROM ch.fed_at WHERE {condition}) q
             JOIN two.one ON one.x = 1 ORDER BY 1"
        );
        let item = explained(mind, &sql).await;
        let rows = item["data"].as_array().unwrap().iter();
        let rows: Vec<_> = rows.map(|row| row[0].as_u64().unwrap()).collect();
        let texts = sent(&item, "ch");
        if rows != *ids || !is_sent(&texts, piece) {
            found.push(format!("{condition}: {rows:?} for {ids:?}, of {texts:?}"));
        }
    }
    found
}

/// Whether one of some statements has this piece, or none has a condition where the piece is empty.
fn is_sent(texts: &[(&str, u64)], piece: &str) -> bool {
    match piece.is_empty() {
        true => !texts.iter().any(|(text, _)| text.contains("WHERE")),
        false => texts.iter().any(|(text, _)| text.contains(piece)),
    }
}

async fn check(server: &ClickHouse, more: Conditions) {
    let host = Host::start().await;
    host.datasource("ch", "clickhouse", server.connection_data())
        .await
        .load()
        .await;
    let own = format!(
        "CREATE TABLE fed_t (id INTEGER, word TEXT, day DATE, n INTEGER, maybe TEXT, price DECIMAL(12, 2),
            tip DECIMAL(9, 3), c0 INTEGER, c1 INTEGER); INSERT INTO fed_t VALUES {ROWS};"
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
        if item["data"] != expected || !is_sent(&texts, piece) {
            found.push(format!(
                "{statement}: {} for {expected}, of {texts:?}",
                item["data"]
            ));
        }
    }
    found.extend(wrong(&mind, SECONDS).await);
    found.extend(wrong(&mind, more).await);
    assert!(found.is_empty(), "{}", found.join("\n"));

    // The keys of a small side are a condition for the large one.
    for key in ["id", "big"] {
        let query = format!(
            "SELECT fed_big.{key}, one.x FROM ch.fed_big JOIN two.one ON one.x = fed_big.{key}"
        );
        let item = explained(&mind, &query).await;
        assert_eq!(item["data"], json!([[1, 1]]));
        let rows = sent(&item, "ch").iter().map(|(_, rows)| rows).sum::<u64>();
        assert_eq!(rows, 1, "{item}");
    }
}

/// The statements that make the tables.
fn fixture(has_fractions: bool) -> String {
    [
        "CREATE TABLE default.fed_t (id Int32, word String, day Date, n Int64, maybe Nullable(String), \
            price Decimal(12, 2), tip Nullable(Decimal(9, 3)), c0 Int32, c1 Int32) ENGINE = Memory",
        &format!("INSERT INTO default.fed_t VALUES {}", ROWS.replace("a''b", "a\\'b")),
        "CREATE TABLE default.fed_big ENGINE = MergeTree ORDER BY id AS SELECT toInt32(number) AS id, number AS big FROM numbers(50000)",
        &moments(has_fractions),
    ]
    .join("\n;;\n")
}

#[tokio::test]
async fn new_server_filters_as_the_host() {
    check(&ClickHouse::new(&fixture(true)), FRACTIONS).await;
}

/// It has no `CREATE … AS SELECT` for an engine without columns.
#[tokio::test]
async fn old_server_filters_as_the_host() {
    let server = ClickHouse::old();
    let statements = fixture(false)
        .replace(
            "CREATE TABLE default.fed_big ENGINE = MergeTree ORDER BY id AS",
            "CREATE TABLE default.fed_big (id Int32, big UInt64) ENGINE = MergeTree ORDER BY id\n;;\nINSERT INTO default.fed_big",
        );
    server.run(&statements).await;
    check(server, OLD).await;
}
