//! Decodes an Arrow IPC stream of a guest: a schema, one record batch, the end.
//!
//! Arrow's reader trusts its input. So offsets, lengths and counts are checked here first, and only the physical types
//! of `wit/README.md` are accepted.

use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc};

use arrow_array::{Array, RecordBatch, cast::AsArray};
use arrow_buffer::Buffer;
use arrow_ipc::{Endianness, MessageHeader, MetadataVersion, Precision, TimeUnit as IpcUnit, Type};
use arrow_schema::{DataType as Physical, Field, Schema, TimeUnit};

use super::rows::{DAY, cell_size, is_decimal, is_json};
use crate::host_errors::violation;
use mindhost_base::{config::PluginSettings, error::Result};
use mindhost_plugin_api::{Column, DataType};

/// A batch whose every value was checked against the schema of the cursor.
pub fn decode(
    bytes: Vec<u8>,
    columns: &[Column],
    settings: &PluginSettings,
) -> Result<RecordBatch> {
    let expected = schema(columns)?;
    let stream = Buffer::from_vec(bytes);
    let frames = Frames::split(&stream)?;
    check_schema(frames.schema, &expected)?;
    let batch = frames
        .batch
        .header_as_record_batch()
        .ok_or_else(|| violation("Arrow data without a record batch"))?;
    check_batch(&batch, &expected, frames.body.len())?;
    let version = frames.batch.version();
    // The checks above exclude every known panic of the reader. Another one is the fault of the guest.
    let read = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let none = HashMap::new();
        arrow_ipc::reader::read_record_batch(&frames.body, batch, expected, &none, None, &version)
    }));
    let batch = match read {
        Ok(Ok(batch)) => batch,
        Ok(Err(error)) => return Err(violation("Arrow data that are not valid").with_source(error)),
        Err(_) => return Err(violation("Arrow data that are not valid")),
    };
    if batch.num_rows() > 1 && stream.len() > settings.max_batch_bytes as usize {
        return Err(violation(format_args!("a batch of {} bytes", stream.len())));
    }
    for (column, values) in columns.iter().zip(batch.columns()) {
        check_values(column.data_type, values, settings.max_cell_bytes as usize)?;
    }
    Ok(batch)
}

/// The physical form of each type, with the names and nullability of the host.
pub fn schema(columns: &[Column]) -> Result<Arc<Schema>> {
    let fields: Result<Vec<Field>> = columns
        .iter()
        .map(|column| {
            let physical = match column.data_type {
                DataType::Boolean => Physical::Boolean,
                DataType::Int64 => Physical::Int64,
                DataType::Uint64 => Physical::UInt64,
                DataType::Float64 => Physical::Float64,
                DataType::Decimal | DataType::Text | DataType::Json => Physical::Utf8,
                DataType::Bytes => Physical::Binary,
                DataType::Date => Physical::Date32,
                DataType::Time => Physical::Time64(TimeUnit::Microsecond),
                DataType::Timestamp => Physical::Timestamp(TimeUnit::Microsecond, None),
                DataType::TimestampUtc => {
                    Physical::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
                }
                DataType::Any => return Err(violation("a column of type `any` as Arrow")),
            };
            Ok(Field::new(&column.name, physical, true))
        })
        .collect();
    Ok(Arc::new(Schema::new(fields?)))
}

/// The two messages of the stream and the body of the second.
struct Frames<'a> {
    schema: arrow_ipc::Message<'a>,
    batch: arrow_ipc::Message<'a>,
    body: Buffer,
}

impl<'a> Frames<'a> {
    fn split(stream: &'a Buffer) -> Result<Self> {
        let (schema, body, at) = message(stream, 0)?;
        if schema.header_type() != MessageHeader::Schema || !body.is_empty() {
            return Err(violation("Arrow data that do not begin with a schema"));
        }
        let (batch, body, at) = message(stream, at)?;
        if batch.header_type() != MessageHeader::RecordBatch {
            return Err(violation(
                "Arrow data whose second message is no record batch",
            ));
        }
        const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
        if stream.get(at..) != Some(END.as_slice()) {
            return Err(violation(
                "Arrow data with a second batch, trailing bytes or no end",
            ));
        }
        Ok(Self {
            schema,
            batch,
            body,
        })
    }
}

