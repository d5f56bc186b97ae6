//! Files of other writers, DuckDB, pyarrow and Polars: `fixture/make.py` wrote them, but for
//! one of Apache's collection.

use mindhost_sdk::scanner::ScanRequest;
use mindhost_sdk::{Config, Scanner, TableRef, Value};

use super::{Files, read, table};

fn fixtures() -> Files {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixture");
    Files::open(&Config::from_json(format!(r#"{{"path": "{path}"}}"#))).expect("a source")
}

fn all(files: &mut Files, table: &TableRef) -> Vec<Vec<Value>> {
    let columns = files.columns(table).expect("columns");
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    read(files, &ScanRequest::new(table.clone(), &names)).expect("rows")
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

#[test]
fn every_codec_of_duckdb_gives_the_same_rows() {
    let mut files = fixtures();
    let plain = all(&mut files, &table("duckdb_uncompressed"));
    assert_eq!(plain.len(), 50);
    let json = |text: &str| Value::Json(text.into());
    assert_eq!(
        plain[5],
        [
            Value::Int64(5),
            text("name 2"),
            Value::Decimal("6.25".into()),
            Value::Date(19_728),
            Value::Timestamp(1_704_067_205_000_000),
            Value::TimestampUtc(1_704_067_200_000_000),
            Value::Null,
            Value::Uint64(u64::MAX - 5),
            json("[5,6]"),
            json(r#"{"a":5}"#),
            json(r#"{"k":5}"#),
            text("00000000-0000-0000-0000-000000000001"),
            json(r#"{"j": 1}"#),
            text("P0M5DT0.000000000S"),
        ]
    );
    for name in [
        "duckdb_snappy",
        "duckdb_zstd",
        "duckdb_gzip",
        "duckdb_lz4_raw",
        "duckdb_v2",
    ] {
        assert_eq!(all(&mut files, &table(name)), plain, "{name}");
    }
}

#[test]
fn what_pyarrow_writes_is_read_with_its_types() {
    let mut files = fixtures();
    let expected = [
        vec![
            Value::Int64(1),
            text("x"),
            Value::Decimal("1.10".into()),
            text("1.10"),
            Value::Timestamp(1),
            Value::Date(-1),
            Value::Json(r#"{"a":1,"b":[1,null]}"#.into()),
            Value::Null,
            Value::Bytes(b"ab".to_vec()),
        ],
        vec![
            Value::Null,
            text("y"),
            Value::Null,
            Value::Null,
            Value::Timestamp(1),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Bytes(b"cd".to_vec()),
        ],
        vec![
            Value::Int64(-3),
            text("x"),
            Value::Decimal("-12345.67".into()),
            text("-12345.67"),
            Value::Null,
            Value::Date(19_782),
            Value::Json(r#"{"a":3,"b":[]}"#.into()),
            Value::Null,
            Value::Null,
        ],
    ];
    for name in [
        "pyarrow_int96",
        "pyarrow_zstd",
        "pyarrow_lz4",
        "pyarrow_uncompressed",
    ] {
        assert_eq!(all(&mut files, &table(name)), expected, "{name}");
    }
}

#[test]
fn a_codec_that_is_not_read_is_named() {
    let mut files = fixtures();
    let request = ScanRequest::new(table("pyarrow_brotli"), &["small"]);
    let error = read(&mut files, &request).unwrap_err();
    assert!(
        error.message().contains("`pyarrow_brotli.parquet`"),
        "{error}"
    );
    assert!(error.message().contains("BROTLI"), "{error}");
}

/// Polars puts the schema into the footer alone.
#[test]
fn what_polars_writes_is_read_with_its_types() {
    let mut files = fixtures();
    let json = |text: &str| Value::Json(text.into());
    let expected = [
        vec![Value::Int64(1), text("x"), text("a"), json("[1,2]")],
        vec![
            Value::Null,
            text("a text of more than twelve bytes"),
            text("b"),
            Value::Null,
        ],
        vec![Value::Int64(3), Value::Null, text("a"), json("[]")],
    ];
    for name in [
        "polars_uncompressed",
        "polars_zstd",
        "polars_stream",
        "polars_1_17_uncompressed",
        "polars_1_17_zstd",
        "polars_1_17_stream",
    ] {
        assert_eq!(all(&mut files, &table(name)), expected, "{name}");
    }
}

/// Its writer did not count the headers of dictionaries in the lengths of columns.
#[test]
fn column_that_is_longer_than_the_footer_says_is_read() {
    let mut files = fixtures();
    let rows = all(&mut files, &table("nation.dict-malformed"));
    assert_eq!(rows.len(), 25);
    let bytes = |text: &str| Value::Bytes(text.as_bytes().to_vec());
    let first = [
        Value::Int64(0),
        bytes("ALGERIA"),
        Value::Int64(0),
        bytes(" haggle. carefully final deposits detect slyly agai"),
    ];
    assert_eq!(rows[0], first);
    assert_eq!(rows[24][..2], [Value::Int64(24), bytes("UNITED STATES")]);
}
