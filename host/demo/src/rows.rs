//! Questions in SQL: results, pages and files.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{Demo, curl, screen::thousands, truth};

/// Where the result of a statement is kept.
pub(crate) struct StoredResult {
    path: String,
    total: usize,
}

const BY_COUNTRY: &str = "SELECT c.country, count(*) AS orders, sum(o.total) AS revenue \
    FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY c.country ORDER BY revenue DESC";
const ORDERS: &str = "SELECT id, status, voucher, total, ordered_at FROM orders ORDER BY id";
const LOW: &str =
    "SELECT sku, on_hand, reorder_level FROM warehouse.low_stock ORDER BY on_hand, sku";

pub(crate) fn query(demo: &Demo) -> Result<()> {
    demo.screen
        .step("Ask in SQL: the sql_query tool bypasses the language model");
    let item = run(demo, "analyst", BY_COUNTRY, 4)?;
    let expected = demo.truth.shop(BY_COUNTRY)?;
    let shown = show(demo, &item)?;
    ensure!(
        truth::same(&shown, &expected[..4]),
        "not what the database gives: {expected:?}"
    );
    ensure!(
        item["total"] == expected.len() && item["has_more"] == true,
        "not all were counted: {item}"
    );
    Ok(())
}

pub(crate) fn refused(demo: &Demo) -> Result<()> {
    demo.screen
        .step("Read-only: writes are refused before they reach the database");
    let line = curl::post_line("/responses", &body("analyst", "DELETE FROM orders", 1));
    demo.screen.command(&line);
    let (said, error) = demo.curl.refusal(&line)?;
    ensure!(said.contains("400"), "not refused with 400: {said}");
    ensure!(
        error["error"]["code"] == "sql_not_read_only",
        "not refused for writing: {error}"
    );
    let orders = demo.truth.shop("SELECT count(*) FROM orders")?;
    ensure!(orders[0][0] == 45_000, "orders are gone: {orders:?}");
    demo.screen
        .result(error["error"]["message"].as_str().unwrap_or_default());
    Ok(())
}

pub(crate) fn stored(demo: &Demo) -> Result<StoredResult> {
    demo.screen
        .step("A large result: a few rows at once, the rest in pages");
    let line = curl::post_line("/responses", &body("analyst", ORDERS, 2));
    demo.screen.command(&line);
    let response = demo.curl.json(&line)?;
    let item = &response["output"][0];
    let shown = show(demo, item)?;
    ensure!(
        truth::same(&shown, &demo.truth.shop(&format!("{ORDERS} LIMIT 2"))?),
        "not the first orders"
    );
    let total = item["total"].as_u64().context("a total")?;
    let conversation = response["conversation"]["id"]
        .as_str()
        .context("the id of the conversation")?;
    let message = item["id"].as_str().context("the id of the message")?;
    let path = format!("/conversations/{conversation}/items/{message}");
    Ok(StoredResult {
        path,
        total: usize::try_from(total)?,
    })
}

pub(crate) fn page(demo: &Demo, stored: &StoredResult) -> Result<()> {
    demo.screen.step("Any page of it");
    let page = demo.get(&format!("{}/result?limit=3&offset=20000", stored.path))?;
    let rows = rows(&page["result"]["data"])?;
    demo.screen
        .table(&names(&page["result"]["column_names"])?, &rows);
    demo.screen.dim(&format!(
        "(total {}, consistent across pages: {})",
        page["total"], page["is_pagination_consistent"]
    ));
    let expected = demo.truth.shop(&format!("{ORDERS} LIMIT 3 OFFSET 20000"))?;
    ensure!(
        truth::same(&rows, &expected),
        "not the rows of that page: {expected:?}"
    );
    ensure!(
        page["total"] == stored.total && page["is_pagination_consistent"] == true,
        "{page}"
    );
    Ok(())
}

pub(crate) fn export(demo: &Demo, stored: &StoredResult, data: &Path) -> Result<()> {
    demo.screen.step("All of it as CSV");
    let file = data.join("orders.csv");
    let line = format!(
        "{} -o {}",
        curl::get_line(&format!("{}/export", stored.path)),
        curl::quoted(&file)
    );
    demo.screen.command(&line);
    demo.curl.bytes(&line)?;
    let csv = std::fs::read_to_string(&file).context("the exported file")?;
    let mut lines = csv.lines();
    ensure!(
        lines.next() == Some("id,status,voucher,total,ordered_at"),
        "not the header: {csv:.200}"
    );
    let count = lines.clone().count();
    ensure!(
        count == stored.total,
        "{count} rows in the file, {} in the result",
        stored.total
    );
    // NULL is an empty field; most orders have no voucher.
    let none = demo
        .truth
        .shop("SELECT count(*) FROM orders WHERE voucher IS NULL")?;
    let empty = lines
        .filter(|line| line.split(',').nth(2) == Some(""))
        .count();
    ensure!(none[0][0] == empty, "{empty} empty vouchers, not {none:?}");
    csv.lines()
        .take(3)
        .for_each(|line| demo.screen.result(line));
    let rows = thousands(i64::try_from(count)?);
    demo.screen.dim(&format!(
        "({rows} rows, {} bytes, {})",
        csv.len(),
        file.display()
    ));
    Ok(())
}

pub(crate) fn two_databases(demo: &Demo) -> Result<()> {
    demo.screen
        .step("One Mind over both databases: each statement goes where its tables are");
    demo.post(
        "/minds",
        r#"{"name": "manager", "parameters": {"allow_direct_queries": true},
  "datasources": [{"name": "shop", "tables": ["orders", "products"]}, "warehouse"]}"#,
    )?;
    let item = run(demo, "manager", LOW, 3)?;
    let shown = show(demo, &item)?;
    let expected = demo.truth.warehouse(&LOW.replace("warehouse.", ""))?;
    ensure!(
        truth::same(&shown, &expected[..3]),
        "not what the warehouse holds: {expected:?}"
    );
    ensure!(
        item["total"] == expected.len(),
        "not all were counted: {item}"
    );
    Ok(())
}

fn body(mind: &str, sql: &str, rows: u32) -> String {
    format!(
        r#"{{"model": "{mind}", "tools": [{{"type": "sql_query", "max_inline_rows": {rows},
  "query": "{sql}"}}]}}"#
    )
}

fn run(demo: &Demo, mind: &str, sql: &str, rows: u32) -> Result<Value> {
    let response = demo.post("/responses", &body(mind, sql, rows))?;
    ensure!(
        response["status"] == "completed",
        "not completed: {response}"
    );
    Ok(response["output"][0].clone())
}

fn show(demo: &Demo, item: &Value) -> Result<Vec<Vec<Value>>> {
    ensure!(
        item["type"] == "query_result" && item["status"] == "success",
        "no result of a query: {item}"
    );
    let rows = rows(&item["data"])?;
    demo.screen.table(&names(&item["column_names"])?, &rows);
    demo.screen
        .dim(&format!("({} of {} rows)", rows.len(), item["total"]));
    Ok(rows)
}

fn rows(value: &Value) -> Result<Vec<Vec<Value>>> {
    serde_json::from_value(value.clone()).with_context(|| format!("rows: {value}"))
}

fn names(value: &Value) -> Result<Vec<String>> {
    serde_json::from_value(value.clone()).with_context(|| format!("names of columns: {value}"))
}
