//! Connecting the databases, and learning what is in them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::{Demo, curl, screen::thousands};

/// Loading the demo's catalog takes seconds; longer than this is a failure.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn engines(demo: &Demo) -> Result<()> {
    demo.screen
        .step("See what can be connected: one sandboxed plugin per engine");
    let engines = demo.get("/engines")?;
    let list = engines
        .as_array()
        .or_else(|| engines["data"].as_array())
        .context("a list of engines")?;
    let names: Vec<&str> = list
        .iter()
        .filter_map(|engine| engine["engine"].as_str())
        .collect();
    ensure!(
        names.contains(&"sqlite"),
        "no plugin serves sqlite; there are {names:?}"
    );
    demo.screen.result(&names.join(" · "));
    Ok(())
}

pub(crate) fn connect(demo: &Demo) -> Result<()> {
    demo.screen
        .step("Connect two databases; each connection is tested first");
    for (name, description) in [
        ("shop", "Customers and orders"),
        ("warehouse", "Stock and suppliers"),
    ] {
        let body = format!(
            r#"{{"name": "{name}", "engine": "sqlite", "description": "{description}",
  "connection_data": {{"path": "{name}.db"}}}}"#
        );
        let datasource = demo.post("/datasources", &body)?;
        ensure!(
            datasource["name"] == name && datasource["engine"] == "sqlite",
            "not the datasource that was asked for: {datasource}"
        );
        demo.screen
            .result(&format!("{name} · sqlite · id {}", datasource["id"]));
    }
    Ok(())
}

pub(crate) fn load(demo: &Demo) -> Result<()> {
    demo.screen
        .step("Load the catalog: tables, columns, keys, comments, statistics");
    demo.post("/datasources/shop/catalog/refresh", "{}")?;
    let line = curl::get_line("/datasources/shop/catalog");
    demo.screen.command(&line);
    let catalog = follow(demo, &line)?;
    check(&catalog, demo)?;
    let tables = catalog["tables"].as_array().context("tables")?;
    let described: Vec<Vec<Value>> = tables
        .iter()
        .map(|table| {
            let columns = table["columns"].as_array().map_or(0, Vec::len);
            let rows = table["row_count"]
                .as_i64()
                .map_or(Value::Null, |rows| json!(thousands(rows)));
            vec![
                table["name"].clone(),
                table["type"].clone(),
                rows,
                json!(columns),
                table["description"].clone(),
            ]
        })
        .collect();
    demo.screen.table(
        &["table", "type", "rows", "columns", "description"].map(String::from),
        &described,
    );
    demo.curl.json(&curl::post_line(
        "/datasources/warehouse/catalog/refresh?wait=60",
        "{}",
    ))?;
    Ok(())
}

/// Reads the catalog again and again until its run has ended, and draws how far it is.
fn follow(demo: &Demo, line: &str) -> Result<Value> {
    let started = Instant::now();
    let mut last = String::new();
    loop {
        let catalog = demo.curl.json(line)?;
        let status = &catalog["status"];
        let now = format!("{status}");
        // Drawn over on a terminal, and otherwise written only where it says something new.
        if now != last {
            let state = status["overall_status"].as_str().unwrap_or_default();
            let message = status["message"].as_str().unwrap_or_default();
            demo.screen.progress(
                status["progress"].as_f64().unwrap_or(0.0),
                &format!("{state} · {message}"),
            );
            last = now;
        }
        match status["overall_status"].as_str() {
            Some("COMPLETED") => {
                demo.screen.end_progress();
                return Ok(catalog);
            }
            Some("PENDING" | "LOADING") if started.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(100));
            }
            _ => bail!("the catalog was not loaded: {status}"),
        }
    }
}

fn check(catalog: &Value, demo: &Demo) -> Result<()> {
    let table = |name: &str| {
        let tables = catalog["tables"].as_array();
        let found = tables
            .into_iter()
            .flatten()
            .find(|table| table["name"] == name);
        found.with_context(|| format!("no table {name} in the catalog"))
    };
    ensure!(
        catalog["total_tables"] == 12,
        "not ten tables and two views: {}",
        catalog["total_tables"]
    );
    let customers = table("customers")?;
    ensure!(
        customers["row_count"] == demo.truth.shop("SELECT count(*) FROM customers")?[0][0],
        "{customers}"
    );
    ensure!(
        customers["description"] == "People who have registered in the shop",
        "no comment: {customers}"
    );
    let key = &table("order_items")?["primary_key_constraints"];
    let parts: Vec<&Value> = key
        .as_array()
        .into_iter()
        .flatten()
        .map(|part| &part["column_name"])
        .collect();
    ensure!(
        parts == ["order_id", "line_no"],
        "not the composite primary key of order_items: {key}"
    );
    let keys = &table("returns")?["foreign_key_constraints"];
    let to = |part: &Value| part["referenced_table"] == "order_items";
    ensure!(
        keys.as_array()
            .is_some_and(|keys| keys.iter().filter(|part| to(part)).count() == 2),
        "{keys}"
    );
    statistics(table("orders")?)
}

fn statistics(orders: &Value) -> Result<()> {
    let column = |name: &str| {
        let columns = orders["columns"].as_array();
        columns
            .into_iter()
            .flatten()
            .find(|column| column["name"] == name)
            .map(|column| &column["statistics"])
    };
    let status = column("status").context("the column orders.status")?;
    ensure!(
        status["most_common_values"][0] == "delivered",
        "not the most common status: {status}"
    );
    let voucher = column("voucher").context("the column orders.voucher")?;
    let missing = voucher["null_percentage"].as_f64().unwrap_or(0.0);
    ensure!(
        (90.0..96.0).contains(&missing),
        "about 93 % of the orders have no voucher: {voucher}"
    );
    Ok(())
}
