//! The rows of a CSV file.
//!
//! `csv-core` finds the fields, but for lines without quotes, which are only split. It takes any bytes for CSV, passes
//! over blank lines and does not say where a quote opened. So blank lines and lines are followed here, and quotes in
//! `quotes`.

use std::io::{self, BufRead as _};
use std::ops::Range;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use memchr::{memchr, memchr_iter, memchr2};
use mindhost_sdk::{Error, ErrorKind, Result};

use super::quotes::Quotes;
use super::{Field, types};
use crate::input::{self, Budget, Input, fault};
use crate::layout::File;

/// What some programs write before the first line.
pub const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// Bytes of a row and fields of a row for which there is room at first.
const FIRST_BYTES: usize = 4 << 10;
const FIRST_FIELDS: usize = 64;

/// A file at one of its rows.
pub struct CsvRows {
    input: Input,
    budget: Budget,
    parser: Reader,
    delimiter: u8,
    path: String,
    names: Vec<String>,
    /// The fields of the current row, one after another. The rest is room for longer rows.
    data: Vec<u8>,
    /// Where each field ends in `data`. The rest is room for more fields.
    ends: Vec<usize>,
    /// Bytes between two fields in `data`: one where the row was taken as it stands, with its delimiters.
    gap: usize,
    /// How many fields the current row has.
    count: usize,
    /// The line in which the current row begins, from 1.
    line: u64,
    /// Ends of lines that the parser did not count: those of blank lines, and `\r` without `\n`.
    uncounted: u64,
    /// The last line ended with `\r`, so a `\n` belongs to its end.
    after_return: bool,
    bytes: u64,
}

impl CsvRows {
    /// Opens a file, at most `most` bytes of what is in it, and reads its first line.
    pub fn open(root: &str, file: &File, delimiter: u8, most: u64) -> Result<Self> {
        let (input, budget) = input::open(root, &file.path, file.codec, most)?;
        let mut rows = Self {
            input,
            budget,
            parser: ReaderBuilder::new().delimiter(delimiter).build(),
            delimiter,
            path: file.path.clone(),
            names: Vec::new(),
            data: vec![0; FIRST_BYTES],
            ends: vec![0; FIRST_FIELDS],
            gap: 0,
            count: 0,
            line: 1,
            uncounted: 0,
            after_return: false,
            bytes: 0,
        };
        rows.skip_byte_order_mark()
            .map_err(|error| fault(&file.path, &error))?;
        let read = rows.read_row();
        if rows.bytes >= most {
            let message = format!("the first line of `{}` is too long", file.path);
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        read?;
        let fields = (0..rows.count).map(|index| rows.bytes_of(index));
        // One of the two bytes of each ASCII character is NUL in UTF-16.
        if fields.clone().any(|field| field.contains(&0)) {
            let what = "it has a NUL character in its first line, as UTF-16 does; save it as UTF-8";
            return Err(fault(&file.path, &what));
        }
        let names =
            types::names(fields).map_err(|error| error.context(format_args!("`{}`", file.path)))?;
        rows.names = names;
        Ok(rows)
    }

    /// The names of the columns, each once.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many bytes were read, decompressed.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Goes to the next row; false at the end.
    ///
    /// # Errors
    /// When the file cannot be read, or the row is broken.
    pub fn advance(&mut self) -> Result<bool> {
        self.budget.next_row();
        if !self.read_row()? {
            return Ok(false);
        }
        if self.count == self.names.len() {
            return Ok(true);
        }
        let what = format!(
            "line {} has {} fields, and the first line has {}",
            self.line,
            self.count,
            self.names.len()
        );
        Err(fault(&self.path, &what))
    }

    /// The line in which a field of the current row begins, from 1, as an editor counts.
    pub fn line(&self, index: usize) -> u64 {
        let start = self.range(index).map_or(0, |range| range.start);
        // Only fields in quotes hold ends of lines.
        let before = self.data.get(..start).unwrap_or_default();
        let breaks: u64 = before.iter().map(|byte| u64::from(*byte == b'\n')).sum();
        self.line + breaks
    }

    /// A field of the current row.
    pub fn field(&self, index: usize) -> Field<'_> {
        match self.bytes_of(index) {
            [] => Field::Null,
            field => Field::Plain(field),
        }
    }

    fn bytes_of(&self, index: usize) -> &[u8] {
        let range = self.range(index);
        range
            .and_then(|range| self.data.get(range))
            .unwrap_or_default()
    }

    fn range(&self, index: usize) -> Option<Range<usize>> {
        if index >= self.count {
            return None;
        }
        let start = match index {
            0 => 0,
            _ => *self.ends.get(index - 1)? + self.gap,
        };
        Some(start..*self.ends.get(index)?)
    }

