//! Rows, straight from the input buffer into a batch. Every column may be text, and some may be binary.

use mindhost_sdk::{BatchBuilder, Error, Result, datetime};

use crate::error::malformed;
use crate::text_row::not_utf8;
use crate::time;
use crate::types::Kind;
use crate::{array, binary};

/// How the cells of a column arrive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) kind: Kind,
    /// In the binary format; else as text.
    pub(crate) binary: bool,
}

/// Turns rows of one schema into batches. Its buffers are reused from row to row.
pub(crate) struct RowDecoder {
    columns: Vec<Form>,
    max_cell: usize,
    text: String,
    bytes: Vec<u8>,
}

impl RowDecoder {
    pub(crate) fn new(columns: Vec<Form>, max_cell: usize) -> Self {
        Self {
            columns,
            max_cell,
            text: String::new(),
            bytes: Vec::new(),
        }
    }

    /// How the cells arrive, for the next one.
    pub(crate) fn into_forms(self) -> Vec<Form> {
        self.columns
    }

    /// Appends the row in the body of a DataRow.
    ///
    /// # Errors
    /// `TooLarge` for a cell above the limit; `Upstream` when the row is not one of this schema.
    #[inline]
    pub(crate) fn append(&mut self, body: &[u8], batch: &mut BatchBuilder) -> Result<()> {
        let (count, mut rest) = body.split_first_chunk::<2>().ok_or_else(malformed_row)?;
        if usize::from(u16::from_be_bytes(*count)) != self.columns.len() {
            return Err(malformed_row());
        }
        for index in 0..self.columns.len() {
            let (length, after) = rest.split_first_chunk::<4>().ok_or_else(malformed_row)?;
            rest = after;
            let length = i32::from_be_bytes(*length);
            let Ok(length) = usize::try_from(length) else {
                batch.append_null();
                continue;
            };
            let (cell, after) = rest.split_at_checked(length).ok_or_else(malformed_row)?;
            rest = after;
            self.append_cell(index, cell, batch)?;
        }
        if !rest.is_empty() {
            return Err(malformed_row());
        }
        batch.end_row();
        Ok(())
    }

    #[inline]
    fn append_cell(&mut self, index: usize, cell: &[u8], batch: &mut BatchBuilder) -> Result<()> {
        if cell.len() > self.max_cell {
            self.check_size(index, cell, batch)?;
        }
        let Form { kind, binary } = self.columns[index];
        if binary {
            return binary::append(kind, cell, &mut self.text, batch);
        }
        match kind {
            Kind::Integer => batch.append_i64(integer(cell).ok_or_else(malformed_row)?),
            Kind::Text => batch.append_text(utf8(cell)?),
            Kind::Decimal => batch.append_decimal(utf8(cell)?),
            Kind::Json => batch.append_json(utf8(cell)?),
            Kind::Boolean => batch.append_bool(cell == b"t"),
            Kind::Float => batch.append_f64(utf8(cell)?.parse().map_err(|_| malformed_row())?),
            Kind::Timestamp => match datetime::timestamp(cell) {
                Some(value) => batch.append_timestamp(value),
                None => batch.append_other(utf8(cell)?),
            },
            Kind::TimestampUtc => match time::timestamp_utc(cell) {
                Some(value) => batch.append_timestamp_utc(value),
                None => batch.append_other(utf8(cell)?),
            },
            Kind::Date => match datetime::date(cell) {
                Some(value) => batch.append_date(value),
                None => batch.append_other(utf8(cell)?),
            },
            Kind::Time => match datetime::time(cell) {
                Some(value) => batch.append_time(value),
                None => batch.append_other(utf8(cell)?),
            },
            Kind::Bytes => {
                if !array::unhex_into(cell, &mut self.bytes) {
                    return Err(malformed_row());
                }
                batch.append_bytes(&self.bytes);
            }
            Kind::Array { element, delimiter } => {
                self.text.clear();
                let text = utf8(cell)?;
                array::write_json(text, delimiter, element, &mut self.text)
                    .map_err(|_| malformed_row())?;
                batch.append_json(&self.text);
            }
        }
        Ok(())
    }

    /// The text of bytes is twice their size.
    #[cold]
    fn check_size(&self, index: usize, cell: &[u8], batch: &BatchBuilder) -> Result<()> {
        let Form { kind, binary } = self.columns[index];
        let size = if kind == Kind::Bytes && !binary {
            cell.len().saturating_sub(2) / 2
        } else {
            cell.len()
        };
        if size <= self.max_cell {
            return Ok(());
        }
        let name = batch.columns().get(index).map_or("", |column| &column.name);
        Err(Error::cell_too_large(
            name,
            size as u64,
            self.max_cell as u64,
        ))
    }
}

