//! CSV with another delimiter than the comma, which the configuration does not say.

use std::fs;

use mindhost_sdk::scanner::{Filter, FilterOp, ScanRequest};
use mindhost_sdk::{DataType, Scanner, Value};
use proptest::prelude::*;

use super::text::{gzip, zstd};
use super::{Files, counting, open, read, table, types};

fn names(files: &mut Files) -> Vec<String> {
    let columns = files.columns(&table("t")).expect("columns");
    columns.into_iter().map(|column| column.name).collect()
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[test]
fn delimiter_is_the_one_that_first_line_and_rows_show() {
    for (content, expected) in [
        ("a;b;c\n1;x;2.5\n", vec!["a", "b", "c"]),
        ("a\tb\n1\tx\n", vec!["a", "b"]),
        ("a|b\n1|x\n", vec!["a", "b"]),
        ("a,b\n1,2\n", vec!["a", "b"]),
        // Decimal commas: the first line decides.
        ("a;b\n1,5;2,5\n", vec!["a", "b"]),
        ("a;b\n1,5;2,5\n3;4,5\n", vec!["a", "b"]),
        ("a,b;c\n1,2;3\n", vec!["a", "b;c"]),
        // Quotes.
        ("\"a,b\";c\n1;2\n", vec!["a,b", "c"]),
        ("a;\"b;c\"\n1;\"x;y\"\n", vec!["a", "b;c"]),
        ("\"a;b\"\n\"1;2\"\n", vec!["a;b"]),
        ("\"a\"\";\",b\n1,2\n", vec!["a\";", "b"]),
        ("\"a\nb\";c\n\"1,\n\";2\n", vec!["a\nb", "c"]),
        // One column.
        ("note\na;b\nc\n", vec!["note"]),
        ("note\n", vec!["note"]),
        ("a;b\n1;2\n3\n", vec!["a;b"]),
        ("a;b\n1;2;3\n", vec!["a;b"]),
        // Several delimiters.
        ("a;b|c\n1;2|3\n", vec!["a;b|c"]),
        ("a;b|c\n1;2|3\n1;2\n", vec!["a", "b|c"]),
        // Only a first line, and what may stand around it.
        ("a;b\n", vec!["a", "b"]),
        ("a;b", vec!["a", "b"]),
        ("\u{feff}\r\n\na;b\r\n1;2\r\n", vec!["a", "b"]),
        ("a;b\r1;2\r", vec!["a", "b"]),
        ("a;b;\n1;2;\n", vec!["a", "b", "column_3"]),
    ] {
        let (_folder, mut files) = open(&[("t.csv", content)], "");
        assert_eq!(names(&mut files), expected, "{content}");
    }
    for content in ["", "\n\n"] {
        let (_folder, mut files) = open(&[("t.csv", content)], "");
        let error = files.columns(&table("t")).unwrap_err();
        assert!(error.message().contains("the file is empty"), "{error}");
    }
}

#[test]
fn values_are_those_between_the_delimiters() {
    let content = "id;price;name\n1;2,50;\"a;b\"\n2;3,00;c\n";
    let compressed = [
        ("t.csv", content.as_bytes().to_vec()),
        ("g.csv.gz", gzip(content)),
        ("z.csv.zst", zstd(content)),
    ];
    let (_folder, mut files) = open(&compressed, "");
    for name in ["t", "g", "z"] {
        let columns = files.columns(&table(name)).expect("columns");
        let expected = [
            ("id", DataType::Int64),
            ("price", DataType::Text),
            ("name", DataType::Text),
        ];
        assert_eq!(types(&columns), expected, "{name}");
        let described = files.describe_tables(&[table(name)]).expect("a table");
        assert_eq!(described[0].columns.len(), 3, "{name}");
        let mut request = ScanRequest::new(table(name), &["name", "price"]);
        let rows = read(&mut files, &request).expect("rows");
        assert_eq!(rows[0], [text("a;b"), text("2,50")], "{name}");
        let second = Filter::new("id", FilterOp::Eq, vec![Value::Int64(2)]);
        request.filters = vec![second];
        let rows = read(&mut files, &counting(request)).expect("rows");
        assert_eq!(rows.len(), 1, "{name}");
    }
}

#[test]
fn delimiter_of_the_configuration_is_never_another_one() {
    let files = [("t.csv", "a;b\n1;2\n"), ("u.csv", "a;b\n1;2\n")];
    for more in [
        r#", "delimiter": ",""#,
        r#", "tables": {"t": {"glob": "t.csv", "delimiter": ","}}"#,
    ] {
        let (_folder, mut files) = open(&files, more);
        assert_eq!(names(&mut files), ["a;b"], "{more}");
    }
    let more = r#", "tables": {"t": {"glob": "t.csv", "format": "tsv"}}"#;
    let (_folder, mut files) = open(&files, more);
    assert_eq!(names(&mut files), ["a;b"]);
    assert_eq!(files.columns(&table("u")).expect("columns").len(), 2);
}

#[test]
fn first_of_several_files_decides() {
    let files = [("t/1.csv", "a;b\n1;2\n"), ("t/2.csv", "a;b\n3;4\n")];
    let (folder, mut files) = open(&files, "");
    let request = ScanRequest::new(table("t"), &["b"]);
    let rows = read(&mut files, &request).expect("rows");
    assert_eq!(rows, [[Value::Int64(2)], [Value::Int64(4)]]);
    // One of another delimiter has other columns.
    fs::write(folder.path().join("t/2.csv"), "a,b\n3,4\n").expect("a file");
    assert_eq!(names(&mut files), ["a", "b", "a,b"]);
    // A file that changes is looked at again.
    fs::write(folder.path().join("t/1.csv"), "a,b\n1,2\n").expect("a file");
    assert_eq!(names(&mut files), ["a", "b"]);
    let rows = read(&mut files, &request).expect("rows");
    assert_eq!(rows, [[Value::Int64(2)], [Value::Int64(4)]]);
}

#[test]
fn first_rows_are_at_least_some_where_none_decides_types() {
    let mixed = "a;b\n1;2\n3\n";
    for more in ["", r#", "types_from_rows": 0"#, r#", "types_from_rows": 1"#] {
        let (_folder, mut files) = open(&[("t.csv", mixed)], more);
        assert_eq!(names(&mut files), ["a;b"], "{more}");
    }
    // Rows behind them do not count.
    let late = format!("a;b\n{}3\n", "1;2\n".repeat(1_000));
    let (_folder, mut files) = open(&[("t.csv", &late)], "");
    assert_eq!(names(&mut files), ["a", "b"]);
    let error = read(&mut files, &ScanRequest::new(table("t"), &["a"])).unwrap_err();
    assert!(
        error.message().contains("line 1002 has 1 fields"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever stands in quotes, a file is read as if its delimiter were given.
    #[test]
    fn recognised_delimiter_is_the_one_of_the_file(
        delimiter in prop::sample::select(vec![',', ';', '\t', '|']),
        rows in (2usize..5).prop_flat_map(|width| {
            prop::collection::vec(prop::collection::vec("[a1;|\t,\"\n]{1,4}", width), 1..5)
        }),
    ) {
        let quoted = |field: &String| format!("\"{}\"", field.replace('"', "\"\""));
        let line = |row: &Vec<String>| {
            let fields: Vec<String> = row.iter().map(quoted).collect();
            fields.join(&delimiter.to_string())
        };
        let lines: Vec<String> = rows.iter().map(line).collect();
        let content = lines.join("\n");
        let given = format!(r#", "delimiter": "{}""#, delimiter.escape_default());
        let read_with = |more: &str| {
            let (_folder, mut files) = open(&[("t.csv", &content)], more);
            let names = names(&mut files);
            let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
            let rows = read(&mut files, &ScanRequest::new(table("t"), &wanted)).expect("rows");
            (names, rows)
        };
        prop_assert_eq!(read_with(""), read_with(&given));
    }
}
