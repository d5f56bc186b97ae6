//! Entries that stop to work when the database changes.

use mindhost_tests::{Datasource, Host, Postgres, Value, eventually, json};

use super::{SHOP, entries, revenue, teach};
use crate::stores;

/// Waits until the metric has this status.
async fn metric_is(host: &Host, status: &str) -> Value {
    let metric = async || {
        let all = entries(host).await;
        all.into_iter()
            .find(|entry| entry["kind"] == "metric")
            .unwrap()
    };
    eventually(metric, |entry| entry["status"] == status).await
}

/// Renames a table back and forth, with `run`, and looks at what becomes of the metric over it.
async fn breaks_and_heals(shop: &Datasource, run: impl AsyncFn(&str)) {
    let host = shop.host();
    shop.load().await;
    host.mind("sales").datasource("shop").create().await;
    teach(host, revenue()).await.expect_status(201);
    let year = json!({"kind": "instruction", "name": "year", "text": "It begins in April."});
    teach(host, year).await.expect_status(201);

    run("ALTER TABLE order_items RENAME TO positions").await;
    shop.load().await;
    let stale = metric_is(host, "stale").await;
    assert!(
        stale["stale_reason"]
            .as_str()
            .unwrap()
            .contains("order_items"),
        "{stale}"
    );
    let all = entries(host).await;
    let valid = |entry: &&Value| entry["status"] == "valid";
    assert_eq!(all.iter().filter(valid).count(), 1, "{all:?}");

    run("ALTER TABLE positions RENAME TO order_items").await;
    shop.load().await;
    let healed = metric_is(host, "valid").await;
    assert_eq!(healed["stale_reason"], Value::Null);
    assert_eq!(healed["updated_at"], stale["updated_at"]);

    // A column that only the engine knows of.
    run("ALTER TABLE order_items RENAME COLUMN quantity TO pieces").await;
    shop.load().await;
    let stale = metric_is(host, "stale").await;
    assert!(
        stale["stale_reason"].as_str().unwrap().contains("quantity"),
        "{stale}"
    );
}

#[tokio::test]
async fn entry_is_stale_while_its_table_has_another_name_in_postgres() {
    // A server that keeps its store in PostgreSQL reaches no datasource there.
    let host = Host::start().await;
    let database = Postgres::shared().database(SHOP).await;
    let shop = host.postgres("shop", &database).await;
    breaks_and_heals(&shop, async |sql| database.run(sql).await).await;
}

#[tokio::test]
async fn entry_is_stale_while_its_table_has_another_name_in_sqlite() {
    for host in stores::both().await {
        let shop = host.sqlite("shop", SHOP).await;
        breaks_and_heals(&shop, async |sql| shop.host().write_sqlite("shop.db", sql)).await;
    }
}

#[tokio::test]
async fn entry_is_stale_while_the_mind_lacks_its_table() {
    let host = Host::start().await;
    super::taught(&host).await;
    teach(&host, revenue()).await.expect_status(201);
    let only = json!({"datasources": [{"name": "shop", "tables": ["customers"]}]});
    host.put("/minds/sales", only).await.expect_status(200);
    metric_is(&host, "stale").await;
    let all = json!({"datasources": ["shop"]});
    host.put("/minds/sales", all).await.expect_status(200);
    metric_is(&host, "valid").await;
}