/// The message at an offset, its body, and the offset behind it.
fn message(stream: &Buffer, at: usize) -> Result<(arrow_ipc::Message<'_>, Buffer, usize)> {
    let cut = || violation("Arrow data that are cut off");
    let head: [u8; 8] = stream
        .get(at..at + 8)
        .and_then(|head| head.try_into().ok())
        .ok_or_else(cut)?;
    let [m0, m1, m2, m3, l0, l1, l2, l3] = head;
    if [m0, m1, m2, m3] != [0xff; 4] {
        return Err(violation("Arrow data in another format than a stream"));
    }
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    let start = at + 8;
    let metadata = stream.get(start..start + length).ok_or_else(cut)?;
    let message = arrow_ipc::root_as_message(metadata).map_err(|error| {
        violation("Arrow data with a broken message").with_source(error.to_string())
    })?;
    let body_start = start + length;
    let body = usize::try_from(message.bodyLength())
        .ok()
        .filter(|body| stream.len() - body_start >= *body)
        .ok_or_else(cut)?;
    let end = body_start + body;
    Ok((message, stream.slice_with_length(body_start, body), end))
}

fn check_schema(message: arrow_ipc::Message<'_>, expected: &Schema) -> Result<()> {
    let different = || violation("Arrow data with another schema than the cursor's");
    let schema = message.header_as_schema().ok_or_else(different)?;
    let fields = schema.fields().ok_or_else(different)?;
    let known_version = matches!(message.version(), MetadataVersion::V4 | MetadataVersion::V5);
    if !known_version || schema.endianness() != Endianness::Little {
        return Err(violation(
            "Arrow data in a version or byte order that is not served",
        ));
    }
    if fields.len() != expected.fields().len() {
        return Err(different());
    }
    for (field, expected) in fields.iter().zip(expected.fields()) {
        if field.dictionary().is_some() {
            return Err(violation("Arrow data with a dictionary"));
        }
        if physical(&field).as_ref() != Some(expected.data_type()) {
            return Err(different());
        }
    }
    Ok(())
}

