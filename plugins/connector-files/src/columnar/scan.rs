//! The rows of one file of columns after another, on their way to the host.

use std::rc::Rc;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, new_null_array};
use mindhost_sdk::scanner::ScanRequest;
use mindhost_sdk::{Batch, BatchLimits, Column, Error, ErrorKind, Result, Value, control};

use super::convert;
use super::kind::Mark;
use super::output::Output;
use super::predicate::Predicate;
use super::{Batches, Opened};
use crate::describe::Table;
use crate::directory::check_unchanged;
use crate::layout::File;

/// A scan of all files of a table of columns.
pub struct ColumnarScan {
    root: Rc<str>,
    table: Rc<Table>,
    /// The columns that are read: those of the projection, then those of filters.
    columns: Vec<Column>,
    projected: usize,
    /// By the place of their column.
    predicates: Vec<(usize, Predicate)>,
    next: usize,
    open: Option<Open>,
    output: Output,
    left: u64,
    /// Only the number of rows matters.
    is_count: bool,
}

/// The file that is read.
struct Open {
    batches: Box<dyn Batches>,
    path: String,
    /// Where each column comes from.
    sources: Vec<ColumnSource>,
}

enum ColumnSource {
    /// The index in what the reader gives.
    File(usize, Mark),
    /// The same value in each row.
    Fixed(Value),
}

impl ColumnarScan {
    /// A scan that has read nothing yet.
    pub fn start(root: Rc<str>, table: Rc<Table>, request: &ScanRequest) -> Result<Self> {
        let mut columns = request.projected(&table.columns)?;
        let projected = columns.len();
        let mut predicates = Vec::new();
        for filter in &request.filters {
            let found = columns
                .iter()
                .position(|column| column.name == filter.column);
            let index = found.unwrap_or(columns.len());
            if found.is_none() {
                columns.push(table.column(&filter.column)?.clone());
            }
            let predicate = columns
                .get(index)
                .and_then(|column| Predicate::of(filter, column));
            let unasked = || {
                Error::internal(format!(
                    "the filter on `{}` cannot be applied",
                    filter.column
                ))
            };
            predicates.push((index, predicate.ok_or_else(unasked)?));
        }
        let max_cell = usize::try_from(request.max_cell_bytes).unwrap_or(usize::MAX);
        Ok(Self {
            root,
            output: Output::new(
                columns.get(..projected).unwrap_or_default().to_vec(),
                max_cell,
            ),
            table,
            columns,
            projected,
            predicates,
            next: 0,
            open: None,
            left: request.limit.unwrap_or(u64::MAX),
            is_count: request.is_count(),
        })
    }

    /// The columns of the projection.
    pub fn columns(&self) -> &[Column] {
        self.output.columns()
    }

    /// The next rows; none at the end.
    pub fn next(&mut self, limits: BatchLimits) -> Result<Option<Batch>> {
        loop {
            if let Some(batch) = self.output.take(limits)? {
                return Ok(Some(batch));
            }
            if self.left == 0 {
                return Ok(None);
            }
            control::check()?;
            let Some(open) = &mut self.open else {
                if !self.open_next()? {
                    self.left = 0;
                }
                continue;
            };
            match open.batches.next()? {
                Some(rows) => self.take(&rows.arrays, rows.count)?,
                None => self.open = None,
            }
        }
    }

    /// Opens the next file that may have rows; false if there is none.
    fn open_next(&mut self) -> Result<bool> {
        while let Some(file) = self.table.layout.files.get(self.next) {
            self.next += 1;
            control::check()?;
            let fixed = self.table.partition_values(file)?;
            let is_excluded = |(index, predicate): &(usize, Predicate)| {
                let column = self.columns.get(*index)?;
                let (_, value) = fixed.iter().find(|(name, _)| *name == column.name)?;
                Some(!predicate.holds_for(value, column))
            };
            if self
                .predicates
                .iter()
                .any(|predicate| is_excluded(predicate) == Some(true))
            {
                continue;
            }
            self.open = Some(self.open_file(file, &fixed)?);
            return Ok(true);
        }
        Ok(false)
    }

    fn open_file(&self, file: &File, fixed: &[(&str, Value)]) -> Result<Open> {
        let opened = Opened::open(&self.root, file, &self.table.layout)?;
        check_unchanged(&self.root, &file.path, file.state)?;
        let mut wanted: Vec<usize> = Vec::new();
        let mut sources = Vec::with_capacity(self.columns.len());
        for (place, column) in self.columns.iter().enumerate() {
            if let Some((_, value)) = fixed.iter().find(|(name, _)| *name == column.name) {
                sources.push(ColumnSource::Fixed(value.clone()));
                continue;
            }
            // A count needs the columns of filters alone.
            let is_needed = !self.is_count || self.predicates.iter().any(|(of, _)| *of == place);
            let found = opened
                .columns()
                .iter()
                .enumerate()
                .find(|(_, known)| is_needed && known.name == column.name);
            sources.push(match found {
                None => ColumnSource::Fixed(Value::Null),
                Some((index, known)) => {
                    wanted.push(index);
                    ColumnSource::File(wanted.len() - 1, known.mark)
                }
            });
        }
        // The file says of its values what they are in its own type.
        let of_file = |(index, predicate): &(usize, Predicate)| match sources.get(*index) {
            Some(ColumnSource::File(place, _)) => {
                let known = opened.columns().get(*wanted.get(*place)?)?;
                let is_same = known.compares_as(self.columns.get(*index)?);
                (is_same || predicate.is_of_nulls()).then(|| (*place, predicate.clone()))
            }
            _ => None,
        };
        let predicates: Vec<_> = self.predicates.iter().filter_map(of_file).collect();
        Ok(Open {
            batches: opened.read(&wanted, &predicates)?,
            path: file.path.clone(),
            sources,
        })
    }

