//! Asks a server for one page after the other.

use mindhost_sdk::http::{self, Request};
use mindhost_sdk::scanner::{JsonRows, ScanRequest};
use mindhost_sdk::{
    Batch, BatchLimits, Column, Config, DataType, Error, ErrorKind, Result, Scanner, ServerInfo,
    TableRef, export_scanner,
};
use serde::Deserialize;

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pages {
    url: String,
    pages: u64,
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("n", DataType::Int64),
        Column::new("key", DataType::Text),
    ]
}

impl Scanner for Pages {
    const MANIFEST: &'static str = include_str!("../manifest.json");
    type Scan = JsonRows;

    fn open(config: &Config) -> Result<Self> {
        config.parse()
    }

    fn check(&mut self) -> Result<ServerInfo> {
        Ok(ServerInfo::new("Pages", "pages url"))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        Ok(vec![TableRef::new("main", "pages")])
    }

    fn columns(&mut self, _: &TableRef) -> Result<Vec<Column>> {
        Ok(columns())
    }

    fn scan(&mut self, request: &ScanRequest) -> Result<JsonRows> {
        let (pages, mut n) = (self.clone(), 0);
        JsonRows::new(request, &columns(), move || {
            if n == pages.pages {
                return Ok(None);
            }
            let mut page = http::send(&Request::get(format!("{}/{n}", pages.url)))?;
            n += 1;
            let row = serde_json::from_slice(&page.body.read_to_end(1 << 20)?);
            let row = row.map_err(|_| Error::new(ErrorKind::Upstream, "a page is not JSON"))?;
            Ok(Some(vec![row]))
        })
    }

    fn schema(&mut self, rows: &mut JsonRows) -> Result<Vec<Column>> {
        Ok(rows.columns().to_vec())
    }

    fn next(&mut self, rows: &mut JsonRows, limits: BatchLimits) -> Result<Option<Batch>> {
        rows.next(limits)
    }
}

export_scanner!(Pages);
