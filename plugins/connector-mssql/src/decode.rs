//! Cells: from the bytes of the wire to the values of the contract.

use std::fmt::Write;

use mindhost_sdk::{BatchBuilder, Error, Result, Value, double_of_single};

use crate::codepage::CodePage;
use crate::error::malformed;
use crate::time;
use crate::types::{ColumnMeta, Kind, Layout};
use crate::wire::Wire;

/// The length of a value in chunks that is NULL, and of one whose length is not known yet.
const NULL_CHUNKS: u64 = u64::MAX;
const UNKNOWN_LENGTH: u64 = u64::MAX - 1;
/// The longest value with a length of two bytes.
const MAX_SHORT: usize = 8000;

/// What takes a value.
pub(crate) trait Sink {
    /// Takes a value of any variant.
    fn put(&mut self, value: Value);
    fn null(&mut self) {
        self.put(Value::Null);
    }
    fn boolean(&mut self, value: bool) {
        self.put(Value::Boolean(value));
    }
    fn integer(&mut self, value: i64) {
        self.put(Value::Int64(value));
    }
    fn float(&mut self, value: f64) {
        self.put(Value::Float64(value));
    }
    fn decimal(&mut self, value: &str) {
        self.put(Value::Decimal(value.into()));
    }
    fn text(&mut self, value: &str) {
        self.put(Value::Text(value.into()));
    }
    fn bytes(&mut self, value: &[u8]) {
        self.put(Value::Bytes(value.into()));
    }
    fn timestamp(&mut self, value: i64) {
        self.put(Value::Timestamp(value));
    }
}

impl Sink for Option<Value> {
    fn put(&mut self, value: Value) {
        *self = Some(value);
    }
}

impl Sink for BatchBuilder {
    fn put(&mut self, value: Value) {
        self.append(value);
    }
    fn null(&mut self) {
        self.append_null();
    }
    fn boolean(&mut self, value: bool) {
        self.append_bool(value);
    }
    fn integer(&mut self, value: i64) {
        self.append_i64(value);
    }
    fn float(&mut self, value: f64) {
        self.append_f64(value);
    }
    fn decimal(&mut self, value: &str) {
        self.append_decimal(value);
    }
    fn text(&mut self, value: &str) {
        self.append_text(value);
    }
    fn bytes(&mut self, value: &[u8]) {
        self.append_bytes(value);
    }
    fn timestamp(&mut self, value: i64) {
        self.append_timestamp(value);
    }
}

/// Reads the cells of rows; a cell above the limit is `TooLarge`.
pub(crate) struct Decoder {
    /// Which columns of the row are NULL and have no bytes.
    nulls: Vec<u8>,
    /// The bytes of a value that came in chunks.
    chunks: Vec<u8>,
    text: String,
    max_cell: usize,
}

impl Decoder {
    /// A decoder for cells of up to so many bytes.
    pub(crate) fn new(max_cell: usize) -> Self {
        Self {
            nulls: Vec::new(),
            chunks: Vec::new(),
            text: String::new(),
            max_cell,
        }
    }

    /// Begins a row of so many columns, with or without a list of those that are NULL.
    pub(crate) fn begin_row(&mut self, wire: &mut Wire, nulls: bool, columns: usize) -> Result<()> {
        self.nulls.clear();
        if columns == 0 {
            return Err(malformed("a row without columns"));
        }
        if nulls {
            self.nulls
                .extend_from_slice(wire.take(columns.div_ceil(8))?);
        }
        Ok(())
    }

    /// Whether the column is NULL and has no bytes.
    pub(crate) fn is_null(&self, column: usize) -> bool {
        let byte = self.nulls.get(column / 8);
        byte.is_some_and(|byte| byte >> (column % 8) & 1 == 1)
    }

    /// Reads one cell.
    ///
    /// # Errors
    /// `TooLarge`; `Upstream` when it is malformed.
    pub(crate) fn cell(
        &mut self,
        wire: &mut Wire,
        column: &ColumnMeta,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let length = match column.layout {
            Layout::Fixed(length) => Some(length),
            Layout::Byte => Some(usize::from(wire.u8()?)).filter(|length| *length > 0),
            Layout::Short => match wire.u16()? {
                0xFFFF => None,
                length if usize::from(length) > MAX_SHORT => return Err(malformed("a value")),
                length => Some(usize::from(length)),
            },
            Layout::Long => Some(wire.u32()? as usize).filter(|length| *length > 0),
            Layout::Pointer => match wire.u8()? {
                0 => None,
                // The pointer itself, and a time stamp.
                bytes => {
                    wire.skip(usize::from(bytes) + 8)?;
                    Some(wire.u32()? as usize)
                }
            },
            Layout::Chunks => return self.chunked(wire, column, sink),
        };
        let Some(length) = length else {
            sink.null();
            return Ok(());
        };
        self.bounded(length as u64, column)?;
        let bytes = wire.take(length)?;
        write(column.kind, bytes, &mut self.text, sink)?;
        self.is_small(column)
    }

