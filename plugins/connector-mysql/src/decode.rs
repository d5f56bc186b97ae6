//! Rows, straight from the input buffer into a batch.

use mindhost_sdk::{BatchBuilder, Error, Result, Value, datetime};

use crate::bits::{BitType, BitValue};
use crate::columns::Kind;
use crate::error::malformed;
use crate::geometry;
use crate::packet::Reader;
use crate::session::not_utf8;

/// Turns rows of one schema into batches.
pub(crate) struct RowDecoder {
    columns: Vec<Kind>,
    max_cell: usize,
    text: String,
}

impl RowDecoder {
    pub(crate) fn new(columns: Vec<Kind>, max_cell: usize) -> Self {
        Self {
            columns,
            max_cell,
            text: String::new(),
        }
    }

    /// Appends a row.
    ///
    /// # Errors
    /// `TooLarge` for a cell above the limit; `Upstream` when the row is not one of this schema.
    #[inline]
    pub(crate) fn append(&mut self, body: &[u8], batch: &mut BatchBuilder) -> Result<()> {
        let mut reader = Reader(body);
        for index in 0..self.columns.len() {
            match reader.cell().ok_or_else(malformed_row)? {
                Some(cell) => self.append_cell(index, cell, batch)?,
                None => batch.append_null(),
            }
        }
        if !reader.0.is_empty() {
            return Err(malformed_row());
        }
        batch.end_row();
        Ok(())
    }

    #[inline]
    fn append_cell(&mut self, index: usize, cell: &[u8], batch: &mut BatchBuilder) -> Result<()> {
        if cell.len() > self.max_cell {
            return Err(self.too_large(index, cell, batch));
        }
        match self.columns[index] {
            Kind::Integer => batch.append_i64(integer(cell).ok_or_else(malformed_row)?),
            Kind::Text => batch.append_text(utf8(cell)?),
            Kind::Decimal => {
                let text = utf8(cell)?;
                batch.append_decimal(without_fill(text, &mut self.text));
            }
            Kind::Timestamp => match datetime::timestamp(cell) {
                Some(value) => batch.append_timestamp(value),
                None => batch.append_other(utf8(cell)?),
            },
            Kind::TimestampUtc => match datetime::timestamp(cell) {
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
            Kind::Float => batch.append_f64(utf8(cell)?.parse().map_err(|_| malformed_row())?),
            Kind::Bytes => batch.append_bytes(cell),
            Kind::Json => batch.append_json(utf8(cell)?),
            Kind::Unsigned => batch.append_u64(natural(cell).ok_or_else(malformed_row)?),
            Kind::TinyBoolean => match integer(cell).ok_or_else(malformed_row)? {
                truth @ (0 | 1) => batch.append_bool(truth == 1),
                other => batch.append(Value::Int64(other)),
            },
            Kind::BitBoolean(of) => match bits(index, of, cell, batch)? {
                truth @ (0 | 1) => batch.append_bool(truth == 1),
                _ => return Err(malformed_row()),
            },
            Kind::Bits(of) => {
                let number = bits(index, of, cell, batch)?;
                batch.append_u64(number);
            }
            Kind::Geometry => {
                self.text.clear();
                geometry::write_text(cell, &mut self.text).ok_or_else(malformed_row)?;
                batch.append_text(&self.text);
            }
        }
        Ok(())
    }

    #[cold]
    fn too_large(&self, index: usize, cell: &[u8], batch: &BatchBuilder) -> Error {
        let name = batch.columns().get(index).map_or("", |column| &column.name);
        Error::cell_too_large(name, cell.len() as u64, self.max_cell as u64)
    }
}

#[inline]
fn utf8(cell: &[u8]) -> Result<&str> {
    std::str::from_utf8(cell).map_err(|_| not_utf8())
}

#[inline]
fn natural(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value.checked_mul(10)?.checked_add(digit.into())
    })
}

#[inline]
fn integer(text: &[u8]) -> Option<i64> {
    match text {
        [b'-', digits @ ..] => 0_i64.checked_sub_unsigned(natural(digits)?),
        digits => natural(digits)?.try_into().ok(),
    }
}

/// A decimal without the zeros that ZEROFILL puts before its first digit. Where a sign precedes them, the text is put
/// together in `buffer`.
#[inline]
fn without_fill<'a>(text: &'a str, buffer: &'a mut String) -> &'a str {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let mut rest = digits;
    // The last digit before the point stays, also if it is a zero.
    while let Some(shorter) = rest.strip_prefix('0') {
        if !shorter.starts_with(|next: char| next.is_ascii_digit()) {
            break;
        }
        rest = shorter;
    }
    if rest.len() == digits.len() {
        return text;
    }
    if !is_negative {
        return rest;
    }
    buffer.clear();
    buffer.push('-');
    buffer.push_str(rest);
    buffer
}

/// The number that some bits are.
fn bits(index: usize, of: BitType, cell: &[u8], batch: &BatchBuilder) -> Result<u64> {
    match of.read(cell) {
        BitValue::Number(number) => Ok(number),
        BitValue::Ambiguous => {
            let name = batch.columns().get(index).map_or("", |column| &column.name);
            Err(Error::invalid_statement(format!(
                "column `{name}` is a computed value of the type bit, and from what the server sent it cannot be told \
                 which number it is; write CAST(… AS UNSIGNED) around the expression, or `+ 0` behind the column"
            )))
        }
        BitValue::Malformed => Err(malformed_row()),
    }
}

