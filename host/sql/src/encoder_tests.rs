//! JSON and CSV against a slow reference, over the same values as rows and as Arrow.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch,
    StringArray, Time64MicrosecondArray, TimestampMicrosecondArray, UInt64Array,
};
use proptest::prelude::*;
use serde_json::json;

use super::{csv::CsvEncoder, json::Rows, schema, text};
use mindhost_base::config::Formulas;
use mindhost_plugin_api::{Batch, Column, DataType, Value};

const TYPES: [DataType; 12] = [
    DataType::Boolean,
    DataType::Int64,
    DataType::Uint64,
    DataType::Float64,
    DataType::Decimal,
    DataType::Text,
    DataType::Bytes,
    DataType::Date,
    DataType::Time,
    DataType::Timestamp,
    DataType::TimestampUtc,
    DataType::Json,
];

fn columns(types: &[DataType]) -> Arc<[Column]> {
    let column = |data_type: &DataType| Column {
        name: format!("{data_type:?}"),
        data_type: *data_type,
        native_type: String::new(),
        nullable: true,
    };
    types.iter().map(column).collect()
}

fn value(data_type: DataType) -> BoxedStrategy<Value> {
    let value = match data_type {
        DataType::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        DataType::Int64 => any::<i64>().prop_map(Value::Int64).boxed(),
        DataType::Uint64 => any::<u64>().prop_map(Value::Uint64).boxed(),
        // Floats that every reader reads exactly, because the reader of the test need not be exact.
        DataType::Float64 => prop_oneof![
            any::<i32>().prop_map(|number| f64::from(number) / 8.0),
            prop::sample::select(vec![
                f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
                -0.0,
                1e300
            ]),
        ]
        .prop_map(Value::Float64)
        .boxed(),
        DataType::Decimal => "-?[0-9]{1,30}(\\.[0-9]{1,9})?"
            .prop_map(Value::Decimal)
            .boxed(),
        DataType::Text | DataType::Any => prop_oneof![any::<String>(), "[a\",\n\r' ]{0,5}"]
            .prop_map(Value::Text)
            .boxed(),
        DataType::Bytes => any::<Vec<u8>>().prop_map(Value::Bytes).boxed(),
        DataType::Date => any::<i32>().prop_map(Value::Date).boxed(),
        DataType::Time => (0..86_400_000_000_u64).prop_map(Value::Time).boxed(),
        DataType::Timestamp => any::<i64>().prop_map(Value::Timestamp).boxed(),
        DataType::TimestampUtc => any::<i64>().prop_map(Value::TimestampUtc).boxed(),
        DataType::Json => prop_oneof![
            Just("{\"a\": [1, 2.50, \"x\\n\"],\n \"n\": 12345678901234567890.12345}".to_owned()),
            Just("no { json".to_owned()),
            Just(" null ".to_owned()),
            any::<String>(),
        ]
        .prop_map(Value::Json)
        .boxed(),
    };
    prop_oneof![1 => Just(Value::Null), 6 => value].boxed()
}

fn row() -> impl Strategy<Value = Vec<Value>> {
    TYPES.map(value).to_vec()
}

macro_rules! pick {
    ($rows:expr, $nth:expr, $kind:path) => {
        $rows.iter().map(|row| match &row[$nth] {
            $kind(value) => Some(value.clone()),
            _ => None,
        })
    };
}

fn arrow(rows: &[Vec<Value>]) -> Batch {
    let strings = |values: Vec<Option<String>>| Arc::new(StringArray::from(values)) as ArrayRef;
    let bytes: Vec<Option<Vec<u8>>> = pick!(rows, 6, Value::Bytes).collect();
    let bytes: Vec<Option<&[u8]>> = bytes.iter().map(Option::as_deref).collect();
    let time = pick!(rows, 8, Value::Time).map(|time| time.map(|time| time as i64));
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(pick!(rows, 0, Value::Boolean).collect::<BooleanArray>()),
        Arc::new(pick!(rows, 1, Value::Int64).collect::<Int64Array>()),
        Arc::new(pick!(rows, 2, Value::Uint64).collect::<UInt64Array>()),
        Arc::new(pick!(rows, 3, Value::Float64).collect::<Float64Array>()),
        strings(pick!(rows, 4, Value::Decimal).collect()),
        strings(pick!(rows, 5, Value::Text).collect()),
        Arc::new(BinaryArray::from(bytes)),
        Arc::new(pick!(rows, 7, Value::Date).collect::<Date32Array>()),
        Arc::new(time.collect::<Time64MicrosecondArray>()),
        Arc::new(pick!(rows, 9, Value::Timestamp).collect::<TimestampMicrosecondArray>()),
        Arc::new(
            pick!(rows, 10, Value::TimestampUtc)
                .collect::<TimestampMicrosecondArray>()
                .with_timezone("UTC"),
        ),
        strings(pick!(rows, 11, Value::Json).collect()),
    ];
    let named = arrays
        .into_iter()
        .enumerate()
        .map(|(nth, array)| (nth.to_string(), array, true));
    Batch::Arrow(RecordBatch::try_from_iter_with_nullable(named).unwrap())
}

