//! What a result or a catalog says that cannot be, or that only looks as if it could.

use mindhost_sdk::{Batch, Column, DataType, Table, TableColumn, TableRef, Value};

use crate::acts::ESCAPES;

/// The type of the only column, by its name.
fn data_type(name: &str) -> DataType {
    match name {
        "any" => DataType::Any,
        "boolean" => DataType::Boolean,
        "date" => DataType::Date,
        "decimal" => DataType::Decimal,
        "float64" => DataType::Float64,
        "json" => DataType::Json,
        "text" => DataType::Text,
        "time" => DataType::Time,
        "timestamp" => DataType::Timestamp,
        "bytes" => DataType::Bytes,
        _ => DataType::Int64,
    }
}

pub(crate) fn schema(mode: &str, of: &str) -> Vec<Column> {
    let n = Column::new("n", data_type(of));
    match mode {
        "none" => Vec::new(),
        "many" => vec![n; 5_000],
        "millions" => vec![n; 400_000],
        "long-name" => vec![Column::new("x".repeat(1 << 20), DataType::Int64)],
        "nul-name" => vec![Column::new("a\0b", DataType::Int64)],
        "escapes" => vec![Column::new(ESCAPES, DataType::Int64).native_type(ESCAPES)],
        "extras" => {
            let mut column = n;
            column.extra = vec![(String::from("dynamic"), String::from("maybe")); 200_000];
            vec![column]
        }
        _ => vec![n],
    }
}

/// None for modes that end like a decent guest.
pub(crate) fn batch(mode: &str, max_rows: u32, arrow: &[u8]) -> Option<Batch> {
    let one = |value: Value| vec![vec![value]];
    let text = |text: &str| text.to_owned();
    let many = max_rows as usize;
    let rows = match mode {
        "arrow" => return Some(Batch::Arrow(arrow.to_vec())),
        "empty" => Vec::new(),
        "endless-rows" => vec![vec![Value::Int64(1)]; many],
        "drip" => one(Value::Int64(1)),
        "rows" => vec![vec![Value::Int64(1)]; many + 1],
        "million-rows" => vec![Vec::new(); 2_000_000],
        "wide" => vec![vec![Value::Int64(1), Value::Int64(2)]],
        "narrow" => vec![Vec::new()],
        "type" => one(Value::Text(text("one"))),
        "time" => one(Value::Time(u64::MAX)),
        "cell" => one(Value::Other("x".repeat(20 << 20))),
        "batch" => vec![vec![Value::Other("x".repeat(1 << 20))]; many],
        "decimal" => one(Value::Decimal(text("1; DROP TABLE one"))),
        "json" => one(Value::Json(text("{\"a\": 1} {\"b\": 2}"))),
        "json-deep" => one(Value::Json("[".repeat(1 << 20))),
        _ => return None,
    };
    Some(Batch::Rows(rows))
}

/// Values that are allowed and that a careless reader trips over: one batch of them, then the end.
pub(crate) fn odd(mode: &str) -> Option<Batch> {
    let text = |text: &str| text.to_owned();
    let column = match mode {
        "nan" => [
            0x7ff0_0000_0000_0001,
            0xfff8_dead_beef_0001,
            0x7ff8_0000_0000_0000,
            u64::MAX,
        ]
        .map(|bits| Value::Float64(f64::from_bits(bits)))
        .to_vec(),
        "dates" => vec![Value::Date(i32::MIN), Value::Date(i32::MAX)],
        "timestamps" => vec![
            Value::Timestamp(i64::MIN),
            Value::Timestamp(i64::MAX),
            Value::TimestampUtc(i64::MIN),
            Value::TimestampUtc(i64::MAX),
        ],
        "huge-decimal" => vec![
            Value::Decimal(text("1e999999999")),
            Value::Decimal("9".repeat(1 << 20)),
        ],
        "text" => vec![
            Value::Text(ESCAPES.to_owned()),
            Value::Text(text("=cmd|' /C calc'!A0")),
            Value::Text(text("\",\"forged\":[\"\u{2028}\u{feff}</script>")),
        ],
        "json-keys" => vec![Value::Json(collisions(4_096))],
        "json-lines" => vec![Value::Json(text("{\r\n\"a\"\n:\r1e999999999}"))],
        _ => return None,
    };
    Some(Batch::Rows(
        column.into_iter().map(|value| vec![value]).collect(),
    ))
}

/// An object whose keys have one hash in every function that sums what it reads in order.
fn collisions(count: usize) -> String {
    let keys: Vec<String> = (0..count)
        .map(|n| format!("\"{}\":0", colliding(n)))
        .collect();
    format!("{{{}}}", keys.join(","))
}

/// Different words of one length and one polynomial hash.
fn colliding(n: usize) -> String {
    let pair = |bit: u32| if n >> bit & 1 == 0 { "Aa" } else { "BB" };
    (0..17).map(pair).collect()
}

pub(crate) fn tables(mode: &str) -> Vec<TableRef> {
    let named = |name: String| TableRef::new("main", name);
    match mode {
        "many" => (0..200_000).map(|n| named(n.to_string())).collect(),
        "long-name" => vec![named("x".repeat(1 << 20))],
        "collide" => (0..50_000).map(|n| named(colliding(n))).collect(),
        "escapes" => vec![named(ESCAPES.to_owned())],
        "twice" => vec![named(String::from("one")); 1_000],
        _ => vec![named(String::from("one"))],
    }
}

pub(crate) fn describe(mode: &str, described: &mut [Table]) {
    let Some(first) = described.first_mut() else {
        return;
    };
    let columns = |count: u32| {
        (1..=count)
            .map(|n| TableColumn::new("n", n, "integer"))
            .collect()
    };
    match mode {
        "unasked" => first.table = TableRef::new("main", "other"),
        "twice" => {
            let first = first.clone();
            described
                .iter_mut()
                .for_each(|table| *table = first.clone());
        }
        "columns" => first.columns = columns(6_000),
        "millions" => first.columns = columns(250_000),
        "other-columns" => first.columns = vec![TableColumn::new("x", u32::MAX, "blob")],
        "comments" => first.comment = Some("x".repeat(8 << 20)),
        _ => {}
    }
}
