//! What goes to SQL Server gives the rows that PostgreSQL gives for the same data, which `same_rows` and TPC-H compare
//! with the host. The server is a double that computes with SQLite, with texts that are equal without case and without
//! blanks at the end, and integers of 32 bits that overflow; what is sent matters as much as the rows.

use mindhost_tests::{Host, Mind, Postgres};
use serde_json::json;
use tds_double::{DATABASE, Double, PASSWORD, USER};

use super::{mariadb::explained, sent};

/// Texts that differ by case, by accents and by blanks at the end; numbers whose sums need more than 32 bits, days,
/// moments of all kinds, and NULL in each column.
const ROWS: &str = "
    INSERT INTO dbo.t VALUES
        (1, 'a', 'a', 10.50, '2020-01-31', '2020-01-31 10:00:00.5', '2020-01-31 10:00:00.5',
            '2020-01-31 12:00:00 +02:00', 2000000000, 7, '1'),
        (2, 'a ', 'a ', 0.01, '2021-02-28', '2021-02-28 00:00:00', '2021-02-28 00:00:00',
            '2021-02-28 00:00:00 +00:00', 2000000000, 7, '0'),
        (3, 'A', 'A', -3.33, NULL, NULL, NULL, NULL, -1, 9007199254740993, NULL),
        (4, 'ä', 'b', NULL, '2024-02-29', '2024-02-29 23:59:59.999999', '2024-02-29 23:59:59.25',
            '2024-02-29 10:00:00 -05:00', 2000000000, -1, '1'),
        (5, NULL, NULL, 9999999999.99, '1999-12-31', '1999-12-31 00:00:00', '1999-12-31 00:00:00',
            '2020-01-31 10:00:00 +00:00', NULL, NULL, '0'),
        (6, 'a_b', 'a_b', 0.02, '2020-01-31', '2020-01-31 10:00:00.5', '2020-01-31 10:00:00.5',
            '2020-01-31 10:00:00 +00:00', 5, 7, '1'),
        (7, 'it''s', 'it''s', 0.05, '2020-02-01', '2020-02-01 00:00:00', '2020-02-01 00:00:00', NULL, 6, 8, '1');
    INSERT INTO dbo.u VALUES (1, 'A', 5), (2, 'a', 6), (3, 'ä', 7), (4, NULL, 8);";

const MSSQL: &str = "
    CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, word nvarchar(20), code varchar(20), price decimal(12,2), day date,
        moment datetime2(6), old datetime, utc datetimeoffset(3), n int, big bigint, sold bit);
    CREATE TABLE dbo.u (id int NOT NULL PRIMARY KEY, word nvarchar(20), n int);
    CREATE TABLE dbo.part (id int NOT NULL PRIMARY KEY);
    INSERT INTO dbo.part
        WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 2500)
        SELECT n FROM counted;";

const POSTGRES: &str = "
    CREATE SCHEMA dbo;
    CREATE TABLE dbo.t (id int PRIMARY KEY, word varchar(20), code varchar(20), price numeric(12,2), day date,
        moment timestamp, old timestamp, utc timestamptz, n int, big bigint, sold boolean);
    CREATE TABLE dbo.u (id int PRIMARY KEY, word varchar(20), n int);";

/// Both datasources and a small one beside them, so that a statement is over several.
async fn both() -> (Double, Host, Mind) {
    let double = Double::start(&format!("{MSSQL}{ROWS}"));
    let host = Host::start().await;
    let data = json!({
        "host": "localhost", "port": double.port(), "user": USER, "password": PASSWORD, "database": DATABASE,
    });
    host.datasource("ms", "mssql", data).await.load().await;
    let postgres = Postgres::shared()
        .database(&format!("{POSTGRES}{ROWS}"))
        .await;
    host.postgres("pg", &postgres).await.load().await;
    let own = "CREATE TABLE one (x INTEGER); INSERT INTO one VALUES (1)";
    host.sqlite("own", own).await.load().await;
    let mind = host.mind("all").datasource("ms").datasource("pg");
    let mind = mind.datasource("own").direct_queries().create().await;
    (double, host, mind)
}

