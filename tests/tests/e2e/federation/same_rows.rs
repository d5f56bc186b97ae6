//! What is done in a datasource gives the rows that the host would give, whatever its engine thinks of texts, numbers
//! and NULLs.

use serde_json::{Value, json};

use super::{mariadb::explained, sent, shop};

/// Statements over PostgreSQL and SQLite, with their rows as the rules of `host/docs/sql.md` say.
#[tokio::test]
async fn texts_are_equal_if_their_bytes_are() {
    let shop = shop().await;
    let direct = shop.database.client().await;
    let collation = "CREATE COLLATION shouting (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
        CREATE TABLE words (id integer, word text COLLATE shouting); INSERT INTO words VALUES (1, 'ABC'), (2, 'abc');";
    direct.batch_execute(collation).await.unwrap();
    let datasource = "/datasources/crm/catalog/refresh";
    let refreshed = shop.host.post(datasource, json!({})).await;
    assert!(refreshed.status < 300, "{}", refreshed.text());
    let crm = mindhost_tests::eventually(
        async || shop.host.get("/datasources/crm/catalog").await.text(),
        |catalog| catalog.contains("words"),
    );
    crm.await;
    let mind = shop
        .host
        .mind("words")
        .datasource("crm")
        .datasource("sales")
        .datasource("world");
    let mind = mind.direct_queries().create().await;
    let check = async |sql: &str, rows: Value| {
        assert_eq!(mind.query(sql).await["data"], rows, "{sql}");
    };
    let both = "crm.words w JOIN sales.orders o";
    // The column of SQLite is NOCASE, that of PostgreSQL ignores case too.
    check(
        &format!("SELECT w.id, o.id FROM {both} ON w.word = o.code ORDER BY 1"),
        json!([[1, 11], [2, 10]]),
    )
    .await;
    check(
        &format!("SELECT w.id, o.id FROM {both} ON true WHERE w.word = 'abc' AND o.code = 'ABC'"),
        json!([[2, 11]]),
    )
    .await;
    check(
        &format!("SELECT w.id, o.id FROM {both} ON true WHERE w.word IN ('abc', 'x') AND o.code <> 'abc' ORDER BY 2"),
        json!([[2, 11], [2, 13]]),
    )
    .await;
    check(
        "SELECT w.word, w.n, o.id FROM (SELECT word, count(*) AS n FROM crm.words GROUP BY word) w
         JOIN sales.orders o ON o.code = w.word ORDER BY w.word",
        json!([["ABC", 1, 11], ["abc", 1, 10]]),
    )
    .await;
    // LIKE sees case, and SQLite's does not.
    check(
        &format!(
            "SELECT w.id, o.id FROM {both} ON true WHERE o.code LIKE 'a%' AND w.word LIKE '%B%'"
        ),
        json!([[1, 10]]),
    )
    .await;
}

#[tokio::test]
async fn cell_that_does_not_fit_its_column_is_an_error() {
    let shop = shop().await;
    shop.host.write_sqlite(
        "sales.db",
        "INSERT INTO orders VALUES (14, 1, 'many', 'soon', 'y')",
    );
    let sql = |what: &str| {
        format!(
            "SELECT c.name, {what} FROM sales.orders o JOIN crm.customers c ON c.id = o.customer_id WHERE o.id > 11"
        )
    };
    for what in ["o.total", "o.placed"] {
        let reply = shop.mind.sql(&sql(what)).await.json();
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains("does not fit its type"), "{reply}");
    }
    assert_eq!(shop.mind.query(&sql("o.code")).await["total"], 2);
}

#[tokio::test]
async fn first_rows_of_an_order_are_the_same_with_nulls_and_ties() {
    let shop = shop().await;
    let sql = |order: &str| {
        format!(
            "SELECT t.id, w.country FROM (SELECT id, city FROM crm.customers ORDER BY {order} LIMIT 2) t
             LEFT JOIN world.cities w ON w.city = t.city ORDER BY t.id"
        )
    };
    for (order, ids) in [
        ("since", [1, 2]),
        ("since DESC", [3, 4]),
        ("since DESC NULLS LAST, id", [2, 4]),
        ("name", [1, 3]),
        ("credit NULLS FIRST, id", [2, 3]),
    ] {
        let item = shop.explained(&sql(order)).await;
        let rows = item["data"].as_array().unwrap();
        let found: Vec<_> = rows.iter().map(|row| row[0].as_i64().unwrap()).collect();
        assert_eq!(found, ids, "{order}");
        let crm = sent(&item, "crm");
        assert!(
            crm[0].0.contains("LIMIT 2") && crm[0].1 == 2,
            "{order}: {crm:?}"
        );
    }
}

