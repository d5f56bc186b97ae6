//! Text in other forms: JSON lines, compressed, and of many files.

use std::io::Write as _;

use mindhost_sdk::scanner::{Filter, FilterOp, ScanRequest};
use mindhost_sdk::{DataType, ErrorKind, Scanner, Value};

use super::{open, read, table, types};

fn gzip(text: &str) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(text.as_bytes()).expect("gzip");
    writer.finish().expect("gzip")
}

fn zstd(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 1).expect("zstd")
}

#[test]
fn json_lines_have_types_of_their_own() {
    let text = r#"{"id": 1, "at": "2024-02-29", "zip": "01234", "tags": ["a"], "x": 1.5, "ok": true}
{"id": 12345678901234567890, "zip": "", "tags": null, "x": 2, "later": {"a": 1}, "ok": false}

"#;
    let (_folder, mut files) = open(&[("t.jsonl", text)], "");
    let columns = files.columns(&table("t")).expect("columns");
    let expected = [
        ("id", DataType::Decimal),
        ("at", DataType::Date),
        ("zip", DataType::Text),
        ("tags", DataType::Json),
        ("x", DataType::Float64),
        ("ok", DataType::Boolean),
        ("later", DataType::Json),
    ];
    assert_eq!(types(&columns), expected);
    let request = ScanRequest::new(table("t"), &["id", "zip", "tags", "later"]);
    let rows = read(&mut files, &request).expect("rows");
    let decimal = |text: &str| Value::Decimal(text.into());
    assert_eq!(
        rows,
        [
            [
                decimal("1"),
                Value::Text("01234".into()),
                Value::Json(r#"["a"]"#.into()),
                Value::Null
            ],
            [
                decimal("12345678901234567890"),
                Value::Text(String::new()),
                Value::Null,
                Value::Json(r#"{"a": 1}"#.into())
            ],
        ]
    );
}

#[test]
fn a_json_line_that_is_none_is_named() {
    for (line, what) in [
        ("[1]", "line 2 of `t.jsonl`"),
        ("{\"a\": 1", "line 2 of `t.jsonl`"),
        ("{\"a\": \"x\"}", "`a`"),
    ] {
        let text = format!("{{\"a\": 1}}\n{line}\n");
        let (_folder, mut files) = open(&[("t.jsonl", &text)], r#", "types_from_rows": 1"#);
        let error = read(&mut files, &ScanRequest::new(table("t"), &["a"])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream);
        assert!(error.message().contains(what), "{error}");
        assert!(error.message().contains("line 2"), "{error}");
    }
}

#[test]
fn json_lines_have_names_where_no_row_decides_their_types() {
    let text = "{\"a\": 1, \"b\": [true]}\n{\"late\": \"x\"}\n";
    let (_folder, mut files) = open(&[("t.jsonl", text)], r#", "types_from_rows": 0"#);
    let columns = files.columns(&table("t")).expect("columns");
    let expected = ["a", "b", "late"].map(|name| (name, DataType::Text));
    assert_eq!(types(&columns), expected);
    let request = ScanRequest::new(table("t"), &["b", "a", "late"]);
    let text = |text: &str| Value::Text(text.to_owned());
    assert_eq!(
        read(&mut files, &request).expect("rows"),
        [
            [text("[true]"), text("1"), Value::Null],
            [Value::Null, Value::Null, text("x")]
        ]
    );
}

#[test]
fn a_table_without_a_column_is_an_error_that_names_its_file() {
    for content in ["", "\n\n", "{}\n{}\n"] {
        for rows in [0, 10] {
            let more = format!(r#", "types_from_rows": {rows}"#);
            let (_folder, mut files) = open(&[("t.jsonl", content)], &more);
            let error = files.columns(&table("t")).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Upstream);
            assert!(error.message().contains("no row in `t.jsonl`"), "{error}");
        }
    }
}

/// The look at a file ends within a line, which is no error.
#[test]
fn lines_of_json_that_end_as_on_windows_are_sampled() {
    for end in ["\n", "\r\n"] {
        let text = format!("{{\"a\": \"{}\"}}{end}", "x".repeat(1_000)).repeat(9_000);
        assert!(text.len() > 8 << 20);
        let (_folder, mut files) = open(&[("t.jsonl", &text)], r#", "types_from_rows": 100000"#);
        let columns = files.columns(&table("t")).expect("columns");
        assert_eq!(types(&columns), [("a", DataType::Text)]);
    }
}

#[test]
fn compressed_files_are_read_as_plain_ones() {
    let text = "a\tb\n1\tx\n2\ty\n";
    let files = [
        ("g.tsv.gz", gzip(text)),
        ("z.tsv.zst", zstd(text)),
        ("p.tsv", text.as_bytes().to_vec()),
    ];
    let (_folder, mut files) = open(&files, "");
    let rows = |name: &str, files: &mut _| {
        read(files, &ScanRequest::new(table(name), &["b", "a"])).expect("rows")
    };
    let plain = rows("p", &mut files);
    assert_eq!(plain[1], [Value::Text("y".into()), Value::Int64(2)]);
    assert_eq!(rows("g", &mut files), plain);
    assert_eq!(rows("z", &mut files), plain);
}

#[test]
fn a_directory_is_one_table_with_the_columns_that_its_names_say() {
    let files = [
        ("sales/year=2023/a.csv", "id,note\n1,x\n"),
        ("sales/year=2024/b.csv", "id,more\n2,true\n"),
        ("sales/year=2024/c.csv", "id\n3\n"),
        ("sales/year=2024/_SUCCESS", ""),
        ("mixed/a.csv", "id\n1\n"),
        ("mixed/b.jsonl", "{}\n"),
    ];
    let (_folder, mut files) = open(&files, "");
    assert_eq!(files.tables(), Ok(vec![table("sales")]));
    let columns = files.columns(&table("sales")).expect("columns");
    let expected = [
        ("id", DataType::Int64),
        ("note", DataType::Text),
        ("more", DataType::Boolean),
        ("year", DataType::Int64),
    ];
    assert_eq!(types(&columns), expected);
    let mut request = ScanRequest::new(table("sales"), &["year", "id", "note"]);
    assert_eq!(read(&mut files, &request).expect("rows").len(), 3);
    request.filters = vec![Filter::new("year", FilterOp::Gt, vec![Value::Int64(2023)])];
    let later = read(&mut files, &request).expect("rows");
    assert_eq!(later[0], [Value::Int64(2024), Value::Int64(2), Value::Null]);
    assert_eq!(later.len(), 2);
}

#[test]
fn files_of_other_partitions_are_not_opened() {
    let files = [
        ("t/k=1/a.csv", "id\n1\n"),
        ("t/k=2/b.csv", "id\nno number, and two fields\n"),
    ];
    let (_folder, mut files) = open(
        &files,
        r#", "types": {"t.id": "int64"}, "types_from_rows": 0"#,
    );
    let mut request = ScanRequest::new(table("t"), &["id"]);
    assert!(read(&mut files, &request).is_err());
    request.filters = vec![Filter::new("k", FilterOp::Eq, vec![Value::Int64(1)])];
    assert_eq!(
        read(&mut files, &request).expect("rows"),
        [[Value::Int64(1)]]
    );
}

#[test]
fn a_pattern_makes_a_table() {
    let files = [
        ("a-1.csv", "x;y\n1;2\n"),
        ("a-2.csv", "x;y\n3;4\n"),
        ("other.csv", "z\n1\n"),
        ("deep/er/data.txt", "{\"q\": 1}\n"),
    ];
    let more = r#", "tables": {"a": {"glob": "a-*.csv", "delimiter": ";"},
                               "d": {"glob": "deep/**/*.txt", "format": "jsonl"}}"#;
    let (_folder, mut files) = open(&files, more);
    assert_eq!(files.tables(), Ok(["a", "d", "other"].map(table).to_vec()));
    let rows = read(&mut files, &ScanRequest::new(table("a"), &["y"])).expect("rows");
    assert_eq!(rows, [[Value::Int64(2)], [Value::Int64(4)]]);
    assert_eq!(
        types(&files.columns(&table("d")).expect("columns")),
        [("q", DataType::Int64)]
    );

    let (_folder, mut files) = open(
        &[("a.csv", "x\n1\n")],
        r#", "tables": {"t": {"glob": "***"}}"#,
    );
    let error = files.tables().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    assert!(error.message().contains("tables.t"), "{error}");
}

#[test]
fn a_row_without_an_end_is_an_error() {
    let endless = format!("a\n\"{}", "x".repeat(70 << 20));
    let (_folder, mut files) = open(&[("t.csv.gz", gzip(&endless))], r#", "types_from_rows": 0"#);
    let error = read(&mut files, &ScanRequest::new(table("t"), &["a"])).unwrap_err();
    assert!(error.message().contains("more than 64 MiB"), "{error}");
}

#[test]
fn a_row_that_is_too_long_says_where_its_quote_opened() {
    let endless = format!("a,b\n\n1,2\n3,\"{}", "x\n".repeat(35 << 20));
    let (_folder, mut files) = open(&[("t.csv.gz", gzip(&endless))], r#", "types_from_rows": 0"#);
    let error = read(&mut files, &ScanRequest::new(table("t"), &["a"])).unwrap_err();
    let expected = "a row has more than 64 MiB; a quote is open since line 4";
    assert!(error.message().contains(expected), "{error}");
}

#[test]
fn broken_gzip_is_explained() {
    let whole = gzip("a\n1\n");
    let garbage = [whole.as_slice(), b"and so on, for more than a header"].concat();
    let short = [whole.as_slice(), b"x"].concat();
    let cut = whole.get(..whole.len() - 4).expect("a start").to_vec();
    let plain = b"a\n1\n1234567890\n".to_vec();
    for (content, what) in [
        (garbage, "behind its gzip data are other bytes"),
        (short, "behind its gzip data are other bytes"),
        (cut, "its gzip data end too early"),
        (plain, "it is not gzip"),
        (Vec::new(), "it is not gzip"),
    ] {
        let (_folder, mut files) = open(&[("t.csv.gz", content)], "");
        let error = read(&mut files, &ScanRequest::new(table("t"), &["a"])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream, "{error}");
        assert!(error.message().contains(what), "{error}");
        assert!(error.message().contains("`t.csv.gz`"), "{error}");
    }
    let (_folder, mut files) = open(&[("t.csv.gz", [gzip("a\n1\n"), gzip("2\n")].concat())], "");
    let rows = read(&mut files, &ScanRequest::new(table("t"), &["a"])).expect("rows");
    assert_eq!(rows, [[Value::Int64(1)], [Value::Int64(2)]]);
}
