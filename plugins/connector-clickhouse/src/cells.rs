//! Values of Arrow messages on their way into a batch.

use std::collections::HashMap;

use mindhost_sdk::{BatchBuilder, Error, Result, double_of_single};

use crate::arrow::{ColumnBuffers, Physical, Rows};
use crate::error::malformed;
use crate::text::append_bytes;
use crate::types::{Kind, Type};
use crate::wide;

/// Reads the values of one column.
pub(crate) struct ArrowColumn {
    name: String,
    read: Read,
    /// In bytes.
    max_cell: u64,
}

/// A pair of what ClickHouse means and what Arrow carries.
enum Read {
    Null,
    Bool,
    Int {
        bytes: usize,
        signed: bool,
    },
    Unsigned,
    Wide {
        bytes: usize,
        signed: bool,
        scale: usize,
    },
    Float32,
    Float64,
    Bytes,
    Fixed(usize),
    Uuid,
    Ipv4,
    Ipv6,
    Days,
    ShortDays,
    Instant(i64),
    Seconds,
    Enum {
        bytes: usize,
        names: HashMap<i16, String>,
    },
}

impl ArrowColumn {
    /// For a column of a type that comes in this form.
    ///
    /// # Errors
    /// `Upstream` for a form in which the type does not come.
    pub(crate) fn new(name: &str, of: Type, physical: Physical, max_cell: u64) -> Result<Self> {
        let read = read(of.kind, physical).ok_or_else(|| {
            malformed(&format!(
                "column `{name}` in a form that does not fit its type"
            ))
        })?;
        Ok(Self {
            name: name.to_owned(),
            read,
            max_cell,
        })
    }

    /// Appends the value of one row. [`crate::arrow`] has checked the buffers for every row below the count.
    ///
    /// # Errors
    /// `TooLarge` for a value above the limit, `Upstream` for a number that its Enum does not name.
    pub(crate) fn append(
        &self,
        rows: &Rows,
        buffers: &ColumnBuffers,
        row: usize,
        batch: &mut BatchBuilder,
        scratch: &mut String,
    ) -> Result<()> {
        if let Some(validity) = &buffers.validity
            && !bit(rows, validity.start, row)
        {
            batch.append_null();
            return Ok(());
        }
        let start = buffers.values.start;
        let at = |width: usize| {
            let start = start + row * width;
            rows.body.get(start..start + width).unwrap_or_default()
        };
        match &self.read {
            Read::Null => batch.append_null(),
            Read::Bool => batch.append_bool(bit(rows, start, row)),
            Read::Int { bytes, signed } => {
                batch.append_i64(integer(rows, start, row, *bytes, *signed))
            }
            Read::Unsigned => batch.append_u64(u64::from_le_bytes(fixed(rows, start, row))),
            Read::Wide {
                bytes,
                signed,
                scale,
            } => {
                wide::text(at(*bytes), *signed, *scale, scratch);
                batch.append_decimal(scratch);
            }
            Read::Float32 => batch.append_f64(double_of_single(f32::from_le_bytes(fixed(
                rows, start, row,
            )))),
            Read::Float64 => batch.append_f64(f64::from_le_bytes(fixed(rows, start, row))),
            Read::Bytes => {
                let value = of_any_length(rows, buffers, row);
                if value.len() as u64 > self.max_cell {
                    return Err(Error::cell_too_large(
                        &self.name,
                        value.len() as u64,
                        self.max_cell,
                    ));
                }
                append_bytes(value, batch);
            }
            Read::Fixed(width) => append_bytes(at(*width), batch),
            Read::Uuid => batch.append_text(uuid(&fixed(rows, start, row), scratch)),
            Read::Ipv4 => {
                let address = u32::from_le_bytes(fixed(rows, start, row));
                batch.append_text(&std::net::Ipv4Addr::from(address).to_string());
            }
            Read::Ipv6 => batch
                .append_text(&std::net::Ipv6Addr::from(fixed::<16>(rows, start, row)).to_string()),
            Read::Days => batch.append_date(i32::from_le_bytes(fixed(rows, start, row))),
            Read::ShortDays => {
                batch.append_date(i32::from(u16::from_le_bytes(fixed(rows, start, row))))
            }
            Read::Instant(in_a_second) => {
                batch.append_timestamp_utc(micros(
                    i64::from_le_bytes(fixed(rows, start, row)),
                    *in_a_second,
                ));
            }
            Read::Seconds => batch.append_timestamp_utc(
                i64::from(u32::from_le_bytes(fixed(rows, start, row))) * 1_000_000,
            ),
            Read::Enum { bytes, names } => {
                let number =
                    i16::try_from(integer(rows, start, row, *bytes, true)).unwrap_or(i16::MIN);
                let name = names.get(&number);
                let name = name.ok_or_else(|| {
                    malformed(&format!(
                        "the number {number} in column `{}`, whose Enum does not name it",
                        self.name
                    ))
                })?;
                batch.append_text(name);
            }
        }
        Ok(())
    }
}

