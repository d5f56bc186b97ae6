//! Guests that return what the contract does not allow.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray, types::Int32Type,
};
use arrow_ipc::writer::StreamWriter;
use mindhost::error::{Blame, Code};
use serde_json::json;

use crate::fixture::{Sandbox, check_fault, soon};

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_cannot_be_are_refused() {
    let sandbox = Sandbox::new().await;
    for (mode, words) in [
        ("rows", "11 rows where at most 10"),
        ("wide", "a row of 2 values in a result of 1 columns"),
        ("narrow", "a row of 0 values"),
        ("type", "another type than its column's"),
        ("time", "beyond the day"),
        ("batch", "a batch of"),
    ] {
        let error = sandbox.failure(mode, "next").await;
        check_fault(&error, Code::PluginError, words);
        assert_eq!(error.blame(), Some(Blame::Plugin));
    }
    let error = sandbox.failure("cell", "next").await;
    check_fault(&error, Code::ResultTooLarge, "max_cell_bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_and_catalogs_that_cannot_be_are_refused() {
    let sandbox = Sandbox::new().await;
    for (mode, at) in [
        ("none", "schema"),
        ("many", "schema"),
        ("long-name", "schema"),
        ("long-name", "tables"),
        ("unasked", "describe-tables"),
        ("columns", "describe-tables"),
        ("nonsense", "statistics"),
    ] {
        let error = sandbox.failure(mode, at).await;
        check_fault(&error, Code::PluginError, "broke its contract");
    }
    let error = sandbox.failure("many", "tables").await;
    check_fault(&error, Code::ResultTooLarge, "max_tables");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_that_never_has_anything_ends_with_the_deadline() {
    let sandbox = Sandbox::new().await;
    let call = crate::fixture::brief();
    let error = sandbox.outcome("empty", "next", &call).await.unwrap_err();
    assert_eq!(error.code(), Code::Timeout);
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_are_cut_and_cannot_exhaust_the_host() {
    let sandbox = Sandbox::with(mindhost::config::PluginSettings {
        max_memory_bytes: 512 << 20,
        ..crate::fixture::settings()
    })
    .await;
    let data = json!({"mode": "long-text", "at": "check"});
    let mut connection = sandbox.connect(data, &soon()).await.unwrap();
    assert!(connection.check(&soon()).await.unwrap().product.len() <= 200);

    let error = sandbox.failure("giant-text", "check").await;
    check_fault(&error, Code::PluginError, "cannot be taken over");
    let error = sandbox.failure("long-error", "check").await;
    assert_eq!(error.code(), Code::UpstreamError);
    assert!(error.message().len() <= 4_096);
    let error = sandbox.failure("empty-error", "check").await;
    check_fault(&error, Code::PluginError, "without a message");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_does_not_leave_in_an_error() {
    let sandbox = Sandbox::new().await;
    let data = json!({"mode": "error", "at": "check", "password": "hunter22"});
    let error = sandbox
        .outcome_of(data, "check", &soon())
        .await
        .unwrap_err();
    assert_eq!(error.message(), "login with ******** failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_log_lines_harms_nobody() {
    let sandbox = Sandbox::new().await;
    sandbox.outcome("log", "check", &soon()).await.unwrap();
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

/// A stream whose batch says that its body is compressed.
fn compressed() -> Vec<u8> {
    let empty = one_column(Arc::new(Int64Array::from(Vec::<i64>::new())));
    let plain = stream(&[empty]);
    let schema_length = 8 + u32::from_le_bytes(plain[4..8].try_into().unwrap()) as usize;
    let mut bytes = plain[..schema_length].to_vec();

    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let args = arrow_ipc::BodyCompressionArgs::default();
    let compression = arrow_ipc::BodyCompression::create(&mut builder, &args);
    let nodes = builder.create_vector(&[arrow_ipc::FieldNode::new(0, 0)]);
    let buffers = builder.create_vector(&[arrow_ipc::Buffer::new(0, 0); 2]);
    let args = arrow_ipc::RecordBatchArgs {
        nodes: Some(nodes),
        buffers: Some(buffers),
        compression: Some(compression),
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

async fn arrow_fault(sandbox: &Sandbox, bytes: Vec<u8>, words: &str) {
    let data = json!({"mode": "arrow", "at": "next", "arrow": bytes});
    let error = sandbox.outcome_of(data, "next", &soon()).await.unwrap_err();
    check_fault(&error, Code::PluginError, words);
}

#[tokio::test(flavor = "multi_thread")]
async fn arrow_data_beside_one_plain_batch_are_refused() {
    let sandbox = Sandbox::new().await;
    let good = one_column(Arc::new(Int64Array::from(vec![1, 2])));
    let text = one_column(Arc::new(StringArray::from(vec!["a"])));
    let dictionary: DictionaryArray<Int32Type> = ["a", "b"].into_iter().collect();
    let many = one_column(Arc::new(Int64Array::from(vec![1; 11])));
    let mut trailing = stream(std::slice::from_ref(&good));
    trailing.extend([0; 8]);

    arrow_fault(&sandbox, compressed(), "compressed").await;
    arrow_fault(&sandbox, trailing, "trailing bytes").await;
    arrow_fault(&sandbox, stream(&[good.clone(), good]), "second batch").await;
    arrow_fault(&sandbox, stream(&[text]), "another schema").await;
    arrow_fault(
        &sandbox,
        stream(&[one_column(Arc::new(dictionary))]),
        "no record batch",
    )
    .await;
    arrow_fault(&sandbox, stream(&[many]), "11 rows where at most 10").await;
    arrow_fault(&sandbox, b"ARROW1\0\0".to_vec(), "another format").await;
}
