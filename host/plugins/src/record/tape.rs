//! The file of a recording: a header, then one line for each call.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Write},
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use mindhost_base::{error::Error, locks::lock};
use mindhost_plugin_api::{
    Target,
    manifest::Manifest,
    redact::{MASK, Redactor, is_secret},
};

/// The version of the format. A reader accepts only its own.
const VERSION: u32 = 1;

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format.
    pub mindhost_recording: u32,
    /// Name of the plugin.
    pub plugin: String,
    /// Version of the recorded plugin.
    pub version: String,
    /// SHA-256 of its file, in hex.
    pub digest: String,
    /// Whether rows are kept as they are.
    pub full: bool,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The connection or completion: `1`, `2`, … in the order of their start.
    pub on: u64,
    /// The function, by its name in the contract: `query`, `next`, …; `open` begins a connection and `start` a
    /// completion.
    pub call: String,
    /// What the call was given, as JSON.
    pub arguments: Value,
    /// What came of it: a reply or an error.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Its duration in microseconds.
    pub took_us: u64,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Its result.
    Ok(Value),
    /// Its error: `code` is the host's, `reported` the kind that the plugin reported.
    Error(Value),
}

/// A recording in progress.
pub struct Tape {
    out: Mutex<TapeOutput>,
    next: AtomicU64,
    full: bool,
}

enum TapeOutput {
    /// The first write error, reported at the end.
    File(BufWriter<File>, Option<io::Error>),
    Memory(Vec<Entry>),
}

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line is malformed.
    #[error("line {0} is no part of a recording: {1}")]
    Line(usize, serde_json::Error),
    /// Another version of Mindhost wrote it.
    #[error("the recording has the format {0}, and this is format {VERSION}; record it anew")]
    Version(u32),
    /// The file has no line, not even a head.
    #[error("the file is empty")]
    Empty,
}

impl Tape {
    /// A new file; `full` keeps rows as they are.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(path: &Path, manifest: &Manifest, digest: &str, full: bool) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        let header = Header {
            mindhost_recording: VERSION,
            plugin: manifest.name.clone(),
            version: manifest.version.clone(),
            digest: digest.to_owned(),
            full,
        };
        writeln!(file, "{}", serde_json::to_string(&header)?)?;
        Ok(Self {
            out: Mutex::new(TapeOutput::File(file, None)),
            next: AtomicU64::new(1),
            full,
        })
    }

    /// A tape in memory; [`Tape::take`] returns its lines.
    pub fn in_memory() -> Self {
        Self {
            out: Mutex::new(TapeOutput::Memory(Vec::new())),
            next: AtomicU64::new(1),
            full: false,
        }
    }

    /// The lines in memory since the last call.
    pub fn take(&self) -> Vec<Entry> {
        match &mut *lock(&self.out) {
            TapeOutput::File(..) => Vec::new(),
            TapeOutput::Memory(entries) => std::mem::take(entries),
        }
    }

    /// Whether rows are kept as they are.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Flushes the file.
    ///
    /// # Errors
    /// When a line could not be written, now or before.
    pub fn finish(&self) -> io::Result<()> {
        match &mut *lock(&self.out) {
            TapeOutput::File(file, broken) => match broken.take() {
                Some(error) => Err(error),
                None => file.flush(),
            },
            TapeOutput::Memory(_) => Ok(()),
        }
    }

    fn write(&self, entry: Entry) {
        match &mut *lock(&self.out) {
            TapeOutput::File(file, broken) => {
                let written = serde_json::to_string(&entry)
                    .map_err(io::Error::from)
                    .and_then(|line| writeln!(file, "{line}"));
                if let Err(error) = written {
                    broken.get_or_insert(error);
                }
            }
            TapeOutput::Memory(entries) => entries.push(entry),
        }
    }
}

/// The part of a tape that belongs to one connection or completion.
pub(super) struct Track {
    on: u64,
    redactor: Redactor,
}

impl Track {
    /// The next part, for a target whose secrets are masked.
    pub fn new(tape: &Tape, manifest: &Manifest, target: &Target) -> Self {
        Self {
            on: tape.next.fetch_add(1, Ordering::Relaxed),
            redactor: Redactor::new(manifest, &target.connection_data),
        }
    }

