//! One file on its way to the host.

use csv::ByteRecord;
use mindhost_sdk::scanner::{Filter, ScanRequest};
use mindhost_sdk::{
    Batch, BatchBuilder, BatchLimits, Column, Error, ErrorKind, Result, Value, control,
};

use crate::directory::{Rows, unfit};
use crate::types;

/// Lines between two looks at whether the host still wants them.
const CHECK_LINES: u64 = 1_000;

/// A scan of one file.
pub struct Scan {
    rows: Rows,
    row: ByteRecord,
    table: String,
    /// Where in a line the columns of the projection are.
    projection: Vec<(usize, Column)>,
    filters: Vec<(usize, Column, Filter)>,
    batch: BatchBuilder,
    max_cell: usize,
    left: u64,
    lines: u64,
}

impl Scan {
    pub fn start(rows: Rows, columns: &[Column], request: &ScanRequest) -> Result<Self> {
        let place = |name: &String| {
            let found = columns
                .iter()
                .enumerate()
                .find(|(_, column)| column.name == *name);
            found
                .map(|(index, column)| (index, column.clone()))
                .ok_or_else(|| {
                    Error::not_found(format!(
                        "`{}.csv` has no column `{name}`",
                        request.table.name
                    ))
                })
        };
        let filters = request.filters.iter().map(|filter| {
            let (index, column) = place(&filter.column)?;
            Ok((index, column, filter.clone()))
        });
        Ok(Self {
            rows,
            row: ByteRecord::new(),
            table: request.table.name.clone(),
            projection: request
                .projection
                .iter()
                .map(place)
                .collect::<Result<_>>()?,
            filters: filters.collect::<Result<_>>()?,
            batch: BatchBuilder::new(request.projected(columns)?),
            max_cell: usize::try_from(request.max_cell_bytes).unwrap_or(usize::MAX),
            left: request.limit.unwrap_or(u64::MAX),
            lines: 0,
        })
    }

    pub fn columns(&self) -> &[Column] {
        self.batch.columns()
    }

    pub fn next(&mut self, limits: BatchLimits) -> Result<Option<Batch>> {
        self.batch.start(limits);
        while self.left > 0 && !self.batch.is_full() {
            self.lines += 1;
            if self.lines.is_multiple_of(CHECK_LINES) {
                control::check()?;
            }
            if !self.rows.read_byte_record(&mut self.row).map_err(unfit)? {
                self.left = 0;
                break;
            }
            if self.passes()? {
                self.append()?;
                self.left -= 1;
            }
        }
        self.batch.finish()
    }

    fn passes(&self) -> Result<bool> {
        for (index, column, filter) in &self.filters {
            if !filter.matches(&self.value(*index, column)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn append(&mut self) -> Result<()> {
        for at in 0..self.projection.len() {
            let (index, column) = &self.projection[at];
            let value = self.value(*index, column)?;
            self.batch.append(value);
        }
        self.batch.end_row();
        Ok(())
    }

    fn value(&self, index: usize, column: &Column) -> Result<Value> {
        let field = self.row.get(index).unwrap_or_default();
        if field.is_empty() {
            return Ok(Value::Null);
        }
        if field.len() > self.max_cell {
            return Err(self.fault(ErrorKind::TooLarge, column, "is too large"));
        }
        let text = std::str::from_utf8(field)
            .map_err(|_| self.fault(ErrorKind::Upstream, column, "is not UTF-8"))?;
        types::value_of(text, column).ok_or_else(|| {
            let data_type = match column.native_type.as_str() {
                "" => column.data_type.name(),
                native => native,
            };
            let what = format!(
                "is not of the type {data_type} that the lines before or `types` say; give the type of `{}.{}` in `types`, \
                 `text` for what no other fits",
                self.table, column.name
            );
            self.fault(ErrorKind::Upstream, column, &what)
        })
    }

    fn fault(&self, kind: ErrorKind, column: &Column, what: &str) -> Error {
        let line = self.row.position().map_or(0, csv::Position::line);
        let (table, name) = (&self.table, &column.name);
        Error::new(
            kind,
            format!("line {line} of `{table}.csv`: the field `{name}` {what}"),
        )
    }
}
