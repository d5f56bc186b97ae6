//! The rows of a file of JSON lines.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use mindhost_sdk::{Error, ErrorKind, Result};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Field;
use crate::input::{self, Budget, Input, fault};
use crate::layout::File;

/// A file at one of its rows.
pub struct JsonRows {
    input: Input,
    budget: Budget,
    line: Vec<u8>,
    number: u64,
    bytes: u64,
    path: String,
    /// The columns that are wanted; all, and those that turn up later, if `open_ended`.
    columns: HashMap<String, usize>,
    names: Vec<String>,
    open_ended: bool,
    cells: Vec<Cell>,
    /// Unescaped strings of the current row.
    texts: String,
}

/// Where a value of the current row is.
#[derive(Clone)]
enum Cell {
    Null,
    Text(Range<usize>),
    Scalar(Range<usize>),
    Document(Range<usize>),
}

impl JsonRows {
    /// Opens a file before its first row.
    pub fn open(root: &str, file: &File, most: u64) -> Result<Self> {
        let (input, budget) = input::open(root, &file.path, file.codec, most)?;
        Ok(Self {
            input,
            budget,
            line: Vec::new(),
            number: 0,
            bytes: 0,
            path: file.path.clone(),
            columns: HashMap::new(),
            names: Vec::new(),
            open_ended: true,
            cells: Vec::new(),
            texts: String::new(),
        })
    }

    /// Reads these columns and no other: the first has the index 0.
    pub fn only(&mut self, names: &[&str]) {
        self.open_ended = false;
        self.columns = names
            .iter()
            .enumerate()
            .map(|(index, name)| ((*name).to_owned(), index))
            .collect();
        self.cells = vec![Cell::Null; names.len()];
    }

    /// The columns that were met so far.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many bytes were read, decompressed.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of the current line, from 1.
    pub fn line(&self) -> u64 {
        self.number
    }

    /// Goes to the next row, over empty lines; false at the end.
    pub fn advance(&mut self) -> Result<bool> {
        loop {
            self.budget.next_row();
            let read = input::line(&mut self.input, &mut self.line)
                .map_err(|error| fault(&self.path, &error))?;
            if read == 0 {
                return Ok(false);
            }
            self.number += 1;
            self.bytes += read as u64;
            if self.number == 1 && self.line.starts_with(b"\xEF\xBB\xBF") {
                self.line.drain(..3);
            }
            if !self.line.iter().all(u8::is_ascii_whitespace) {
                return self.parse().map(|()| true);
            }
        }
    }

    /// A value of the current row.
    pub fn field(&self, index: usize) -> Field<'_> {
        let raw = |range: &Range<usize>| {
            let bytes = self.line.get(range.clone()).unwrap_or_default();
            std::str::from_utf8(bytes).unwrap_or_default()
        };
        match self.cells.get(index) {
            None | Some(Cell::Null) => Field::Null,
            Some(Cell::Text(range)) => {
                Field::Text(self.texts.get(range.clone()).unwrap_or_default())
            }
            Some(Cell::Scalar(range)) => Field::Scalar(raw(range)),
            Some(Cell::Document(range)) => Field::Document(raw(range)),
        }
    }

    fn parse(&mut self) -> Result<()> {
        self.cells.fill(Cell::Null);
        self.texts.clear();
        let line = std::mem::take(&mut self.line);
        let parsed = self.parse_line(&line);
        self.line = line;
        parsed.map_err(|what| {
            let (number, path) = (self.number, &self.path);
            Error::new(
                ErrorKind::Upstream,
                format!("line {number} of `{path}`: {what}"),
            )
        })
    }

    fn parse_line(&mut self, line: &[u8]) -> std::result::Result<(), String> {
        let text = std::str::from_utf8(line).map_err(|_| "is not UTF-8".to_owned())?;
        let mut parser = serde_json::Deserializer::from_str(text);
        let mut members = Members {
            rows: self,
            line: text,
            wrong: None,
        };
        let read = parser
            .deserialize_map(&mut members)
            .and_then(|()| parser.end());
        match (members.wrong, read) {
            (Some(wrong), _) => Err(wrong),
            (None, Err(error)) => Err(format!("is not one JSON object: {}", without_line(&error))),
            (None, Ok(())) => Ok(()),
        }
    }

    /// Keeps a member of the current row, if its column is wanted.
    fn keep(&mut self, line: &str, name: &str, value: &str) -> std::result::Result<(), String> {
        let Some(index) = self.index(name)? else {
            return Ok(());
        };
        let cell = self.cell(line, value)?;
        if let Some(place) = self.cells.get_mut(index) {
            *place = cell;
        }
        Ok(())
    }

    fn index(&mut self, name: &str) -> std::result::Result<Option<usize>, String> {
        if let Some(index) = self.columns.get(name) {
            return Ok(Some(*index));
        }
        if !self.open_ended {
            return Ok(None);
        }
        if self.names.len() >= super::types::MAX_COLUMNS {
            return Err(format!(
                "has more than {} columns with the lines before",
                super::types::MAX_COLUMNS
            ));
        }
        self.columns.insert(name.to_owned(), self.names.len());
        self.names.push(name.to_owned());
        self.cells.push(Cell::Null);
        Ok(Some(self.names.len() - 1))
    }

    fn cell(&mut self, line: &str, raw: &str) -> std::result::Result<Cell, String> {
        let start = (raw.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
        let range = start..start + raw.len();
        Ok(match raw.as_bytes().first() {
            None | Some(b'n') => Cell::Null,
            Some(b'"') => {
                let text: Cow<'_, str> = serde_json::from_str::<Text<'_>>(raw)
                    .map_err(|error| without_line(&error))?
                    .0;
                let from = self.texts.len();
                self.texts.push_str(&text);
                Cell::Text(from..self.texts.len())
            }
            Some(b'{' | b'[') => Cell::Document(range),
            Some(_) => Cell::Scalar(range),
        })
    }
}

/// A string, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The members of the object of a row. Each goes to its column at once: a row may have millions that are not wanted.
struct Members<'a> {
    rows: &'a mut JsonRows,
    line: &'a str,
    /// What is wrong with a member, beside its JSON.
    wrong: Option<String>,
}

impl<'de> Visitor<'de> for &mut Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some((Text(name), value)) = map.next_entry::<Text<'de>, &RawValue>()? {
            if let Err(wrong) = self.rows.keep(self.line, &name, value.get()) {
                self.wrong = Some(wrong);
                return Err(A::Error::custom("a member cannot be kept"));
            }
        }
        Ok(())
    }
}

/// What the parser says, without its own count of lines.
fn without_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let (what, column) = (text.rsplit_once(" at line "), error.column());
    what.map_or_else(
        || text.clone(),
        |(what, _)| format!("{what} at column {column}"),
    )
}