/// Statements over `{s}`, with a piece of what SQL Server has to be sent of each; one that begins with `!` is what it
/// may not be sent.
const STATEMENTS: &[(&str, &str)] = &[
    // Numbers, days and truth values.
    ("SELECT id FROM {s}.t WHERE id = 2", "[id] = 2)"),
    (
        "SELECT id FROM {s}.t WHERE big >= -1 AND big < 9007199254740993",
        ">= (-1)",
    ),
    (
        "SELECT id FROM {s}.t WHERE price > 0.01 AND price <= 10.50",
        "> 0.01)",
    ),
    ("SELECT id FROM {s}.t WHERE price <> 0.02", "<> 0.02)"),
    (
        "SELECT id FROM {s}.t WHERE price BETWEEN -4 AND 0.02",
        "<= 0.02)",
    ),
    (
        "SELECT id FROM {s}.t WHERE id IN (1, 2, 3, 5, 7)",
        " IN (1, 2, 3, 5, 7)",
    ),
    (
        "SELECT id FROM {s}.t WHERE big NOT IN (1, 2, 5, 7)",
        " NOT IN (1, 2, 5, 7)",
    ),
    (
        "SELECT id FROM {s}.t WHERE NOT (price IS NULL OR id = 1)",
        "IS NOT NULL",
    ),
    (
        "SELECT id FROM {s}.t WHERE day >= DATE '2020-01-31'",
        ">= CAST('2020-01-31' AS DATE)",
    ),
    ("SELECT id FROM {s}.t WHERE sold", "[sold] = 1)"),
    (
        "SELECT id FROM {s}.t WHERE sold = false AND id > 1",
        "(NOT ",
    ),
    ("SELECT id FROM {s}.t WHERE price * 2 = 21", "!WHERE"),
    // Moments.
    (
        "SELECT id FROM {s}.t WHERE moment = TIMESTAMP '2020-01-31 10:00:00.5'",
        "AS datetime2(6))",
    ),
    (
        "SELECT id FROM {s}.t WHERE moment > TIMESTAMP '2020-01-31 10:00:00.499999'",
        "AS datetime2(6))",
    ),
    (
        "SELECT id FROM {s}.t WHERE old <= TIMESTAMP '2020-01-31 10:00:00.5'",
        "AS DATETIME)",
    ),
    (
        "SELECT id FROM {s}.t WHERE old <= TIMESTAMP '2020-01-31 10:00:00.499'",
        "!WHERE",
    ),
    (
        "SELECT id FROM {s}.t WHERE old > TIMESTAMP '1700-01-01 00:00:00'",
        "!WHERE",
    ),
    (
        "SELECT id FROM {s}.t WHERE utc = TIMESTAMP '2020-01-31 10:00:00'",
        "AS datetimeoffset(6))",
    ),
    (
        "SELECT id FROM {s}.t WHERE utc > TIMESTAMP '2020-01-31 10:00:00'",
        "AS datetimeoffset(6))",
    ),
    // Texts: case, blanks at the end, quotes, and what code pages do not share.
    ("SELECT id FROM {s}.t WHERE word = 'a'", "= N'a' AND"),
    ("SELECT id FROM {s}.t WHERE word = 'a '", "= N'a ' AND"),
    ("SELECT id FROM {s}.t WHERE word = 'it''s'", "N'it'"),
    (
        "SELECT id FROM {s}.t WHERE word <> 'a'",
        "<> (CAST(N'a' AS VARBINARY(MAX))",
    ),
    (
        "SELECT id FROM {s}.t WHERE NOT (word = 'a' OR word = 'ä')",
        "N'ä'",
    ),
    (
        "SELECT id FROM {s}.t WHERE word IN ('A', 'ä', 'x', 'y', 'z')",
        " IN (N'A', N'ä', ",
    ),
    (
        "SELECT id FROM {s}.t WHERE word NOT IN ('A', 'ä', 'x', 'y', 'z')",
        " NOT IN ((CAST(N'A' AS",
    ),
    ("SELECT id FROM {s}.t WHERE code = 'a'", "= 'a' AND"),
    ("SELECT id FROM {s}.t WHERE code = 'ä'", "!WHERE"),
    ("SELECT id FROM {s}.t WHERE word < 'b'", "!WHERE"),
    ("SELECT id FROM {s}.t WHERE word LIKE 'a%'", "!WHERE"),
    ("SELECT id FROM {s}.t WHERE word = code", "!WHERE"),
    // Groups.
    (
        "SELECT word, count(*) AS k FROM {s}.t GROUP BY word",
        "GROUP BY (CAST(",
    ),
    (
        "SELECT code, sum(price) AS s, max(day) AS d, count(big) AS k FROM {s}.t GROUP BY code",
        "GROUP BY (CAST(",
    ),
    (
        "SELECT word, sold, min(n) AS a, sum(n) AS s FROM {s}.t GROUP BY word, sold",
        "GROUP BY (CAST(",
    ),
    (
        "SELECT DISTINCT word FROM {s}.t WHERE id < 6",
        "GROUP BY (CAST(",
    ),
    (
        "SELECT word, count(*) AS k FROM {s}.t GROUP BY word HAVING count(*) > 0",
        "GROUP BY (CAST(",
    ),
    (
        "SELECT word, count(DISTINCT n) AS k, count(DISTINCT big) AS b FROM {s}.t GROUP BY word",
        "!GROUP BY",
    ),
    (
        "SELECT count(DISTINCT word) AS k, max(word) AS w FROM {s}.t",
        "!count",
    ),
    (
        "SELECT day, count(*) AS k FROM {s}.t GROUP BY day HAVING count(*) > 1",
        "GROUP BY t",
    ),
    (
        "SELECT sold, count(*) AS k, sum(price) AS s FROM {s}.t GROUP BY sold",
        "GROUP BY t",
    ),
    (
        "SELECT utc, count(*) AS k FROM {s}.t GROUP BY utc",
        "GROUP BY t",
    ),
    (
        "SELECT old, moment, count(*) AS k FROM {s}.t GROUP BY old, moment",
        "GROUP BY t",
    ),
    (
        "SELECT sum(n) AS s, sum(big) AS b, sum(id) AS i FROM {s}.t",
        "AS DECIMAL(38,0))",
    ),
    (
        "SELECT sum(price) AS s, avg(price) AS a, count(price) AS k FROM {s}.t",
        "AS DECIMAL(16,0))",
    ),
    (
        "SELECT day, avg(price) AS a FROM {s}.t WHERE id <> 5 GROUP BY day",
        "AS DECIMAL(16,0))",
    ),
    (
        "SELECT min(day) AS a, max(moment) AS b, min(old) AS c, max(utc) AS d, min(price) AS e, max(big) AS f FROM {s}.t",
        "max(t",
    ),
    (
        "SELECT count(*) AS k, max(day) AS d, sum(price) AS s, avg(price) AS a FROM {s}.t WHERE id > 100",
        "count_big(*)",
    ),
    (
        "SELECT count(DISTINCT n) AS a, count(DISTINCT day) AS b, count(sold) AS c FROM {s}.t",
        "count_big(DISTINCT",
    ),
    ("SELECT avg(n) AS a FROM {s}.t WHERE n < 10", "!count"),
    // Joins.
    (
        "SELECT t.id, u.n FROM {s}.t JOIN {s}.u ON u.id = t.id",
        ", [dbo].[u] AS",
    ),
    (
        "SELECT t.id, u.n FROM {s}.t LEFT JOIN {s}.u ON u.id = t.id AND u.n > 5",
        "LEFT JOIN",
    ),
    (
        "SELECT t.id, u.id AS o FROM {s}.t FULL JOIN {s}.u ON u.n = t.n",
        "FULL JOIN",
    ),
    (
        "SELECT t.id FROM {s}.t WHERE EXISTS (SELECT 1 FROM {s}.u WHERE u.id = t.id AND u.word = 'A')",
        "EXISTS",
    ),
    (
        "SELECT t.id FROM {s}.t WHERE NOT EXISTS (SELECT 1 FROM {s}.u WHERE u.id = t.id)",
        "NOT EXISTS",
    ),
    (
        "SELECT u.word, sum(t.price) AS s FROM {s}.t JOIN {s}.u ON u.id = t.id GROUP BY u.word",
        "GROUP BY (CAST(",
    ),
    (
        "SELECT t.id, g.s FROM {s}.t JOIN (SELECT day, sum(n) AS s FROM {s}.t GROUP BY day) g ON g.day = t.day",
        "GROUP BY",
    ),
    (
        "SELECT t.id, u.n FROM {s}.t JOIN {s}.u ON u.word = t.word",
        "!, [dbo].[u] AS",
    ),
    (
        "SELECT id FROM {s}.t WHERE price > (SELECT avg(price) FROM {s}.t WHERE id < 5)",
        "(SELECT",
    ),
    // Limits, with NULLs and ties.
    (
        "SELECT id, day FROM {s}.t ORDER BY day, id LIMIT 3",
        "TOP (3)",
    ),
    (
        "SELECT id, day FROM {s}.t ORDER BY day DESC NULLS LAST, id LIMIT 4",
        "TOP (4)",
    ),
    (
        "SELECT id, price FROM {s}.t WHERE word <> 'x' ORDER BY price DESC NULLS FIRST, id LIMIT 2",
        "TOP (2)",
    ),
    (
        "SELECT id, moment FROM {s}.t ORDER BY moment NULLS FIRST, id LIMIT 2 OFFSET 1",
        "TOP (3)",
    ),
    (
        "SELECT id, word FROM {s}.t ORDER BY word, id LIMIT 3",
        "!TOP",
    ),
    (
        "SELECT count(*) AS k FROM (SELECT id FROM {s}.t WHERE sold LIMIT 2) q",
        "TOP (2)",
    ),
];

