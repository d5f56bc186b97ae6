//! Files as they come.

use std::fs;

use mindhost_sdk::scanner::{Filter, FilterOp, ScanRequest};
use mindhost_sdk::{
    BatchLimits, Column, Config, DataType, ErrorKind, Result, Scanner, TableRef, Value, testing,
};

use crate::Csv;

const LIMITS: BatchLimits = BatchLimits {
    max_rows: 3,
    max_bytes: 1 << 20,
};

fn open(files: &[(&str, &str)], more: &str) -> (tempfile::TempDir, Csv) {
    let folder = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    let path = folder.path().display();
    let config = Config::from_json(format!(r#"{{"path": "{path}"{more}}}"#));
    let csv = Csv::open(&config).expect("a source");
    (folder, csv)
}

fn table(name: &str) -> TableRef {
    TableRef::new("files", name)
}

fn types(columns: &[Column]) -> Vec<(&str, DataType)> {
    columns
        .iter()
        .map(|column| (column.name.as_str(), column.data_type))
        .collect()
}

fn read(csv: &mut Csv, request: &ScanRequest) -> Result<Vec<Vec<Value>>> {
    let mut scan = csv.scan(request)?;
    let columns = csv.schema(&mut scan)?;
    let mut rows = Vec::new();
    while let Some(batch) = csv.next(&mut scan, LIMITS)? {
        rows.extend(testing::rows(&batch, &columns)?);
    }
    Ok(rows)
}

#[test]
fn each_file_is_a_table() {
    let files = [
        ("b.csv", "x\n1\n"),
        ("a.CSV", "x\n1\n"),
        ("notes.txt", "no"),
    ];
    let (_folder, mut csv) = open(&files, "");
    assert_eq!(csv.tables(), Ok(vec![table("a"), table("b")]));
    for name in ["notes", "../b", "", "c"] {
        let error = csv.columns(&table(name)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{name}");
    }
}

#[test]
fn types_are_the_narrowest_that_the_first_lines_allow() {
    let text = "id,name,price,paid,day,at,zip,none\n\
                1,Ada,1.5,true,2024-02-29,2024-02-29T10:00:00Z,01234,\n\
                2,Bob,2,FALSE,2024-03-01,2024-02-29T10:00:00+01:00,99999,\n";
    let (_folder, mut csv) = open(&[("t.csv", text)], r#", "types": {"t.price": "decimal"}"#);
    let columns = csv.columns(&table("t")).expect("columns");
    assert_eq!(
        types(&columns),
        [
            ("id", DataType::Int64),
            ("name", DataType::Text),
            ("price", DataType::Decimal),
            ("paid", DataType::Boolean),
            ("day", DataType::Date),
            ("at", DataType::TimestampUtc),
            ("zip", DataType::Text),
            ("none", DataType::Text),
        ]
    );
}

#[test]
fn rows_are_projected_filtered_and_limited() {
    let text = "id,name\n1,a\n2,\n3,\"b,c\"\n4,d\n5,d\n";
    let (_folder, mut csv) = open(&[("t.csv", text)], "");
    let mut request = ScanRequest::new(table("t"), &["name", "id"]);
    let all = read(&mut csv, &request).expect("rows");
    assert_eq!(all.len(), 5);
    assert_eq!(all[1], [Value::Null, Value::Int64(2)]);
    assert_eq!(all[2], [Value::Text("b,c".into()), Value::Int64(3)]);

    request.filters = vec![Filter::new("id", FilterOp::Gt, vec![Value::Int64(2)])];
    request.limit = Some(2);
    let some = read(&mut csv, &request).expect("rows");
    assert_eq!(
        some.iter().map(|row| row[1].clone()).collect::<Vec<_>>(),
        [Value::Int64(3), Value::Int64(4)]
    );
}

#[test]
fn a_line_that_does_not_fit_is_named() {
    let (_folder, mut csv) = open(&[("t.csv", "id\n1\nx\n")], r#", "types_from_rows": 1"#);
    let error = read(&mut csv, &ScanRequest::new(table("t"), &["id"])).unwrap_err();
    assert!(
        error
            .message()
            .starts_with("line 3 of `t.csv`: the field `id` is not of the type int64"),
        "{error}"
    );

    let (_folder, mut csv) = open(&[("t.csv", "a,b\n1,2\n1\n")], r#", "types_from_rows": 1"#);
    let error = read(&mut csv, &ScanRequest::new(table("t"), &["a"])).unwrap_err();
    assert!(error.message().contains("line: 3"), "{error}");
}

#[test]
fn columns_follow_a_file_that_changes() {
    let (folder, mut csv) = open(&[("t.csv", "id\n1\n")], "");
    assert_eq!(
        types(&csv.columns(&table("t")).expect("columns")),
        [("id", DataType::Int64)]
    );
    fs::write(folder.path().join("t.csv"), "id,id\nx,1\n").expect("a file");
    let columns = csv.columns(&table("t")).expect("columns");
    assert_eq!(
        types(&columns),
        [("id", DataType::Text), ("id_2", DataType::Int64)]
    );
}

#[test]
fn a_wrong_configuration_says_which_field() {
    let config = Config::from_json(r#"{"path": "x", "types": {"a.b": "varchar"}}"#);
    let error = Csv::open(&config).err().expect("an error");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    assert!(error.message().contains("types"), "{error}");
}
