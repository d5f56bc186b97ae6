//! Dates and times in the text form of `DateStyle = ISO`.
//!
//! Each function answers `None` for what the host's types do not hold: infinities, years before 1 and after 9999,
//! `24:00:00`.

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// Days since 1970-01-01 of `2024-02-29`.
#[inline]
pub(crate) fn date(text: &[u8]) -> Option<i32> {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else {
        return None;
    };
    let year = two(y1, y2)? * 100 + two(y3, y4)?;
    let (month, day) = (two(m1, m2)?, two(d1, d2)?);
    if year == 0 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    Some(days(year, month, day))
}

/// Microseconds since midnight of `12:34:56.789`.
#[inline]
pub(crate) fn time(text: &[u8]) -> Option<u64> {
    let (whole, fraction) = text.split_first_chunk::<8>()?;
    let &[h1, h2, b':', m1, m2, b':', s1, s2] = whole else {
        return None;
    };
    let (hour, minute, second) = (two(h1, h2)?, two(m1, m2)?, two(s1, s2)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = i64::from((hour * 60 + minute) * 60 + second);
    (seconds * MICROS_PER_SECOND + micros(fraction)?)
        .try_into()
        .ok()
}

/// Microseconds since 1970-01-01T00:00:00 of `2024-02-29 12:34:56.789`.
#[inline]
pub(crate) fn timestamp(text: &[u8]) -> Option<i64> {
    let (day, rest) = text.split_at_checked(10)?;
    let time = time(rest.strip_prefix(b" ")?)?;
    Some(i64::from(date(day)?) * MICROS_PER_DAY + i64::try_from(time).ok()?)
}

/// Microseconds since 1970-01-01T00:00:00Z of `2024-02-29 12:34:56.789+00`.
#[inline]
pub(crate) fn timestamp_utc(text: &[u8]) -> Option<i64> {
    if let Some(text) = text.strip_suffix(b"+00") {
        return timestamp(text);
    }
    // The session is in UTC. A server that writes another offset nevertheless means what it writes.
    let sign = 10
        + text
            .get(10..)?
            .iter()
            .position(|byte| matches!(byte, b'+' | b'-'))?;
    let (local, offset) = text.split_at(sign);
    let mut seconds = 0;
    for (part, scale) in offset[1..].split(|byte| *byte == b':').zip([3600, 60, 1]) {
        let &[tens, ones] = part else { return None };
        seconds += i64::from(two(tens, ones)?) * scale;
    }
    let seconds = if offset[0] == b'-' { -seconds } else { seconds };
    Some(timestamp(local)? - seconds * MICROS_PER_SECOND)
}

/// The microseconds of `.789`, or of nothing.
#[inline]
fn micros(fraction: &[u8]) -> Option<i64> {
    let Some((b'.', digits)) = fraction.split_first() else {
        return fraction.is_empty().then_some(0);
    };
    if digits.is_empty() || digits.len() > 6 {
        return None;
    }
    let mut micros = 0;
    for place in 0..6 {
        micros = micros * 10 + digits.get(place).map_or(Some(0), |byte| digit(*byte))?;
    }
    Some(i64::from(micros))
}

#[inline]
fn two(tens: u8, ones: u8) -> Option<i32> {
    Some(digit(tens)? * 10 + digit(ones)?)
}

#[inline]
fn digit(byte: u8) -> Option<i32> {
    byte.is_ascii_digit().then(|| i32::from(byte - b'0'))
}

/// Days since 1970-01-01 in the Gregorian calendar, for years from 1 on. The year is taken to begin in March, so that
/// the leap day is its last.
#[inline]
fn days(year: i32, month: i32, day: i32) -> i32 {
    const BEFORE_EPOCH: i32 = 719_468;
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - BEFORE_EPOCH
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates() {
        for (text, expected) in [
            ("1970-01-01", Some(0)),
            ("2000-02-29", Some(11_016)),
            ("0001-01-01", Some(-719_162)),
            ("9999-12-31", Some(2_932_896)),
            ("0044-03-15 BC", None),
            ("12024-01-01", None),
            ("infinity", None),
            ("-infinity", None),
        ] {
            assert_eq!(date(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn times() {
        for (text, expected) in [
            ("00:00:00", Some(0)),
            ("23:59:59.999999", Some(86_399_999_999)),
            ("01:02:03.5", Some(3_723_500_000)),
            ("24:00:00", None),
            ("01:02:03.", None),
            ("01:02", None),
        ] {
            assert_eq!(time(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn timestamps_with_offsets_are_instants() {
        for (text, expected) in [
            ("1970-01-01 00:00:00+00", Some(0)),
            ("1970-01-01 01:30:00.25+01:30", Some(250_000)),
            ("1969-12-31 16:00:00-08", Some(0)),
            ("1970-01-01 00:00:00", None),
            ("infinity", None),
        ] {
            assert_eq!(timestamp_utc(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(timestamp(b"1969-12-31 23:59:59.999999"), Some(-1));
    }

    proptest! {
        #[test]
        fn days_follow_each_other(day in -719_162_i32..2_932_896) {
            // Counting in months of 28 to 31 days must agree with the formula.
            let (mut year, mut month, mut left) = (1970, 1, day);
            let length = |year: i32, month: i32| match month {
                2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            while left < 0 {
                (year, month) = if month == 1 { (year - 1, 12) } else { (year, month - 1) };
                left += length(year, month);
            }
            while left >= length(year, month) {
                left -= length(year, month);
                (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
            }
            prop_assert_eq!(date(format!("{year:04}-{month:02}-{:02}", left + 1).as_bytes()), Some(day));
        }

        #[test]
        fn any_bytes_are_read_or_refused(text in "[0-9:.+ -]{0,32}") {
            let _ = (date(text.as_bytes()), time(text.as_bytes()), timestamp_utc(text.as_bytes()));
        }
    }
}
