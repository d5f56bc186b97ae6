//! Dates and times out of the text that database servers send: `2024-02-29 12:34:56.789`.
//!
//! They are made for millions of cells, so they read bytes of one fixed form. [`crate::scanner::parse_timestamp`] and
//! its neighbours read the other forms of ISO 8601.

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// Days since 1970-01-01 of `2024-02-29`, in the Gregorian calendar; `None` for a year 0, and for a day that no month
/// has.
#[inline]
pub fn date(text: &[u8]) -> Option<i32> {
    let is_year_0 = text.starts_with(b"0000");
    if is_year_0 {
        None
    } else {
        date_from_year_0(text)
    }
}

/// The same, and with a year 0, which the host's dates have.
#[inline]
pub(crate) fn date_from_year_0(text: &[u8]) -> Option<i32> {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else {
        return None;
    };
    let year = two(y1, y2)? * 100 + two(y3, y4)?;
    let (month, day) = (two(m1, m2)?, two(d1, d2)?);
    (1..=length(year, month))
        .contains(&day)
        .then(|| days(year, month, day))
}

/// Microseconds since midnight of `12:34:56` or `12:34:56.789`, with up to six digits behind the point; `None` for
/// `24:00:00` and everything else that is no time of a day.
#[inline]
pub fn time(text: &[u8]) -> Option<u64> {
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

/// Microseconds since 1970-01-01T00:00:00 of a [`date()`] and a [`time()`] with a blank between them.
#[inline]
pub fn timestamp(text: &[u8]) -> Option<i64> {
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

/// Days of a month; none of a month that there is not.
#[inline]
fn length(year: i32, month: i32) -> i32 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 0,
    }
}

/// Days since 1970-01-01 in the Gregorian calendar. The year is taken to begin in March, so that the leap day is its
/// last.
#[inline]
fn days(year: i32, month: i32, day: i32) -> i32 {
    const BEFORE_EPOCH: i32 = 719_468;
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - BEFORE_EPOCH
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_are_days_and_others_none() {
        for (text, expected) in [
            ("1970-01-01", Some(0)),
            ("2000-02-29", Some(11_016)),
            ("1969-12-31", Some(-1)),
            ("0001-01-01", Some(-719_162)),
            ("9999-12-31", Some(2_932_896)),
            ("0000-00-00", None),
            ("0000-01-01", None),
            ("2024-00-10", None),
            ("2024-13-10", None),
            ("2024-02-30", None),
            ("2023-02-29", None),
            ("1900-02-29", None),
            ("2024-04-31", None),
            ("2024-01-00", None),
            ("2024-1-01", None),
            ("12024-01-01", None),
            ("0044-03-15 BC", None),
            ("infinity", None),
            ("", None),
        ] {
            assert_eq!(date(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn times_of_a_day_are_microseconds_and_others_none() {
        for (text, expected) in [
            ("00:00:00", Some(0)),
            ("23:59:59.999999", Some(86_399_999_999)),
            ("01:02:03.5", Some(3_723_500_000)),
            ("24:00:00", None),
            ("12:60:00", None),
            ("12:00:60", None),
            ("01:02:03.", None),
            ("01:02:03.1234567", None),
            ("01:02", None),
            ("838:59:59", None),
            ("-00:00:01", None),
        ] {
            assert_eq!(time(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn timestamps_are_both() {
        assert_eq!(timestamp(b"1970-01-02 00:00:01"), Some(86_401_000_000));
        assert_eq!(timestamp(b"1969-12-31 23:59:59.999999"), Some(-1));
        assert_eq!(timestamp(b"0000-00-00 00:00:00"), None);
        assert_eq!(timestamp(b"1970-01-02"), None);
        assert_eq!(timestamp(b"1970-01-02T00:00:01"), None);
    }

    proptest! {
        #[test]
        fn days_follow_each_other(day in -719_162_i32..2_932_896) {
            // Counting in months must agree with the formula.
            let (mut year, mut month, mut left) = (1970, 1, day);
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
        fn bytes_are_read_or_refused(text in proptest::collection::vec(any::<u8>(), 0..30)) {
            let _ = (date(&text), time(&text), timestamp(&text));
        }

        #[test]
        fn near_texts_are_read_or_refused(text in "[0-9:.+ -]{0,32}") {
            let _ = (date(text.as_bytes()), time(text.as_bytes()), timestamp(text.as_bytes()));
        }
    }
}