/// What a value is in JSON, built the slow way.
fn reference(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => json!(null),
        Value::Boolean(value) => json!(value),
        Value::Int64(value) if value.abs_diff(0) > 1 << 53 => json!(value.to_string()),
        Value::Int64(value) => json!(value),
        Value::Uint64(value) if *value > 1 << 53 => json!(value.to_string()),
        Value::Uint64(value) => json!(value),
        Value::Float64(value) if value.is_nan() => json!("NaN"),
        Value::Float64(value) if value.is_infinite() => json!(if *value > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }),
        Value::Float64(value) => json!(value),
        Value::Decimal(value) | Value::Text(value) | Value::Other(value) => json!(value),
        Value::Bytes(value) => json!(text::base64(value)),
        Value::Date(days) => json!(text::date(*days).as_str()),
        Value::Time(micros) => json!(text::time(*micros).as_str()),
        Value::Timestamp(micros) => json!(text::timestamp(*micros, false).as_str()),
        Value::TimestampUtc(micros) => json!(text::timestamp(*micros, true).as_str()),
        Value::Json(value) => serde_json::from_str(value).unwrap_or_else(|_| json!(value)),
    }
}

/// What a value is in CSV; `None` is an empty field.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Int64(value) => Some(value.to_string()),
        Value::Uint64(value) => Some(value.to_string()),
        Value::Json(value) => Some(value.clone()),
        value => Some(match reference(value) {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        }),
    }
}