/// The kinds of conditions on `crm.docs`, with the rows that they keep and a piece of what PostgreSQL has to be sent;
/// empty if nothing may be.
const UUIDS: &[(&str, &[u64], &str)] = &[
    (
        "key = '0a1b2c3d-0000-4000-8000-00000000000f'",
        &[1],
        "= CAST('0a1b2c3d-0000-4000-8000-00000000000f' AS UUID)",
    ),
    (
        "key <> '0a1b2c3d-0000-4000-8000-00000000000f'",
        &[2, 3],
        "<> CAST(",
    ),
    (
        "key > '0a1b2c3d-0000-4000-8000-00000000000f'",
        &[2, 3],
        "> CAST(",
    ),
    (
        "key IN ('0a1b2c3d-0000-4000-8000-00000000000f', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
            '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002')",
        &[1, 3],
        " IN (CAST(",
    ),
    ("key IS NULL", &[4], "IS NULL"),
    // Another form of a UUID is another text.
    ("key = '0A1B2C3D-0000-4000-8000-00000000000F'", &[], ""),
    ("key < '1'", &[1], ""),
    ("key LIKE '0a1b%'", &[1], ""),
];

#[tokio::test]
async fn uuids_of_postgresql_are_compared_there() {
    let database = mindhost_tests::Postgres::shared();
    let database = database
        .database(
            "CREATE TABLE docs (id integer, key uuid);
             INSERT INTO docs VALUES (1, '0a1b2c3d-0000-4000-8000-00000000000f'),
                (2, 'a0000000-0000-4000-8000-000000000000'), (3, 'ffffffff-ffff-ffff-ffff-ffffffffffff'), (4, NULL);
             CREATE TABLE many (id integer, key uuid);
             INSERT INTO many SELECT i, md5(i::text)::uuid FROM generate_series(1, 5000) i; ANALYZE;",
        )
        .await;
    let host = mindhost_tests::Host::start().await;
    host.postgres("crm", &database).await.load().await;
    // The MD5 of `7`.
    let own = "CREATE TABLE keys (key TEXT); INSERT INTO keys VALUES ('8f14e45f-ceea-167a-5a36-dedd4bea2543')";
    host.sqlite("own", own).await.load().await;
    let mind = host.mind("all").datasource("crm").datasource("own");
    let mind = mind.direct_queries().create().await;
    for (condition, ids, piece) in UUIDS {
        let sql = format!(
            "SELECT q.id, keys.key FROM (SELECT id FROM crm.docs WHERE {condition}) q CROSS JOIN own.keys ORDER BY 1"
        );
        let item = explained(&mind, &sql).await;
        let rows = item["data"].as_array().unwrap().iter();
        let rows: Vec<_> = rows.map(|row| row[0].as_u64().unwrap()).collect();
        assert_eq!(rows, *ids, "{condition}");
        let (text, _) = sent(&item, "crm")[0];
        let is_sent = match piece.is_empty() {
            true => !text.contains("WHERE"),
            false => text.contains(piece),
        };
        assert!(is_sent, "{condition}: {text}");
    }
    // The keys of a join are sent too, and what PostgreSQL groups and sorts is what the host would.
    let item = explained(
        &mind,
        "SELECT many.id FROM crm.many JOIN own.keys ON keys.key = many.key",
    )
    .await;
    assert_eq!(item["data"], json!([[7]]));
    assert_eq!(sent(&item, "crm")[0].1, 1, "{item}");
    let sql = "SELECT q.key, q.k FROM (SELECT key, count(*) AS k FROM crm.docs GROUP BY key ORDER BY key LIMIT 1) q
        CROSS JOIN own.keys";
    let first = json!([["0a1b2c3d-0000-4000-8000-00000000000f", 1]]);
    assert_eq!(mind.query(sql).await["data"], first);
    let sql = "SELECT q.* FROM (SELECT max(key) AS m FROM crm.docs) q CROSS JOIN own.keys";
    let last = json!([["ffffffff-ffff-ffff-ffff-ffffffffffff"]]);
    assert_eq!(mind.query(sql).await["data"], last);
}

