//! A REST API as tables: the rows come from here, the SQL from the host.

use mindhost_sdk::http::{self, Next, Request, escaped};
use mindhost_sdk::scanner::{Filter, FilterOp, JsonRows, Page, Pushdown, ScanRequest};
use mindhost_sdk::{
    Batch, BatchLimits, Column, Config, DataType, Error, ErrorKind, Result, Scanner, ServerInfo,
    TableRef, Value, export_scanner,
};
use serde::Deserialize;

/// An API without schemas uses one fixed name.
const SCHEMA: &str = "main";
/// Rows of a page: the most that the API gives.
const PAGE: u64 = 25;
/// How often a page is asked for again while the API is busy.
const RETRIES: u32 = 4;

/// What the datasource is configured with; `manifest.json` has its schema. The host adds `token` to the requests.
#[derive(Deserialize)]
struct Shop {
    url: String,
}

/// A page of the API.
#[derive(Deserialize)]
struct Answer {
    #[serde(alias = "customers", alias = "orders")]
    rows: Page,
    /// The cursor of the next page of orders.
    next: Option<String>,
}

fn columns(table: &TableRef) -> Result<Vec<Column>> {
    match (&*table.schema, &*table.name) {
        (SCHEMA, "customers") => Ok(vec![
            Column::new("id", DataType::Int64).nullable(false),
            Column::new("name", DataType::Text).nullable(false),
            Column::new("email", DataType::Text),
            Column::new("since", DataType::Date).nullable(false),
        ]),
        (SCHEMA, "orders") => Ok(vec![
            Column::new("id", DataType::Int64).nullable(false),
            Column::new("customer_id", DataType::Int64).nullable(false),
            Column::new("status", DataType::Text).nullable(false),
            Column::new("total", DataType::Decimal)
                .native_type("decimal(12,2)")
                .nullable(false),
            Column::new("placed_at", DataType::TimestampUtc).nullable(false),
        ]),
        (_, name) => Err(Error::not_found(format!("there is no table {name}"))),
    }
}

impl Shop {
    /// The pages of a path, one after another, each asked for when its rows are needed.
    fn pages(
        &self,
        name: &str,
        status: Option<&str>,
        limit: u64,
    ) -> impl Iterator<Item = Result<Page>> + use<> {
        let mut first = Request::get(format!("{}/{name}", self.url.trim_end_matches('/')));
        if let Some(status) = status {
            first = first.query("status", status);
        }
        let first = first.query("limit", &limit.to_string()).retries(RETRIES);
        let url = first.url.clone();
        let pages = http::pages::<Answer>(first);
        // The header `Link` leads to more customers; orders have a cursor.
        let pages = match name {
            "orders" => pages.follow(move |page, _| {
                let next = page.next.as_deref().map(escaped);
                Ok(next.map(|cursor| Next::Url(format!("{url}&after={cursor}"))))
            }),
            _ => pages,
        };
        pages.map(|page| page.map(|page| page.rows))
    }
}

impl Scanner for Shop {
    const MANIFEST: &'static str = include_str!("../manifest.json");
    type Scan = JsonRows;

    fn open(config: &Config) -> Result<Self> {
        let mut shop: Self = config.parse()?;
        shop.check()?;
        Ok(shop)
    }

    fn check(&mut self) -> Result<ServerInfo> {
        // One row proves that the address and the token are right.
        self.pages("customers", None, 1).next().transpose()?;
        Ok(ServerInfo::new("Shop API", "1"))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        let names = ["customers", "orders"];
        Ok(names.map(|name| TableRef::new(SCHEMA, name)).to_vec())
    }

    fn columns(&mut self, table: &TableRef) -> Result<Vec<Column>> {
        columns(table)
    }

    /// The API finds orders by their status. The host applies every other filter.
    fn filter_support(&mut self, table: &TableRef, filters: &[Filter]) -> Result<Vec<Pushdown>> {
        let support = |filter: &Filter| {
            let is_known = (&*table.name, &*filter.column) == ("orders", "status");
            match is_known && filter.op == FilterOp::Eq {
                true => Pushdown::Exact,
                false => Pushdown::No,
            }
        };
        Ok(filters.iter().map(support).collect())
    }

    fn scan(&mut self, request: &ScanRequest) -> Result<JsonRows> {
        let columns = columns(&request.table)?;
        let mut statuses = Vec::new();
        for filter in &request.filters {
            let [Value::Text(status)] = filter.values.as_slice() else {
                return Err(Error::new(ErrorKind::Internal, "a status is a text"));
            };
            statuses.push(status.as_str());
        }
        statuses.dedup();
        // No order has two statuses.
        if statuses.len() > 1 {
            return JsonRows::new(request, &columns, || Ok(None));
        }
        let limit = request.limit.map_or(PAGE, |limit| limit.min(PAGE));
        let mut pages = self.pages(&request.table.name, statuses.first().copied(), limit);
        JsonRows::new(request, &columns, move || pages.next().transpose())
    }

    fn schema(&mut self, rows: &mut JsonRows) -> Result<Vec<Column>> {
        Ok(rows.columns().to_vec())
    }

    fn next(&mut self, rows: &mut JsonRows, limits: BatchLimits) -> Result<Option<Batch>> {
        rows.next(limits)
    }
}

export_scanner!(Shop);

#[cfg(test)]
mod tests;