fn csv_line(fields: &[Option<String>]) -> String {
    let field = |field: &Option<String>| match field {
        None => String::new(),
        Some(text) if text.is_empty() || text.contains(['"', ',', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Some(text) => text.clone(),
    };
    fields.iter().map(field).collect::<Vec<_>>().join(",") + "\n"
}

fn json_of(columns: &Arc<[Column]>, batches: Vec<Batch>) -> String {
    serde_json::to_string(&Rows::new(columns.clone(), batches)).unwrap()
}

fn csv_of(columns: &Arc<[Column]>, batches: &[Batch]) -> String {
    let mut encoder = CsvEncoder::new(columns.clone(), Formulas::Keep);
    let mut out = Vec::new();
    encoder.header(&mut out);
    batches
        .iter()
        .for_each(|batch| encoder.batch(batch, &mut out));
    String::from_utf8(out).unwrap()
}

#[test]
fn formulas_are_escaped_in_texts_and_names_and_numbers_are_left() {
    let text = |text: &str| Value::Text(text.to_owned());
    let (formula, quoted, number, word) =
        (text("=1+1"), text("@SUM(1,2)"), text("-1.5"), text("a=b"));
    let mut columns = columns(&[DataType::Text; 4]).to_vec();
    columns[0].name = "=cmd".to_owned();
    let rows = Batch::Rows(vec![
        vec![formula, quoted, number, word],
        vec![text("\t=1"), text("+49 30"), text("-2+3"), Value::Int64(-5)],
    ]);
    let mut encoder = CsvEncoder::new(columns.into(), Formulas::Escape);
    let mut out = Vec::new();
    encoder.header(&mut out);
    encoder.batch(&rows, &mut out);
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("'=cmd,"), "{text}");
    assert_eq!(lines[1], "'=1+1,\"'@SUM(1,2)\",-1.5,a=b");
    assert_eq!(lines[2], "'\t=1,'+49 30,'-2+3,-5");
}

proptest! {
    #[test]
    fn json_is_the_reference_from_rows_and_from_arrow(rows in prop::collection::vec(row(), 0..8)) {
        let columns = columns(&TYPES);
        let from_rows = json_of(&columns, vec![Batch::Rows(rows.clone())]);
        let from_arrow = json_of(&columns, vec![arrow(&rows)]);
        prop_assert_eq!(&from_rows, &from_arrow);
        prop_assert!(!from_rows.contains(['\n', '\r']));
        let expected: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(reference).collect()).collect();
        let found: Vec<Vec<serde_json::Value>> = serde_json::from_str(&from_rows).unwrap();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn csv_is_the_reference_from_rows_and_from_arrow(rows in prop::collection::vec(row(), 0..8)) {
        let columns = columns(&TYPES);
        let from_rows = csv_of(&columns, &[Batch::Rows(rows.clone())]);
        prop_assert_eq!(&from_rows, &csv_of(&columns, &[arrow(&rows)]));
        let header = csv_line(&columns.iter().map(|column| Some(column.name.clone())).collect::<Vec<_>>());
        let lines = rows.iter().map(|row| csv_line(&row.iter().map(plain).collect::<Vec<_>>()));
        prop_assert_eq!(from_rows, header + &lines.collect::<String>());
    }

    #[test]
    fn a_csv_reader_finds_the_fields_again(rows in prop::collection::vec(row(), 1..8)) {
        let text = csv_of(&columns(&TYPES), &[arrow(&rows)]);
        let mut reader = csv_core::Reader::new();
        let mut input = text.as_bytes();
        let mut fields = Vec::new();
        let mut field = Vec::new();
        loop {
            let mut piece = [0; 64];
            let (result, read, written) = reader.read_field(input, &mut piece);
            input = &input[read..];
            field.extend_from_slice(&piece[..written]);
            match result {
                csv_core::ReadFieldResult::Field { .. } => fields.push(std::mem::take(&mut field)),
                csv_core::ReadFieldResult::End => break,
                _ => {}
            }
        }
        let expected: Vec<Vec<u8>> = rows.iter().flatten().map(|value| plain(value).unwrap_or_default().into()).collect();
        prop_assert_eq!(&fields[TYPES.len()..], expected);
    }
}

#[test]
fn values_have_the_forms_of_the_contract() {
    let row = vec![
        Value::Int64(9_007_199_254_740_992),
        Value::Int64(9_007_199_254_740_993),
        Value::Int64(-9_007_199_254_740_993),
        Value::Uint64(u64::MAX),
        Value::Float64(1.0),
        Value::Float64(f64::NEG_INFINITY),
        Value::Decimal("12.50".to_owned()),
        Value::Bytes(b"\x89PNG".to_vec()),
        Value::Text(String::new()),
        Value::Null,
        Value::Date(19_782),
        Value::Time(64_800_250_000),
        Value::Timestamp(1_709_229_600_000_000),
        Value::TimestampUtc(1_709_229_600_500_000),
        Value::Json("{\"n\": 9007199254740993}".to_owned()),
        Value::Other("infinity".to_owned()),
    ];
    let columns = columns(&vec![DataType::Any; row.len()]);
    let batch = Batch::Rows(vec![row]);
    assert_eq!(
        json_of(&columns, vec![batch.clone()]),
        r#"[[9007199254740992,"9007199254740993","-9007199254740993","18446744073709551615",1.0,"-Infinity","12.50","iVBORw==","",null,"2024-02-29","18:00:00.250000","2024-02-29T18:00:00","2024-02-29T18:00:00.500000Z",{"n": 9007199254740993},"infinity"]]"#
    );
    let csv = csv_of(&columns, &[batch]);
    assert_eq!(
        csv.lines().nth(1),
        Some(
            r#"9007199254740992,9007199254740993,-9007199254740993,18446744073709551615,1.0,-Infinity,12.50,iVBORw==,"",,2024-02-29,18:00:00.250000,2024-02-29T18:00:00,2024-02-29T18:00:00.500000Z,"{""n"": 9007199254740993}",infinity"#
        )
    );
}

#[test]
fn a_result_without_rows_has_a_header() {
    let columns = columns(&[DataType::Int64, DataType::Text]);
    assert_eq!(csv_of(&columns, &[]), "Int64,Text\n");
    assert_eq!(json_of(&columns, vec![]), "[]");
}

#[test]
fn columns_are_described_by_name_and_types() {
    let types = schema::column_types(&columns(&[DataType::TimestampUtc]));
    assert_eq!(
        serde_json::to_value(types).unwrap(),
        json!([{"name": "TimestampUtc", "type": "timestamp-utc", "native_type": ""}])
    );
}
