//! The rows of one file after another, on their way to the host.

use std::rc::Rc;

use mindhost_sdk::scanner::{Filter, ScanRequest};
use mindhost_sdk::{
    Batch, BatchBuilder, BatchLimits, Column, DataType, Error, ErrorKind, Result, Value, control,
};

use super::{Field, Rows, types};
use crate::describe::Table;
use crate::directory::{Beginning, changed, check_not_cut};
use crate::format::Codec;

/// Lines between two looks at whether the host still wants them.
const CHECK_LINES: u64 = 1_000;
/// Bytes of a byte order mark.
const MARK_BYTES: u64 = 3;

/// A scan of all files of a table of text.
pub struct TextScan {
    root: Rc<str>,
    table: Rc<Table>,
    /// The columns that are read: those of the projection, then those of filters.
    columns: Vec<Column>,
    projected: usize,
    /// Whether the first rows alone say the type of each.
    guessed: Vec<bool>,
    filters: Vec<(usize, Filter)>,
    /// The next file.
    next: usize,
    open: Option<Open>,
    batch: BatchBuilder,
    max_cell: usize,
    left: u64,
    lines: u64,
    /// Only the number of rows matters.
    is_count: bool,
}

/// The file that is read.
struct Open {
    rows: Rows,
    path: String,
    beginning: Beginning,
    codec: Codec,
    /// Where each column comes from.
    sources: Vec<ColumnSource>,
}

impl Open {
    /// A field of the current row; none if the file does not have the column.
    fn field(&self, index: usize) -> Option<Field<'_>> {
        match (self.sources.get(index)?, &self.rows) {
            (ColumnSource::Fixed(_), _) => None,
            (ColumnSource::Field(place), Rows::Csv(rows)) => Some(rows.field(*place)),
            (ColumnSource::Field(place), Rows::Json(rows)) => Some(rows.field(*place)),
        }
    }
}

enum ColumnSource {
    /// The index of a field.
    Field(usize),
    /// The same value in each row.
    Fixed(Value),
}

impl TextScan {
    /// A scan that has read nothing yet.
    pub fn start(root: Rc<str>, table: Rc<Table>, request: &ScanRequest) -> Result<Self> {
        let mut columns = request.projected(&table.columns)?;
        let projected = columns.len();
        let mut filters = Vec::new();
        for filter in &request.filters {
            let found = columns
                .iter()
                .position(|column| column.name == filter.column);
            let index = match found {
                Some(index) => index,
                None => {
                    columns.push(table.column(&filter.column)?.clone());
                    columns.len() - 1
                }
            };
            filters.push((index, filter.clone()));
        }
        let guessed = columns.iter().map(|column| table.is_guessed(&column.name));
        Ok(Self {
            root,
            guessed: guessed.collect(),
            batch: BatchBuilder::new(columns.get(..projected).unwrap_or_default().to_vec()),
            table,
            columns,
            projected,
            filters,
            next: 0,
            open: None,
            max_cell: usize::try_from(request.max_cell_bytes).unwrap_or(usize::MAX),
            left: request.limit.unwrap_or(u64::MAX),
            lines: 0,
            is_count: request.is_count(),
        })
    }

    /// The columns of the projection.
    pub fn columns(&self) -> &[Column] {
        self.batch.columns()
    }

    /// The next rows; none at the end.
    pub fn next(&mut self, limits: BatchLimits) -> Result<Option<Batch>> {
        self.batch.start(limits);
        while self.left > 0 && !self.batch.is_full() {
            self.lines += 1;
            if self.lines.is_multiple_of(CHECK_LINES) {
                control::check()?;
            }
            let Some(open) = &mut self.open else {
                if !self.open_next()? {
                    self.left = 0;
                }
                continue;
            };
            if !open.rows.advance()? {
                // Where a file is written anew while it is read, its rows are of both, or end early.
                let read = (open.codec == Codec::Plain).then(|| open.rows.bytes() + MARK_BYTES);
                if !open.beginning.was_kept(read) {
                    return Err(changed(&open.path));
                }
                self.open = None;
                continue;
            }
            if self.passes()? {
                self.append()?;
                self.left -= 1;
            }
        }
        self.batch.finish()
    }