    fn skip_byte_order_mark(&mut self) -> io::Result<()> {
        if self.input.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
            self.consume(BYTE_ORDER_MARK.len());
        }
        Ok(())
    }

    fn consume(&mut self, bytes: usize) {
        self.input.consume(bytes);
        self.bytes += bytes as u64;
    }

    /// The line of the next byte.
    fn next_line(&self) -> u64 {
        self.parser.line() + self.uncounted
    }

    /// Reads the next row, whatever it has; false at the end. A blank line is a row where rows have one field: so
    /// NULL is written there. In other files, and before the first line, it is none.
    fn read_row(&mut self) -> Result<bool> {
        loop {
            let next = match self.input.fill_buf() {
                Ok(bytes) => bytes.first().copied(),
                Err(error) => return Err(fault(&self.path, &error)),
            };
            match next {
                None => return Ok(false),
                Some(b'\n') if self.after_return => {
                    self.consume(1);
                    self.after_return = false;
                }
                Some(end @ (b'\n' | b'\r')) => {
                    self.line = self.next_line();
                    self.consume(1);
                    self.uncounted += 1;
                    self.after_return = end == b'\r';
                    if self.names.len() == 1 {
                        self.count = 1;
                        self.gap = 0;
                        self.ends.fill(0);
                        return Ok(true);
                    }
                    self.budget.next_row();
                }
                Some(_) if self.take_line()? => return Ok(true),
                Some(_) => return self.parse_row().map(|()| true),
            }
        }
    }

    /// How many fields a row can have: those of the first line, or the most of that line.
    fn most_fields(&self) -> usize {
        match self.names.len() {
            0 => types::MAX_COLUMNS,
            names => names,
        }
    }

    fn too_many_fields(&self) -> Error {
        let what = match self.names.len() {
            0 => format!("the first line has more than {} fields", types::MAX_COLUMNS),
            names => format!(
                "line {} has more fields than the first line, which has {names}",
                self.line
            ),
        };
        fault(&self.path, &what)
    }

    /// Takes the next row as it stands if it is one line without quotes, as most are: the parser looks at each byte.
    /// False, and nothing is read, if it is not, is not yet here as a whole, or has no room.
    fn take_line(&mut self) -> Result<bool> {
        // The parser reads the first row, since it passes over a byte order mark in what it reads first.
        if self.names.is_empty() {
            return Ok(false);
        }
        let input = self.input.fill_buf();
        let input = input.map_err(|error| fault(&self.path, &error))?;
        let end = memchr2(b'\n', b'\r', input).unwrap_or(input.len());
        let (line, rest) = input.split_at(end);
        let end_bytes = match rest {
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            _ => return Ok(false),
        };
        let Some(data) = self.data.get_mut(..end) else {
            return Ok(false);
        };
        if memchr(b'"', line).is_some() {
            return Ok(false);
        }
        let mut fields = 0;
        for place in memchr_iter(self.delimiter, line).chain([end]) {
            let Some(field_end) = self.ends.get_mut(fields) else {
                return Ok(false);
            };
            *field_end = place;
            fields += 1;
        }
        data.copy_from_slice(line);
        self.line = self.next_line();
        self.uncounted += 1;
        self.after_return = false;
        self.gap = 1;
        self.count = fields;
        self.consume(end + end_bytes);
        Ok(true)
    }

    fn parse_row(&mut self) -> Result<()> {
        self.line = self.next_line();
        self.after_return = false;
        self.gap = 0;
        let first = self.parser.line();
        let mut quotes = Quotes::new(self.delimiter, self.line);
        let (mut filled, mut fields) = (0, 0);
        loop {
            let input = match self.input.fill_buf() {
                Ok(input) => input,
                Err(error) => return Err(unreadable(&self.path, &error, &quotes)),
            };
            if input.is_empty()
                && let Some(line) = quotes.open_since()
            {
                let what = "a quote opens here and does not close before the end of the file";
                return Err(broken(&self.path, line, what));
            }
            let (result, read, written, ended) = self.parser.read_record(
                input,
                self.data.get_mut(filled..).unwrap_or_default(),
                self.ends.get_mut(fields..).unwrap_or_default(),
            );
            filled += written;
            fields += ended;
            let is_end = matches!(result, ReadRecordResult::Record | ReadRecordResult::End);
            let piece = input.get(..read).unwrap_or_default();
            let last = piece.last().copied();
            // Most rows are one line in one piece, of which nothing has to be known. A row in several lines may be
            // several rows, behind a quote that should not be there.
            let lines = self.parser.line() - first;
            if !is_end || quotes.has_begun() || lines > u64::from(last == Some(b'\n')) {
                quotes.see(piece);
            }
            self.consume(read);
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.data.resize(self.data.len() * 2, 0),
                // A row may have as many delimiters as bytes.
                ReadRecordResult::OutputEndsFull if fields > self.most_fields() => {
                    return Err(self.too_many_fields());
                }
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record | ReadRecordResult::End => {
                    self.after_return = last == Some(b'\r');
                    break;
                }
            }
        }
        self.uncounted += u64::from(self.after_return);
        self.count = fields;
        let Some((opened, closed)) = quotes.broken() else {
            return Ok(());
        };
        let what = format!(
            "a quote opens here and closes in line {closed}, with text behind it; write a quote in a field as two"
        );
        Err(broken(&self.path, opened, &what))
    }
}

fn broken(path: &str, line: u64, what: &str) -> Error {
    Error::new(
        ErrorKind::Upstream,
        format!("line {line} of `{path}`: {what}"),
    )
}

/// A row that is too long often begins with a quote that should not be there.
fn unreadable(path: &str, error: &io::Error, quotes: &Quotes) -> Error {
    match quotes.open_since() {
        None => fault(path, error),
        Some(line) => fault(
            path,
            &format_args!("{error}; a quote is open since line {line}"),
        ),
    }
}
