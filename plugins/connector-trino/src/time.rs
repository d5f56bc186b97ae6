//! Dates and times as Trino writes them.

use chrono::{NaiveDate, NaiveDateTime, TimeZone as _, Timelike as _};
use chrono_tz::Tz;

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Days since 1970-01-01 of `2024-02-29` or `-0001-02-03`.
pub(crate) fn days(text: &str) -> Option<i32> {
    let (sign, text) = match text.strip_prefix(['-', '+']) {
        Some(rest) if text.starts_with('-') => (-1, rest),
        Some(rest) => (1, rest),
        None => (1, text),
    };
    let mut parts = text.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if year.len() < 4 {
        return None;
    }
    let date = NaiveDate::from_ymd_opt(
        sign * i32::try_from(number(year)?).ok()?,
        number(month)?,
        number(day)?,
    )?;
    let epoch = NaiveDate::from_ymd_opt(1970, 1, 1)?;
    i32::try_from(date.signed_duration_since(epoch).num_days()).ok()
}

/// Microseconds of `10:20:30.123456789012`; finer digits are cut.
pub(crate) fn clock(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.splitn(3, ':');
    let (hours, minutes) = (number(parts.next()?)?, number(parts.next()?)?);
    // A time of full minutes may come without its seconds.
    let seconds = parts.next().map_or(Some(0), number)?;
    let is_valid = hours < 24 && minutes < 60 && seconds < 60;
    let is_fraction = fraction.len() <= 12 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    if !is_valid || !is_fraction {
        return None;
    }
    let micros: u64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    let seconds = u64::from(hours) * 3600 + u64::from(minutes) * 60 + u64::from(seconds);
    Some(seconds * 1_000_000 + micros)
}

/// Microseconds since 1970 of `2024-02-29 12:00:00.5`; finer digits are cut.
pub(crate) fn timestamp(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(' ')?;
    let days = i64::from(days(date)?);
    days.checked_mul(DAY)?
        .checked_add(i64::try_from(clock(time)?).ok()?)
}

/// Microseconds since 1970 of `2024-02-29 12:00:00.5 Europe/Berlin`, or with `+02:00` or `UTC` as its zone.
///
/// Where clocks were set back, the text means two instants, and Trino does not say which: it is the first. Where they
/// were set forward, there is no such text.
pub(crate) fn instant(text: &str) -> Option<i64> {
    let (local, zone) = text.rsplit_once(' ')?;
    let micros = timestamp(local)?;
    if let Some(offset) = offset(zone) {
        return micros.checked_sub(offset);
    }
    let zone: Tz = zone.parse().ok()?;
    let seconds = micros.div_euclid(1_000_000);
    let naive: NaiveDateTime = chrono::DateTime::from_timestamp(seconds, 0)?.naive_utc();
    let utc = zone.from_local_datetime(&naive).earliest()?.timestamp();
    utc.checked_mul(1_000_000)?
        .checked_add(micros.rem_euclid(1_000_000))
}

/// Microseconds that a zone such as `+02:00` is before UTC.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "UTC" | "Z" | "GMT") {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let minutes = clock(zone.get(1..)?)?;
    Some(sign * i64::try_from(minutes).ok()?)
}

/// `2024-02-29T12:00:00.500000Z` of microseconds since 1970, without a fraction of zero; `None` if the year has not
/// four digits.
pub(crate) fn text(micros: i64, is_instant: bool) -> Option<String> {
    let at = chrono::DateTime::from_timestamp_micros(micros)?.naive_utc();
    let form = match at.nanosecond() {
        0 => "%Y-%m-%dT%H:%M:%S",
        _ => "%Y-%m-%dT%H:%M:%S%.6f",
    };
    let text = at.format(form).to_string();
    let is_plain = text.starts_with(|c: char| c.is_ascii_digit());
    is_plain.then(|| format!("{text}{}", if is_instant { "Z" } else { "" }))
}

/// Digits, and nothing else.
fn number(text: &str) -> Option<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_and_times_are_read() {
        assert_eq!(
            (days("1970-01-02"), days("1900-01-01")),
            (Some(1), Some(-25_567))
        );
        assert_eq!(days("0001-01-01"), Some(-719_162));
        assert!(days("-0001-01-01") < days("0001-01-01"));
        assert!(days("+12345-01-01").is_some());
        assert_eq!(clock("23:59:59.123456789012"), Some(86_399_123_456));
        assert_eq!(timestamp("1969-12-31 23:59:59.999999999999"), Some(-1));
        for text in [
            "",
            "2024-13-01",
            "24:00:00",
            "12:60",
            "2024-01-01",
            "x y",
            "1:2:3.4x",
        ] {
            assert_eq!((clock(text), timestamp(text)), (None, None), "{text}");
        }
    }

    #[test]
    fn instants_have_zones_of_three_kinds() {
        let noon = timestamp("2024-07-01 12:00:00");
        for text in [
            "2024-07-01 12:00:00.000 UTC",
            "2024-07-01 14:00:00 Europe/Berlin",
            "2024-07-01 14:00:00 +02:00",
            "2024-07-01 06:30 -05:30",
        ] {
            assert_eq!(instant(text), noon, "{text}");
        }
        // The clocks were set back at three.
        assert_eq!(
            instant("2024-10-27 02:30:00 Europe/Berlin"),
            timestamp("2024-10-27 00:30:00")
        );
        assert_eq!(instant("2024-07-01 12:00:00 Nowhere/X"), None);
    }

    #[test]
    fn instants_are_written_for_json() {
        let at = instant("2024-07-01 14:00:00.5 Europe/Berlin").unwrap();
        assert_eq!(text(at, true).unwrap(), "2024-07-01T12:00:00.500000Z");
        assert_eq!(text(0, false).unwrap(), "1970-01-01T00:00:00");
    }

    proptest! {
        #[test]
        fn no_text_is_a_panic(text in r"[-+]?[0-9]{0,9}[-0-9: .+A-Za-z/]{0,30}") {
            let _ = (days(&text), clock(&text), timestamp(&text), instant(&text));
        }
    }
}