fn malformed_row() -> Error {
    malformed("a row")
}

#[cfg(test)]
mod tests {
    use mindhost_sdk::{Batch, BatchLimits, Column, ErrorKind};
    use proptest::prelude::*;

    use super::*;

    /// All kinds but those of bits, which have a type.
    const KINDS: [Kind; 13] = [
        Kind::Integer,
        Kind::Unsigned,
        Kind::TinyBoolean,
        Kind::Float,
        Kind::Decimal,
        Kind::Text,
        Kind::Json,
        Kind::Bytes,
        Kind::Date,
        Kind::Time,
        Kind::Timestamp,
        Kind::TimestampUtc,
        Kind::Geometry,
    ];

    /// What one cell becomes.
    fn decode(kind: Kind, cell: &[u8]) -> Result<Value> {
        let column = Column::new("a", kind.data_type()).dynamic();
        let mut batch = BatchBuilder::new(vec![column]);
        batch.start(BatchLimits {
            max_rows: 1,
            max_bytes: 1 << 20,
        });
        let mut body = Vec::new();
        crate::packet::put_text(cell, &mut body);
        RowDecoder::new(vec![kind], 1000).append(&body, &mut batch)?;
        match batch.finish()? {
            Some(Batch::Rows(mut rows)) => Ok(rows.remove(0).remove(0)),
            _ => Err(malformed_row()),
        }
    }

    #[test]
    fn integers_reach_to_the_ends_of_their_types() {
        for value in [i64::MIN, -1, 0, 42, i64::MAX] {
            let text = value.to_string();
            let decoded = decode(Kind::Integer, text.as_bytes()).unwrap();
            assert_eq!(decoded, Value::Int64(value));
        }
        let most = u64::MAX.to_string();
        assert_eq!(
            decode(Kind::Unsigned, most.as_bytes()).unwrap(),
            Value::Uint64(u64::MAX)
        );
        for wrong in [
            "",
            "-",
            "1x",
            "18446744073709551616",
            "99999999999999999999",
        ] {
            assert!(decode(Kind::Integer, wrong.as_bytes()).is_err(), "{wrong}");
            assert!(decode(Kind::Unsigned, wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn zerofill_is_stripped_from_a_decimal() {
        for (sent, number) in [
            ("00000002.25", "2.25"),
            ("00000000.00", "0.00"),
            ("-00000002.25", "-2.25"),
            ("-0000.50", "-0.50"),
            ("0000000042", "42"),
            ("0000000000", "0"),
            ("0.05", "0.05"),
            ("-0.05", "-0.05"),
            ("100.00", "100.00"),
        ] {
            let value = decode(Kind::Decimal, sent.as_bytes()).unwrap();
            assert_eq!(value, Value::Decimal(number.into()), "{sent}");
        }
        for wrong in ["", "-", "0-1", "00x"] {
            assert!(decode(Kind::Decimal, wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_tinyint_of_one_digit_is_a_truth_value_where_it_can_be() {
        for (text, value) in [
            ("0", Value::Boolean(false)),
            ("1", Value::Boolean(true)),
            ("7", Value::Int64(7)),
            ("-1", Value::Int64(-1)),
        ] {
            assert_eq!(decode(Kind::TinyBoolean, text.as_bytes()).unwrap(), value);
        }
    }

    #[test]
    fn computed_bits_that_could_be_two_numbers_are_refused_with_advice() {
        let kind = Kind::Bits(BitType::new(8, true));
        assert_eq!(decode(kind, b"53").unwrap(), Value::Uint64(53));
        let error = decode(kind, b"5").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidStatement);
        assert!(error.message().contains("CAST(… AS UNSIGNED)"));
        assert!(error.is_connection_usable());
        let truth = Kind::BitBoolean(BitType::new(1, true));
        assert_eq!(decode(truth, b"0").unwrap(), Value::Boolean(false));
        assert_eq!(decode(truth, b"\x01").unwrap(), Value::Boolean(true));
        assert!(decode(truth, b"2").is_err());
    }

    #[test]
    fn a_cell_above_the_limit_is_an_error_that_names_the_column() {
        let error = decode(Kind::Text, &[b'x'; 1001]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(error.message().contains("`a`"));
    }

    proptest! {
        #[test]
        fn any_row_is_read_or_refused(body in proptest::collection::vec(any::<u8>(), 0..40)) {
            let bits = [false, true].map(|is_computed| Kind::Bits(BitType::new(12, is_computed)));
            let truth = Kind::BitBoolean(BitType::new(1, true));
            for kind in KINDS.into_iter().chain(bits).chain([truth]) {
                let mut batch = BatchBuilder::new(vec![Column::new("a", kind.data_type())]);
                batch.start(BatchLimits { max_rows: 1, max_bytes: 100 });
                let _ = RowDecoder::new(vec![kind], 1000).append(&body, &mut batch);
            }
        }
    }
}