/// The type of a field, if it is one that the contract knows.
fn physical(field: &arrow_ipc::Field<'_>) -> Option<Physical> {
    Some(match field.type_type() {
        Type::Bool => Physical::Boolean,
        Type::Int => {
            let int = field.type_as_int()?;
            match (int.bitWidth(), int.is_signed()) {
                (64, true) => Physical::Int64,
                (64, false) => Physical::UInt64,
                _ => return None,
            }
        }
        Type::FloatingPoint => match field.type_as_floating_point()?.precision() {
            Precision::DOUBLE => Physical::Float64,
            _ => return None,
        },
        Type::Utf8 => Physical::Utf8,
        Type::Binary => Physical::Binary,
        Type::Date => match field.type_as_date()?.unit() {
            arrow_ipc::DateUnit::DAY => Physical::Date32,
            _ => return None,
        },
        Type::Time => {
            let time = field.type_as_time()?;
            match (time.bitWidth(), time.unit()) {
                (64, IpcUnit::MICROSECOND) => Physical::Time64(TimeUnit::Microsecond),
                _ => return None,
            }
        }
        Type::Timestamp => {
            let timestamp = field.type_as_timestamp()?;
            match (timestamp.unit(), timestamp.timezone().unwrap_or_default()) {
                (IpcUnit::MICROSECOND, "") => Physical::Timestamp(TimeUnit::Microsecond, None),
                (IpcUnit::MICROSECOND, "UTC") => {
                    Physical::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
                }
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// Checks the buffers of a batch against its body.
fn check_batch(batch: &arrow_ipc::RecordBatch<'_>, schema: &Schema, body: usize) -> Result<()> {
    let wrong = || violation("Arrow data whose lengths do not agree");
    if batch.compression().is_some() {
        return Err(violation("compressed Arrow data"));
    }
    let rows = usize::try_from(batch.length())
        .ok()
        .filter(|rows| *rows <= u32::MAX as usize)
        .ok_or_else(wrong)?;
    let nodes = batch.nodes().ok_or_else(wrong)?;
    let buffers = batch.buffers().ok_or_else(wrong)?;
    let variable = |field: &Field| matches!(field.data_type(), Physical::Utf8 | Physical::Binary);
    let needed: usize = schema
        .fields()
        .iter()
        .map(|field| if variable(field) { 3 } else { 2 })
        .sum();
    if nodes.len() != schema.fields().len() || buffers.len() != needed {
        return Err(wrong());
    }
    let mut sizes = Vec::with_capacity(needed);
    for buffer in buffers {
        let range = usize::try_from(buffer.offset())
            .ok()
            .zip(usize::try_from(buffer.length()).ok());
        match range.and_then(|(start, length)| Some((start.checked_add(length)?, length))) {
            Some((end, length)) if end <= body => sizes.push(length),
            _ => return Err(wrong()),
        }
    }
    let mut sizes = sizes.into_iter();
    for (node, field) in nodes.iter().zip(schema.fields()) {
        let validity = sizes.next().unwrap_or_default();
        let values = sizes.next().unwrap_or_default();
        if variable(field) {
            sizes.next();
        }
        let nulls = usize::try_from(node.null_count()).map_err(|_| wrong())?;
        let sane = usize::try_from(node.length()) == Ok(rows)
            && nulls <= rows
            && (nulls == 0 || validity >= rows.div_ceil(8))
            && values >= least_bytes(field.data_type(), rows);
        if !sane {
            return Err(wrong());
        }
    }
    Ok(())
}

/// The minimum size of the second buffer of a column with `rows` rows.
fn least_bytes(physical: &Physical, rows: usize) -> usize {
    match physical {
        Physical::Boolean => rows.div_ceil(8),
        Physical::Date32 => rows * 4,
        // Offsets; a column of no rows may have none.
        Physical::Utf8 | Physical::Binary if rows == 0 => 0,
        Physical::Utf8 | Physical::Binary => (rows + 1) * 4,
        _ => rows * 8,
    }
}

/// Checks of values that the physical type does not guarantee.
fn check_values(data_type: DataType, values: &dyn Array, max_cell: usize) -> Result<()> {
    match data_type {
        DataType::Text => check_cells(values.as_string::<i32>().value_offsets(), max_cell),
        DataType::Bytes => check_cells(values.as_binary::<i32>().value_offsets(), max_cell),
        DataType::Decimal | DataType::Json => {
            let text = values.as_string::<i32>();
            check_cells(text.value_offsets(), max_cell)?;
            let (valid, what): (fn(&str) -> bool, _) = match data_type {
                DataType::Decimal => (is_decimal, "a decimal that is not a number"),
                _ => (is_json, "a JSON value that is not JSON"),
            };
            match text.iter().flatten().all(valid) {
                true => Ok(()),
                false => Err(violation(what)),
            }
        }
        DataType::Time => {
            let times = values.as_primitive::<arrow_array::types::Time64MicrosecondType>();
            let in_day = |micros: i64| u64::try_from(micros).is_ok_and(|micros| micros < DAY);
            match times.iter().flatten().all(in_day) {
                true => Ok(()),
                false => Err(violation("a time of day beyond the day")),
            }
        }
        _ => Ok(()),
    }
}

fn check_cells(offsets: &[i32], max: usize) -> Result<()> {
    let total = offsets.last().copied().unwrap_or_default() as usize;
    if total <= max {
        return Ok(());
    }
    let largest = offsets
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) as usize)
        .max()
        .unwrap_or_default();
    cell_size(largest, max).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int64Array, StringArray};
    use arrow_ipc::writer::StreamWriter;
    use mindhost_base::{config::Config, error::Code};

    fn columns() -> Vec<Column> {
        let column = |name: &str, data_type| Column {
            name: name.to_owned(),
            data_type,
            native_type: String::new(),
            nullable: true,
        };
        vec![
            column("id", DataType::Int64),
            column("name", DataType::Text),
            column("price", DataType::Decimal),
        ]
    }

    fn batch() -> RecordBatch {
        let ids = Int64Array::from(vec![Some(1), None, Some(3)]);
        let names = StringArray::from(vec![Some("a"), Some("ü"), None]);
        let prices = StringArray::from(vec!["1.50", "-2", "0"]);
        RecordBatch::try_new(
            schema(&columns()).unwrap(),
            vec![Arc::new(ids), Arc::new(names), Arc::new(prices)],
        )
        .unwrap()
    }

    fn stream(batches: &[RecordBatch]) -> Vec<u8> {
        let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
        for batch in batches {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
        writer.into_inner().unwrap()
    }

    fn check(bytes: Vec<u8>) -> Result<RecordBatch> {
        decode(
            bytes,
            &columns(),
            &Config::defaults().unwrap().plugins.limits,
        )
    }

    fn refusal(bytes: Vec<u8>) -> String {
        let error = check(bytes).unwrap_err();
        assert_eq!(error.code(), Code::PluginError);
        error.message().to_owned()
    }

    #[test]
    fn a_good_batch_arrives_as_it_was() {
        assert_eq!(check(stream(&[batch()])).unwrap(), batch());
    }

    #[test]
    fn an_empty_batch_is_fine() {
        assert_eq!(check(stream(&[batch().slice(0, 0)])).unwrap().num_rows(), 0);
    }

    #[test]
    fn anything_beside_one_batch_is_refused() {
        let mut trailing = stream(&[batch()]);
        trailing.push(0);
        assert!(refusal(trailing).contains("trailing"));
        assert!(refusal(stream(&[batch(), batch()])).contains("second batch"));
        assert!(refusal(Vec::new()).contains("cut off"));
    }

    #[test]
    fn another_schema_is_refused() {
        let other = batch().project(&[0, 2, 1]).unwrap();
        let fewer = batch().project(&[0]).unwrap();
        let wrong = RecordBatch::try_from_iter([("id", batch().column(1).clone())]).unwrap();
        assert!(check(stream(&[other])).is_err());
        assert!(refusal(stream(&[fewer])).contains("another schema"));
        assert!(refusal(stream(&[wrong])).contains("another schema"));
    }

    #[test]
    fn text_that_is_not_utf8_is_refused() {
        let mut bytes = stream(&[batch()]);
        let at = bytes
            .windows(2)
            .position(|pair| pair == "ü".as_bytes())
            .unwrap();
        bytes[at] = 0xff;
        assert!(refusal(bytes).contains("not valid"));
    }

    /// No change of a single byte may do more than be refused or change a value.
    #[test]
    fn no_flipped_byte_gets_through_as_a_panic() {
        let good = stream(&[batch()]);
        for at in 0..good.len() {
            for bit in [0x01, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[at] ^= bit;
                if let Ok(batch) = check(bytes) {
                    assert_eq!(batch.num_columns(), 3);
                }
            }
        }
    }

    #[test]
    fn no_cut_stream_gets_through() {
        let good = stream(&[batch()]);
        for length in 0..good.len() {
            assert!(check(good[..length].to_vec()).is_err());
        }
    }

    proptest::proptest! {
        #[test]
        fn random_bytes_never_pass(bytes: Vec<u8>) {
            proptest::prop_assert!(check(bytes).is_err());
        }
    }
}
