//! Rows on their way to the host.

mod arrow;
mod rows;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use crate::error::{Error, ErrorKind, Result};
use crate::sanity;
use crate::values::{Batch, Column, DataType, Value};

pub use arrow::ArrowBatchBuilder;
#[cfg(not(target_family = "wasm"))]
pub(crate) use arrow::rows_of;
pub use rows::RowsBuilder;

/// One value a column, in the order of the schema.
pub type Row = Vec<Value>;

/// How much the host takes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// At most so many rows.
    pub max_rows: u32,
    /// About so many bytes; a row that is larger by itself comes alone.
    pub max_bytes: u32,
}

/// Cells of a batch that is rows because it is small. Arrow costs more to write and to read than so few are worth.
const FEW_CELLS: usize = 64;
/// Bytes of such a batch.
const FEW_BYTES: usize = 4 << 10;

/// Collects the rows of one answer, batch after batch, in the best form that their values allow.
///
/// An answer of a few cells is rows. A larger one is Arrow, but for the batches with a value that does not fit its
/// column, and where a column is of type `any`: those are rows too. A value may only differ from its column's type where the column is [`Column::dynamic`], or as [`Value::Other`]; anything else is
/// an error at [`BatchBuilder::finish`]. Values are appended from left to right, and [`BatchBuilder::end_row`]
/// follows the last one.
///
/// ```
/// use mindhost_sdk::{Batch, BatchBuilder, BatchLimits, Column, DataType};
///
/// # fn main() -> mindhost_sdk::Result<()> {
/// let columns = vec![Column::new("id", DataType::Int64), Column::new("name", DataType::Text)];
/// let mut batch = BatchBuilder::new(columns);
///
/// // In each `next`:
/// batch.start(BatchLimits { max_rows: 8192, max_bytes: 1 << 20 });
/// let mut source = (0..100).map(|id| (id, (id > 0).then_some("Ada")));
/// while !batch.is_full() {
///     let Some((id, name)) = source.next() else { break };
///     batch.append_i64(id);
///     match name {
///         Some(name) => batch.append_text(name),
///         None => batch.append_null(),
///     }
///     batch.end_row();
/// }
/// assert!(matches!(batch.finish()?, Some(Batch::Arrow(_))));
/// # Ok(())
/// # }
/// ```
pub struct BatchBuilder {
    /// Made when a batch is first worth it.
    arrow: Option<ArrowBatchBuilder>,
    rows: RowsBuilder,
    form: Form,
    /// The column of the next value.
    next: usize,
    limits: BatchLimits,
    /// The row that made the last batch too large.
    carried: Option<Row>,
    /// The column that was first given something else than it says.
    untrue: Option<usize>,
}

/// What collects the current batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Rows, as long as they are few.
    Few,
    /// Rows, however many: there is a value in them that Arrow has no place for.
    Rows,
    Arrow,
}

/// The typed appends: the Arrow form takes the value where its column has the type; else the batch becomes rows.
macro_rules! append {
    ($($(#[$doc:meta])* $name:ident($value:ident: $type:ty) $(if $is_sane:expr)? => $to_value:expr;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name(&mut self, $value: $type) {
            let next = self.next;
            $(if !$is_sane {
                self.untrue.get_or_insert(next);
            })?
            if !self.in_arrow(|arrow| arrow.$name(next, $value)) {
                self.rows().append($to_value);
            }
            self.next += 1;
        }
    )*};
}

impl BatchBuilder {
    /// A builder for answers of these columns.
    pub fn new(columns: Vec<Column>) -> Self {
        let columns: Rc<[Column]> = columns.into();
        // Rows of nothing can only be counted.
        let arrow = columns
            .is_empty()
            .then(|| ArrowBatchBuilder::new(columns.clone()));
        Self {
            arrow,
            rows: RowsBuilder::new(columns),
            form: Form::Few,
            next: 0,
            limits: BatchLimits {
                max_rows: 1,
                max_bytes: 0,
            },
            carried: None,
            untrue: None,
        }
    }

    /// The columns of the answer.
    pub fn columns(&self) -> &[Column] {
        self.rows.columns()
    }

    /// Begins a batch. First in it is the row that was too much for the last one, if there was such a row.
    pub fn start(&mut self, limits: BatchLimits) {
        self.limits = limits;
        let has_any = || {
            let mut columns = self.columns().iter();
            columns.any(|column| column.data_type == DataType::Any)
        };
        self.form = match &self.arrow {
            // What had a large batch before is not small.
            Some(_) => Form::Arrow,
            None if has_any() => Form::Rows,
            None => Form::Few,
        };
        if let Some(row) = self.carried.take() {
            row.into_iter().for_each(|value| self.append(value));
            self.end_row();
        }
    }

    /// Whether the batch has reached one of its limits. Ask before each row.
    #[inline]
    pub fn is_full(&self) -> bool {
        let (rows, bytes) = self.size();
        rows >= self.limits.max_rows as usize
            || (rows > 0 && bytes >= self.limits.max_bytes as usize)
    }

