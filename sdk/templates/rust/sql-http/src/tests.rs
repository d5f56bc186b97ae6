//! Unit tests without a server: `cargo test`. What the engine answers is in fixtures.json; to record it again:
//!
//! ```text
//! python3 server.py env ENGINE={url} RECORD_HTTP=1 cargo test
//! ```

use mindhost_sdk::Value;
use mindhost_sdk::testing::{Fixtures, StandIn, open_connector};

use super::*;

const URL: &str = "http://engine.test";

fn fixtures() -> StandIn {
    let fixtures = Fixtures::in_file(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures.json"))
        // What the host adds on a server: it is never written into the fixtures.
        .header("authorization", "Bearer open sesame");
    match std::env::var("ENGINE") {
        Ok(real) => fixtures.server(URL, real).replay().unwrap(),
        Err(_) => fixtures.replay().unwrap(),
    }
}

/// The names of the columns and all rows of a statement.
fn query(text: &str) -> Result<(Vec<String>, Vec<Vec<Value>>)> {
    let engine = open_connector::<Engine>(r#"{"url": "http://engine.test"}"#)?;
    let (columns, rows) = engine.query(&Statement::new(text))?;
    let names = columns.into_iter().map(|column| column.name).collect();
    Ok((names, rows))
}

/// One test, since recording writes one file.
#[test]
fn statements_give_rows_or_the_words_of_the_engine() {
    let _http = fixtures();
    let (columns, rows) = query("select name, gravity from planets order by name limit 2").unwrap();
    assert_eq!(columns, ["name", "gravity"]);
    assert_eq!(
        rows,
        [
            [Value::Text("Earth".into()), Value::Float64(9.8)],
            [Value::Text("Jupiter".into()), Value::Float64(23.1)],
        ]
    );
    let refused = query("select name from nowhere").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidStatement);
    assert_eq!(refused.to_string(), "no such table: nowhere (400)");
}