    fn chunked(
        &mut self,
        wire: &mut Wire,
        column: &ColumnMeta,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let total = wire.u64()?;
        if total == NULL_CHUNKS {
            sink.null();
            return Ok(());
        }
        if total != UNKNOWN_LENGTH {
            self.bounded(total, column)?;
        }
        self.chunks.clear();
        loop {
            let length = wire.u32()?;
            if length == 0 {
                break;
            }
            self.bounded(self.chunks.len() as u64 + u64::from(length), column)?;
            self.chunks.extend_from_slice(wire.take(length as usize)?);
        }
        if total != UNKNOWN_LENGTH && total != self.chunks.len() as u64 {
            return Err(malformed("a value of another length than it says"));
        }
        write(column.kind, &self.chunks, &mut self.text, sink)?;
        if self.chunks.capacity() > 4 << 20 {
            self.chunks = Vec::new();
        }
        self.is_small(column)
    }

    /// Refuses to read what cannot fit into a cell, before it is in memory.
    fn bounded(&self, length: u64, column: &ColumnMeta) -> Result<()> {
        // A character of one byte in UTF-8 has two in UTF-16.
        let factor = if column.kind == Kind::Utf16 { 2 } else { 1 };
        let most = (self.max_cell as u64).saturating_mul(factor).max(64);
        if length > most {
            return Err(self.too_large(length / factor, column));
        }
        Ok(())
    }

    /// The text of a cell may have grown when it became UTF-8.
    fn is_small(&self, column: &ColumnMeta) -> Result<()> {
        let is_text = matches!(column.kind, Kind::Utf16 | Kind::Text(_));
        if is_text && self.text.len() > self.max_cell {
            return Err(self.too_large(self.text.len() as u64, column));
        }
        Ok(())
    }

    fn too_large(&self, bytes: u64, column: &ColumnMeta) -> Error {
        Error::cell_too_large(&column.name, bytes, self.max_cell as u64)
    }
}

/// Writes a value, whose bytes are whole.
fn write(kind: Kind, bytes: &[u8], text: &mut String, sink: &mut impl Sink) -> Result<()> {
    text.clear();
    let written = match kind {
        Kind::Null => {
            sink.null();
            Some(())
        }
        Kind::Bit => boolean(bytes).map(|value| sink.boolean(value)),
        Kind::Integer => integer(bytes).map(|value| sink.integer(value)),
        Kind::Float => float(bytes).map(|value| sink.float(value)),
        Kind::Money => money(bytes, text).map(|()| sink.decimal(text)),
        Kind::Decimal { scale } => decimal(bytes, scale, text).map(|()| sink.decimal(text)),
        Kind::Guid => guid(bytes, text).map(|()| sink.text(text)),
        Kind::Date => time::date(bytes).map(|days| sink.put(Value::Date(days))),
        Kind::DateTime => time::old_date_time(bytes).map(|micros| sink.timestamp(micros)),
        Kind::Time { scale } => time::time(bytes, scale).map(|ticks| {
            sink.put(match ticks % 10 {
                0 => Value::Time(ticks / 10),
                // Microseconds cannot hold the seventh digit.
                _ => Value::Other(time::time_text(ticks)),
            });
        }),
        Kind::DateTime2 { scale } => {
            time::date_time(bytes, scale).map(|(micros, tenth)| match tenth {
                0 => sink.timestamp(micros),
                _ => sink.put(Value::Other(time::date_time_text(micros, tenth))),
            })
        }
        Kind::DateTimeOffset { scale } => instant(bytes, scale).map(|value| sink.put(value)),
        Kind::Text(page) => {
            page.decode(bytes, text);
            sink.text(text);
            Some(())
        }
        Kind::Utf16 if bytes.len().is_multiple_of(2) => {
            utf16(bytes, text);
            sink.text(text);
            Some(())
        }
        Kind::Utf16 => None,
        Kind::Bytes => {
            sink.bytes(bytes);
            Some(())
        }
        Kind::Variant => return variant(bytes, text, sink),
    };
    written.ok_or_else(|| malformed("a value"))
}

fn boolean(bytes: &[u8]) -> Option<bool> {
    match bytes {
        [byte] => Some(*byte != 0),
        _ => None,
    }
}

fn integer(bytes: &[u8]) -> Option<i64> {
    Some(match *bytes {
        [byte] => i64::from(byte),
        [a, b] => i64::from(i16::from_le_bytes([a, b])),
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        _ => i64::from_le_bytes(bytes.try_into().ok()?),
    })
}

