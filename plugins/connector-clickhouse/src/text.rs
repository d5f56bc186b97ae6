//! Cells of the text format on their way into a batch.

use std::borrow::Cow;

use mindhost_sdk::{BatchBuilder, Error, Result, Value, datetime};

use crate::error::malformed;
use crate::nested;
use crate::server::Server;
use crate::time;
use crate::tsv::unescaped;
use crate::types::{Kind, Type, is_utc};

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// How texts of this server are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Instants are in UTC and end in `Z`; else they are dates and times of a zone.
    pub(crate) instants: bool,
}

/// Reads the cells of one column.
pub(crate) struct TextColumn {
    name: String,
    of: Type,
    utc: bool,
    reading: Reading,
}

impl TextColumn {
    /// For a column of a type.
    pub(crate) fn new(name: &str, of: Type, server: &Server) -> Self {
        let utc = match &of.kind {
            Kind::Instant { zone, .. } => is_utc(zone.as_deref(), server),
            _ => false,
        };
        Self {
            name: name.to_owned(),
            of,
            utc,
            reading: Reading {
                instants: server.tells_instants(),
            },
        }
    }

    /// The column's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Appends one cell, as it stands between two tabulators.
    ///
    /// # Errors
    /// `Upstream` for a cell that is not of the column's type.
    pub(crate) fn append(&self, cell: &[u8], batch: &mut BatchBuilder) -> Result<()> {
        if cell == br"\N" && self.of.nullable {
            batch.append_null();
            return Ok(());
        }
        match &self.of.kind {
            Kind::String | Kind::FixedString(_) => {
                append_bytes(&unescaped(cell), batch);
                return Ok(());
            }
            // JSON has no bytes, so a text in it that is not UTF-8 makes the whole value bytes.
            Kind::Array(_) | Kind::Map(..) | Kind::Tuple(_)
                if std::str::from_utf8(cell).is_err() =>
            {
                batch.append(Value::Bytes(cell.to_vec()));
                return Ok(());
            }
            Kind::Array(_) | Kind::Map(..) | Kind::Tuple(_) => {
                let json =
                    nested::json(cell, &self.of, self.reading).ok_or_else(|| self.not_one())?;
                batch.append_json(&json);
                return Ok(());
            }
            _ => {}
        }
        let text = self.text(cell)?;
        self.scalar(&text, batch).ok_or_else(|| self.not_one())
    }

    fn scalar(&self, text: &str, batch: &mut BatchBuilder) -> Option<()> {
        match &self.of.kind {
            Kind::Int {
                bytes: 8,
                signed: false,
            } => batch.append_u64(text.parse().ok()?),
            Kind::Int { bytes: 16.., .. } => batch.append_decimal(text),
            Kind::Int { .. } | Kind::Interval => batch.append_i64(text.parse().ok()?),
            Kind::Float32 | Kind::Float64 | Kind::BFloat16 => batch.append_f64(float(text)?),
            Kind::Decimal { scale } => batch.append_decimal(&padded(text, *scale)),
            Kind::Bool => batch.append_bool(matches!(text, "true" | "1")),
            Kind::Date => match datetime::date(text.as_bytes()) {
                Some(days) => batch.append_date(days),
                None => batch.append_other(text),
            },
            Kind::Instant { .. } if self.reading.instants => {
                batch.append_timestamp_utc(time::instant(text)?)
            }
            Kind::Instant { .. } => match (time::civil(text), self.utc) {
                (Some(micros), true) => batch.append_timestamp_utc(micros),
                (Some(micros), false) => batch.append_timestamp(micros),
                // Old servers write the instant 0 as `0000-00-00 00:00:00`.
                (None, _) => batch.append_other(text),
            },
            Kind::Time => match time::clock(text)? {
                micros if (0..DAY).contains(&micros) => batch.append_time(micros.cast_unsigned()),
                _ => batch.append_other(text),
            },
            Kind::Json => batch.append_json(text),
            _ => batch.append_text(text),
        }
        Some(())
    }

    fn text<'c>(&self, cell: &'c [u8]) -> Result<Cow<'c, str>> {
        let text = match unescaped(cell) {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed).ok(),
            Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).ok(),
        };
        text.ok_or_else(|| self.not_one())
    }

    fn not_one(&self) -> Error {
        malformed(&format!(
            "a value of column `{}` that is not of its type",
            self.name
        ))
    }
}

/// Appends a text, or its bytes where it is not UTF-8.
pub(crate) fn append_bytes(bytes: &[u8], batch: &mut BatchBuilder) {
    match std::str::from_utf8(bytes) {
        Ok(text) => batch.append_text(text),
        Err(_) => batch.append(Value::Bytes(bytes.to_vec())),
    }
}

/// `nan`, `inf` and `-inf` are numbers, too.
pub(crate) fn float(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// A decimal with all digits of its scale: servers may leave out zeros at the end.
pub(crate) fn padded(text: &str, scale: usize) -> Cow<'_, str> {
    let digits = text.split_once('.').map(|(_, fraction)| fraction.len());
    match (digits, scale) {
        (None, 0) => text.into(),
        (None, _) => format!("{text}.{}", "0".repeat(scale)).into(),
        (Some(digits), _) if digits < scale => {
            format!("{text}{}", "0".repeat(scale - digits)).into()
        }
        _ => text.into(),
    }
}