fn read(kind: Kind, physical: Physical) -> Option<Read> {
    Some(match (kind, physical) {
        (_, Physical::Null) => Read::Null,
        (Kind::Bool, Physical::Bool) => Read::Bool,
        (
            Kind::Int {
                bytes: 8,
                signed: false,
            },
            Physical::Int {
                bytes: 8,
                signed: false,
            },
        ) => Read::Unsigned,
        (
            Kind::Int { bytes, signed },
            Physical::Int {
                bytes: width,
                signed: sign,
            },
        ) if (bytes, signed) == (width, sign) => Read::Int { bytes, signed },
        (Kind::Int { bytes, signed }, Physical::Fixed(width)) if bytes == width => Read::Wide {
            bytes,
            signed,
            scale: 0,
        },
        (
            Kind::Decimal { scale },
            Physical::Decimal {
                bytes,
                scale: carried,
            },
        ) if scale == carried => Read::Wide {
            bytes,
            signed: true,
            scale,
        },
        (Kind::Float32, Physical::Float32) => Read::Float32,
        (Kind::Float64, Physical::Float64) => Read::Float64,
        (Kind::String | Kind::FixedString(_), Physical::Bytes) => Read::Bytes,
        (Kind::FixedString(width), Physical::Fixed(carried)) if width == carried => {
            Read::Fixed(width)
        }
        (Kind::Uuid, Physical::Fixed(16)) => Read::Uuid,
        (
            Kind::Ipv4,
            Physical::Int {
                bytes: 4,
                signed: false,
            },
        ) => Read::Ipv4,
        (Kind::Ipv6, Physical::Fixed(16)) => Read::Ipv6,
        (Kind::Date, Physical::Days) => Read::Days,
        (
            Kind::Date,
            Physical::Int {
                bytes: 2,
                signed: false,
            },
        ) => Read::ShortDays,
        (Kind::Instant { .. }, Physical::Timestamp(in_a_second)) => Read::Instant(in_a_second),
        (
            Kind::Instant { scale: 0, .. },
            Physical::Int {
                bytes: 4,
                signed: false,
            },
        ) => Read::Seconds,
        (
            Kind::Enum(names),
            Physical::Int {
                bytes,
                signed: true,
            },
        ) if bytes <= 2 => Read::Enum {
            bytes,
            names: names.into_iter().collect(),
        },
        _ => return None,
    })
}

fn bit(rows: &Rows, start: usize, row: usize) -> bool {
    rows.body
        .get(start + row / 8)
        .is_some_and(|byte| byte >> (row % 8) & 1 == 1)
}

/// The value of a row among values of N bytes that begin at `start`.
fn fixed<const N: usize>(rows: &Rows, start: usize, row: usize) -> [u8; N] {
    let rest = rows.body.get(start + row * N..).unwrap_or_default();
    rest.first_chunk().copied().unwrap_or([0; N])
}

fn integer(rows: &Rows, start: usize, row: usize, bytes: usize, signed: bool) -> i64 {
    match (bytes, signed) {
        (1, true) => i64::from(i8::from_le_bytes(fixed(rows, start, row))),
        (1, false) => i64::from(u8::from_le_bytes(fixed(rows, start, row))),
        (2, true) => i64::from(i16::from_le_bytes(fixed(rows, start, row))),
        (2, false) => i64::from(u16::from_le_bytes(fixed(rows, start, row))),
        (4, true) => i64::from(i32::from_le_bytes(fixed(rows, start, row))),
        (4, false) => i64::from(u32::from_le_bytes(fixed(rows, start, row))),
        _ => i64::from_le_bytes(fixed(rows, start, row)),
    }
}

fn of_any_length<'r>(rows: &'r Rows, buffers: &ColumnBuffers, row: usize) -> &'r [u8] {
    let at = |row: usize| {
        let offset = u32::from_le_bytes(fixed(rows, buffers.offsets.start, row));
        usize::try_from(offset).unwrap_or(usize::MAX)
    };
    let values = rows.body.get(buffers.values.clone()).unwrap_or_default();
    values.get(at(row)..at(row + 1)).unwrap_or_default()
}

/// Microseconds; finer digits are cut downwards.
fn micros(value: i64, in_a_second: i64) -> i64 {
    match in_a_second {
        1_000_000_000 => value.div_euclid(1000),
        _ => value.saturating_mul(1_000_000 / in_a_second.max(1)),
    }
}

fn uuid<'t>(bytes: &[u8; 16], text: &'t mut String) -> &'t str {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    text.clear();
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        for digit in [byte >> 4, byte & 15] {
            text.push(
                HEX.get(usize::from(digit))
                    .map_or('0', |hex| char::from(*hex)),
            );
        }
    }
    text
}