#[tokio::test]
async fn numbers_are_computed_alike_in_the_engine_and_in_the_host() {
    let shop = shop().await;
    let query = "SELECT t.*, w.country FROM
        (SELECT c.city, sum(c.credit) AS s, avg(c.credit) AS a, min(c.since) AS m, max(c.name) AS n,
            count(c.credit) AS k, sum(c.id) AS i, sum(c.credit * (1 - c.credit)) AS p
         FROM crm.customers c GROUP BY c.city) t LEFT JOIN world.cities w ON w.city = t.city ORDER BY t.city";
    let item = shop.explained(query).await;
    assert!(sent(&item, "crm")[0].0.contains("GROUP BY"), "{item}");
    assert_eq!(
        item["data"],
        json!([
            [
                "Oslo",
                "0.00",
                "0.000000",
                "2021-02-28",
                "bob",
                1,
                2,
                "0.0000",
                "Norway"
            ],
            [
                "Rome",
                "10.50",
                "10.500000",
                "2020-01-31",
                "Eve",
                1,
                4,
                "-99.7500",
                "Italy"
            ],
            [
                null,
                "99999.99",
                "99999.990000",
                "2024-02-29",
                "Zoe",
                1,
                4,
                "-9999898000.0101",
                null
            ],
        ])
    );
}

/// The sum is over both datasources, so it is compared after the tables of one of them were joined.
#[tokio::test]
async fn equality_over_two_datasources_holds_in_any_order_of_joins() {
    let shop = shop().await;
    let sql = "SELECT c.id, o.id FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id
        JOIN crm.visits v ON v.id = c.id AND c.id + o.id = v.seconds + 10 ORDER BY 2";
    assert_eq!(shop.mind.query(sql).await["data"], json!([[1, 10]]));
}

/// Patterns, with the words that they keep and what SQLite has to be sent; empty if no pattern may be.
const PATTERNS: &[(&str, &[u64], &str)] = &[
    ("LIKE 'a%'", &[1, 3, 4, 5, 7, 10, 11], "GLOB 'a*'"),
    ("LIKE '%c'", &[1, 3, 4, 5, 6, 7, 10, 11], "GLOB '*c'"),
    ("LIKE '%B%'", &[2], "GLOB '*B*'"),
    ("LIKE 'a_c'", &[1, 3, 4, 5, 7, 10], "GLOB 'a?c'"),
    ("LIKE '_bc'", &[1, 6], "GLOB '?bc'"),
    ("LIKE 'a*%'", &[3], "GLOB 'a[*]*'"),
    ("LIKE 'a[%'", &[4], "GLOB 'a[[]*'"),
    ("LIKE '%]c'", &[5], "GLOB '*]c'"),
    (r"LIKE 'a\\%'", &[10], ""),
    ("NOT LIKE '%c'", &[2, 9], "NOT GLOB '*c'"),
    (
        "NOT LIKE '_'",
        &[1, 2, 3, 4, 5, 6, 7, 9, 10, 11],
        "NOT GLOB '?'",
    ),
    ("ILIKE '%B%'", &[1, 2, 6, 11], ""),
];

#[tokio::test]
async fn patterns_of_sqlite_see_case_and_zero_bytes() {
    let shop = shop().await;
    let words = r"CREATE TABLE words (id INTEGER, word TEXT COLLATE NOCASE); INSERT INTO words VALUES (1, 'abc'),
        (2, 'ABC'), (3, 'a*c'), (4, 'a[c'), (5, 'a]c'), (6, 'äbc'), (7, 'a' || char(0) || 'c'), (8, NULL), (9, ''),
        (10, 'a\c'), (11, 'abcabc');";
    shop.host.sqlite("own", words).await.load().await;
    let mind = shop.host.mind("words").datasource("crm").datasource("own");
    let mind = mind.direct_queries().create().await;
    for (condition, ids, piece) in PATTERNS {
        let sql = format!(
            "SELECT w.id FROM own.words w JOIN crm.customers c ON c.id = 1 WHERE w.word {condition} ORDER BY 1"
        );
        let item = explained(&mind, &sql).await;
        let rows = item["data"].as_array().unwrap().iter();
        let rows: Vec<_> = rows.map(|row| row[0].as_u64().unwrap()).collect();
        assert_eq!(rows, *ids, "{condition}");
        let (text, _) = sent(&item, "own")[0];
        let is_sent = match piece.is_empty() {
            true => !text.contains("GLOB"),
            false => text.contains(piece),
        };
        assert!(is_sent, "{condition}: {text}");
    }
}

