//! The tables of types in the README, made of files.

use std::{fmt::Display, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::{
    DataType as Arrow, Field, Fields, IntervalUnit, Schema, TimeUnit, UnionFields, UnionMode,
};
use mindhost_sdk::Scanner;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::{columnar::stream, open, table};

/// What becomes of the column `c` of each file: its type and its native type.
fn becomes(files: &[(String, Vec<u8>)]) -> Vec<(String, String)> {
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, content)| (name.as_str(), content.as_slice()))
        .collect();
    let (_folder, mut source) = open(&files, "");
    let mut found = Vec::new();
    for (name, _) in files {
        let (name, _) = name.split_once('.').expect("an ending");
        found.push(match source.columns(&table(name)) {
            Err(_) => ("refused".to_owned(), String::new()),
            Ok(columns) => match columns.iter().find(|column| column.name == "c") {
                None => ("none: it is left out".to_owned(), String::new()),
                Some(column) => (
                    column.data_type.name().to_owned(),
                    shortened(&column.native_type),
                ),
            },
        });
    }
    found
}

/// The README has a table with a line for each file.
fn check(head: &str, lines: &[String], files: &[(String, Vec<u8>)]) {
    let mut table = format!("| {head} | becomes | `native_type` |\n|---|---|---|\n");
    for (line, (kind, native)) in lines.iter().zip(becomes(files)) {
        let native = if native.is_empty() {
            native
        } else {
            format!("`{native}` ")
        };
        table += &format!("| {line} | {kind} | {native}|\n");
    }
    let readme = include_str!("../../README.md");
    assert!(
        readme.contains(&table),
        "the README needs this table:\n{table}"
    );
}

/// A type without what stands in it, if that is long.
fn shortened(kind: &str) -> String {
    match kind.split_once('(') {
        Some((outer, _)) if kind.len() > 30 => format!("{outer}(…)"),
        _ => kind.to_owned(),
    }
}

fn named(number: usize, ending: &str, content: Vec<u8>) -> (String, Vec<u8>) {
    (format!("t{number}.{ending}"), content)
}

fn code<T: Display>(texts: &[T]) -> String {
    let texts = texts.iter().map(|text| format!("`{text}`"));
    texts.collect::<Vec<_>>().join(", ")
}

#[test]
fn readme_lists_what_fields_of_csv_become() {
    let fields: &[&[&str]] = &[
        &["true", "FALSE"],
        &["12", "-9"],
        &["9223372036854775808", "1"],
        &["-1.5", "2", "1e3"],
        &["2024-02-29"],
        &["23:59", "23:59:59.5"],
        &["2024-02-29T12:00", "2024-02-29 12:00:00.5"],
        &["2024-02-29T12:00Z", "2024-02-29 12:00+02:00"],
        &["007"],
        &["1e400"],
        &["nan"],
        &["1.5", "nan", "-Infinity"],
        &["2024-02-30"],
        &["true", "1"],
        &["12", "word"],
        &["{}"],
        &[""],
    ];
    let files: Vec<_> = fields
        .iter()
        .enumerate()
        .map(|(number, fields)| {
            let rows: String = fields.iter().map(|field| format!("{field},x\n")).collect();
            named(number, "csv", format!("c,d\n{rows}").into_bytes())
        })
        .collect();
    let lines: Vec<String> = fields
        .iter()
        .map(|fields| match fields {
            [""] => "nothing but empty ones".to_owned(),
            fields => code(fields),
        })
        .collect();
    check("fields of CSV", &lines, &files);
}

#[test]
fn readme_lists_what_values_of_json_lines_become() {
    let values: &[&[&str]] = &[
        &["true", "false"],
        &["12", "-9"],
        &["9223372036854775808", "1"],
        &["-1.5", "2", "1e3"],
        &["\"2024-02-29\""],
        &["\"23:59\"", "\"23:59:59.5\""],
        &["\"2024-02-29T12:00\"", "\"2024-02-29 12:00:00.5\""],
        &["\"2024-02-29T12:00Z\"", "\"2024-02-29 12:00+02:00\""],
        &["\"12\""],
        &["\"true\""],
        &["\"2024-02-29\"", "\"\""],
        &["12", "\"word\""],
        &["[1]", "{\"a\": 1}"],
        &["[1]", "12"],
        &["null"],
    ];
    let files: Vec<_> = values
        .iter()
        .enumerate()
        .map(|(number, values)| {
            let rows: String = values
                .iter()
                .map(|value| format!("{{\"c\": {value}}}\n"))
                .collect();
            named(number, "jsonl", rows.into_bytes())
        })
        .collect();
    let lines: Vec<String> = values.iter().map(|values| code(values)).collect();
    check("values of JSON lines", &lines, &files);
}