fn float(bytes: &[u8]) -> Option<f64> {
    match *bytes {
        // The shortest form of a `real` is its own: 0.1 is 0.1.
        [a, b, c, d] => Some(double_of_single(f32::from_le_bytes([a, b, c, d]))),
        _ => Some(f64::from_le_bytes(bytes.try_into().ok()?)),
    }
}

/// Ten-thousandths; of eight bytes the upper half comes first.
fn money(bytes: &[u8], text: &mut String) -> Option<()> {
    let number = match *bytes {
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => i64::from_le_bytes([e, f, g, h, a, b, c, d]),
        _ => return None,
    };
    digits(number < 0, u128::from(number.unsigned_abs()), 4, text);
    Some(())
}

/// A sign, which is 1 for what is not negative, and the digits as a number.
fn decimal(bytes: &[u8], scale: u8, text: &mut String) -> Option<()> {
    let (sign, number) = bytes.split_first()?;
    if !matches!(number.len(), 4 | 8 | 12 | 16) || *sign > 1 {
        return None;
    }
    let mut whole = [0; 16];
    whole[..number.len()].copy_from_slice(number);
    let value = u128::from_le_bytes(whole);
    // 38 digits are what the engine has.
    if value >= 10_u128.pow(38) {
        return None;
    }
    digits(*sign == 0 && value != 0, value, usize::from(scale), text);
    Some(())
}

fn digits(negative: bool, value: u128, scale: usize, text: &mut String) {
    if negative {
        text.push('-');
    }
    // Writing into a string cannot fail.
    let from = text.len();
    _ = write!(text, "{value:0width$}", width = scale + 1);
    if scale > 0 {
        let point = text.len() - scale;
        debug_assert!(point > from);
        text.insert(point, '.');
    }
}

/// The first three groups are numbers with their lowest byte first.
fn guid(bytes: &[u8], text: &mut String) -> Option<()> {
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    if bytes.len() != 16 {
        return None;
    }
    for (place, index) in ORDER.into_iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        _ = write!(text, "{:02X}", bytes.get(index)?);
    }
    Some(())
}

/// The date and time are in UTC, whatever the offset, which the contract has no place for.
fn instant(bytes: &[u8], scale: u8) -> Option<Value> {
    let (moment, offset) = bytes.split_at_checked(bytes.len().checked_sub(2)?)?;
    let offset = i16::from_le_bytes(offset.try_into().ok()?);
    if !(-840..=840).contains(&offset) {
        return None;
    }
    let (micros, tenth) = time::date_time(moment, scale)?;
    Some(match tenth {
        0 => Value::TimestampUtc(micros),
        _ => Value::Other(format!("{}Z", time::date_time_text(micros, tenth))),
    })
}

/// A type, its properties, and a value of it.
fn variant(bytes: &[u8], text: &mut String, sink: &mut impl Sink) -> Result<()> {
    let wrong = || malformed("a value of sql_variant");
    let (token, rest) = bytes.split_first().ok_or_else(wrong)?;
    let (properties, rest) = rest.split_first().ok_or_else(wrong)?;
    let (properties, value) = rest
        .split_at_checked(usize::from(*properties))
        .ok_or_else(wrong)?;
    let scale = |index: usize| properties.get(index).copied().filter(|scale| *scale <= 38);
    let fraction = || scale(0).filter(|scale| *scale <= 7).ok_or_else(wrong);
    let kind = match token {
        0x32 | 0x68 => Kind::Bit,
        0x30 | 0x34 | 0x38 | 0x7F | 0x26 => Kind::Integer,
        0x3B | 0x3E | 0x6D => Kind::Float,
        0x3C | 0x7A | 0x6E => Kind::Money,
        0x3A | 0x3D | 0x6F => Kind::DateTime,
        0x6A | 0x6C => Kind::Decimal {
            scale: scale(1).ok_or_else(wrong)?,
        },
        0x24 => Kind::Guid,
        0x28 => Kind::Date,
        0x29 => Kind::Time { scale: fraction()? },
        0x2A => Kind::DateTime2 { scale: fraction()? },
        0x2B => Kind::DateTimeOffset { scale: fraction()? },
        0xA7 | 0xAF => {
            let collation = properties.get(..5).ok_or_else(wrong)?;
            Kind::Text(CodePage::of(collation).ok_or_else(wrong)?)
        }
        0xE7 | 0xEF => Kind::Utf16,
        0xA5 | 0xAD => Kind::Bytes,
        _ => return Err(wrong()),
    };
    write(kind, value, text, sink)
}

