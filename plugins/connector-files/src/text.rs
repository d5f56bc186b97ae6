//! Files that are lines of text: rows with fields.

mod csv_rows;
mod delimiter;
mod json_rows;
mod quotes;
mod sample;
mod scan;
pub mod types;

pub use delimiter::{USUAL_DELIMITER, recognised_delimiter};
pub use sample::{Headers, sample, spread};
pub use scan::TextScan;

use mindhost_sdk::Result;

use crate::format::Format;
use crate::layout::File;

use self::csv_rows::CsvRows;
use self::json_rows::JsonRows;

/// The rows of one file.
enum Rows {
    Csv(Box<CsvRows>),
    Json(Box<JsonRows>),
}

/// One field of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Field<'a> {
    /// Absent, empty in a CSV file, or `null`.
    Null,
    /// A field of a CSV file.
    Plain(&'a [u8]),
    /// A JSON string, unescaped.
    Text(&'a str),
    /// A JSON number or truth value, as it is written.
    Scalar(&'a str),
    /// A JSON array or object, as it is written.
    Document(&'a str),
}

impl Rows {
    /// Opens a file, at most `most` bytes of what is in it. A CSV file is then behind its first line.
    fn open(root: &str, file: &File, format: Format, delimiter: u8, most: u64) -> Result<Self> {
        Ok(match format {
            Format::Jsonl => Self::Json(Box::new(JsonRows::open(root, file, most)?)),
            _ => Self::Csv(Box::new(CsvRows::open(root, file, delimiter, most)?)),
        })
    }

    /// Goes to the next row; false at the end.
    fn advance(&mut self) -> Result<bool> {
        match self {
            Self::Csv(rows) => rows.advance(),
            Self::Json(rows) => rows.advance(),
        }
    }

    /// How many bytes were read, decompressed, but for a byte order mark.
    fn bytes(&self) -> u64 {
        match self {
            Self::Csv(rows) => rows.bytes(),
            Self::Json(rows) => rows.bytes(),
        }
    }

    /// The number of the line in which a field of the current row begins, from 1.
    fn line(&self, field: usize) -> u64 {
        match self {
            Self::Csv(rows) => rows.line(field),
            Self::Json(rows) => rows.line(),
        }
    }
}
