//! Tables, comments, counts and statistics.

use serde_json::{Value, json};

use crate::host::Host;
use crate::trino::Trino;

fn table<'a>(catalog: &'a Value, name: &str) -> &'a Value {
    let tables = catalog["tables"].as_array().unwrap();
    let found = tables.iter().find(|table| table["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {catalog}"))
}

#[test]
fn the_catalog_has_comments_and_no_key() {
    let host = Host::start();
    let mut data = Trino::shared().connection_data("memory");
    data["schemas"] = json!(["shop"]);
    let catalog = host.datasource("shop", "trino", data);
    let customers = table(&catalog, "customers");
    assert_eq!(customers["source_description"], "who buys", "{customers}");
    let columns = customers["columns"].as_array().unwrap();
    assert_eq!(columns[1]["name"], "name");
    assert_eq!(columns[1]["source_description"], "as on the letter");
    assert_eq!(customers["primary_key_constraints"], json!([]));
    assert_eq!(
        table(&catalog, "order_totals")["columns"][0]["name"],
        "order_id"
    );
    let tables = catalog["tables"].as_array().unwrap();
    assert!(
        tables.iter().all(|table| table["schema"] == "shop"),
        "{catalog}"
    );
}

#[test]
fn counts_are_those_of_the_optimizer() {
    let host = Host::start();
    let mut data = Trino::shared().connection_data("tpch");
    data["schemas"] = json!(["tiny"]);
    let catalog = host.datasource("lake", "trino", data);
    assert_eq!(catalog["tables"].as_array().map(Vec::len), Some(8));
    assert_eq!(table(&catalog, "orders")["row_count"], 15_000);
    assert_eq!(table(&catalog, "nation")["row_count"], 25);
}
