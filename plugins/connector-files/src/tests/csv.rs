//! CSV, as before other formats were read.

use std::fs;

use mindhost_sdk::scanner::{Filter, FilterOp, ScanRequest};
use mindhost_sdk::{BatchLimits, Config, DataType, ErrorKind, Scanner, Value, testing};

use proptest::prelude::*;

use super::{Files, counting, open, read, table, types};

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
fn a_count_converts_no_value() {
    let text = "id,name\n1,a\nx,b\n\"\",b\n";
    let jsonl =
        "{\"id\": 1, \"name\": \"a\"}\n{\"id\": \"x\", \"name\": \"b\"}\n{\"name\": \"b\"}\n";
    let files = [("t.csv", text), ("j.jsonl", jsonl)];
    let (_folder, mut files) = open(&files, r#", "types_from_rows": 1"#);
    for name in ["t", "j"] {
        let request = ScanRequest::new(table(name), &["id"]);
        let error = read(&mut files, &request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream, "{name}: {error}");
        let mut request = counting(request);
        let null = [Value::Null];
        assert_eq!(read(&mut files, &request).expect(name), [&null; 3]);
        request.filters = vec![Filter::new(
            "name",
            FilterOp::Eq,
            vec![Value::Text("b".into())],
        )];
        assert_eq!(read(&mut files, &request).expect(name), [&null; 2]);
        request.limit = Some(1);
        assert_eq!(read(&mut files, &request).expect(name), [&null]);
    }
    // What a filter compares is converted.
    let mut request = counting(ScanRequest::new(table("t"), &["id"]));
    request.filters = vec![Filter::new("id", FilterOp::Gt, vec![Value::Int64(0)])];
    let error = read(&mut files, &request).unwrap_err();
    assert!(error.message().contains("line 3"), "{error}");
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
    assert!(error.message().contains("`t.csv`"), "{error}");
    assert!(error.message().contains("line 3 has 1 fields"), "{error}");
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
    let error = Files::open(&config).err().expect("an error");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    assert!(error.message().contains("types"), "{error}");
}

#[test]
fn no_digit_is_lost() {
    let text = "id,mixed,huge,n,wide\n12345678901234567890,1.5,1e400,1,9007199254740993\n\
                12345678901234567891,12345678901234567890,2,2.5,NaN\n";
    let (_folder, mut csv) = open(&[("t.csv", text)], "");
    let columns = csv.columns(&table("t")).expect("columns");
    assert_eq!(
        types(&columns),
        [
            ("id", DataType::Decimal),
            ("mixed", DataType::Text),
            ("huge", DataType::Text),
            ("n", DataType::Float64),
            ("wide", DataType::Text)
        ]
    );
    let native: Vec<&str> = columns.iter().map(|one| one.native_type.as_str()).collect();
    // As `describe_tables` names them.
    assert_eq!(native, ["decimal(38,0)", "text", "text", "float64", "text"]);
    let rows = read(&mut csv, &ScanRequest::new(table("t"), &["id"])).expect("rows");
    assert_eq!(rows[1], [Value::Decimal("12345678901234567891".into())]);
}

#[test]
fn a_decimal_has_room_for_what_the_first_lines_show_and_a_later_one_is_named() {
    let text = "d\n0.12345678901\n1\n";
    let (_folder, mut csv) = open(&[("t.csv", text)], r#", "types": {"t.d": "decimal"}"#);
    assert_eq!(
        csv.columns(&table("t")).expect("columns")[0].native_type,
        "decimal(38,11)"
    );
    let request = ScanRequest::new(table("t"), &["d"]);
    assert_eq!(read(&mut csv, &request).expect("rows").len(), 2);

    let more = r#", "types": {"t.d": "decimal"}, "types_from_rows": 0"#;
    let (_folder, mut csv) = open(&[("t.csv", "d\n1.0\n0.12345678901\n")], more);
    let error = read(&mut csv, &request).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream);
    let expected = "line 3 of `t.csv`: the field `d` is not of the type decimal(38,10)";
    assert!(error.message().starts_with(expected), "{error}");
}

#[test]
fn endings_are_read_in_any_case() {
    let files = [
        ("x.Csv", "a\n1\n"),
        ("both.csv", "b\n1\n"),
        ("both.CSV", "c\n1\n"),
    ];
    let (_folder, mut csv) = open(&files, "");
    let tables = ["both", "both.CSV", "x"];
    assert_eq!(csv.tables(), Ok(tables.map(table).to_vec()));
    for (name, column) in tables.into_iter().zip(["b", "c", "a"]) {
        assert_eq!(
            csv.columns(&table(name)).expect(name)[0].name,
            column,
            "{name}"
        );
    }
}

#[test]
fn a_field_may_be_longer_than_what_is_looked_at() {
    let long = format!("a,b\n1,2\n3,\"{}\"\n", "line\n".repeat(2 << 20));
    let (_folder, mut csv) = open(&[("t.csv", &long)], "");
    assert_eq!(
        types(&csv.columns(&table("t")).expect("columns")),
        [("a", DataType::Int64), ("b", DataType::Int64)]
    );
    let rows = read(&mut csv, &ScanRequest::new(table("t"), &["a"])).expect("rows");
    assert_eq!(rows.len(), 2);
}

#[test]
fn equal_names_are_numbered_in_no_time() {
    let header = |count| format!("{}\n", vec!["x"; count].join(","));
    let (_folder, mut csv) = open(&[("t.csv", &header(4_096)), ("u.csv", &header(4_097))], "");
    let start = std::time::Instant::now();
    let columns = csv.columns(&table("t")).expect("columns");
    assert_eq!(columns[4_095].name, "x_4096");
    assert!(start.elapsed() < std::time::Duration::from_secs(30));
    let error = csv.columns(&table("u")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}

#[test]
fn a_configuration_that_means_nothing_is_refused() {
    for more in [
        r#", "types": {"t.y": "text"}"#,
        r#", "types": {"t.csv.x": "text"}"#,
        r#", "types": {"u.x": "text"}"#,
    ] {
        let (_folder, mut csv) = open(&[("t.csv", "x\n1\n")], more);
        let error = csv.check().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{more}: {error}");
    }
    for delimiter in [r#"\""#, r"\n", "ä"] {
        let config = format!(r#"{{"path": "x", "delimiter": "{delimiter}"}}"#);
        let error = Files::open(&Config::from_json(config)).err();
        assert_eq!(
            error.expect("an error").kind(),
            ErrorKind::InvalidConfig,
            "{delimiter}"
        );
    }
}

#[test]
fn quote_that_does_not_close_is_an_error_with_its_line() {
    let request = ScanRequest::new(table("t"), &["a", "b"]);
    for (text, line) in [
        ("a,b\n1,x\n2,\"y\n3,z\n", 3),
        ("a,b\n\n1,\"x\ny\"\n2,\"y", 5),
        ("a,b\n1,\"x\ny\"\n\"2\n\n,\"\"", 4),
        ("a,\"b\n1,x\n", 1),
        // The quote of the next row closes it, and both rows would be one.
        ("a,b\n1,\"x\n2,\"y\"\n", 2),
    ] {
        for rows in [0, 100] {
            let more = format!(r#", "types_from_rows": {rows}"#);
            let (_folder, mut csv) = open(&[("t.csv", text)], &more);
            let error = read(&mut csv, &request).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Upstream, "{text}");
            let expected = format!("line {line} of `t.csv`: a quote opens here and");
            assert!(error.message().starts_with(&expected), "{text}: {error}");
        }
    }
}

#[test]
fn quoted_fields_may_have_several_lines() {
    let text = "a,b\r\n1,\"x\r\n\"\"y\"\"\"\r\n2,\"z\n\" \r\n3,5\" pipe";
    let (_folder, mut csv) = open(&[("t.csv", text)], "");
    let rows = read(&mut csv, &ScanRequest::new(table("t"), &["b"])).expect("rows");
    let texts = ["x\r\n\"y\"", "z\n ", "5\" pipe"];
    assert_eq!(rows, texts.map(|text| vec![Value::Text(text.into())]));
}

#[test]
fn rows_and_fields_may_be_of_any_length() {
    let count = 300;
    let header: Vec<String> = (0..count).map(|number| format!("c{number}")).collect();
    let long = "x".repeat(300 << 10);
    let fields = [long.as_str(); 3].join("\n");
    let row = format!("\"{fields}\"{}", ",1".repeat(count - 1));
    let text = format!("\u{feff}{}\n{row}\n{row}", header.join(","));
    let (_folder, mut csv) = open(&[("t.csv", text)], "");
    let rows = read(&mut csv, &ScanRequest::new(table("t"), &["c299"])).expect("rows");
    assert_eq!(rows, [[Value::Int64(1)], [Value::Int64(1)]]);
    let request = ScanRequest::new(table("t"), &["c0"]);
    let mut scan = csv.scan(&request).expect("a scan");
    let limits = BatchLimits {
        max_rows: 3,
        max_bytes: 8 << 20,
    };
    let batch = csv.next(&mut scan, limits).expect("rows").expect("rows");
    let columns = csv.schema(&mut scan).expect("columns");
    let rows = testing::rows(&batch, &columns).expect("rows");
    assert_eq!(rows[0], [Value::Text(fields)]);
}

proptest! {
    /// Lines without quotes are split, and others are parsed. Both find the same, in any order and with any ends.
    #[test]
    fn quotes_around_fields_change_nothing(
        rows in prop::collection::vec(
            (
                prop::array::uniform3("[ab é;]{0,5}"),
                any::<bool>(),
                prop::sample::select(vec!["\n", "\r\n", "\r", "\n\r\n"]),
            ),
            1..40,
        ),
        has_last_end in any::<bool>(),
    ) {
        let quoted = |field: &String| format!("\"{field}\"");
        let file = |is_quoted: &dyn Fn(bool) -> bool| {
            let mut text = "x,y,z\n".to_owned();
            for (place, (fields, choice, end)) in rows.iter().enumerate() {
                text += &match is_quoted(*choice) {
                    true => fields.each_ref().map(quoted).join(","),
                    false => fields.join(","),
                };
                if place + 1 < rows.len() || has_last_end {
                    text += end;
                }
            }
            text
        };
        let files = [("some.csv", file(&|choice| choice)), ("all.csv", file(&|_| true)), ("no.csv", file(&|_| false))];
        let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
        let (_folder, mut csv) = open(&files, "");
        let mut rows_of = |name| read(&mut csv, &ScanRequest::new(table(name), &["x", "y", "z"]));
        let all = rows_of("all");
        prop_assert!(all.is_ok());
        prop_assert_eq!(&rows_of("some"), &all);
        prop_assert_eq!(&rows_of("no"), &all);
    }
}

#[test]
fn rows_without_quotes_may_lie_across_what_is_read_at_once() {
    let fields: Vec<String> = (0..60_000).map(|number| "x".repeat(number % 23)).collect();
    let lines = fields.iter().enumerate();
    let text: String = lines
        .map(|(line, field)| format!("{line},{field}\r\n"))
        .collect();
    let (_folder, mut csv) = open(&[("t.csv", &format!("n,x\r\n{text}"))], "");
    let rows = read(&mut csv, &ScanRequest::new(table("t"), &["n", "x"])).expect("rows");
    assert_eq!(rows.len(), fields.len());
    for (line, (row, field)) in rows.iter().zip(fields).enumerate() {
        let field = if field.is_empty() {
            Value::Null
        } else {
            Value::Text(field)
        };
        assert_eq!(*row, [Value::Int64(line as i64), field]);
    }
}

#[test]
fn lines_are_counted_as_an_editor_counts_them() {
    for (text, line) in [
        ("a,b\n\n\n1,1\n\n1,x\n", 6),
        ("a,b\r\n\r\n1,1\r\n\r\n1,x\r\n", 5),
        ("\n\na,b\n1,1\n1,x\n", 5),
        ("\u{feff}\na,b\n1,1\n1,x\n", 4),
        ("a,b\r1,1\r\r1,x", 4),
        ("a,b\n1,1\n\"x\ny\nz\",x\n", 5),
        ("a,b\n1,1\n\"x\ny\",1\n1,x\n", 5),
    ] {
        let more = r#", "types_from_rows": 1, "types": {"t.a": "text"}"#;
        let (_folder, mut csv) = open(&[("t.csv", text)], more);
        let error = read(&mut csv, &ScanRequest::new(table("t"), &["a", "b"])).unwrap_err();
        let expected = format!("line {line} of `t.csv`: the field `b` is not of the type int64");
        assert!(error.message().starts_with(&expected), "{text:?}: {error}");
    }
    let text = "a,b\n\n\"1\n2\",2\n\n1\n";
    let (_folder, mut csv) = open(&[("t.csv", text)], r#", "types_from_rows": 1"#);
    let error = read(&mut csv, &ScanRequest::new(table("t"), &["a"])).unwrap_err();
    assert!(error.message().contains("line 6 has 1 fields"), "{error}");
}

#[test]
fn blank_line_of_one_column_is_null() {
    let request = ScanRequest::new(table("t"), &["a"]);
    let number = |number| vec![Value::Int64(number)];
    let null = || vec![Value::Null];
    for (text, expected) in [
        ("a\n1\n\n\n2\n", vec![number(1), null(), null(), number(2)]),
        ("a\r\n\r\n1\r\n\r\n", vec![null(), number(1), null()]),
        ("\na\n1\n\n", vec![number(1), null()]),
        ("a\n1\n", vec![number(1)]),
        ("a\n1", vec![number(1)]),
        ("a,b\n\n1,2\n\n", vec![number(1)]),
    ] {
        let (_folder, mut csv) = open(&[("t.csv", text)], "");
        let rows = read(&mut csv, &request).expect("rows");
        assert_eq!(rows, expected, "{text:?}");
    }
}

#[test]
fn words_of_floats_are_read_wherever_they_stand() {
    let words = ["inf", "-Infinity", "NaN"];
    let rows: String = words
        .iter()
        .map(|word| format!("{word},{word}\n"))
        .collect();
    let request = ScanRequest::new(table("t"), &["a"]);
    for text in [
        // In the rows that decide the type, and behind them.
        format!("a,b\n1.5,x\n{rows}"),
        format!("a,b\n{rows}1.5,x\n"),
    ] {
        for more in ["", r#", "types": {"t.a": "float64"}, "types_from_rows": 1"#] {
            let (_folder, mut csv) = open(&[("t.csv", &text)], more);
            let columns = csv.columns(&table("t")).expect("columns");
            assert_eq!(columns[0].data_type, DataType::Float64, "{text}");
            assert_eq!(columns[1].data_type, DataType::Text, "{text}");
            let rows = read(&mut csv, &request).expect("rows");
            let mut found = [false; 3];
            for row in &rows {
                if let Value::Float64(value) = row[0] {
                    found[0] |= value == f64::INFINITY;
                    found[1] |= value == f64::NEG_INFINITY;
                    found[2] |= value.is_nan();
                }
            }
            assert_eq!((rows.len(), found), (4, [true; 3]), "{text}");
        }
    }
}

#[test]
fn columns_are_those_of_files_beyond_the_sample_too() {
    let names: Vec<String> = (0..60).map(|number| format!("t/{number:02}.csv")).collect();
    let text = |number: usize| match number {
        41 => "a,late\n1,2024-02-29\n",
        _ => "a\n1\n",
    };
    let files: Vec<(&str, &str)> = names
        .iter()
        .enumerate()
        .map(|(number, name)| (name.as_str(), text(number)))
        .collect();
    let (_folder, mut csv) = open(&files, "");
    let columns = csv.columns(&table("t")).expect("columns");
    assert_eq!(
        types(&columns),
        [("a", DataType::Int64), ("late", DataType::Date)]
    );
    let described = csv.describe_tables(&[table("t")]).expect("a table");
    assert_eq!(described[0].comment, None);
}

#[test]
fn a_table_whose_columns_were_not_all_looked_for_says_so() {
    let names: Vec<String> = (0..1_001).map(|number| format!("t/{number}.csv")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "a\n1\n")).collect();
    let (_folder, mut csv) = open(&files, "");
    let described = csv.describe_tables(&[table("t")]).expect("a table");
    let comment = described[0].comment.as_deref().unwrap_or_default();
    assert!(comment.contains("1000 of its 1001 files"), "{comment}");
}

/// A row may have as many delimiters as bytes, and room for all of them is more than the sandbox has.
#[test]
fn row_with_many_fields_is_an_error_with_its_line() {
    let many = ",".repeat(10_000);
    let request = ScanRequest::new(table("t"), &["a"]);
    for (text, expected) in [
        (
            format!("a,b\n1,2\n{many}\n"),
            "line 3 has more fields than the first line, which has 2",
        ),
        (many.clone(), "the first line has more than 4096 fields"),
    ] {
        let (_folder, mut csv) = open(&[("t.csv", &text)], r#", "types_from_rows": 1"#);
        let error = read(&mut csv, &request).unwrap_err();
        assert!(error.message().contains("`t.csv`"), "{error}");
        assert!(error.message().contains(expected), "{error}");
    }
}

#[test]
fn utf_16_is_named() {
    let little =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let big = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_be_bytes).collect() };
    for text in ["a,b\n1,2\n", "\u{feff}a,b\r\n1,2\r\n"] {
        for content in [little(text), big(text)] {
            let (_folder, mut csv) = open(&[("t.csv", content)], "");
            let error = csv.columns(&table("t")).unwrap_err();
            let expected =
                "`t.csv` cannot be read: it has a NUL character in its first line, as UTF-16 does";
            assert!(error.message().starts_with(expected), "{error}");
        }
    }
}
