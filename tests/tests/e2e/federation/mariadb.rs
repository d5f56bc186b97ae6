//! What is done in MariaDB gives the rows that PostgreSQL gives for the same data, which `same_rows` and TPC-H compare
//! with the host.

use mindhost_tests::{Host, MariaDb, Mind, Postgres};
use serde_json::{Value, json};

use super::sent;

/// Texts that differ by case, by accents, by blanks at the end and beyond the first kilobyte; exact and other numbers,
/// days, moments, and NULL in each column.
fn rows() -> String {
    let long = "x".repeat(1100);
    let rows = [
        "1, 'a', 'a', 'Rome', 10.50, 1.5, '2020-01-31', '2020-01-31 10:00:00.5', 7",
        "2, 'a ', 'a ', 'rome', 0.01, -2.25, '2021-02-28', '2021-02-28 00:00:00', 7",
        "3, 'A', 'A', 'Rome', -3.33, 0, NULL, NULL, 9007199254740993",
        "4, 'ä', 'ä', NULL, NULL, NULL, '2024-02-29', '2024-02-29 23:59:59.999999', -1",
        "5, NULL, NULL, 'Oslo', 99999.99, 1e300, '1999-12-31', '1999-12-31 00:00:00', NULL",
        "6, 'a_b', 'a_b', 'Oslo', 0.02, 1.5, '2020-01-31', '2020-01-31 10:00:00.5', 7",
        "7, 'a%b', 'a%b', 'Oslo', 0.05, 3, '2020-02-01', '2020-02-01 00:00:00', 8",
    ];
    let rows = rows.map(|row| format!("({row}, 'short')")).join(", ");
    format!(
        "INSERT INTO t VALUES {rows}, (8, 'long', 'long', 'Rome', 1, 1, '2020-01-01', '2020-01-01 00:00:00', 1, '{long}1'),
         (9, 'long', 'long', 'Rome', 1, 1, '2020-01-01', '2020-01-01 00:00:00', 1, '{long}2');
         INSERT INTO u VALUES (1, 'A', 5), (2, 'a', 6), (3, 'ä', 7), (4, NULL, 8);
         INSERT INTO ids VALUES (1, 0), (2, 9223372036854775807), (3, 9223372036854775808), (4, 18446744073709551615),
            (5, NULL), (6, 7);"
    )
}

const MARIADB: &str = "
    CREATE TABLE t (id INT PRIMARY KEY, word VARCHAR(20) COLLATE utf8mb4_general_ci,
        latin VARCHAR(20) CHARACTER SET latin1, city CHAR(10), price DECIMAL(12,2), ratio DOUBLE, day DATE,
        moment DATETIME(6), big BIGINT, note TEXT);
    CREATE TABLE u (id INT PRIMARY KEY, word VARCHAR(20) COLLATE utf8mb4_unicode_ci, n INT);
    CREATE TABLE ids (id INT PRIMARY KEY, big BIGINT UNSIGNED);";

const POSTGRES: &str = "
    CREATE TABLE t (id INT PRIMARY KEY, word VARCHAR(20), latin VARCHAR(20), city VARCHAR(10), price DECIMAL(12,2),
        ratio DOUBLE PRECISION, day DATE, moment TIMESTAMP, big BIGINT, note TEXT);
    CREATE TABLE u (id INT PRIMARY KEY, word VARCHAR(20), n INT);
    CREATE TABLE ids (id INT PRIMARY KEY, big NUMERIC(20));";

/// Both datasources and a small one beside them, so that a statement is over several.
async fn both() -> (Host, Mind) {
    let host = Host::start().await;
    let maria = MariaDb::shared()
        .database(&format!("{MARIADB}{}", rows()))
        .await;
    host.datasource("maria", "mysql", maria.connection_data())
        .await
        .load()
        .await;
    let postgres = Postgres::shared()
        .database(&format!("{POSTGRES}{}", rows()))
        .await;
    host.postgres("pg", &postgres).await.load().await;
    host.sqlite(
        "own",
        "CREATE TABLE one (x INTEGER); INSERT INTO one VALUES (1)",
    )
    .await
    .load()
    .await;
    let mind = host.mind("all").datasource("maria").datasource("pg");
    let mind = mind.datasource("own").direct_queries().create().await;
    (host, mind)
}

