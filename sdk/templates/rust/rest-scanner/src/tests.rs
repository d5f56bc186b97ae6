//! Unit tests without a server: `cargo test`. What the API answers is in fixtures.json; to record it again:
//!
//! ```text
//! python3 server.py env API={url} RECORD_HTTP=1 cargo test
//! ```

use mindhost_sdk::testing::{Fixtures, Replay, rows};

use super::*;

const URL: &str = "http://shop.test";

fn fixtures() -> Replay {
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
    let mut shop = Shop::open(&Config::from_json(r#"{"url": "http://shop.test"}"#))?;
    let mut scan = shop.scan(request)?;
    let columns = shop.schema(&mut scan)?;
    let limits = BatchLimits {
        max_rows: 100,
        max_bytes: 1 << 20,
    };
    let mut all = Vec::new();
    while let Some(batch) = shop.next(&mut scan, limits)? {
        all.extend(rows(&batch, &columns)?);
    }
    Ok(all)
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

#[test]
fn a_table_that_is_not_there_is_an_error_that_names_it() {
    let error = columns(&TableRef::new(SCHEMA, "refunds")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.to_string(), "there is no table refunds");
}