/// Appends UTF-16 as UTF-8. Half a pair becomes U+FFFD; an odd byte at the end is left out.
pub(crate) fn utf16(bytes: &[u8], text: &mut String) {
    text.reserve(bytes.len() / 2);
    let units = bytes
        .chunks_exact(2)
        .map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    text.extend(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
}

/// The text of a value of a statement of the connector's own.
pub(crate) fn text_of(value: Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Boolean(value) => value.to_string(),
        Value::Int64(value) => value.to_string(),
        Value::Uint64(value) => value.to_string(),
        Value::Float64(value) => value.to_string(),
        Value::Decimal(text) | Value::Text(text) | Value::Json(text) | Value::Other(text) => text,
        other => format!("{other:?}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_sdk::ErrorKind;

    fn value(kind: Kind, bytes: &[u8]) -> Result<Value> {
        let mut value = None;
        write(kind, bytes, &mut String::new(), &mut value)?;
        Ok(value.unwrap())
    }

    fn text(kind: Kind, bytes: &[u8]) -> String {
        text_of(value(kind, bytes).unwrap()).unwrap()
    }

    #[test]
    fn decimals_keep_every_digit_and_their_scale() {
        let scale = |scale| Kind::Decimal { scale };
        assert_eq!(text(scale(2), &[1, 0xFA, 0, 0, 0]), "2.50");
        assert_eq!(text(scale(2), &[0, 5, 0, 0, 0]), "-0.05");
        assert_eq!(text(scale(0), &[0, 0, 0, 0, 0]), "0");
        let mut all = vec![0];
        all.extend((10_u128.pow(38) - 1).to_le_bytes());
        assert_eq!(text(scale(38), &all), format!("-0.{}", "9".repeat(38)));
        all[1..].copy_from_slice(&10_u128.pow(38).to_le_bytes());
        assert!(value(scale(38), &all).is_err());
    }

    #[test]
    fn of_money_the_upper_half_comes_first() {
        assert_eq!(text(Kind::Money, &[0, 0, 0, 0, 0x10, 0x27, 0, 0]), "1.0000");
        let least = [0, 0, 0, 0x80, 0, 0, 0, 0];
        assert_eq!(text(Kind::Money, &least), "-922337203685477.5808");
        assert_eq!(text(Kind::Money, &[0xFF, 0xFF, 0xFF, 0xFF]), "-0.0001");
    }

    #[test]
    fn a_guid_is_written_as_the_engine_writes_it() {
        let bytes: Vec<u8> = (0..16).collect();
        assert_eq!(
            text(Kind::Guid, &bytes),
            "03020100-0504-0706-0809-0A0B0C0D0E0F"
        );
    }

    #[test]
    fn a_variant_has_the_type_of_its_value() {
        let decimal = [0x6A, 2, 5, 1, 0, 15, 0, 0, 0];
        assert_eq!(
            value(Kind::Variant, &decimal).unwrap(),
            Value::Decimal("-1.5".into())
        );
        assert_eq!(
            value(Kind::Variant, &[0x30, 0, 255]).unwrap(),
            Value::Int64(255)
        );
        let text = [0xE7, 7, 9, 4, 0xD0, 0, 0x34, 8, 0, b'a', 0];
        assert_eq!(
            value(Kind::Variant, &text).unwrap(),
            Value::Text("a".into())
        );
        for wrong in [
            &[][..],
            &[0x30],
            &[0x30, 9, 1],
            &[0x62, 0, 1],
            &[0x2A, 1, 9, 0],
        ] {
            assert!(value(Kind::Variant, wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_value_of_the_wrong_length_is_refused() {
        for (kind, bytes) in [
            (Kind::Integer, &[1, 2, 3][..]),
            (Kind::Bit, &[]),
            (Kind::Float, &[0; 5]),
            (Kind::Money, &[0; 7]),
            (Kind::Guid, &[0; 15]),
            (Kind::Utf16, &[0; 3]),
            (Kind::Date, &[0; 4]),
            (Kind::DateTimeOffset { scale: 7 }, &[0; 9]),
        ] {
            let error = value(kind, bytes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Upstream, "{kind:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_a_decoder_panic(bytes: Vec<u8>, scale in 0_u8..=38) {
            for kind in [
                Kind::Bit, Kind::Integer, Kind::Float, Kind::Money, Kind::Decimal { scale }, Kind::Guid, Kind::Date,
                Kind::DateTime, Kind::Time { scale: scale % 8 }, Kind::DateTime2 { scale: scale % 8 },
                Kind::DateTimeOffset { scale: scale % 8 }, Kind::Utf16, Kind::Variant, Kind::Text(CodePage::UTF_8),
            ] {
                let _ = value(kind, &bytes);
            }
        }
    }
}