/// Every type of Arrow, with one unit or size each where they are read alike.
fn arrow_types() -> Vec<Arrow> {
    let item = |kind: Arrow| Arc::new(Field::new("item", kind, true));
    let fields = || Fields::from(vec![Field::new("a", Arrow::Int32, true)]);
    let entries = Fields::from(vec![
        Field::new("key", Arrow::Utf8, false),
        Field::new("value", Arrow::Int32, true),
    ]);
    let entries = Arc::new(Field::new("entries", Arrow::Struct(entries), false));
    let union = UnionFields::try_new([0], [Field::new("a", Arrow::Int32, true)]);
    vec![
        Arrow::Null,
        Arrow::Boolean,
        Arrow::Int8,
        Arrow::Int16,
        Arrow::Int32,
        Arrow::Int64,
        Arrow::UInt8,
        Arrow::UInt16,
        Arrow::UInt32,
        Arrow::UInt64,
        Arrow::Float16,
        Arrow::Float32,
        Arrow::Float64,
        Arrow::Decimal32(9, 2),
        Arrow::Decimal64(18, 2),
        Arrow::Decimal128(38, 10),
        Arrow::Decimal128(5, -2),
        Arrow::Decimal256(38, 2),
        Arrow::Decimal256(50, 2),
        Arrow::Utf8,
        Arrow::LargeUtf8,
        Arrow::Utf8View,
        Arrow::Binary,
        Arrow::LargeBinary,
        Arrow::BinaryView,
        Arrow::FixedSizeBinary(16),
        Arrow::Date32,
        Arrow::Date64,
        Arrow::Time32(TimeUnit::Second),
        Arrow::Time32(TimeUnit::Millisecond),
        Arrow::Time64(TimeUnit::Microsecond),
        Arrow::Time64(TimeUnit::Nanosecond),
        Arrow::Timestamp(TimeUnit::Second, None),
        Arrow::Timestamp(TimeUnit::Nanosecond, None),
        Arrow::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Arrow::Timestamp(TimeUnit::Microsecond, Some("+02:00".into())),
        Arrow::Duration(TimeUnit::Second),
        Arrow::Interval(IntervalUnit::YearMonth),
        Arrow::Interval(IntervalUnit::DayTime),
        Arrow::Interval(IntervalUnit::MonthDayNano),
        Arrow::List(item(Arrow::Int32)),
        Arrow::LargeList(item(Arrow::Utf8)),
        Arrow::FixedSizeList(item(Arrow::Float32), 3),
        Arrow::ListView(item(Arrow::Int32)),
        Arrow::Struct(fields()),
        Arrow::Map(entries, false),
        Arrow::Dictionary(Box::new(Arrow::Int32), Box::new(Arrow::Utf8)),
        Arrow::Union(union.expect("a union"), UnionMode::Dense),
        Arrow::RunEndEncoded(
            Arc::new(Field::new("run_ends", Arrow::Int32, false)),
            Arc::new(Field::new("values", Arrow::Utf8, true)),
        ),
    ]
}

#[test]
fn readme_lists_what_types_of_arrow_become() {
    let types = arrow_types();
    let files: Vec<_> = types
        .iter()
        .enumerate()
        .map(|(number, kind)| {
            let schema = Schema::new(vec![Field::new("c", kind.clone(), true)]);
            let batch = RecordBatch::new_empty(Arc::new(schema));
            named(number, "arrows", stream(&[batch]))
        })
        .collect();
    let lines: Vec<String> = types
        .iter()
        .map(|kind| code(&[shortened(&kind.to_string())]))
        .collect();
    check("Arrow", &lines, &files);
}

/// Types of Parquet: the stored one, and what it stands for.
const PARQUET: &[(&str, &str)] = &[
    ("boolean", ""),
    ("int32", ""),
    ("int32", "INTEGER(8,true)"),
    ("int32", "INTEGER(16,false)"),
    ("int32", "INTEGER(32,false)"),
    ("int64", ""),
    ("int64", "INTEGER(64,false)"),
    ("float", ""),
    ("double", ""),
    ("fixed_len_byte_array (2)", "FLOAT16"),
    ("int32", "DECIMAL(9,2)"),
    ("int64", "DECIMAL(18,2)"),
    ("fixed_len_byte_array (16)", "DECIMAL(38,10)"),
    ("binary", "DECIMAL(20,0)"),
    ("fixed_len_byte_array (32)", "DECIMAL(50,2)"),
    ("binary", ""),
    ("fixed_len_byte_array (4)", ""),
    ("binary", "STRING"),
    ("binary", "ENUM"),
    ("binary", "JSON"),
    ("binary", "BSON"),
    ("fixed_len_byte_array (16)", "UUID"),
    ("fixed_len_byte_array (12)", "INTERVAL"),
    ("int32", "DATE"),
    ("int32", "TIME(MILLIS,true)"),
    ("int64", "TIME(MICROS,true)"),
    ("int64", "TIME(NANOS,false)"),
    ("int64", "TIMESTAMP(MILLIS,false)"),
    ("int64", "TIMESTAMP(MICROS,true)"),
    ("int64", "TIMESTAMP(NANOS,true)"),
    ("int96", ""),
];

/// Groups of Parquet.
const GROUPS: &[(&str, &str)] = &[
    ("group", "optional group c { optional int32 a; }"),
    (
        "group LIST",
        "optional group c (LIST) { repeated group list { optional int32 element; } }",
    ),
    (
        "group MAP",
        "optional group c (MAP) { repeated group key_value { required binary key (STRING); optional int32 value; } }",
    ),
    ("repeated", "repeated int32 c;"),
];

/// A file without rows.
fn of_schema(column: &str) -> Vec<u8> {
    let schema = parse_message_type(&format!("message m {{ {column} }}")).expect(column);
    let properties = Arc::new(WriterProperties::builder().build());
    let writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties);
    writer.expect("a writer").into_inner().expect("a file")
}

#[test]
fn readme_lists_what_types_of_parquet_become() {
    let plain = PARQUET.iter().map(|(stored, logical)| match *logical {
        "" => (code(&[stored]), format!("optional {stored} c;")),
        logical => (
            format!("`{stored}` {logical}"),
            format!("optional {stored} c ({logical});"),
        ),
    });
    let groups = GROUPS
        .iter()
        .map(|(name, column)| (code(&[name]), (*column).to_owned()));
    let (lines, columns): (Vec<String>, Vec<String>) = plain.chain(groups).unzip();
    let files: Vec<_> = columns
        .iter()
        .enumerate()
        .map(|(number, column)| named(number, "parquet", of_schema(column)))
        .collect();
    check("Parquet", &lines, &files);
}