pub async fn explained(mind: &Mind, sql: &str) -> Value {
    let tool = json!({"type": "sql_query", "query": sql, "explain": true});
    let body = json!({"model": mind.name, "tools": [tool]});
    let reply = mind.host().post("/responses", body).await;
    assert_eq!(reply.status, 200, "{sql}\n{}", reply.text());
    reply.json()["output"][0].clone()
}

/// Statements over `{s}`, with a piece of what MariaDB has to be sent of each.
const STATEMENTS: &[(&str, &str)] = &[
    ("SELECT id FROM {s}.t WHERE word = 'a'", "= 'a' AND"),
    // Not every character set has these characters.
    ("SELECT id FROM {s}.t WHERE latin = 'ä'", "CONVERT('ä' USING utf8mb4)"),
    ("SELECT id FROM {s}.t WHERE latin = '日本' OR latin = 'a'", "CONVERT('日本' USING utf8mb4)"),
    ("SELECT id FROM {s}.t WHERE latin IN ('日本', '😀', 'ä', 'a', 'A')", " IN ('日本', '😀', 'ä', 'a', 'A')"),
    ("SELECT id FROM {s}.t WHERE word <> 'a'", "<> "),
    ("SELECT id FROM {s}.t WHERE word IN ('A', 'ä', 'x')", " OR "),
    ("SELECT id FROM {s}.t WHERE NOT (word = 'a' OR latin < 'a ')", ">= CAST"),
    ("SELECT id FROM {s}.t WHERE word LIKE 'a_'", "LIKE 'a_'"),
    ("SELECT id FROM {s}.t WHERE word LIKE '_'", "LIKE '_'"),
    ("SELECT id FROM {s}.t WHERE note LIKE 'x%'", "LIKE 'x%'"),
    ("SELECT id FROM {s}.t WHERE city = 'Rome'", "= 'Rome' AND"),
    ("SELECT id FROM {s}.t WHERE price > 0.01 AND price <= 10.50", "0.01"),
    ("SELECT id FROM {s}.t WHERE price BETWEEN -4 AND 0.02", "WHERE"),
    ("SELECT id FROM {s}.t WHERE ratio >= CAST(1.5 AS DOUBLE)", "1.5e0"),
    ("SELECT id FROM {s}.t WHERE day >= DATE '2020-01-31' AND day < DATE '2021-01-01'", "DATE '2020-01-31'"),
    ("SELECT id FROM {s}.t WHERE moment = TIMESTAMP '2020-01-31 10:00:00.5'", "TIMESTAMP '2020"),
    ("SELECT id FROM {s}.t WHERE big = 9007199254740993", "9007199254740993"),
    ("SELECT id FROM {s}.t WHERE word IS NULL OR big IS NOT NULL", "IS NULL"),
    // Integers without a sign, above those with one too.
    ("SELECT id FROM {s}.ids WHERE big = 18446744073709551615", "= 18446744073709551615"),
    ("SELECT id FROM {s}.ids WHERE big > 9223372036854775807", "> 9223372036854775807"),
    ("SELECT id FROM {s}.ids WHERE big > -1 AND big <> 9223372036854775808", "> (-1)"),
    ("SELECT id FROM {s}.ids WHERE big < 0.5", "< 0.5"),
    ("SELECT id FROM {s}.ids WHERE big IN (-1, 0, 1, 2, 18446744073709551615)", " IN ((-1), 0, 1, 2, "),
    ("SELECT id FROM {s}.ids WHERE big NOT IN (-1, 0, 1, 2, 18446744073709551615)", " NOT IN ((-1), "),
    ("SELECT ids.id, t.id AS other FROM {s}.ids JOIN {s}.t ON t.big = ids.big", "`t`"),
    ("SELECT id FROM {s}.ids ORDER BY big DESC NULLS LAST LIMIT 2", "LIMIT 2"),
    ("SELECT count(DISTINCT big) AS k, count(*) AS n FROM {s}.ids", "count(DISTINCT"),
    // What is a decimal in the statement does not overflow as an integer of the engine would.
    ("SELECT id, CAST(big AS DECIMAL(20,0)) * 2 AS n FROM {s}.ids", "AS DECIMAL(20,0))"),
    ("SELECT id, CAST(big AS DECIMAL(19,0)) * CAST(big AS DECIMAL(19,0)) AS n FROM {s}.t", "AS DECIMAL(19,0))"),
    ("SELECT avg(CAST(big AS DECIMAL(20,0))) AS a, sum(CAST(big AS DECIMAL(20,0))) AS s FROM {s}.t", "sum("),
    ("SELECT word, count(*) AS k FROM {s}.t GROUP BY word", "GROUP BY"),
    ("SELECT city, sum(price) AS s, avg(price) AS a, min(day) AS d, max(word) AS w, min(latin) AS l, count(big) AS k,
        sum(big) AS b, count(DISTINCT word) AS x FROM {s}.t WHERE id <> 3 GROUP BY city", "GROUP BY"),
    ("SELECT sum(price * (1 - price)) AS s, avg(price) AS a, sum(id + id) AS i FROM {s}.t", "sum("),
    ("SELECT count(*) AS k, max(day) AS d, sum(price) AS s FROM {s}.t WHERE id > 100", "count(*)"),
    ("SELECT city, sum(CASE WHEN day < DATE '2020-06-01' THEN price ELSE 0.00 END) AS s FROM {s}.t GROUP BY city", "CASE"),
    ("SELECT day, count(*) AS k FROM {s}.t GROUP BY day HAVING count(*) > 1", "GROUP BY"),
    ("SELECT t.id, u.n FROM {s}.t JOIN {s}.u ON u.word = t.word", "`u`"),
    ("SELECT t.id, u.n FROM {s}.t LEFT JOIN {s}.u ON u.word = t.word AND u.n > 5", "LEFT JOIN"),
    ("SELECT t.id FROM {s}.t WHERE EXISTS (SELECT 1 FROM {s}.u WHERE u.word = t.latin)", "`latin`"),
    ("SELECT t.id FROM {s}.t WHERE EXISTS (SELECT 1 FROM {s}.u WHERE u.id = t.id AND u.n > 5)", "EXISTS"),
    ("SELECT t.id FROM {s}.t WHERE NOT EXISTS (SELECT 1 FROM {s}.u WHERE u.id = t.id)", "NOT EXISTS"),
    ("SELECT u.word, sum(t.price) AS s FROM {s}.t JOIN {s}.u ON u.id = t.id GROUP BY u.word", "GROUP BY"),
    ("SELECT id, day FROM {s}.t ORDER BY day, id LIMIT 3", "LIMIT 3"),
    ("SELECT id, day FROM {s}.t ORDER BY day DESC NULLS LAST, id LIMIT 4", "LIMIT 4"),
    ("SELECT id, word FROM {s}.t ORDER BY word DESC NULLS FIRST, id LIMIT 5", "LIMIT 5"),
    // Long texts are grouped and ordered in the host, and compared in the engine.
    ("SELECT note, count(*) AS k FROM {s}.t GROUP BY note", "`note`"),
    ("SELECT max(note) AS n, count(DISTINCT note) AS k FROM {s}.t", "`note`"),
    ("SELECT a.id FROM {s}.t a JOIN {s}.t b ON a.note = b.note WHERE b.id = 9", "t2.`note`"),
];

#[tokio::test]
async fn statements_give_what_postgresql_gives() {
    let (_host, mind) = both().await;
    let mut found = Vec::new();
    for (statement, piece) in STATEMENTS {
        let of = |source: &str| {
            let inner = statement.replace("{s}", source);
            format!("SELECT q.*, one.x FROM ({inner}) q JOIN own.one ON one.x = 1 ORDER BY 1, 2")
        };
        let maria = explained(&mind, &of("maria")).await;
        let postgres = explained(&mind, &of("pg")).await;
        if maria["data"] != postgres["data"] {
            found.push(format!("{statement}\n{maria}\nbut\n{}", postgres["data"]));
        }
        let texts = sent(&maria, "maria");
        if !texts.iter().any(|(text, _)| text.contains(piece)) {
            found.push(format!("{statement}: no `{piece}` in {texts:?}"));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

#[tokio::test]
async fn groups_and_joins_are_done_in_mariadb() {
    let (_host, mind) = both().await;
    let query = "SELECT q.city, q.k, one.x FROM (SELECT t.city, count(*) AS k FROM maria.t JOIN maria.u ON u.id = t.id
        GROUP BY t.city) q JOIN own.one ON one.x < 2";
    let item = explained(&mind, query).await;
    let maria = sent(&item, "maria");
    assert_eq!(maria.len(), 1, "{maria:?}");
    assert!(
        maria[0].0.contains("GROUP BY") && maria[0].1 == 3,
        "{maria:?}"
    );
    // There is no FULL JOIN: each side is read, and the host joins.
    let query = "SELECT t.id, u.id, one.x FROM maria.t FULL JOIN maria.u ON u.id = t.id JOIN own.one ON one.x = 1";
    let item = explained(&mind, query).await;
    assert_eq!(
        (item["total"].as_u64(), sent(&item, "maria").len()),
        (Some(9), 2),
        "{item}"
    );
}

/// The day that is none passes for NULL in a condition of MariaDB, where its column has no NULL.
#[tokio::test]
async fn zero_day_of_mariadb_is_not_null() {
    let host = Host::start().await;
    let maria = "SET sql_mode = ''; CREATE TABLE c (id INT); INSERT INTO c VALUES (1), (2), (3);
        CREATE TABLE z (id INT, day DATE NOT NULL, moment DATETIME NOT NULL);
        INSERT INTO z VALUES (1, '0000-00-00', '0000-00-00 00:00:00'), (2, '2024-02-29', '2024-02-29 12:00:00');";
    let maria = MariaDb::shared().database(maria).await;
    host.datasource("maria", "mysql", maria.connection_data())
        .await
        .load()
        .await;
    let one = "CREATE TABLE one (x INTEGER); INSERT INTO one VALUES (1)";
    host.sqlite("own", one).await.load().await;
    let mind = host.mind("both").datasource("maria").datasource("own");
    let mind = mind.direct_queries().create().await;
    for (inner, ids) in [
        ("SELECT id FROM maria.z WHERE day IS NULL", json!([])),
        ("SELECT id FROM maria.z WHERE moment IS NULL", json!([])),
        (
            "SELECT id FROM maria.z WHERE day IS NOT NULL",
            json!([[1], [2]]),
        ),
        (
            "SELECT c.id FROM maria.c LEFT JOIN maria.z ON z.id = c.id WHERE z.day IS NULL",
            json!([[3]]),
        ),
    ] {
        let sql = format!("SELECT q.id FROM ({inner}) q CROSS JOIN own.one ORDER BY 1");
        assert_eq!(mind.query(&sql).await["data"], ids, "{sql}");
    }
}

#[tokio::test]
async fn column_with_a_quote_in_its_name_is_in_the_way_of_no_other() {
    let host = Host::start().await;
    let maria =
        "CREATE TABLE odd (id INT, `a``b` INT, `c````d` INT); INSERT INTO odd VALUES (1, 2, 3)";
    let maria = MariaDb::shared().database(maria).await;
    let maria = host.datasource("maria", "mysql", maria.connection_data());
    maria.await.load().await;
    let own =
        r#"CREATE TABLE odd (id INT, "a""b" INT, "c""""d" INT); INSERT INTO odd VALUES (1, 4, 5)"#;
    host.sqlite("own", own).await.load().await;
    let pg = Postgres::shared().database(own).await;
    host.postgres("pg", &pg).await.load().await;
    let mind = host.mind("all").datasource("maria").datasource("own");
    let mind = mind.datasource("pg").direct_queries().create().await;
    let sql = r#"SELECT m."a`b", o."a""b" AS o, p."a""b" AS p FROM maria.odd m JOIN own.odd o ON o.id = m.id
        JOIN pg.odd p ON p.id = m.id"#;
    assert_eq!(mind.rows(sql).await, [[json!(2), json!(4), json!(4)]]);
    // Of one datasource, the engine reads it.
    let sql = "SELECT `a``b` FROM maria.odd WHERE `a``b` = 2";
    assert_eq!(mind.rows(sql).await, [[json!(2)]]);
}
