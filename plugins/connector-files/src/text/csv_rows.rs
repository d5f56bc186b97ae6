//! The rows of a CSV file.

use csv::{ByteRecord, ErrorKind as CsvError, Position, Reader, ReaderBuilder};
use mindhost_sdk::{Error, Result};

use super::{Field, types};
use crate::input::{self, Budget, Input, fault};
use crate::layout::File;

/// A file at one of its rows.
pub struct CsvRows {
    reader: Reader<Input>,
    budget: Budget,
    row: ByteRecord,
    path: String,
    names: Vec<String>,
}

impl CsvRows {
    /// Opens a file and reads its first line.
    pub fn open(root: &str, file: &File, delimiter: u8, most: u64) -> Result<Self> {
        let (input, budget) = input::open(root, &file.path, file.codec, most)?;
        let mut reader = ReaderBuilder::new().delimiter(delimiter).from_reader(input);
        let header = reader
            .byte_headers()
            .map_err(|error| unfit(&file.path, &error))?;
        let names =
            types::names(header).map_err(|error| error.context(format_args!("`{}`", file.path)))?;
        Ok(Self {
            reader,
            budget,
            row: ByteRecord::new(),
            path: file.path.clone(),
            names,
        })
    }

    /// The names of the columns, each once.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many bytes were read, decompressed.
    pub fn bytes(&self) -> u64 {
        self.reader.position().byte()
    }

    /// Goes to the next row; false at the end.
    pub fn advance(&mut self) -> Result<bool> {
        self.budget.next_row();
        self.reader
            .read_byte_record(&mut self.row)
            .map_err(|error| unfit(&self.path, &error))
    }

    /// The number of the current line, from 1.
    pub fn line(&self) -> u64 {
        self.row.position().map_or(0, Position::line)
    }

    /// A field of the current row.
    pub fn field(&self, index: usize) -> Field<'_> {
        match self.row.get(index) {
            None | Some([]) => Field::Null,
            Some(field) => Field::Plain(field),
        }
    }
}

/// What the reader says of a line.
fn unfit(path: &str, error: &csv::Error) -> Error {
    match error.kind() {
        CsvError::UnequalLengths {
            pos,
            expected_len,
            len,
        } => {
            let line = pos.as_ref().map_or(0, Position::line);
            let what =
                format_args!("line {line} has {len} fields, and the first line has {expected_len}");
            fault(path, &what)
        }
        _ => fault(path, error),
    }
}