    /// Ends the batch; `None` when it has no rows.
    ///
    /// # Errors
    /// `Internal` when what was appended are not whole rows of these columns: a fault of the plugin. `Upstream` when a
    /// decimal is no number or a JSON document is none: the source says what cannot be, and the answer ends here.
    pub fn finish(&mut self) -> Result<Option<Batch>> {
        if let Some(index) = self.untrue {
            let column = self.columns().get(index);
            let (name, is) = column.map_or(("", ""), |c| (c.name.as_str(), c.data_type.name()));
            let message = format!("the source gave a value of column `{name}` that is no {is}");
            return Err(Error::new(ErrorKind::Upstream, message));
        }
        let (rows, bytes) = self.size();
        let carries = rows > 1 && bytes > self.limits.max_bytes as usize;
        self.next = 0;
        match &mut self.arrow {
            Some(arrow) if self.form == Form::Arrow => {
                self.carried = if carries {
                    arrow.split_last_row()?
                } else {
                    None
                };
                arrow.finish()
            }
            _ => {
                self.carried = if carries {
                    self.rows.split_last_row()
                } else {
                    None
                };
                self.rows.finish()
            }
        }
    }

    /// Ends a row. It must have as many values as there are columns.
    #[inline]
    pub fn end_row(&mut self) {
        self.next = 0;
        match &mut self.arrow {
            Some(arrow) if self.form == Form::Arrow => arrow.end_row(),
            _ => {
                self.rows.end_row();
                if self.form == Form::Few && self.are_many() {
                    self.go_on_in_arrow();
                }
            }
        }
    }

    /// Appends NULL.
    #[inline]
    pub fn append_null(&mut self) {
        let next = self.next;
        if !self.in_arrow(|arrow| arrow.append_null(next)) {
            self.rows().append(Value::Null);
        }
        self.next += 1;
    }

    append! {
        /// Appends a truth value.
        append_bool(value: bool) => Value::Boolean(value);
        /// Appends a signed integer.
        append_i64(value: i64) => Value::Int64(value);
        /// Appends an unsigned integer.
        append_u64(value: u64) => Value::Uint64(value);
        /// Appends a float; NaN and the infinities are values too.
        append_f64(value: f64) => Value::Float64(value);
        /// Appends an exact number as decimal text: `-12.50`.
        append_decimal(value: &str) if sanity::is_decimal(value) => Value::Decimal(value.to_owned());
        /// Appends a text.
        append_text(value: &str) => Value::Text(value.to_owned());
        /// Appends a JSON document as text.
        append_json(value: &str) if sanity::is_json(value) => Value::Json(value.to_owned());
        /// Appends bytes.
        append_bytes(value: &[u8]) => Value::Bytes(value.to_vec());
        /// Appends a date: days since 1970-01-01.
        append_date(value: i32) => Value::Date(value);
        /// Appends a time of day: microseconds since midnight, below 86,400,000,000.
        append_time(value: u64) if value < sanity::DAY => Value::Time(value);
        /// Appends a timestamp without zone: microseconds since 1970-01-01T00:00:00.
        append_timestamp(value: i64) => Value::Timestamp(value);
        /// Appends an instant: microseconds since 1970-01-01T00:00:00Z.
        append_timestamp_utc(value: i64) => Value::TimestampUtc(value);
    }

    /// Appends a value that its column's type cannot hold, as the engine writes it: `infinity`, `25:00:00`.
    pub fn append_other(&mut self, value: &str) {
        self.append(Value::Other(value.to_owned()));
    }

    /// Appends a value of any variant.
    pub fn append(&mut self, value: Value) {
        let next = self.next;
        if !sanity::is_sane(&value) {
            self.untrue.get_or_insert(next);
        }
        if !self.in_arrow(|arrow| arrow.append(next, &value)) {
            self.rows().append(value);
        }
        self.next += 1;
    }

    fn size(&self) -> (usize, usize) {
        match &self.arrow {
            Some(arrow) if self.form == Form::Arrow => (arrow.len(), arrow.bytes()),
            _ => (self.rows.len(), self.rows.bytes()),
        }
    }

    /// Whether the batch is Arrow and takes this.
    #[inline]
    fn in_arrow(&mut self, append: impl FnOnce(&mut ArrowBatchBuilder) -> bool) -> bool {
        match &mut self.arrow {
            Some(arrow) if self.form == Form::Arrow => append(arrow),
            _ => false,
        }
    }

    fn are_many(&self) -> bool {
        self.rows.len() * self.columns().len() > FEW_CELLS || self.rows.bytes() > FEW_BYTES
    }

    /// Moves the rows so far into Arrow, unless a value among them has no place there.
    #[cold]
    fn go_on_in_arrow(&mut self) {
        let rows = self.rows.take_rows();
        self.arrow
            .get_or_insert_with(|| ArrowBatchBuilder::new(self.rows.shared_columns()));
        self.form = Form::Arrow;
        for row in rows {
            row.into_iter().for_each(|value| self.append(value));
            self.end_row();
        }
    }

    /// The batch as rows; what is in it already is taken over.
    fn rows(&mut self) -> &mut RowsBuilder {
        if self.form == Form::Arrow {
            if let Some(arrow) = &mut self.arrow {
                arrow.move_into(&mut self.rows);
            }
            self.form = Form::Rows;
        }
        &mut self.rows
    }
}
