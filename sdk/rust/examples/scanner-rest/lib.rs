//! A REST API as a datasource: `GET {base_url}/orders?page=1&status=paid` answers with a page of JSON objects.

use mindhost_sdk::http::{self, Request};
use mindhost_sdk::scanner::{Filter, FilterOp, JsonRows, Page, Pushdown, ScanRequest};
use mindhost_sdk::{
    Batch, BatchLimits, Column, Config, DataType, Result, Scanner, ServerInfo, TableRef, Value,
    export_scanner,
};

#[derive(serde::Deserialize)]
struct Orders {
    base_url: String,
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("id", DataType::Int64).nullable(false),
        Column::new("status", DataType::Text),
        Column::new("total", DataType::Decimal).native_type("decimal(12,2)"),
        Column::new("placed_at", DataType::TimestampUtc),
    ]
}

/// One page; an empty one is the last.
fn fetch(base_url: &str, status: Option<&str>, page: u32) -> Result<Option<Page>> {
    let mut request = Request::get(format!("{base_url}/orders")).query("page", &page.to_string());
    if let Some(status) = status {
        request = request.query("status", status);
    }
    let rows: Page = http::send(&request.retries(2))?.success()?.json()?;
    Ok((!rows.is_empty()).then_some(rows))
}

impl Scanner for Orders {
    const MANIFEST: &'static str = include_str!("manifest.json");
    type Scan = JsonRows;

    fn open(config: &Config) -> Result<Self> {
        config.parse()
    }

    fn check(&mut self) -> Result<ServerInfo> {
        fetch(&self.base_url, None, 1).map(|_| ServerInfo::new("Orders API", "1"))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        Ok(vec![TableRef::new("api", "orders")])
    }

    fn columns(&mut self, _: &TableRef) -> Result<Vec<Column>> {
        Ok(columns())
    }

    /// The API has one parameter, for the status; everything else is left to the host.
    fn filter_support(&mut self, _: &TableRef, filters: &[Filter]) -> Result<Vec<Pushdown>> {
        let has_parameter =
            |filter: &Filter| filter.column == "status" && filter.op == FilterOp::Eq;
        let mut support = vec![Pushdown::No; filters.len()];
        if let Some(index) = filters.iter().position(has_parameter) {
            support[index] = Pushdown::Exact;
        }
        Ok(support)
    }

    fn scan(&mut self, request: &ScanRequest) -> Result<JsonRows> {
        let status = match request.equal_to("status") {
            Some(Value::Text(status)) => Some(status.clone()),
            _ => None,
        };
        let (base_url, mut page) = (self.base_url.clone(), 0);
        JsonRows::new(request, &columns(), move || {
            page += 1;
            fetch(&base_url, status.as_deref(), page)
        })
    }

    fn schema(&mut self, rows: &mut JsonRows) -> Result<Vec<Column>> {
        Ok(rows.columns().to_vec())
    }

    fn next(&mut self, rows: &mut JsonRows, limits: BatchLimits) -> Result<Option<Batch>> {
        rows.next(limits)
    }
}

export_scanner!(Orders);