    /// Filters, converts and keeps what a reader gave.
    fn take(&mut self, arrays: &[ArrayRef], rows: usize) -> Result<()> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        let mask = self.mask(open, arrays, rows)?;
        let passing = mask.as_ref().map_or(rows, |mask| mask.true_count());
        let taken = passing.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let mut converted = Vec::with_capacity(self.projected);
        for (column, place) in self.columns.iter().zip(&open.sources).take(self.projected) {
            let raw = match place {
                ColumnSource::Fixed(value) => fixed_array(value, column, taken),
                ColumnSource::File(..) if self.is_count => fixed_array(&Value::Null, column, taken),
                ColumnSource::File(index, mark) => {
                    let array = arrays
                        .get(*index)
                        .ok_or_else(|| Error::internal("a column is absent"))?;
                    let kept =
                        kept(array, mask.as_ref().filter(|_| passing < rows))?.slice(0, taken);
                    convert::normal(&kept, column, *mark)
                }
            };
            let wire = raw.and_then(convert::wire);
            converted.push(wire.map_err(|what| fault(&open.path, column, &what))?);
        }
        self.left -= taken as u64;
        self.output.put(converted, taken)
    }

    fn mask(&self, open: &Open, arrays: &[ArrayRef], rows: usize) -> Result<Option<BooleanArray>> {
        let mut mask: Option<BooleanArray> = None;
        for (index, predicate) in &self.predicates {
            let (Some(column), Some(place)) = (self.columns.get(*index), open.sources.get(*index))
            else {
                continue;
            };
            let passing = match place {
                // Those of partitions were decided before the file was opened. A file without the column has NULL.
                ColumnSource::Fixed(value) => {
                    let holds = predicate.holds_for(value, column);
                    BooleanArray::from(vec![holds; rows])
                }
                ColumnSource::File(place, mark) => {
                    let array = arrays
                        .get(*place)
                        .ok_or_else(|| Error::internal("a column is absent"))?;
                    match predicate.is_of_nulls() {
                        true => predicate.mask(array, column),
                        false => {
                            let normal = convert::comparable(array, column, *mark);
                            predicate.mask(
                                &normal.map_err(|what| fault(&open.path, column, &what))?,
                                column,
                            )
                        }
                    }
                }
            };
            mask = Some(match mask {
                None => passing,
                Some(mask) => BooleanArray::new(mask.values() & passing.values(), None),
            });
        }
        Ok(mask)
    }
}

fn kept(array: &ArrayRef, mask: Option<&BooleanArray>) -> Result<ArrayRef> {
    match mask {
        None => Ok(Arc::clone(array)),
        Some(mask) => arrow_select::filter::filter(array, mask)
            .map_err(|error| Error::internal(error.to_string())),
    }
}

fn fault(path: &str, column: &Column, what: &str) -> Error {
    Error::new(
        ErrorKind::Upstream,
        format!("the column `{}` of `{path}` {what}", column.name),
    )
}

/// A value of a partition, or NULL, in each row.
fn fixed_array(value: &Value, column: &Column, rows: usize) -> convert::Converted {
    use arrow_array::{
        BooleanArray, Date32Array, Float64Array, Int64Array, StringArray, Time64MicrosecondArray,
        TimestampMicrosecondArray, UInt64Array,
    };
    Ok(match value {
        Value::Boolean(value) => Arc::new(BooleanArray::from(vec![*value; rows])),
        Value::Int64(value) => Arc::new(Int64Array::from_value(*value, rows)),
        Value::Uint64(value) => Arc::new(UInt64Array::from_value(*value, rows)),
        Value::Float64(value) => Arc::new(Float64Array::from_value(*value, rows)),
        Value::Date(value) => Arc::new(Date32Array::from_value(*value, rows)),
        Value::Time(value) => Arc::new(Time64MicrosecondArray::from_value(
            value.cast_signed(),
            rows,
        )),
        Value::Timestamp(value) => Arc::new(TimestampMicrosecondArray::from_value(*value, rows)),
        Value::TimestampUtc(value) => {
            Arc::new(TimestampMicrosecondArray::from_value(*value, rows).with_timezone("UTC"))
        }
        Value::Text(text) | Value::Decimal(text) | Value::Json(text) => Arc::new(
            StringArray::from_iter_values(std::iter::repeat_n(text, rows)),
        ),
        _ => new_null_array(&convert::physical(column.data_type), rows),
    })
}
