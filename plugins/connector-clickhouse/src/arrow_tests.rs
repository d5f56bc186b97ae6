//! Streams of Arrow, written by a library and read by this plugin: as they are, cut, and damaged.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Int8Array, Int64Array, RecordBatch, TimestampMillisecondArray, UInt32Array,
    UInt64Array,
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Field, Schema};
use mindhost_sdk::http::Response;
use mindhost_sdk::{BatchBuilder, BatchLimits, Column, Error, ErrorKind, Result, Value, testing};

use crate::arrow::Messages;
use crate::cells::ArrowColumn;
use crate::types::Type;

const MOST: BatchLimits = BatchLimits {
    max_rows: 1_000,
    max_bytes: 1 << 20,
};

/// Types of ClickHouse, and how they come.
fn columns() -> Vec<(&'static str, mindhost_sdk::DataType, ArrayRef)> {
    use mindhost_sdk::DataType as T;
    let decimals = Decimal128Array::from(vec![Some(-150), None])
        .with_precision_and_scale(9, 2)
        .unwrap();
    let fixed = FixedSizeBinaryArray::try_from_iter([[7_u8; 16], [0xff; 16]].iter()).unwrap();
    vec![
        (
            "Nullable(Bool)",
            T::Boolean,
            Arc::new(BooleanArray::from(vec![Some(true), None])),
        ),
        (
            "Int64",
            T::Int64,
            Arc::new(Int64Array::from(vec![i64::MIN, 5])),
        ),
        (
            "UInt64",
            T::Uint64,
            Arc::new(UInt64Array::from(vec![u64::MAX, 0])),
        ),
        (
            "Enum8('a' = -1, 'b' = 2)",
            T::Text,
            Arc::new(Int8Array::from(vec![-1, 2])),
        ),
        ("Nullable(Decimal(9, 2))", T::Decimal, Arc::new(decimals)),
        ("UInt128", T::Decimal, Arc::new(fixed)),
        (
            "Float32",
            T::Float64,
            Arc::new(Float32Array::from(vec![0.1, f32::NAN])),
        ),
        (
            "Nullable(String)",
            T::Text,
            Arc::new(BinaryArray::from(vec![Some(&b"it's"[..]), None])),
        ),
        ("Date", T::Date, Arc::new(Date32Array::from(vec![0, -1]))),
        (
            "DateTime('Asia/Tokyo')",
            T::TimestampUtc,
            Arc::new(UInt32Array::from(vec![0, u32::MAX])),
        ),
        (
            "DateTime64(3)",
            T::TimestampUtc,
            Arc::new(TimestampMillisecondArray::from(vec![1, -1])),
        ),
    ]
}