    /// Opens the next file that may have rows; false if there is none.
    fn open_next(&mut self) -> Result<bool> {
        while let Some(file) = self.table.layout.files.get(self.next) {
            self.next += 1;
            control::check()?;
            let fixed = self.table.partition_values(file)?;
            let excludes = |(index, filter): &(usize, Filter)| {
                let column = self.columns.get(*index);
                let value =
                    column.and_then(|column| fixed.iter().find(|(name, _)| *name == column.name));
                value.is_some_and(|(_, value)| !filter.matches(value))
            };
            if self.filters.iter().any(excludes) {
                continue;
            }
            let beginning = Beginning::of(&self.root, &file.path)?;
            let (format, delimiter) = (self.table.layout.format, self.table.delimiter);
            let mut rows = Rows::open(&self.root, file, format, delimiter, u64::MAX)?;
            check_not_cut(&self.root, &file.path, file.state)?;
            let names: Vec<&str> = self
                .columns
                .iter()
                .map(|column| column.name.as_str())
                .collect();
            if let Rows::Json(rows) = &mut rows {
                rows.only(&names);
            }
            let headers = &self.table.headers;
            let place = |(index, name): (usize, &&str)| {
                if let Some((_, value)) = fixed.iter().find(|(key, _)| key == name) {
                    return Ok(ColumnSource::Fixed(value.clone()));
                }
                let Rows::Csv(rows) = &rows else {
                    return Ok(ColumnSource::Field(index));
                };
                match rows.names().iter().position(|known| known == name) {
                    Some(index) => Ok(ColumnSource::Field(index)),
                    None if headers.differ(&file.path, rows.names()) => Err(changed(&file.path)),
                    None => Ok(ColumnSource::Fixed(Value::Null)),
                }
            };
            let sources = names.iter().enumerate().map(place).collect::<Result<_>>()?;
            self.open = Some(Open {
                sources,
                rows,
                path: file.path.clone(),
                beginning,
                codec: file.codec,
            });
            return Ok(true);
        }
        Ok(false)
    }

    fn passes(&self) -> Result<bool> {
        for (index, filter) in &self.filters {
            if !filter.matches(&self.value(*index)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn append(&mut self) -> Result<()> {
        for index in 0..self.projected {
            if self.is_count {
                self.batch.append_null();
            } else if !self.append_text(index) {
                let value = self.value(index)?;
                self.batch.append(value);
            }
        }
        self.batch.end_row();
        Ok(())
    }

    /// Appends a field of a text column as it stands in the file, without a copy of its own. False where it is none, or
    /// no UTF-8, or too large.
    fn append_text(&mut self, index: usize) -> bool {
        let column = self.columns.get(index);
        let is_text = column.is_some_and(|column| column.data_type == DataType::Text);
        let open = self.open.as_ref().filter(|_| is_text);
        let Some(Field::Plain(bytes)) = open.and_then(|open| open.field(index)) else {
            return false;
        };
        match std::str::from_utf8(bytes) {
            Ok(text) if bytes.len() <= self.max_cell => {
                self.batch.append_text(text);
                true
            }
            _ => false,
        }
    }

    fn value(&self, index: usize) -> Result<Value> {
        let column = self.columns.get(index);
        let place = self.open.as_ref().and_then(|open| open.sources.get(index));
        let (Some(column), Some(place)) = (column, place) else {
            return Ok(Value::Null);
        };
        if let ColumnSource::Fixed(value) = place {
            return Ok(value.clone());
        }
        let is_guessed = self.guessed.get(index).is_some_and(|guessed| *guessed);
        let field = self.open.as_ref().and_then(|open| open.field(index));
        let text = match field {
            None | Some(Field::Null) => return Ok(Value::Null),
            Some(Field::Plain(bytes)) => std::str::from_utf8(bytes)
                .map_err(|_| self.fault(ErrorKind::Upstream, column, "is not UTF-8"))?,
            Some(Field::Text(text)) if column.data_type == DataType::Json => {
                let quoted = serde_json::to_string(text)
                    .map_err(|error| Error::internal(error.to_string()))?;
                return Ok(Value::Json(quoted));
            }
            Some(Field::Text(_)) if is_guessed && !types::takes_strings(column.data_type) => {
                return Err(self.unfit(column));
            }
            Some(Field::Text(text) | Field::Scalar(text) | Field::Document(text)) => text,
        };
        if text.len() > self.max_cell {
            let what = format!(
                "has {} bytes, more than the limit of {}",
                text.len(),
                self.max_cell
            );
            return Err(self.fault(ErrorKind::TooLarge, column, &what));
        }
        let value = match is_guessed {
            true => types::guessed_value_of(text, column),
            false => types::value_of(text, column),
        };
        value.ok_or_else(|| self.unfit(column))
    }

    fn unfit(&self, column: &Column) -> Error {
        let data_type = match column.native_type.as_str() {
            "" => column.data_type.name(),
            native => native,
        };
        let what = format!(
            "is not of the type {data_type} that the lines before or `types` say; give the type of `{}.{}` in `types`, \
             `text` for what no other fits",
            self.table.name, column.name
        );
        self.fault(ErrorKind::Upstream, column, &what)
    }

    fn fault(&self, kind: ErrorKind, column: &Column, what: &str) -> Error {
        let known = |known: &Column| known.name == column.name;
        let place = self.columns.iter().position(known);
        let (line, path) = match &self.open {
            Some(open) => {
                let field = match place.and_then(|place| open.sources.get(place)) {
                    Some(ColumnSource::Field(field)) => *field,
                    _ => 0,
                };
                (open.rows.line(field), open.path.as_str())
            }
            None => (0, ""),
        };
        Error::new(
            kind,
            format!(
                "line {line} of `{path}`: the field `{}` {what}",
                column.name
            ),
        )
    }
}
