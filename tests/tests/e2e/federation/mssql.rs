//! Filters that go to SQL Server leave the rows that the host would leave. The server is a double that computes with
//! SQLite, so that what is sent matters as much as the rows.

use mindhost_tests::{Host, Mind};
use serde_json::json;
use tds_double::{DATABASE, Double, PASSWORD, USER};

use super::{mariadb::explained, sent};

const SHOP: &str = "
    CREATE TABLE dbo.item (id int NOT NULL PRIMARY KEY, name nvarchar(40), price decimal(12,2), made date, stock bigint,
        sold bit);
    INSERT INTO dbo.item VALUES (1, N'tea', 1.50, '2024-01-31', 10, 1), (2, N'TEA', 2.00, '2024-02-29', -5, 0),
        (3, N'milk', NULL, NULL, 9000000000000000000, NULL), (4, NULL, -0.05, '1999-12-31', 0, 1);
    CREATE TABLE dbo.part (id int NOT NULL PRIMARY KEY);
    INSERT INTO dbo.part
        WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 2500)
        SELECT n FROM counted;
";

/// Conditions on `shop.item`, with the rows that they keep and a piece of what has to be sent; empty if nothing of it
/// may be.
const CONDITIONS: &[(&str, &[u64], &str)] = &[
    ("id = 2", &[2], "[id] = 2)"),
    (
        "stock >= -5 AND stock < 9000000000000000000",
        &[1, 2, 4],
        ">= (-5)",
    ),
    ("price > 1.5", &[2], "[price] > 1.50)"),
    ("price <> 2", &[1, 4], "[price] <> 2.00)"),
    ("price BETWEEN -1 AND 1.50", &[1, 4], "<= 1.50)"),
    (
        "made >= DATE '2024-01-31'",
        &[1, 2],
        ">= CAST('2024-01-31' AS DATE)",
    ),
    (
        "made < '2024-02-29'",
        &[1, 4],
        "< CAST('2024-02-29' AS DATE)",
    ),
    ("id IN (1, 2, 3, 5, 7)", &[1, 2, 3], " IN (1, 2, 3, 5, 7)"),
    ("id NOT IN (1, 2, 5, 7)", &[3, 4], " NOT IN (1, 2, 5, 7)"),
    ("price IS NULL OR name IS NULL", &[3, 4], "[name] IS NULL)"),
    ("NOT (price IS NULL OR id = 1)", &[2, 4], "IS NOT NULL"),
    // Texts have collations, and there are no constants for truth values.
    ("name = 'tea'", &[1], ""),
    ("sold", &[1, 4], ""),
    ("sold = false AND id > 1", &[2], "[id] > 1)"),
    ("price * 2 = 3", &[1], ""),
];

async fn shop() -> (Double, Host, Mind) {
    let double = Double::start(SHOP);
    let host = Host::start().await;
    let data = json!({
        "host": "localhost", "port": double.port(), "user": USER, "password": PASSWORD, "database": DATABASE,
    });
    host.datasource("shop", "mssql", data).await.load().await;
    let own = "CREATE TABLE one (x INTEGER); INSERT INTO one VALUES (1)";
    host.sqlite("own", own).await.load().await;
    let mind = host.mind("all").datasource("shop").datasource("own");
    let mind = mind.direct_queries().create().await;
    (double, host, mind)
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_on_numbers_and_days_are_sent() {
    let (_double, _host, mind) = shop().await;
    let mut found = Vec::new();
    for (condition, ids, piece) in CONDITIONS {
        let sql = format!(
            "SELECT q.id, one.x FROM (SELECT id FROM shop.item WHERE {condition}) q
             JOIN own.one ON one.x = 1 ORDER BY 1"
        );
        let item = explained(&mind, &sql).await;
        let rows = item["data"].as_array().unwrap().iter();
        let rows: Vec<_> = rows.map(|row| row[0].as_u64().unwrap()).collect();
        let texts = sent(&item, "shop");
        let is_sent = match piece.is_empty() {
            true => !texts.iter().any(|(text, _)| text.contains("WHERE")),
            false => texts.iter().any(|(text, _)| text.contains(piece)),
        };
        if rows != *ids || !is_sent {
            found.push(format!("{condition}: {rows:?} for {ids:?}, of {texts:?}"));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_a_small_side_are_sent_and_limits_are_not() {
    let (double, _host, mind) = shop().await;
    let query = "SELECT part.id, one.x FROM shop.part JOIN own.one ON one.x = part.id";
    let item = explained(&mind, query).await;
    assert_eq!(item["data"], json!([[1, 1]]));
    assert_eq!(sent(&item, "shop")[0].1, 1, "{item}");
    let query = "SELECT q.id, one.x FROM (SELECT id FROM shop.part LIMIT 3) q JOIN own.one ON true";
    assert_eq!(mind.query(query).await["total"], 3);
    let asked = double.asked().join("\n");
    assert!(!asked.contains("LIMIT"), "{asked}");
}