/// Conditions on `crm.customers` with a subquery, the rows that they keep, and whether the subquery is sent.
const SUBQUERIES: &[(&str, &[u64], bool)] = &[
    (
        "credit = (SELECT max(credit) FROM crm.customers)",
        &[4],
        true,
    ),
    (
        "credit > (SELECT avg(credit) FROM crm.customers)",
        &[4],
        true,
    ),
    (
        "id > (SELECT count(*) FROM crm.visits WHERE id < 3)",
        &[3, 4],
        true,
    ),
    (
        "since = (SELECT min(since) FROM crm.customers WHERE id > 1)",
        &[2],
        true,
    ),
    // No rows are NULL.
    (
        "credit < (SELECT max(credit) FROM crm.customers WHERE id > 9)",
        &[],
        true,
    ),
    (
        "credit >= (SELECT min(credit) FROM crm.customers HAVING count(*) > 9)",
        &[],
        true,
    ),
    (
        "NOT (credit < (SELECT max(credit) FROM crm.customers))",
        &[4],
        true,
    ),
    // Texts of two collations, and what might have several rows.
    ("name = (SELECT max(name) FROM crm.customers)", &[2], false),
    (
        "id = (SELECT customer_id FROM crm.visits WHERE id = 3)",
        &[3],
        false,
    ),
    (
        "id = (SELECT min(customer_id) FROM sales.orders)",
        &[1],
        false,
    ),
];

#[tokio::test]
async fn subquery_with_one_value_is_compared_in_its_datasource() {
    let shop = shop().await;
    for (condition, ids, is_sent) in SUBQUERIES {
        let sql = format!(
            "SELECT q.id, w.country FROM (SELECT id, city FROM crm.customers WHERE {condition}) q
             LEFT JOIN world.cities w ON w.city = q.city ORDER BY 1"
        );
        let item = shop.explained(&sql).await;
        let rows = item["data"].as_array().unwrap().iter();
        let rows: Vec<_> = rows.map(|row| row[0].as_u64().unwrap()).collect();
        assert_eq!(rows, *ids, "{condition}");
        let texts = sent(&item, "crm");
        let found = texts.iter().any(|(text, _)| text.contains("(SELECT"));
        assert_eq!(found, *is_sent, "{condition}: {texts:?}");
        assert!(!is_sent || texts.len() == 1, "{condition}: {texts:?}");
    }
}

/// A composite value of NULLs, columns of two collations, and a pattern that ends in an escape.
const PEOPLE: &str = r#"
    CREATE TYPE address AS (street text, city text);
    CREATE TABLE people (id integer, home address, de text COLLATE "de-x-icu", c text COLLATE "C");
    INSERT INTO people VALUES (1, ROW(NULL, NULL), 'a', 'a'), (2, ROW('x', NULL), 'ä', 'b'), (3, NULL, 'B', 'ä');"#;

/// Statements over PostgreSQL alone, and their ids.
const OF_PEOPLE: &[(&str, &[u64])] = &[
    ("SELECT id FROM crm.people WHERE home IS NULL", &[3]),
    ("SELECT id FROM crm.people WHERE home IS NOT NULL", &[1, 2]),
    ("SELECT id FROM crm.people WHERE de = c", &[1]),
    (
        "SELECT p.id FROM crm.people p JOIN crm.people o ON p.de = o.c",
        &[1, 2],
    ),
    (
        "SELECT p.id FROM crm.people p JOIN (SELECT de, count(*) AS k FROM crm.people GROUP BY de) g ON g.de = p.de",
        &[1, 2, 3],
    ),
    (r"SELECT id FROM crm.people WHERE de LIKE 'a\'", &[]),
    (r"SELECT id FROM crm.people WHERE de LIKE 'a\\'", &[]),
];

#[tokio::test]
async fn what_postgresql_takes_otherwise_or_refuses_has_the_rows_of_the_host() {
    let database = mindhost_tests::Postgres::shared();
    let database = database.database(PEOPLE).await;
    let host = mindhost_tests::Host::start().await;
    host.postgres("crm", &database).await.load().await;
    let one = "CREATE TABLE one (x INTEGER); INSERT INTO one VALUES (1)";
    host.sqlite("own", one).await.load().await;
    let mind = host.mind("all").datasource("crm").datasource("own");
    let mind = mind.direct_queries().create().await;
    for (inner, ids) in OF_PEOPLE {
        let sql = format!("SELECT q.id FROM ({inner}) q CROSS JOIN own.one ORDER BY 1");
        let rows: Vec<_> = ids.iter().map(|id| json!([id])).collect();
        assert_eq!(json!(mind.rows(&sql).await), json!(rows), "{sql}");
    }
}
