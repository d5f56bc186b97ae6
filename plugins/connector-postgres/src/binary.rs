//! The binary format, for the types whose text takes the server long to write.

use std::fmt::Write;

use mindhost_sdk::{BatchBuilder, Result};

use crate::decode::malformed_row;
use crate::types::Kind;

/// Days and microseconds are counted from 2000-01-01.
const EPOCH_DAYS: i32 = 10_957;
const MICROS_PER_DAY: i64 = 86_400_000_000;
const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * MICROS_PER_DAY;
/// 0001-01-01 and 9999-12-31, in days since 1970-01-01: what the host's types hold.
const FIRST_DAY: i32 = -719_162;
const LAST_DAY: i32 = 2_932_896;

/// Appends a cell in binary format; `text` is a buffer to reuse.
///
/// # Errors
/// `Upstream` when the cell does not have the size of its type.
#[inline]
pub(crate) fn append(
    kind: Kind,
    cell: &[u8],
    text: &mut String,
    batch: &mut BatchBuilder,
) -> Result<()> {
    let sized = || cell.try_into().map_err(|_| malformed_row());
    match kind {
        Kind::Boolean => batch.append_bool(cell == [1]),
        Kind::Integer => batch.append_i64(integer(cell).ok_or_else(malformed_row)?),
        Kind::Float => batch.append_f64(f64::from_be_bytes(sized()?)),
        Kind::Bytes => batch.append_bytes(cell),
        Kind::Date => {
            let days = i32::from_be_bytes(cell.try_into().map_err(|_| malformed_row())?);
            match days
                .checked_add(EPOCH_DAYS)
                .filter(|days| (FIRST_DAY..=LAST_DAY).contains(days))
            {
                Some(days) => batch.append_date(days),
                None => {
                    write_date(days, text);
                    batch.append_other(text);
                }
            }
        }
        Kind::Time => match u64::from_be_bytes(sized()?) {
            micros if micros < MICROS_PER_DAY.unsigned_abs() => batch.append_time(micros),
            _ => batch.append_other("24:00:00"),
        },
        Kind::Timestamp | Kind::TimestampUtc => {
            let micros = i64::from_be_bytes(sized()?);
            match (in_range(micros), kind) {
                (Some(micros), Kind::Timestamp) => batch.append_timestamp(micros),
                (Some(micros), _) => batch.append_timestamp_utc(micros),
                (None, _) => {
                    write_timestamp(micros, kind == Kind::TimestampUtc, text);
                    batch.append_other(text);
                }
            }
        }
        Kind::Decimal | Kind::Text | Kind::Json | Kind::Array { .. } => return Err(malformed_row()),
    }
    Ok(())
}

#[inline]
fn integer(cell: &[u8]) -> Option<i64> {
    match *cell {
        [a, b] => Some(i16::from_be_bytes([a, b]).into()),
        [a, b, c, d] => Some(i32::from_be_bytes([a, b, c, d]).into()),
        _ => cell.try_into().ok().map(i64::from_be_bytes),
    }
}

/// Microseconds since 1970, where the host's types hold them.
#[inline]
fn in_range(micros: i64) -> Option<i64> {
    const FIRST: i64 = FIRST_DAY as i64 * MICROS_PER_DAY;
    const LAST: i64 = (LAST_DAY as i64 + 1) * MICROS_PER_DAY - 1;
    micros
        .checked_add(EPOCH_MICROS)
        .filter(|micros| (FIRST..=LAST).contains(micros))
}

/// As the server writes it: `infinity`, `12024-01-01`, `0044-03-15 BC`.
fn write_date(days: i32, text: &mut String) {
    text.clear();
    match days {
        i32::MAX => text.push_str("infinity"),
        i32::MIN => text.push_str("-infinity"),
        _ => {
            let is_bc = write_day(days.into(), text);
            text.push_str(if is_bc { " BC" } else { "" });
        }
    }
}

fn write_timestamp(micros: i64, is_utc: bool, text: &mut String) {
    text.clear();
    match micros {
        i64::MAX => return text.push_str("infinity"),
        i64::MIN => return text.push_str("-infinity"),
        _ => {}
    }
    let is_bc = write_day(micros.div_euclid(MICROS_PER_DAY), text);
    let (seconds, fraction) = {
        let of_day = micros.rem_euclid(MICROS_PER_DAY);
        (of_day / 1_000_000, of_day % 1_000_000)
    };
    // Writing into a string cannot fail.
    _ = write!(
        text,
        " {:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    if fraction > 0 {
        _ = write!(text, ".{fraction:06}");
        text.truncate(text.trim_end_matches('0').len());
    }
    text.push_str(if is_utc { "+00" } else { "" });
    text.push_str(if is_bc { " BC" } else { "" });
}

/// Writes a day, counted from 2000-01-01, in the Gregorian calendar; true when its year is before Christ.
fn write_day(days: i64, text: &mut String) -> bool {
    // Counted from 0000-03-01, so that the leap day is the last of its year.
    let days = days + i64::from(EPOCH_DAYS) + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = era * 400 + year_of_era + next_year;
    let (year, is_bc) = if year > 0 {
        (year, false)
    } else {
        (1 - year, true)
    };
    // Writing into a string cannot fail.
    _ = write!(text, "{year:04}-{month:02}-{day:02}");
    is_bc
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_the_host_cannot_hold_is_written_as_the_server_does() {
        let mut text = String::new();
        for (days, expected) in [
            (0, "2000-01-01"),
            (-746_117, "0044-03-15 BC"),
            (3_661_191, "12024-01-01"),
            (i32::MAX, "infinity"),
            (i32::MIN, "-infinity"),
        ] {
            write_date(days, &mut text);
            assert_eq!(text, expected, "{days}");
        }
        for (micros, is_utc, expected) in [
            (0, false, "2000-01-01 00:00:00"),
            (-1, true, "1999-12-31 23:59:59.999999+00"),
            (
                9_223_371_331_199_999_999,
                false,
                "294276-12-31 23:59:59.999999",
            ),
            (-64_464_422_400_500_000, true, "0044-03-15 23:59:59.5+00 BC"),
            (i64::MAX, true, "infinity"),
        ] {
            write_timestamp(micros, is_utc, &mut text);
            assert_eq!(text, expected, "{micros}");
        }
    }

    proptest! {
        #[test]
        fn text_and_binary_say_the_same_day(days in FIRST_DAY..LAST_DAY) {
            let mut text = String::new();
            write_date(days - EPOCH_DAYS, &mut text);
            prop_assert_eq!(mindhost_sdk::datetime::date(text.as_bytes()), Some(days));
        }

        #[test]
        fn text_and_binary_say_the_same_instant(micros in -50_000_000_000_000_000_i64..50_000_000_000_000_000) {
            let mut text = String::new();
            write_timestamp(micros, true, &mut text);
            prop_assert_eq!(crate::time::timestamp_utc(text.as_bytes()), in_range(micros));
        }

        #[test]
        fn any_cell_is_read_or_refused(cell in proptest::collection::vec(any::<u8>(), 0..10)) {
            use mindhost_sdk::{BatchLimits, Column};
            for kind in [Kind::Integer, Kind::Float, Kind::Date, Kind::Time, Kind::Timestamp, Kind::TimestampUtc] {
                let mut batch = BatchBuilder::new(vec![Column::new("a", kind.data_type())]);
                batch.start(BatchLimits { max_rows: 1, max_bytes: 100 });
                let _ = append(kind, &cell, &mut String::new(), &mut batch);
            }
        }
    }
}
