//! Arrow IPC: files (Feather 2) and streams. Both are messages, and one at a time is read: those of a stream follow
//! each other, and the footer of a file says where they are.
//!
//! `arrow-ipc` trusts what a message says of itself. So each message is taken apart before (`message`): counts,
//! offsets and lengths are compared with the schema and with what is there, and compressed buffers are decompressed
//! within a limit.

mod aligned;
mod footer;
mod message;
mod schema;

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::BufReader;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{MessageHeader, root_as_message};
use arrow_schema::{ArrowError, SchemaRef};
use mindhost_sdk::{Error, Result};

use super::kind::{FileColumn, Mark};
use super::{BATCH_BYTES, Batches, MAX_ROWS, Rows};
use crate::directory::unreadable;
use crate::input::fault;
use crate::text::types;

use self::message::{Message, Reader};

/// Dictionaries of one file, in bytes, at most.
const MAX_DICTIONARIES: usize = 64 << 20;

/// A file behind its schema.
pub struct ArrowFile {
    path: String,
    reader: Reader,
    schema: SchemaRef,
    columns: Vec<FileColumn>,
    /// By the identity that the schema gives them.
    dictionaries: HashMap<i64, ArrayRef>,
}

impl ArrowFile {
    /// Opens a file and reads its schema.
    ///
    /// # Errors
    /// `Upstream` when it is no Arrow file, or has a type that is not read.
    pub fn open(root: &str, path: &str) -> Result<Self> {
        let failed = |error: std::io::Error| unreadable(&error).context(format_args!("`{path}`"));
        let file = fs::File::open(Path::new(root).join(path)).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let input = BufReader::with_capacity(256 << 10, file);
        let (reader, schema) = Reader::start(input, length).map_err(|what| fault(path, &what))?;
        let fields = schema.fields();
        let names = types::numbered(fields.iter().map(|field| field.name().clone()));
        let column = |(field, name): (&arrow_schema::FieldRef, String)| FileColumn {
            name,
            physical: field.data_type().clone(),
            mark: mark(
                field
                    .metadata()
                    .get("ARROW:extension:name")
                    .map(String::as_str),
            ),
        };
        Ok(Self {
            path: path.to_owned(),
            reader,
            columns: fields.iter().zip(names).map(column).collect(),
            schema: SchemaRef::new(schema),
            dictionaries: HashMap::new(),
        })
    }

    /// The columns in their order.
    pub fn columns(&self) -> &[FileColumn] {
        &self.columns
    }

    /// Reads these columns.
    ///
    /// # Errors
    /// None yet.
    pub fn read(self, wanted: &[usize]) -> Result<ArrowBatches> {
        let mut projection = wanted.to_vec();
        projection.sort_unstable();
        Ok(ArrowBatches {
            file: self,
            places: wanted
                .iter()
                .filter_map(|index| projection.binary_search(index).ok())
                .collect(),
            projection,
            slices: VecDeque::new(),
        })
    }

    fn fault(&self, what: &dyn std::fmt::Display) -> Error {
        fault(&self.path, what)
    }

    /// The next rows of the file.
    fn batch(&mut self, projection: &[usize]) -> Result<Option<RecordBatch>> {
        loop {
            mindhost_sdk::control::check()?;
            let message = self
                .reader
                .next()
                .map_err(|what| fault(&self.path, &what))?;
            let Some(Message { metadata, body }) = message else {
                return Ok(None);
            };
            let checked = message::checked(&metadata, body, &self.schema, projection);
            let checked = checked.map_err(|what| self.fault(&what))?;
            let parsed = root_as_message(&checked.metadata).map_err(|error| self.fault(&error))?;
            let body = Buffer::from(checked.body);
            match parsed.header_type() {
                MessageHeader::DictionaryBatch => {
                    if let Some(batch) = parsed.header_as_dictionary_batch() {
                        let known = &mut self.dictionaries;
                        read_dictionary(&body, batch, &self.schema, known, &parsed.version())
                            .map_err(|error| fault(&self.path, &error))?;
                        self.check_dictionaries()?;
                    }
                }
                _ => {
                    let Some(batch) = parsed.header_as_record_batch() else {
                        continue;
                    };
                    let schema = SchemaRef::clone(&self.schema);
                    let version = parsed.version();
                    let read = read_record_batch(
                        &body,
                        batch,
                        schema,
                        &self.dictionaries,
                        Some(projection),
                        &version,
                    );
                    return read
                        .map(Some)
                        .map_err(|error: ArrowError| self.fault(&error));
                }
            }
        }
    }

    fn check_dictionaries(&self) -> Result<()> {
        let bytes: usize = self
            .dictionaries
            .values()
            .map(|array| array.get_array_memory_size())
            .sum();
        match bytes <= MAX_DICTIONARIES {
            true => Ok(()),
            false => Err(self.fault(&format!(
                "its dictionaries have more than {} MiB",
                MAX_DICTIONARIES >> 20
            ))),
        }
    }
}

fn mark(extension: Option<&str>) -> Mark {
    match extension {
        Some("arrow.uuid") => Mark::Uuid,
        Some("arrow.json") => Mark::Json,
        _ => Mark::None,
    }
}

/// A file while its rows are read.
pub struct ArrowBatches {
    file: ArrowFile,
    /// The places of the wanted columns in the schema, ascending.
    projection: Vec<usize>,
    /// For each wanted column its place in the projection.
    places: Vec<usize>,
    slices: VecDeque<RecordBatch>,
}

impl Batches for ArrowBatches {
    fn next(&mut self) -> Result<Option<Rows>> {
        while self.slices.is_empty() {
            let Some(batch) = self.file.batch(&self.projection)? else {
                return Ok(None);
            };
            let step = rows_at_once(&batch);
            let mut start = 0;
            while start < batch.num_rows() {
                let count = step.min(batch.num_rows() - start);
                self.slices.push_back(batch.slice(start, count));
                start += count;
            }
        }
        let Some(batch) = self.slices.pop_front() else {
            return Ok(None);
        };
        let column = |place: &usize| batch.columns().get(*place).cloned();
        Ok(Some(Rows {
            arrays: self.places.iter().filter_map(column).collect(),
            count: batch.num_rows(),
        }))
    }
}

/// How many rows are converted at once: a long text in a dictionary can stand in each of them.
fn rows_at_once(batch: &RecordBatch) -> usize {
    let width = |array: &ArrayRef| match array.as_any_dictionary_opt() {
        Some(dictionary) => widest(dictionary.values()),
        None => array
            .get_array_memory_size()
            .checked_div(array.len())
            .unwrap_or_default(),
    };
    let row: usize = batch.columns().iter().map(width).sum();
    BATCH_BYTES
        .checked_div(row)
        .unwrap_or(MAX_ROWS)
        .clamp(1, MAX_ROWS)
}

fn widest(values: &ArrayRef) -> usize {
    let lengths = |offsets: &[i32]| {
        let pairs = offsets.windows(2).map(|pair| match pair {
            [from, to] => usize::try_from(to - from).unwrap_or_default(),
            _ => 0,
        });
        pairs.max().unwrap_or_default()
    };
    match (values.as_string_opt::<i32>(), values.as_binary_opt::<i32>()) {
        (Some(texts), _) => lengths(texts.value_offsets()),
        (_, Some(bytes)) => lengths(bytes.value_offsets()),
        // Larger offsets, views and nested values: as if one value had all bytes.
        _ => values.get_array_memory_size(),
    }
}
