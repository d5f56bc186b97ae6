//! Dates and times: the server counts from other days, and in other units.

/// Days from 0001-01-01 to 1970-01-01, and to the last day that SQL Server has, 9999-12-31.
const EPOCH_FROM_YEAR_1: i64 = 719_162;
const LAST_DAY: u32 = 3_652_058;
/// Days from 1900-01-01 to 1970-01-01.
const EPOCH_FROM_1900: i64 = 25_567;
const DAY: i64 = 86_400_000_000;
/// The ticks of `datetime` in a day: 300 a second.
const TICKS: u32 = 300 * 86_400;

/// A time in units of 100 nanoseconds since midnight.
pub(crate) type Ticks = u64;

/// Days since 1970-01-01 of the three bytes of a date.
pub(crate) fn date(bytes: &[u8]) -> Option<i32> {
    let &[low, middle, high] = bytes else {
        return None;
    };
    let days = u32::from_le_bytes([low, middle, high, 0]);
    let days = (days <= LAST_DAY).then_some(i64::from(days))?;
    i32::try_from(days - EPOCH_FROM_YEAR_1).ok()
}

/// The time in the bytes of a `time` of this scale.
pub(crate) fn time(bytes: &[u8], scale: u8) -> Option<Ticks> {
    let expected = match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    };
    if bytes.len() != expected {
        return None;
    }
    let mut number = [0; 8];
    number[..expected].copy_from_slice(bytes);
    let factor = 10_u64.pow(7_u32.checked_sub(u32::from(scale))?);
    let ticks = u64::from_le_bytes(number).checked_mul(factor)?;
    (ticks < DAY.unsigned_abs() * 10).then_some(ticks)
}

/// A date and a time: microseconds since 1970-01-01, and the tenth of a microsecond that is left.
pub(crate) fn date_time(bytes: &[u8], scale: u8) -> Option<(i64, u8)> {
    let (time_bytes, date_bytes) = bytes.split_at_checked(bytes.len().checked_sub(3)?)?;
    let ticks = time(time_bytes, scale)?;
    let days = i64::from(date(date_bytes)?);
    let micros = i64::try_from(ticks / 10).ok()?;
    Some((days * DAY + micros, (ticks % 10) as u8))
}

/// Microseconds since 1970-01-01 of a `datetime` (8 bytes) or a `smalldatetime` (4 bytes).
pub(crate) fn old_date_time(bytes: &[u8]) -> Option<i64> {
    let (days, micros) = match *bytes {
        [a, b, c, d, e, f, g, h] => {
            let days = i64::from(i32::from_le_bytes([a, b, c, d]));
            let ticks = u32::from_le_bytes([e, f, g, h]);
            if !(-53_690..=2_958_463).contains(&days) || ticks >= TICKS {
                return None;
            }
            // A tick is a third of 10 ms; the engine shows whole milliseconds.
            let millis = (i64::from(ticks) * 10 + 1) / 3;
            (days, millis * 1000)
        }
        [a, b, c, d] => {
            let minutes = i64::from(u16::from_le_bytes([c, d]));
            if minutes >= 24 * 60 {
                return None;
            }
            (i64::from(u16::from_le_bytes([a, b])), minutes * 60_000_000)
        }
        _ => return None,
    };
    Some((days - EPOCH_FROM_1900) * DAY + micros).filter(|micros| *micros < i64::MAX / 2)
}

/// The text of a time with all seven digits.
pub(crate) fn time_text(ticks: Ticks) -> String {
    let seconds = ticks / 10_000_000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!(
        "{hours:02}:{minutes:02}:{seconds:02}.{:07}",
        ticks % 10_000_000
    )
}

/// The text of a timestamp with all seven digits.
pub(crate) fn date_time_text(micros: i64, tenth: u8) -> String {
    let (year, month, day) = civil(micros.div_euclid(DAY));
    let ticks = micros.rem_euclid(DAY).unsigned_abs() * 10 + u64::from(tenth);
    format!("{year:04}-{month:02}-{day:02}T{}", time_text(ticks))
}

/// Year, month and day of the days since 1970-01-01, counted in eras of 400 years that begin in March.
pub(crate) fn civil(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year + era * 400 + i64::from(month <= 2);
    (year, month.unsigned_abs() as u32, day.unsigned_abs() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_1970() {
        assert_eq!(date(&[0, 0, 0]), Some(-719_162));
        assert_eq!(date(&[0x3A, 0xF9, 0x0A]), Some(0));
        assert_eq!(date(&[0xDA, 0xB9, 0x37]), Some(2_932_896));
        assert_eq!(date(&[0xDB, 0xB9, 0x37]), None);
        assert_eq!(date(&[0, 0]), None);
    }

    #[test]
    fn a_time_has_the_bytes_and_the_unit_of_its_scale() {
        assert_eq!(time(&[0x7F, 0x51, 0x01], 0), Some(86_399 * 10_000_000));
        assert_eq!(time(&[0x80, 0x51, 0x01], 0), None);
        assert_eq!(time(&[1, 0, 0, 0, 0], 7), Some(1));
        assert_eq!(time(&[1, 0, 0, 0], 7), None);
        assert_eq!(time_text(863_999_999_999), "23:59:59.9999999");
    }

    #[test]
    fn an_old_date_time_has_whole_milliseconds() {
        let value = |days: i32, ticks: u32| {
            let bytes: Vec<u8> = days
                .to_le_bytes()
                .into_iter()
                .chain(ticks.to_le_bytes())
                .collect();
            old_date_time(&bytes)
        };
        assert_eq!(value(25_567, 0), Some(0));
        assert_eq!(value(25_567, 1), Some(3_000));
        assert_eq!(value(25_567, 2), Some(7_000));
        assert_eq!(value(25_567, 300), Some(1_000_000));
        assert_eq!(value(25_567, TICKS), None);
        assert_eq!(value(3_000_000, 0), None);
        assert_eq!(old_date_time(&[0xDF, 0x63, 1, 0]), Some(60_000_000));
    }

    #[test]
    fn the_seventh_digit_is_kept_in_a_text() {
        assert_eq!(date_time_text(0, 7), "1970-01-01T00:00:00.0000007");
        assert_eq!(date_time_text(-1, 0), "1969-12-31T23:59:59.9999990");
        assert_eq!(
            date_time_text(-719_162 * DAY, 0),
            "0001-01-01T00:00:00.0000000"
        );
    }
}