/// Two messages of two rows each.
fn stream() -> Vec<u8> {
    let columns = columns();
    let field =
        |(name, _, array): &(&str, _, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let arrays: Vec<ArrayRef> = columns.into_iter().map(|(_, _, array)| array).collect();
    let batch = RecordBatch::try_new(schema.clone(), arrays).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    writer.write(&batch).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn read(bytes: &[u8], piece: usize) -> Result<Vec<Vec<Value>>> {
    let pieces = bytes
        .chunks(piece)
        .map(|piece| Ok(piece.to_vec()))
        .collect();
    read_pieces(pieces)
}

fn read_pieces(pieces: Vec<Result<Vec<u8>>>) -> Result<Vec<Vec<Value>>> {
    let mut messages = Messages::new(Response::scripted(200, pieces).body, 0);
    let carried = messages.schema()?;
    let expected = columns();
    if carried.len() != expected.len() {
        return Err(Error::new(ErrorKind::Upstream, "another number of columns"));
    }
    let physical: Vec<_> = carried.iter().map(|(_, physical)| *physical).collect();
    let mut readers = Vec::new();
    let mut types = Vec::new();
    for ((native, of, _), (_, physical)) in expected.iter().zip(&carried) {
        readers.push(ArrowColumn::new(
            native,
            Type::parse(native)?,
            *physical,
            1_000,
        )?);
        types.push(Column::new(*native, *of).dynamic());
    }
    let mut rows = Vec::new();
    while let Some(message) = messages.rows(&physical)? {
        let mut batch = BatchBuilder::new(types.clone());
        batch.start(MOST);
        for row in 0..message.count.min(100) {
            for (reader, buffers) in readers.iter().zip(&message.buffers) {
                reader.append(&message, buffers, row, &mut batch, &mut String::new())?;
            }
            batch.end_row();
        }
        if let Some(batch) = batch.finish()? {
            rows.extend(testing::rows(&batch, &types)?);
        }
    }
    Ok(rows)
}

#[test]
fn every_form_is_read_however_the_body_is_cut() {
    let bytes = stream();
    for piece in [1, 7, 64, bytes.len()] {
        let rows = read(&bytes, piece).unwrap();
        assert_eq!(rows.len(), 4);
        let first = [
            Value::Boolean(true),
            Value::Int64(i64::MIN),
            Value::Uint64(u64::MAX),
            Value::Text("a".into()),
            Value::Decimal("-1.50".into()),
            Value::Decimal("9341084582143408800955381380479911687".into()),
            Value::Float64(0.1),
            Value::Text("it's".into()),
            Value::Date(0),
            Value::TimestampUtc(0),
            Value::TimestampUtc(1_000),
        ];
        assert_eq!(rows[0], first);
        assert_eq!(
            (&rows[3][0], &rows[3][4], &rows[3][7]),
            (&Value::Null, &Value::Null, &Value::Null)
        );
        assert_eq!(
            rows[3][9],
            Value::TimestampUtc(i64::from(u32::MAX) * 1_000_000)
        );
    }
}

#[test]
fn a_stream_that_ends_early_is_never_taken_for_a_whole_one() {
    let bytes = stream();
    for length in 0..bytes.len() {
        let error = read(&bytes[..length], 1 << 20).unwrap_err();
        let kind = error.kind();
        assert!(
            matches!(kind, ErrorKind::ConnectionLost | ErrorKind::Upstream),
            "{length}: {error}"
        );
    }
}

#[test]
fn an_exception_behind_rows_is_the_error() {
    let bytes = stream();
    let told = b"Code: 395. DB::Exception: no. (X) (version 25.8.1.1 (official build))\n".to_vec();
    let rows = bytes[..bytes.len() - 8].to_vec();
    for marked in [
        told.clone(),
        [b"\r\n__exception__\r\nabc\r\n".to_vec(), told].concat(),
    ] {
        let whole = vec![Ok(rows.clone()), Ok(marked.clone())];
        assert_eq!(read_pieces(whole).unwrap_err().engine_code(), "395");
        let lost = Err(Error::new(ErrorKind::ConnectionLost, "cut"));
        let broken = vec![Ok([rows.clone(), marked].concat()), lost];
        assert_eq!(read_pieces(broken).unwrap_err().engine_code(), "395");
    }
}

#[test]
fn sizes_that_cannot_be_are_refused_before_anything_is_kept() {
    for claim in [i32::MAX, -1, i32::MIN] {
        let bytes = [&[0xff; 4][..], &claim.to_le_bytes(), &[0; 64]].concat();
        assert_eq!(read(&bytes, 16).unwrap_err().kind(), ErrorKind::Upstream);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_damage_makes_it_panic(at in proptest::collection::vec((0_usize..4_000, 0_u8..), 1..6)) {
        let mut bytes = stream();
        for (at, byte) in at {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        if let Err(error) = read(&bytes, 1 << 20) {
            let known = [ErrorKind::Upstream, ErrorKind::ConnectionLost, ErrorKind::TooLarge];
            assert!(known.contains(&error.kind()), "{error}");
        }
    }
}
