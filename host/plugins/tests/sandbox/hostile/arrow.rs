//! Guests whose Arrow data are not what the contract allows.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int64Array, ListArray, RecordBatch, StringArray,
    types::Int32Type,
};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field};
use serde_json::{Value, json};

use super::{Behaviour, PLAIN, connectors, fault};

const LENGTHS: &str =
    "lengths and offsets are compared with what was sent before Arrow's reader sees them";
const FORM: &str = "the stream is taken apart first: one schema, one plain batch, the end";
const TYPES: &str = "only the physical types of the contract are known at all";

/// Buffers of no bytes.
const NOWHERE: [(i64, i64); 2] = [(0, 0); 2];

const ARROW: Behaviour = Behaviour {
    at: "next",
    mode: "arrow",
    ..PLAIN
};

fn sent(bytes: Vec<u8>) -> Value {
    json!({"arrow": bytes})
}

fn text(bytes: Vec<u8>) -> Value {
    json!({"arrow": bytes, "column": "text"})
}

pub const ROWS: &[Behaviour] = &[
    Behaviour {
        name: "arrow-compressed",
        does: "says that its buffers are compressed",
        more: |_| sent(hollow(0, NOWHERE, true)),
        ends: fault("compressed"),
        by: FORM,
        ..ARROW
    },
    Behaviour {
        name: "arrow-hollow",
        does: "says five rows and sends none",
        more: |_| sent(hollow(5, NOWHERE, false)),
        ends: fault("lengths do not agree"),
        by: LENGTHS,
        ..ARROW
    },
    Behaviour {
        name: "arrow-gigantic",
        does: "says that it has as many rows as there are numbers",
        more: |_| sent(hollow(i64::MAX, NOWHERE, false)),
        ends: fault("lengths do not agree"),
        by: LENGTHS,
        ..ARROW
    },
    Behaviour {
        name: "arrow-negative",
        does: "says a negative number of rows",
        more: |_| sent(hollow(-1, NOWHERE, false)),
        ends: fault("lengths do not agree"),
        by: LENGTHS,
        ..ARROW
    },
    Behaviour {
        name: "arrow-outside",
        does: "has buffers that lie outside of what was sent",
        more: |_| sent(hollow(1, [(0, 0), (1 << 40, 8)], false)),
        ends: fault("lengths do not agree"),
        by: LENGTHS,
        ..ARROW
    },
    Behaviour {
        name: "arrow-overflow",
        does: "has buffers whose end is beyond the largest number",
        more: |_| sent(hollow(1, [(0, 0), (i64::MAX, i64::MAX)], false)),
        ends: fault("lengths do not agree"),
        by: LENGTHS,
        ..ARROW
    },
    Behaviour {
        name: "arrow-negative-buffer",
        does: "has buffers of a negative length",
        more: |_| sent(hollow(1, [(0, 0), (0, -8)], false)),
        ends: fault("lengths do not agree"),
        by: LENGTHS,
        ..ARROW
    },
    Behaviour {
        name: "arrow-offsets",
        does: "has text whose offsets go backwards and outside",
        more: |_| text(broken_offsets()),
        ends: fault("Arrow data"),
        by: LENGTHS,
        ..ARROW
    },
    Behaviour {
        name: "arrow-utf8",
        does: "has text that is not UTF-8",
        more: |_| text(broken_text()),
        ends: fault("not valid"),
        by: "text is checked before anybody reads it",
        ..ARROW
    },
    Behaviour {
        name: "arrow-dictionary",
        does: "sends a dictionary",
        more: |_| sent(stream(&[one_column(Arc::new(dictionary()))])),
        ends: fault("no record batch"),
        by: FORM,
        ..ARROW
    },
    Behaviour {
        name: "arrow-two-batches",
        does: "sends two batches at once",
        more: |_| sent(stream(&[good(), good()])),
        ends: fault("second batch"),
        by: FORM,
        ..ARROW
    },
    Behaviour {
        name: "arrow-no-batch",
        does: "sends a schema and the end",
        more: |_| sent(stream(&[good()])[..schema_length(&stream(&[good()]))].to_vec()),
        ends: fault("cut off"),
        by: FORM,
        ..ARROW
    },
    Behaviour {
        name: "arrow-trailing",
        does: "sends more bytes after the end",
        more: |_| sent([stream(&[good()]), vec![0; 8]].concat()),
        ends: fault("trailing bytes"),
        by: FORM,
        ..ARROW
    },
    Behaviour {
        name: "arrow-other-schema",
        does: "sends another schema than its cursor's",
        more: |_| {
            sent(stream(&[one_column(Arc::new(StringArray::from(vec![
                "a",
            ])))]))
        },
        ends: fault("another schema"),
        by: TYPES,
        ..ARROW
    },
    Behaviour {
        name: "arrow-nested",
        does: "sends lists in lists",
        more: |_| sent(stream(&[one_column(nested(1))])),
        ends: fault("Arrow data"),
        by: TYPES,
        ..ARROW
    },
    Behaviour {
        name: "arrow-deep",
        does: "sends a schema that is 500 lists deep",
        more: |_| sent(stream(&[one_column(nested(500))])),
        ends: fault("Arrow data"),
        by: TYPES,
        ..ARROW
    },
    Behaviour {
        name: "arrow-any",
        does: "sends Arrow where its schema promises nothing",
        more: |_| json!({"arrow": stream(&[good()]), "column": "any"}),
        ends: fault("of type `any`"),
        by: TYPES,
        ..ARROW
    },
    Behaviour {
        name: "arrow-file",
        does: "sends a file in the place of a stream",
        more: |_| sent(b"ARROW1\0\0".to_vec()),
        ends: fault("another format"),
        by: FORM,
        ..ARROW
    },
    Behaviour {
        name: "arrow-many-rows",
        does: "sends more rows than it was asked for",
        more: |_| {
            sent(stream(&[one_column(Arc::new(Int64Array::from(vec![
                1;
                11
            ])))]))
        },
        ends: fault("11 rows where at most 10"),
        by: "rows are counted where a batch enters",
        ..ARROW
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn arrow_data_beside_one_plain_batch_are_refused() {
    connectors(ROWS).await;
}

fn good() -> RecordBatch {
    one_column(Arc::new(Int64Array::from(vec![1, 2])))
}

fn dictionary() -> DictionaryArray<Int32Type> {
    ["a", "b"].into_iter().collect()
}

/// A list of one list of one list …
fn nested(depth: usize) -> ArrayRef {
    let mut array: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    for _ in 0..depth {
        let field = Arc::new(Field::new("item", array.data_type().clone(), true));
        debug_assert!(matches!(
            array.data_type(),
            DataType::Int64 | DataType::List(_)
        ));
        array = Arc::new(ListArray::new(
            field,
            OffsetBuffer::from_lengths([1]),
            array,
            None,
        ));
    }
    array
}

fn broken_text() -> Vec<u8> {
    let mut bytes = texts();
    let at = position(&bytes, b"text");
    bytes[at + 1] = 0xff;
    bytes
}

/// The offsets of `text` and `more` are 0, 4 and 8.
fn broken_offsets() -> Vec<u8> {
    let mut bytes = texts();
    let at = position(&bytes, &[0, 0, 0, 0, 4, 0, 0, 0, 8, 0, 0, 0]);
    bytes[at + 4..at + 8].copy_from_slice(&i32::MAX.to_le_bytes());
    bytes[at + 8..at + 12].copy_from_slice(&(-8i32).to_le_bytes());
    bytes
}

fn texts() -> Vec<u8> {
    stream(&[one_column(Arc::new(StringArray::from(vec![
        "text", "more",
    ])))])
}

fn position(bytes: &[u8], part: &[u8]) -> usize {
    let mut windows = bytes.windows(part.len());
    windows.position(|window| window == part).unwrap()
}

fn schema_length(stream: &[u8]) -> usize {
    8 + u32::from_le_bytes(stream[4..8].try_into().unwrap()) as usize
}

fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn one_column(array: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter([("n", array)]).unwrap()
}

/// A stream whose batch says that it has `rows` rows and those buffers, with nothing in its body.
fn hollow(rows: i64, buffers: [(i64, i64); 2], is_compressed: bool) -> Vec<u8> {
    let empty = one_column(Arc::new(Int64Array::from(Vec::<i64>::new())));
    let plain = stream(&[empty]);
    let mut bytes = plain[..schema_length(&plain)].to_vec();

    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let args = arrow_ipc::BodyCompressionArgs::default();
    let compression = arrow_ipc::BodyCompression::create(&mut builder, &args);
    let nodes = builder.create_vector(&[arrow_ipc::FieldNode::new(rows, 0)]);
    let buffers = buffers.map(|(offset, length)| arrow_ipc::Buffer::new(offset, length));
    let buffers = builder.create_vector(&buffers);
    let args = arrow_ipc::RecordBatchArgs {
        length: rows,
        nodes: Some(nodes),
        buffers: Some(buffers),
        compression: is_compressed.then_some(compression),
        ..Default::default()
    };
    let batch = arrow_ipc::RecordBatch::create(&mut builder, &args);
    let args = arrow_ipc::MessageArgs {
        version: arrow_ipc::MetadataVersion::V5,
        header_type: arrow_ipc::MessageHeader::RecordBatch,
        header: Some(batch.as_union_value()),
        ..Default::default()
    };
    let message = arrow_ipc::Message::create(&mut builder, &args);
    builder.finish(message, None);
    let mut metadata = builder.finished_data().to_vec();
    metadata.resize(metadata.len().next_multiple_of(8), 0);

    bytes.extend([0xff; 4]);
    bytes.extend((metadata.len() as u32).to_le_bytes());
    bytes.extend(metadata);
    bytes.extend([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    bytes
}
