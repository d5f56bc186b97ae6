//! Text in other forms: JSON lines, compressed, and of many files.

use std::fs;
use std::io::Write as _;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use mindhost_sdk::scanner::{Filter, FilterOp, ScanRequest};
use mindhost_sdk::{DataType, ErrorKind, Scanner, Value};

use super::{LIMITS, columnar::stream_of, open, read, table, types};

pub fn gzip(text: &str) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(text.as_bytes()).expect("gzip");
    writer.finish().expect("gzip")
}

pub fn zstd(text: &str) -> Vec<u8> {
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

/// A value behind the first rows is what it would be among them, or an error; `types` take it as it is.
#[test]
fn later_values_are_read_by_the_rules_of_the_first_ones() {
    for (ending, first, later, given) in [
        ("csv", "10000", "01234", "int64"),
        ("csv", "1", "+55", "int64"),
        ("csv", "1.5", "9007199254740993", "float64"),
        ("csv", "1.5", "007", "float64"),
        ("csv", "9223372036854775808", "1e3", "decimal"),
        ("jsonl", "1", "\"00042\"", "int64"),
        ("jsonl", "true", "\"true\"", "boolean"),
        ("jsonl", "1.5", "\"nan\"", "float64"),
    ] {
        let name = format!("t.{ending}");
        let (text, line) = match ending {
            "csv" => (format!("x,n\n{first},1\n{later},2\n"), 3),
            _ => (format!("{{\"x\": {first}}}\n{{\"x\": {later}}}\n"), 2),
        };
        let content = [(name.as_str(), text.as_str())];
        let request = ScanRequest::new(table("t"), &["x"]);
        let (_folder, mut files) = open(&content, r#", "types_from_rows": 1"#);
        let error = read(&mut files, &request).unwrap_err();
        let expected = format!("line {line} of `{name}`: the field `x` is not of the type {given}");
        assert!(error.message().starts_with(&expected), "{later}: {error}");
        let types = format!(r#", "types": {{"t.x": "{given}"}}"#);
        let (_folder, mut files) = open(&content, &types);
        assert_eq!(read(&mut files, &request).expect(later).len(), 2);
    }
}

#[test]
fn values_of_files_outside_of_the_sample_are_read_by_its_rules() {
    let names: Vec<String> = (0..40).map(|number| format!("t/{number:02}.csv")).collect();
    let files: Vec<(&str, &str)> = names
        .iter()
        .map(|name| match name.as_str() {
            "t/01.csv" => (name.as_str(), "zip\n00501\n"),
            name => (name, "zip\n10001\n"),
        })
        .collect();
    let (_folder, mut files) = open(&files, "");
    let error = read(&mut files, &ScanRequest::new(table("t"), &["zip"])).unwrap_err();
    assert!(
        error.message().starts_with("line 2 of `t/01.csv`"),
        "{error}"
    );
}

#[test]
fn empty_partition_is_a_text_and_one_that_is_not_utf_8_an_error() {
    let files = [
        ("t/k=/a.csv", "id\n1\n"),
        ("t/k=2/b.csv", "id\n2\n"),
        ("u/k=%FF/a.csv", "id\n1\n"),
    ];
    let (_folder, mut files) = open(&files, "");
    let request = ScanRequest::new(table("t"), &["id", "k"]);
    let text = |text: &str| Value::Text(text.to_owned());
    assert_eq!(
        read(&mut files, &request).expect("rows"),
        [[Value::Int64(1), text("")], [Value::Int64(2), text("2")]]
    );
    let error = files.columns(&table("u")).unwrap_err();
    assert!(error.message().contains("`u/k=%FF/a.csv`"), "{error}");
}

#[test]
fn no_file_vanishes_behind_the_name_of_another() {
    let files = [
        ("x.csv", "a\n1\n"),
        ("x.jsonl", "{\"b\": 1}\n"),
        ("x.jsonl.csv", "c\n1\n"),
        ("sales.csv", "d\n1\n"),
        ("sales-1.csv", "e\n1\n"),
    ];
    let more = r#", "tables": {"sales": {"glob": "sales-*.csv"}}"#;
    let (_folder, mut files) = open(&files, more);
    let tables = [
        ("sales", "e"),
        ("sales.csv", "d"),
        ("x", "a"),
        ("x.jsonl", "c"),
        ("x.jsonl_2", "b"),
    ];
    assert_eq!(
        files.tables(),
        Ok(tables.map(|(name, _)| table(name)).to_vec())
    );
    for (name, column) in tables {
        let columns = files.columns(&table(name)).expect(name);
        assert_eq!(columns[0].name, column, "{name}");
    }
}

#[test]
fn only_the_last_of_equal_members_counts() {
    let members = "\"a\": \"x\", ".repeat(1_000);
    let text = format!("{{{members}\"b\": [1], \"a\": \"y\"}}\n{{{members}\"b\": }}\n");
    let (_folder, mut files) = open(&[("t.jsonl", &text)], r#", "types_from_rows": 1"#);
    let mut request = ScanRequest::new(table("t"), &["a"]);
    let error = read(&mut files, &request).unwrap_err();
    assert!(
        error
            .message()
            .starts_with("line 2 of `t.jsonl`: is not one JSON object")
    );
    request.limit = Some(1);
    let rows = read(&mut files, &request).expect("rows");
    assert_eq!(rows, [[Value::Text("y".into())]]);
}

/// Its columns may be others than those that the statement was planned with.
#[test]
fn file_that_is_replaced_during_a_scan_is_an_error() {
    let ints = |count| -> ArrayRef { Arc::new(Int64Array::from(vec![1; count])) };
    let text = "a\n1\n1\n1\n".to_owned().into_bytes();
    let files = [
        ("t/1.csv", text.clone()),
        ("t/2.csv", text),
        ("u/1.arrows", stream_of("a", ints(3))),
        ("u/2.arrows", stream_of("a", ints(3))),
    ];
    let (folder, mut files) = open(&files, "");
    for (name, second, other) in [
        ("t", "t/2.csv", b"b\n1\n".to_vec()),
        ("t", "t/2.csv", b"b\n1\n1\n1\n1\n1\n".to_vec()),
        ("u", "u/2.arrows", stream_of("b", ints(900))),
    ] {
        let request = ScanRequest::new(table(name), &["a"]);
        let mut scan = files.scan(&request).expect("a scan");
        files.next(&mut scan, LIMITS).expect("rows").expect("rows");
        fs::write(folder.path().join(second), other).expect("a file");
        let error = files.next(&mut scan, LIMITS).expect_err("an error");
        let expected = format!("`{second}` was changed");
        assert!(error.message().starts_with(&expected), "{error}");
    }
}

#[test]
fn file_that_never_had_a_column_and_grows_during_a_scan_still_has_null() {
    let (folder, mut files) = open(&[("t/1.csv", "a,b\n1,2\n"), ("t/2.csv", "a\n3\n")], "");
    let request = ScanRequest::new(table("t"), &["a", "b"]);
    let int = Value::Int64;
    let mut expected = vec![vec![int(1), int(2)], vec![int(3), Value::Null]];
    assert_eq!(read(&mut files, &request).expect("rows"), expected);
    fs::write(folder.path().join("t/2.csv"), "a\n3\n4\n").expect("a file");
    expected.push(vec![int(4), Value::Null]);
    assert_eq!(read(&mut files, &request).expect("rows"), expected);
}

/// As `cp new.csv t.csv` does it: the same file has other lines from one moment to the next.
#[test]
fn a_file_that_is_written_anew_while_it_is_read_is_an_error() {
    let lines = |word: &str, count: usize| format!("a\n{}", format!("{word}\n").repeat(count));
    // More than is read ahead.
    let old = lines("old", 400_000);
    for (new, is_kept) in [
        (lines("new", 400_000), false),
        (lines("old", 10), false),
        (lines("old", 500_000), true),
    ] {
        let (folder, mut files) = open(&[("t.csv", &old)], "");
        let mut scan = files
            .scan(&ScanRequest::new(table("t"), &["a"]))
            .expect("a scan");
        files.next(&mut scan, LIMITS).expect("the first rows");
        fs::write(folder.path().join("t.csv"), new).expect("a file");
        let read = loop {
            match files.next(&mut scan, LIMITS) {
                Ok(Some(_)) => {}
                Ok(None) => break true,
                Err(error) => {
                    assert!(error.message().contains("was changed"), "{error}");
                    break false;
                }
            }
        };
        assert_eq!(read, is_kept);
    }
}
