use std::time::Duration;

use super::*;
use crate::connector::ServerInfo;
use crate::error::ErrorKind;
use crate::http::{self, Request, Response};
use crate::scanner::{JsonRows, Page};
use crate::testing::stand_in;
use crate::{Column, DataType, TableRef, Value};

/// Numbers of a server, a page a request.
struct Numbers(String);

impl Scanner for Numbers {
    const MANIFEST: &'static str = "{}";
    type Scan = JsonRows;

    fn open(config: &Config) -> Result<Self> {
        config.parse().map(Self)
    }

    fn check(&mut self) -> Result<ServerInfo> {
        Ok(ServerInfo::new("Numbers", "1"))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        Ok(vec![TableRef::new("main", "numbers")])
    }

    fn columns(&mut self, _: &TableRef) -> Result<Vec<Column>> {
        Ok(vec![Column::new("n", DataType::Int64)])
    }

    fn scan(&mut self, request: &ScanRequest) -> Result<JsonRows> {
        let mut pages = http::pages::<Page>(Request::get(&self.0).retries(3));
        JsonRows::new(request, &self.columns(&request.table)?, move || {
            pages.next().transpose()
        })
    }

    fn schema(&mut self, rows: &mut JsonRows) -> Result<Vec<Column>> {
        Ok(rows.columns().to_vec())
    }

    fn next(&mut self, rows: &mut JsonRows, limits: BatchLimits) -> Result<Option<Batch>> {
        match self.0.ends_with("/lies") {
            true => Ok(Some(Batch::Rows(vec![vec![Value::Boolean(true)]]))),
            false => rows.next(limits),
        }
    }
}

fn numbers(path: &str) -> Result<Vec<Row>> {
    let scanner = open_scanner::<Numbers>(&format!("\"https://a.test{path}\""))?;
    scanner.scan(&ScanRequest::new(TableRef::new("main", "numbers"), &["n"]))
}

#[test]
fn function_stands_in_for_a_server_that_is_busy_and_has_pages() {
    let page = |first: u32| {
        let rows: Vec<String> = (first..first + 150)
            .map(|n| format!("{{\"n\": {n}}}"))
            .collect();
        Response::scripted(200, vec![Ok(format!("[{}]", rows.join(",")).into())])
    };
    let mut asked = 0;
    let host = stand_in(move |request| {
        asked += 1;
        Ok(match asked {
            1 => Response::scripted(429, Vec::new()).with_header("retry-after", "40"),
            2 => page(0).with_header("link", "<?page=2>; rel=next"),
            _ => {
                assert_eq!(request.url, "https://a.test/numbers?page=2");
                page(150)
            }
        })
    });
    let rows = numbers("/numbers").unwrap();
    let expected: Vec<Row> = (0..300).map(|n| vec![Value::Int64(n)]).collect();
    assert_eq!(rows, expected);
    assert_eq!(host.slept(), [Duration::from_secs(40)]);
    let urls: Vec<String> = host
        .requests()
        .into_iter()
        .map(|request| request.url)
        .collect();
    assert_eq!(urls.len(), 3);
    drop(host);
    let error = http::send(&Request::get("https://a.test")).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn rows_that_a_host_would_refuse_are_an_error() {
    let _host = stand_in(|_| Ok(Response::scripted(200, Vec::new())));
    let error = numbers("/lies").unwrap_err();
    assert_eq!(
        error.message(),
        "a value of type boolean in the column `n` of type int64"
    );
}

#[test]
fn skipped_waits_take_the_time_of_the_call() {
    let host = stand_in(|_| Ok(Response::scripted(200, Vec::new())));
    crate::control::stand_in::set_remaining(Some(Duration::from_secs(60)));
    assert!(crate::control::sleep(Duration::from_secs(50)).is_ok());
    let error = crate::control::sleep(Duration::from_secs(50)).unwrap_err();
    crate::control::stand_in::set_remaining(None);
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(host.slept()[0], Duration::from_secs(50));
}
