//! Values of the protocol, one cell at a time.

use base64::Engine as _;
use mindhost_sdk::{BatchBuilder, Error, Result};
use serde_json::value::RawValue;

use crate::error::malformed;
use crate::nested;
use crate::time;
use crate::types::Type;

/// A column of a result, and how its values are read.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    pub(crate) name: String,
    pub(crate) of: Type,
    /// In bytes.
    pub(crate) max_cell: u64,
}

impl Reader {
    /// Appends a value.
    ///
    /// # Errors
    /// `TooLarge` for a cell above the limit, `Upstream` for one that is not of the column's type.
    pub(crate) fn append(&self, value: &RawValue, batch: &mut BatchBuilder) -> Result<()> {
        let text = value.get();
        if text == "null" {
            batch.append_null();
            return Ok(());
        }
        match self.of {
            Type::Boolean => batch.append_bool(text.parse().map_err(|_| self.wrong())?),
            Type::Integer => batch.append_i64(text.parse().map_err(|_| self.wrong())?),
            Type::Float => batch.append_f64(float(text).ok_or_else(|| self.wrong())?),
            Type::Array(_) | Type::Map(_) | Type::Row(_) => {
                let mut out = String::with_capacity(text.len());
                nested::json(value, &self.of, &mut out).ok_or_else(|| self.wrong())?;
                self.fits(out.len())?;
                batch.append_json(&out);
            }
            _ => self.append_text(text, batch)?,
        }
        Ok(())
    }

    /// The types that the protocol writes as texts.
    fn append_text(&self, written: &str, batch: &mut BatchBuilder) -> Result<()> {
        let owned: String;
        let text = match plain(written) {
            Some(text) => text,
            None if written.starts_with('"') => {
                owned = serde_json::from_str(written).map_err(|_| self.wrong())?;
                &owned
            }
            // A type that this plugin does not know.
            None if self.of == Type::Text => written,
            None => return Err(self.wrong()),
        };
        match self.of {
            Type::Decimal => batch.append_decimal(text),
            Type::Date => or_other(time::days(text), text, batch, BatchBuilder::append_date),
            Type::Time => or_other(time::clock(text), text, batch, BatchBuilder::append_time),
            Type::Timestamp => {
                let micros = time::timestamp(text);
                or_other(micros, text, batch, BatchBuilder::append_timestamp);
            }
            Type::Instant => {
                let micros = time::instant(text);
                or_other(micros, text, batch, BatchBuilder::append_timestamp_utc);
            }
            Type::Json => {
                self.fits(text.len())?;
                batch.append_json(text);
            }
            Type::Bytes => {
                let bytes = base64::engine::general_purpose::STANDARD.decode(text);
                let bytes = bytes.map_err(|_| self.wrong())?;
                self.fits(bytes.len())?;
                batch.append_bytes(&bytes);
            }
            _ => {
                self.fits(text.len())?;
                batch.append_text(text);
            }
        }
        Ok(())
    }

    fn fits(&self, bytes: usize) -> Result<()> {
        let bytes = bytes as u64;
        match bytes > self.max_cell {
            true => Err(Error::cell_too_large(&self.name, bytes, self.max_cell)),
            false => Ok(()),
        }
    }

    fn wrong(&self) -> Error {
        malformed(&format!(
            "a value of column `{}` that is not of its type",
            self.name
        ))
    }
}

/// A text of JSON without escapes, which is most of them.
fn plain(written: &str) -> Option<&str> {
    let inside = written.strip_prefix('"')?.strip_suffix('"')?;
    (!inside.contains('\\')).then_some(inside)
}

fn or_other<T>(
    value: Option<T>,
    text: &str,
    batch: &mut BatchBuilder,
    append: impl FnOnce(&mut BatchBuilder, T),
) {
    match value {
        Some(value) => append(batch, value),
        None => batch.append_other(text),
    }
}

/// Numbers of JSON, and the three values that it has no number for.
fn float(text: &str) -> Option<f64> {
    match text {
        "\"NaN\"" => Some(f64::NAN),
        "\"Infinity\"" => Some(f64::INFINITY),
        "\"-Infinity\"" => Some(f64::NEG_INFINITY),
        _ => text.parse().ok().filter(|number: &f64| number.is_finite()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_sdk::{Batch, BatchLimits, ErrorKind, Value};

    fn read(of: &str, json: &str) -> Result<Value> {
        let kind = Type::parse(of).unwrap();
        let mut batch = BatchBuilder::new(vec![kind.column("c", of)]);
        batch.start(BatchLimits {
            max_rows: 10,
            max_bytes: 1000,
        });
        let reader = Reader {
            name: "c".into(),
            of: kind,
            max_cell: 8,
        };
        reader.append(serde_json::from_str(json).unwrap(), &mut batch)?;
        batch.end_row();
        match batch.finish()? {
            Some(Batch::Rows(mut rows)) => Ok(rows.remove(0).remove(0)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_of_each_kind_are_read() {
        for (of, json, value) in [
            ("bigint", "-5", Value::Int64(-5)),
            ("real", "\"-Infinity\"", Value::Float64(f64::NEG_INFINITY)),
            ("decimal(3, 2)", "\"1.50\"", Value::Decimal("1.50".into())),
            ("varchar", r#""a\n\"""#, Value::Text("a\n\"".into())),
            ("varbinary", "\"/wA=\"", Value::Bytes(vec![255, 0])),
            ("date", "\"1970-01-02\"", Value::Date(1)),
            ("date", "\"x\"", Value::Other("x".into())),
            ("json", "\"[1]\"", Value::Json("[1]".into())),
            ("varchar", "null", Value::Null),
            ("color", "7", Value::Text("7".into())),
        ] {
            assert_eq!(read(of, json).unwrap(), value, "{of} {json}");
        }
    }

    #[test]
    fn lies_and_large_cells_are_errors() {
        for (of, json) in [
            ("bigint", "1.5"),
            ("bigint", "\"1\""),
            ("double", "\"x\""),
            ("boolean", "1"),
            ("decimal(3, 2)", "\"x\""),
            ("varbinary", "\"?\""),
            ("date", "5"),
            ("json", "\"{\""),
        ] {
            assert_eq!(
                read(of, json).unwrap_err().kind(),
                ErrorKind::Upstream,
                "{of} {json}"
            );
        }
        let error = read("varchar", "\"123456789\"").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    }
}