    /// Writes a call with its outcome.
    pub fn note(
        &self,
        tape: &Tape,
        call: &str,
        arguments: Value,
        took: Duration,
        result: Result<Value, &Error>,
    ) {
        let outcome = match result {
            Ok(value) => Outcome::Ok(self.clean(value)),
            Err(error) => Outcome::Error(self.clean(failure(error))),
        };
        tape.write(Entry {
            on: self.on,
            call: call.to_owned(),
            arguments: self.clean(arguments),
            outcome,
            took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        });
    }

    /// The value with secrets masked in all texts.
    fn clean(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redactor.redact_cut(&text, usize::MAX)),
            Value::Array(items) => items.into_iter().map(|item| self.clean(item)).collect(),
            Value::Object(fields) => fields
                .into_iter()
                .map(|(name, field)| (name, self.clean(field)))
                .collect(),
            plain => plain,
        }
    }
}

/// Connection data with every secret property, and every one that the schema does not know, masked.
pub fn shown(manifest: &Manifest, data: &Map<String, Value>) -> Value {
    let properties = manifest.connection_data["properties"].as_object();
    let is_open = |name: &String| {
        let property = properties.and_then(|properties| properties.get(name));
        property.is_some_and(|schema| !is_secret(schema))
    };
    let shown = data.iter().map(|(name, value)| match is_open(name) {
        true => (name.clone(), value.clone()),
        false => (name.clone(), Value::from(MASK)),
    });
    Value::Object(shown.collect())
}

fn failure(error: &Error) -> Value {
    json!({
        "code": error.code().as_str(),
        "reported": error.reported(),
        "message": error.message(),
        "engine_code": error.engine_code(),
        "position": error.position(),
    })
}

/// Reads a recording.
///
/// # Errors
/// If the file is not a recording, or has another version.
pub fn read(path: &Path) -> Result<(Header, Vec<Entry>), TapeError> {
    let mut lines = (1..).zip(BufReader::new(File::open(path)?).lines());
    let (_, first) = lines.next().ok_or(TapeError::Empty)?;
    let header: Header =
        serde_json::from_str(&first?).map_err(|error| TapeError::Line(1, error))?;
    if header.mindhost_recording != VERSION {
        return Err(TapeError::Version(header.mindhost_recording));
    }
    let mut entries = Vec::new();
    for (number, line) in lines {
        let entry = serde_json::from_str(&line?);
        entries.push(entry.map_err(|error| TapeError::Line(number, error))?);
    }
    Ok((header, entries))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn manifest() -> Manifest {
        let manifest = json!({
            "kind": "connector", "name": "c", "title": "C", "version": "1.0.0", "wit": "0.1.0",
            "world": "sql-connector",
            "connection_data": {"properties": {"host": {}, "password": {"x-secret": true}}}
        });
        serde_json::from_value(manifest).unwrap()
    }

    #[test]
    fn what_is_written_can_be_read_and_holds_no_secret() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("calls.jsonl");
        let data = json!({"host": "db", "password": "hunter22", "odd": "x"});
        let target = Target {
            id: "t".into(),
            workspace: "w".into(),
            folder: "w".into(),
            name: "n".into(),
            connection_data: Arc::new(data.as_object().unwrap().clone()),
            max_connections: 1,
        };
        let tape = Tape::create(&file, &manifest(), "d1", false).unwrap();
        let track = Track::new(&tape, &manifest(), &target);
        let arguments = shown(&manifest(), &target.connection_data);
        let shown = Ok(json!(["it is", "hunter22"]));
        track.note(&tape, "open", arguments, Duration::ZERO, shown);
        tape.finish().unwrap();

        assert!(!std::fs::read_to_string(&file).unwrap().contains("hunter22"));
        let (header, entries) = read(&file).unwrap();
        assert_eq!(
            (header.plugin.as_str(), header.digest.as_str()),
            ("c", "d1")
        );
        let [entry] = entries.as_slice() else {
            panic!("{entries:?}")
        };
        let masked = json!({"host": "db", "password": MASK, "odd": MASK});
        assert_eq!(entry.arguments, masked);
        assert_eq!(entry.outcome, Outcome::Ok(json!(["it is", MASK])));
    }

    #[test]
    fn a_recording_of_another_version_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("calls.jsonl");
        let line =
            r#"{"mindhost_recording":2,"plugin":"c","version":"1","digest":"d","full":false}"#;
        std::fs::write(&file, line).unwrap();
        let error = read(&file).unwrap_err();
        assert!(error.to_string().contains("format 2"), "{error}");
    }
}
