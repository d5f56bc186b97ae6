//! Attributes of another type than their column open no table.

use mindhost_tests::{Host, MariaDb, Value, json};

const ACCOUNTS: &str = "
    CREATE TABLE account (id INTEGER PRIMARY KEY, tenant VARCHAR(20), number BIGINT, price DECIMAL(38, 0), opened DATE);
    INSERT INTO account VALUES (1, 'acme', 0, 90071992547409931234, '2024-01-01'), (2, 'globex', 7, 7, '2025-01-01'),
        (3, '0', 1, 90071992547409931235, NULL), (4, '7up', 2024, 0, '2024-06-01'), (5, '1', -3, 1, NULL);";

/// The ids of the rows that a filter leaves for a caller.
async fn ids(host: &Host, filter: &str, attribute: &Value) -> Vec<i64> {
    let reply = host
        .post(
            "/minds/sales/policies/preview",
            json!({
                "datasource": "shop", "table": "account", "attributes": {"it": attribute},
                "policies": [{"datasource": "shop", "table": "account", "filter": filter}],
            }),
        )
        .await;
    if reply.status == 400 || reply.status == 422 {
        return Vec::new();
    }
    let reply = reply.expect_status(200);
    let mut ids: Vec<i64> = reply.json()["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row[0].as_i64().unwrap())
        .collect();
    ids.sort_unstable();
    ids
}

async fn opens_no_table(host: &Host, cases: &[(&str, Value, &[i64])]) {
    host.mind("sales").datasource("shop").create().await;
    for (filter, attribute, expected) in cases {
        let seen = ids(host, filter, attribute).await;
        assert_eq!(seen, *expected, "{filter} {attribute}");
    }
}

/// What holds in MariaDB and in SQLite.
fn common() -> Vec<(&'static str, Value, &'static [i64])> {
    let tenant = "tenant = {{caller.it}}";
    let tenants = "tenant IN ({{caller.it}})";
    let number = "number = {{caller.it}}";
    vec![
        (tenant, json!("acme"), &[1]),
        (tenant, json!("7up"), &[4]),
        (tenant, json!(0), &[3]),
        (tenant, json!("0"), &[3]),
        (tenants, json!([0, "globex"]), &[2, 3]),
        (tenants, json!(["acme", "7up"]), &[1, 4]),
        (tenants, json!([true]), &[5]),
        (number, json!(7), &[2]),
        (number, json!("7"), &[2]),
        (number, json!(-3), &[5]),
        (number, json!("7up"), &[]),
        (number, json!("acme"), &[]),
        (
            "number IN ({{caller.it}})",
            json!([7, "acme", "2024-01-01"]),
            &[2],
        ),
        ("number <= {{caller.it}}", json!(0), &[1, 5]),
        ("number <= {{caller.it}}", json!("acme"), &[]),
        ("NOT (number > {{caller.it}})", json!("acme"), &[]),
        ("number BETWEEN 1 AND {{caller.it}}", json!(7), &[2, 3]),
        ("number BETWEEN -9 AND {{caller.it}}", json!("x"), &[]),
        ("opened = {{caller.it}}", json!("2024-01-01"), &[1]),
        ("opened >= {{caller.it}}", json!("2024-06-01"), &[2, 4]),
        ("{{caller.it}} = 'all' OR tenant = 'acme'", json!(0), &[1]),
        ("{{caller.it}} IN ('all', tenant)", json!("acme"), &[1]),
        ("lower(tenant) = {{caller.it}}", json!(0), &[3]),
        ("lower(tenant) <> {{caller.it}}", json!(0), &[1, 2, 4, 5]),
        ("opened >= {{caller.it}}", json!("never"), &[]),
        // An attribute as a condition.
        ("{{caller.it}}", json!("1st"), &[]),
        ("{{caller.it}}", json!(true), &[1, 2, 3, 4, 5]),
        ("NOT {{caller.it}}", json!("yes"), &[]),
        ("({{caller.it}}) OR tenant = 'acme'", json!("1st"), &[]),
        (
            "CASE WHEN {{caller.it}} THEN 0 ELSE 1 END = 1",
            json!("yes"),
            &[],
        ),
        ("NOT lower({{caller.it}})", json!("yes"), &[]),
        // Within a function.
        ("tenant = lower({{caller.it}})", json!("ACME"), &[1]),
        ("tenant = trim({{caller.it}})", json!("0"), &[3]),
        ("number = lower({{caller.it}})", json!("acme"), &[]),
        ("number = trim({{caller.it}})", json!("7up"), &[]),
        ("number IN (trim({{caller.it}}))", json!("acme"), &[]),
        (
            "number = coalesce({{caller.it}}, 'none')",
            json!("acme"),
            &[],
        ),
        ("number >= lower({{caller.it}})", json!("acme"), &[]),
        ("number <= lower({{caller.it}})", json!("acme"), &[]),
        // A text that is a number, beside what is no column.
        ("{{caller.it}} >= 3", json!("1"), &[]),
        ("{{caller.it}} >= 3", json!("3"), &[1, 2, 3, 4, 5]),
        ("{{caller.it}} <> 0", json!("0"), &[]),
        ("{{caller.it}} NOT IN (0, 1)", json!("0"), &[]),
        ("length(tenant) < {{caller.it}}", json!("4"), &[3, 4, 5]),
        ("abs(number) <> {{caller.it}}", json!("7"), &[1, 3, 4, 5]),
        ("abs(number) <= {{caller.it}}", json!("1"), &[1, 3]),
    ]
}

#[tokio::test]
async fn mariadb_compares_attributes_with_texts_as_texts() {
    let host = Host::start().await;
    let database = MariaDb::shared().database(ACCOUNTS).await;
    let data = database.connection_data();
    host.datasource("shop", "mariadb", data).await.load().await;
    let mut cases = common();
    cases.extend([
        ("tenant = {{caller.it}}", json!(false), &[3][..]),
        // With all digits, as no float has.
        ("price = {{caller.it}}", json!(9007199254740993_i64), &[]),
        ("price IN ({{caller.it}})", json!([0, 7]), &[2, 4]),
        ("tenant <> {{caller.it}}", json!(0), &[1, 2, 4, 5]),
        ("tenant <= {{caller.it}}", json!(9), &[3, 4, 5]),
        (
            "CASE tenant WHEN {{caller.it}} THEN 1 ELSE 0 END = 1",
            json!(0),
            &[3],
        ),
        ("coalesce({{caller.it}}, 5) = tenant", json!(0), &[3]),
        ("{{caller.it}} IN ('all', tenant)", json!(0), &[3]),
        (
            "price = CAST({{caller.it}} AS DECIMAL(38, 0))",
            json!("90071992547409931235"),
            &[3],
        ),
        (
            "price = CAST({{caller.it}} AS DECIMAL(38, 0))",
            json!("acme"),
            &[],
        ),
        (
            "number = CAST(trim({{caller.it}}) AS SIGNED)",
            json!("7up"),
            &[],
        ),
        ("number = CAST({{caller.it}} AS CHAR)", json!("acme"), &[]),
    ]);
    opens_no_table(&host, &cases).await;
}

#[tokio::test]
async fn sqlite_compares_attributes_with_texts_as_texts() {
    let host = Host::start().await;
    host.sqlite("shop", ACCOUNTS).await.load().await;
    let mut cases = common();
    cases.extend([
        (
            "number = CAST({{caller.it}} AS DATE)",
            json!("acme"),
            &[][..],
        ),
        (
            "number = CAST(trim({{caller.it}}) AS INTEGER)",
            json!("7up"),
            &[],
        ),
    ]);
    opens_no_table(&host, &cases).await;
}
