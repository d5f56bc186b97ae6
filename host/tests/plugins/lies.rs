//! Guests that return what the contract does not allow.

use std::{
    io::Write,
    sync::{Arc, Mutex},
    time::Instant,
};

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

/// What is logged on this thread while it lives.
struct Lines {
    bytes: Arc<Mutex<Vec<u8>>>,
    _capturing: tracing::subscriber::DefaultGuard,
}

impl Lines {
    fn capture() -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(Arc::new(Written(Arc::clone(&bytes))))
            .finish();
        Self {
            bytes,
            _capturing: tracing::subscriber::set_default(subscriber),
        }
    }

    /// The lines about the hostile guest.
    fn of_the_guest(self) -> Vec<String> {
        let text = String::from_utf8(self.bytes.lock().unwrap().clone()).unwrap();
        // Every line names the call that it belongs to, those of libraries too; what is meant comes after it.
        let said = |line: &str| {
            line.split_once("}: ")
                .map_or(line.to_owned(), |it| it.1.to_owned())
        };
        let lines = text
            .lines()
            .filter(|line| said(line).contains("guest-hostile"));
        lines.map(str::to_owned).collect()
    }
}

struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for &Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn check_lines(lines: &[String], began: Instant) {
    let seconds = began.elapsed().as_secs() as usize + 2;
    assert!(!lines.is_empty());
    // Fifty a second, and one that says how many were dropped.
    assert!(lines.len() <= 51 * seconds, "{} lines", lines.len());
    for line in lines {
        assert!(line.len() < 2_400, "{} bytes", line.len());
        assert!(!line.contains("hunt"), "{line}");
    }
}

#[tokio::test]
async fn a_flood_of_log_lines_is_limited_cut_and_masked() {
    let began = Instant::now();
    let sandbox = Sandbox::new().await;
    let lines = Lines::capture();
    let data = json!({"mode": "log", "at": "check", "password": "hunter22"});
    sandbox.outcome_of(data, "check", &soon()).await.unwrap();
    let lines = lines.of_the_guest();
    check_lines(&lines, began);
    assert!(lines.iter().filter(|line| line.contains("****")).count() >= 6);
}

#[tokio::test]
async fn a_flood_of_refusals_is_limited_cut_and_masked_too() {
    let began = Instant::now();
    let sandbox = Sandbox::new().await;
    let lines = Lines::capture();
    let data = json!({"mode": "resolve-many", "at": "check", "password": "hunter22"});
    let error = sandbox.outcome_of(data, "check", &soon()).await;
    check_lines(&lines.of_the_guest(), began);
    let message = error.unwrap_err().message().to_owned();
    assert!(
        message.contains("looked up `********0.example`"),
        "{message}"
    );
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

/// A stream whose batch says that it has `rows` rows, and nothing of them in its body.
fn hollow(rows: i64, is_compressed: bool) -> Vec<u8> {
    let empty = one_column(Arc::new(Int64Array::from(Vec::<i64>::new())));
    let plain = stream(&[empty]);
    let schema_length = 8 + u32::from_le_bytes(plain[4..8].try_into().unwrap()) as usize;
    let mut bytes = plain[..schema_length].to_vec();

    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let args = arrow_ipc::BodyCompressionArgs::default();
    let compression = arrow_ipc::BodyCompression::create(&mut builder, &args);
    let nodes = builder.create_vector(&[arrow_ipc::FieldNode::new(rows, 0)]);
    let buffers = builder.create_vector(&[arrow_ipc::Buffer::new(0, 0); 2]);
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

async fn arrow_fault(sandbox: &Sandbox, bytes: Vec<u8>, words: &str) {
    let data = json!({"mode": "arrow", "at": "next", "arrow": bytes});
    let error = sandbox.outcome_of(data, "next", &soon()).await.unwrap_err();
    check_fault(&error, Code::PluginError, words);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_not_utf8_is_refused() {
    let sandbox = Sandbox::new().await;
    let mut bytes = stream(&[one_column(Arc::new(StringArray::from(vec!["text"])))]);
    let at = bytes.windows(4).position(|four| four == b"text").unwrap();
    bytes[at + 1] = 0xff;
    let data = json!({"mode": "arrow", "at": "next", "arrow": bytes, "target": "text"});
    let error = sandbox.outcome_of(data, "next", &soon()).await.unwrap_err();
    check_fault(&error, Code::PluginError, "not valid");
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

    arrow_fault(&sandbox, hollow(0, true), "compressed").await;
    arrow_fault(&sandbox, hollow(5, false), "Arrow data").await;
    arrow_fault(&sandbox, hollow(i64::MAX, false), "Arrow data").await;
    arrow_fault(&sandbox, hollow(-1, false), "Arrow data").await;
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