#[inline]
fn utf8(cell: &[u8]) -> Result<&str> {
    std::str::from_utf8(cell).map_err(|_| not_utf8())
}

/// Nineteen digits at most, so that the sum cannot wrap before the check of its range.
#[inline]
fn integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    let mut value: u64 = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    if negative {
        0_i64.checked_sub_unsigned(value)
    } else {
        i64::try_from(value).ok()
    }
}

pub(crate) fn malformed_row() -> Error {
    malformed("a row")
}

#[cfg(test)]
mod tests {
    use mindhost_sdk::{Batch, BatchLimits, Column, DataType, ErrorKind, Value};
    use proptest::prelude::*;

    use super::*;

    fn text(kind: Kind) -> Form {
        Form {
            kind,
            binary: false,
        }
    }

    fn row(cells: &[Option<&[u8]>]) -> Vec<u8> {
        let mut body = (cells.len() as u16).to_be_bytes().to_vec();
        for cell in cells {
            body.extend(cell.map_or(-1, |cell| cell.len() as i32).to_be_bytes());
            body.extend(cell.unwrap_or_default());
        }
        body
    }

    /// What one cell becomes, read back from a batch of rows.
    fn decode(kind: Kind, cell: &[u8], max_cell: usize) -> Result<Value> {
        // The second column makes the batch rows, so that the first can be read without Arrow.
        let columns = vec![
            Column::new("a", kind.data_type()),
            Column::new("b", DataType::Any),
        ];
        let mut batch = BatchBuilder::new(columns);
        batch.start(BatchLimits {
            max_rows: 1,
            max_bytes: 1 << 20,
        });
        RowDecoder::new(vec![text(kind), text(Kind::Text)], max_cell)
            .append(&row(&[Some(cell), None]), &mut batch)?;
        match batch.finish()? {
            Some(Batch::Rows(mut rows)) => Ok(rows.remove(0).remove(0)),
            _ => Err(Error::internal("no rows")),
        }
    }

    #[test]
    fn cells_become_values() {
        for (kind, cell, value) in [
            (
                Kind::Integer,
                "-9223372036854775808",
                Value::Int64(i64::MIN),
            ),
            (Kind::Float, "0.1", Value::Float64(0.1)),
            (Kind::Float, "-Infinity", Value::Float64(f64::NEG_INFINITY)),
            (Kind::Decimal, "-12.50", Value::Decimal("-12.50".into())),
            (Kind::Bytes, "\\x00ff", Value::Bytes(vec![0, 255])),
            (Kind::Date, "infinity", Value::Other("infinity".into())),
            (Kind::Time, "24:00:00", Value::Other("24:00:00".into())),
            (Kind::Boolean, "t", Value::Boolean(true)),
        ] {
            assert_eq!(decode(kind, cell.as_bytes(), 100).unwrap(), value);
        }
    }

    #[test]
    fn a_cell_above_its_limit_is_too_large() {
        let error = decode(Kind::Text, b"12345", 4).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(error.is_connection_usable());
        assert!(decode(Kind::Bytes, b"\\x01020304", 4).is_ok());
        assert!(decode(Kind::Bytes, b"\\x0102030405", 4).is_err());
    }

    #[test]
    fn what_a_hostile_server_sends_is_refused() {
        for (kind, cell) in [
            (Kind::Integer, &b"99999999999999999999"[..]),
            (Kind::Integer, b"1x"),
            (Kind::Integer, b""),
            (Kind::Text, b"\xff"),
            (Kind::Bytes, b"\\x0"),
            (Kind::Bytes, b"\\x0g"),
            (
                Kind::Array {
                    element: array::Element::Integer,
                    delimiter: b',',
                },
                b"{1",
            ),
        ] {
            assert_eq!(
                decode(kind, cell, 100).unwrap_err().kind(),
                ErrorKind::Upstream
            );
        }
    }

    proptest! {
        #[test]
        fn integers_of_any_size(value: i64) {
            prop_assert_eq!(integer(value.to_string().as_bytes()), Some(value));
        }

        #[test]
        fn any_body_is_read_or_refused(body: Vec<u8>) {
            let mut batch = BatchBuilder::new(vec![Column::new("a", DataType::Text)]);
            batch.start(BatchLimits { max_rows: 1, max_bytes: 1 << 20 });
            let _ = RowDecoder::new(vec![text(Kind::Text)], 100).append(&body, &mut batch);
        }
    }
}