/// Whether a piece is in one of the texts, whatever the case of the names of types.
fn is_in(texts: &[(&str, u64)], piece: &str) -> bool {
    let piece = piece.to_lowercase();
    texts
        .iter()
        .any(|(text, _)| text.to_lowercase().contains(&piece))
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_give_what_postgresql_gives() {
    let (_double, _host, mind) = both().await;
    let mut found = Vec::new();
    for (statement, piece) in STATEMENTS {
        let of = |source: &str| {
            let inner = statement.replace("{s}.", &format!("{source}.dbo."));
            format!("SELECT q.*, one.x FROM ({inner}) q JOIN own.one ON one.x = 1 ORDER BY 1, 2")
        };
        let server = explained(&mind, &of("ms")).await;
        let postgres = explained(&mind, &of("pg")).await;
        if server["data"] != postgres["data"] {
            found.push(format!("{statement}\n{server}\nbut\n{}", postgres["data"]));
        }
        let texts = sent(&server, "ms");
        let is_as_wanted = match piece.strip_prefix('!') {
            Some(piece) => !is_in(&texts, piece),
            None => is_in(&texts, piece),
        };
        if !is_as_wanted {
            found.push(format!("{statement}: `{piece}`, and {texts:?}"));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_groups_and_the_first_rows_come_back() {
    let (_double, _host, mind) = both().await;
    let query = "SELECT q.word, q.k, one.x FROM (SELECT t.word, count(*) AS k FROM ms.dbo.t JOIN ms.dbo.u ON u.n > 4 AND u.id = t.id
        GROUP BY t.word) q JOIN own.one ON one.x = 1 ORDER BY 1";
    let item = explained(&mind, query).await;
    let rows = json!([["A", 1, 1], ["a", 1, 1], ["a ", 1, 1], ["ä", 1, 1]]);
    assert_eq!(item["data"], rows, "{item}");
    let server = sent(&item, "ms");
    assert_eq!((server.len(), server[0].1), (1, 4), "{server:?}");
    let query = "SELECT q.id, one.x FROM (SELECT id FROM ms.dbo.part WHERE id > 5 LIMIT 3) q JOIN own.one ON true";
    let item = explained(&mind, query).await;
    assert_eq!(item["total"], 3);
    assert_eq!(sent(&item, "ms")[0].1, 3, "{item}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_a_small_side_are_sent() {
    let (_double, _host, mind) = both().await;
    let query = "SELECT part.id, one.x FROM ms.dbo.part JOIN own.one ON one.x = part.id";
    let item = explained(&mind, query).await;
    assert_eq!(item["data"], json!([[1, 1]]));
    assert_eq!(sent(&item, "ms")[0].1, 1, "{item}");
}

/// Sums that the host cannot hold are errors there too.
#[tokio::test(flavor = "multi_thread")]
async fn sum_beyond_64_bits_is_an_error_in_both() {
    let (double, _host, mind) = both().await;
    double.execute("UPDATE dbo.t SET big = 9223372036854775807 WHERE id < 3");
    for big in ["ms.dbo.t", "(SELECT big FROM ms.dbo.t LIMIT 1000000000)"] {
        let sql = format!(
            "SELECT q.s, one.x FROM (SELECT sum(big) AS s FROM {big}) q JOIN own.one ON true"
        );
        let reply = mind.sql(&sql).await;
        assert_eq!(
            reply.json()["error"]["code"],
            "sql_invalid",
            "{}",
            reply.text()
        );
    }
}
