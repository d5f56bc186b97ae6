//! The plugin is replaced while statements run.

use mindhost_tests::{Host, json, plugin_is_replaced_under_load};

use crate::trino::Trino;

#[tokio::test(flavor = "multi_thread")]
async fn plugin_of_trino_is_replaced_while_statements_run() {
    let trino = Trino::shared();
    trino.rows("CREATE SCHEMA memory.swapped");
    trino.rows("CREATE TABLE memory.swapped.item AS SELECT * FROM (VALUES 1, 2) AS t (id)");
    let host = Host::start().await;
    let mut data = trino.connection_data("memory");
    data["schemas"] = json!(["swapped"]);
    plugin_is_replaced_under_load(&host, "trino", data, "connector-trino").await;
}
