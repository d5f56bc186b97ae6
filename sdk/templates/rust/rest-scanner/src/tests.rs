//! Unit tests without a server: `cargo test`. What the API answers is in fixtures.json; to record it again:
//!
//! ```text
//! python3 server.py env API={url} RECORD_HTTP=1 cargo test
//! ```

use std::time::Duration;

use mindhost_sdk::http::Response;
use mindhost_sdk::testing::{Fixtures, StandIn, open_scanner, stand_in};

use super::*;

const URL: &str = "http://shop.test";

fn fixtures() -> StandIn {
    let fixtures = Fixtures::in_file(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures.json"))
        // What the host adds on a server: it is never written into the fixtures.
        .header("authorization", "Bearer open sesame");
    match std::env::var("API") {
        Ok(real) => fixtures.server(URL, real).replay().unwrap(),
        Err(_) => fixtures.replay().unwrap(),
    }
}

/// All rows of a scan.
fn scan(request: &ScanRequest) -> Result<Vec<Vec<Value>>> {
    open_scanner::<Shop>(r#"{"url": "http://shop.test"}"#)?.scan(request)
}

fn orders(columns: &[&str]) -> ScanRequest {
    ScanRequest::new(TableRef::new(SCHEMA, "orders"), columns)
}

/// One test, since recording writes one file.
#[test]
fn pages_are_read_one_after_another_and_asked_for_again_where_the_api_is_busy() {
    let _http = fixtures();
    let all = scan(&orders(&["id", "customer_id", "status", "total"])).unwrap();
    assert_eq!(all.len(), 60);
    assert_eq!(
        all.last().unwrap().as_slice(),
        [
            Value::Int64(1059),
            Value::Int64(24),
            Value::Text("cancelled".into()),
            Value::Decimal("183.67".into()),
        ]
    );
    let customers = ScanRequest::new(TableRef::new(SCHEMA, "customers"), &["id"]);
    assert_eq!(scan(&customers).unwrap().len(), 30);

    let mut cancelled = orders(&["id"]);
    let is_cancelled = vec![Value::Text("cancelled".into())];
    cancelled.filters = vec![Filter::new("status", FilterOp::Eq, is_cancelled)];
    cancelled.limit = Some(3);
    let ids = [[1003], [1007], [1011]].map(|row| row.map(Value::Int64));
    assert_eq!(scan(&cancelled).unwrap(), ids);
    let is_paid = vec![Value::Text("paid".into())];
    let is_paid = Filter::new("status", FilterOp::Eq, is_paid);
    cancelled.filters.push(is_paid);
    assert!(scan(&cancelled).unwrap().is_empty());
}

/// What no recording has: an API that is busy for long. No test waits for it.
#[test]
fn api_that_stays_busy_is_an_error_after_the_waits_that_it_asked_for() {
    let http =
        stand_in(|_| Ok(Response::scripted(429, Vec::new()).with_header("retry-after", "20")));
    let error = scan(&orders(&["id"])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(http.slept(), [Duration::from_secs(20); RETRIES as usize]);
}

#[test]
fn a_table_that_is_not_there_is_an_error_that_names_it() {
    let error = columns(&TableRef::new(SCHEMA, "refunds")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.to_string(), "there is no table refunds");
}
