//! Dates and times as the server writes them.
//!
//! Each function answers `None` for what the host's types do not hold: `0000-00-00` and other dates with a zero in
//! them, and times below zero or from 24 hours on.

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
    if year == 0 || !(1..=12).contains(&month) || !(1..=length(year, month)).contains(&day) {
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

#[inline]
fn length(year: i32, month: i32) -> i32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
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
    fn dates_are_days_and_zero_dates_are_none() {
        for (text, expected) in [
            ("1970-01-01", Some(0)),
            ("2000-02-29", Some(11_016)),
            ("9999-12-31", Some(2_932_896)),
            ("0000-00-00", None),
            ("2024-00-10", None),
            ("2024-02-30", None),
            ("2023-02-29", None),
        ] {
            assert_eq!(date(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn times_of_a_day_are_microseconds_and_others_none() {
        for (text, expected) in [
            ("00:00:00", Some(0)),
            ("23:59:59.999999", Some(86_399_999_999)),
            ("12:00:00.5", Some(43_200_500_000)),
            ("838:59:59", None),
            ("-00:00:01", None),
            ("24:00:00", None),
        ] {
            assert_eq!(time(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(timestamp(b"1970-01-02 00:00:01"), Some(86_401_000_000));
        assert_eq!(timestamp(b"0000-00-00 00:00:00"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in proptest::collection::vec(any::<u8>(), 0..30)) {
            let _ = (date(&text), time(&text), timestamp(&text));
        }
    }
}
