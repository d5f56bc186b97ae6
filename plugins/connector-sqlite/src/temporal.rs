//! Dates and times as SQLite's own functions write them. What is written any other way is text.

const MICROS_A_SECOND: i64 = 1_000_000;
const MICROS_A_DAY: i64 = 86_400 * MICROS_A_SECOND;
/// 0000-01-01 and 9999-12-31, the first and the last day that four digits of a year can name.
const FIRST_DAY: i64 = -719_528;
const LAST_DAY: i64 = 2_932_896;

/// `2026-11-20` as days since 1970-01-01.
pub fn date(text: &str) -> Option<i32> {
    let bytes: &[u8; 10] = text.as_bytes().try_into().ok()?;
    let (year, month, day) = (
        digits(&bytes[..4])?,
        digits(&bytes[5..7])?,
        digits(&bytes[8..])?,
    );
    let is_date = bytes[4] == b'-'
        && bytes[7] == b'-'
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day);
    is_date.then(|| days_since_1970(year, month, day))
}

/// `09:30`, `09:30:15` or `09:30:15.250000` as microseconds since midnight.
pub fn time(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let (hour, minute) = (digits(bytes.get(..2)?)?, digits(bytes.get(3..5)?)?);
    let seconds = match bytes.get(5..)? {
        [] => 0,
        [b':', rest @ ..] => seconds(rest)?,
        _ => return None,
    };
    let is_time = bytes[2] == b':' && hour < 24 && minute < 60;
    is_time
        .then(|| u64::from(hour * 3600 + minute * 60) * MICROS_A_SECOND.cast_unsigned() + seconds)
}

/// `2026-11-20 09:30:15` (or with `T`) as microseconds since 1970-01-01T00:00:00.
pub fn timestamp(text: &str) -> Option<i64> {
    let (day, clock) = (text.get(..10)?, text.get(11..)?);
    if !matches!(text.as_bytes()[10], b' ' | b'T') {
        return None;
    }
    Some(i64::from(date(day)?) * MICROS_A_DAY + time(clock)?.cast_signed())
}

/// A timestamp that ends in `Z` or an offset such as `+02:00`, as microseconds since 1970-01-01T00:00:00Z. One whose
/// offset moves it out of the years 0000 to 9999 is none: nothing could be said of it in four digits.
pub fn timestamp_utc(text: &str) -> Option<i64> {
    if let Some(local) = text.strip_suffix('Z') {
        return timestamp(local);
    }
    let (local, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let (sign, offset) = match offset.split_at_checked(1)? {
        ("+", offset) => (1, offset),
        ("-", offset) => (-1, offset),
        _ => return None,
    };
    let micros = timestamp(local)? - sign * time(offset)?.cast_signed();
    (FIRST_DAY * MICROS_A_DAY..(LAST_DAY + 1) * MICROS_A_DAY)
        .contains(&micros)
        .then_some(micros)
}

/// `15` or `15.25` as microseconds. More than six places would be lost, so they are refused.
fn seconds(bytes: &[u8]) -> Option<u64> {
    let whole = digits(bytes.get(..2)?).filter(|seconds| *seconds < 60)?;
    let micros = match bytes.get(2..)? {
        [] => 0,
        [b'.', places @ ..] if (1..=6).contains(&places.len()) => {
            (places.len()..6).fold(digits(places)?, |micros, _| micros * 10)
        }
        _ => return None,
    };
    Some(u64::from(whole) * MICROS_A_SECOND.cast_unsigned() + u64::from(micros))
}

/// At most nine digits, and nothing but digits.
fn digits(bytes: &[u8]) -> Option<u32> {
    bytes.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + u32::from(byte - b'0'))
    })
}

fn days_in(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Counts in years that begin in March, so that the leap day is the last of its year.
fn days_since_1970(year: u32, month: u32, day: u32) -> i32 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year.wrapping_sub(1), month + 9)
    };
    let year = year.cast_signed();
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let in_year = ((153 * month + 2) / 5 + day - 1).cast_signed();
    365 * year + leap_days + in_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_count_from_1970() {
        assert_eq!(date("1970-01-01"), Some(0));
        assert_eq!(date("1969-12-31"), Some(-1));
        assert_eq!(date("2000-02-29"), Some(11_016));
        assert_eq!(date("0000-01-01"), Some(-719_528));
        assert_eq!(date("9999-12-31"), Some(2_932_896));
    }

    #[test]
    fn what_is_no_date_is_refused() {
        let refused = [
            "1900-02-29",
            "2026-13-01",
            "2026-00-01",
            "2026-1-1",
            "2026/01/01",
            "2026-01-01 ",
            "",
            "２０２６-01-0",
        ];
        assert!(refused.into_iter().all(|text| date(text).is_none()));
    }

    #[test]
    fn times_have_up_to_six_places() {
        assert_eq!(time("00:00"), Some(0));
        assert_eq!(time("09:30:15.25"), Some(34_215_250_000));
        assert_eq!(time("23:59:59.999999"), Some(86_399_999_999));
        let refused = [
            "24:00",
            "12:60",
            "12:00:60",
            "12:00:00.",
            "12:00:00.1234567",
            "12",
            "12-00",
            "1:00",
        ];
        assert!(refused.into_iter().all(|text| time(text).is_none()));
    }

    #[test]
    fn timestamps_with_and_without_a_zone() {
        assert_eq!(timestamp("1970-01-02 00:00:01"), Some(86_401_000_000));
        assert_eq!(timestamp("1970-01-02T00:00:01"), Some(86_401_000_000));
        assert_eq!(timestamp("1970-01-02T00:00:01Z"), None);
        assert_eq!(timestamp("1970-01-02"), None);
        assert_eq!(timestamp_utc("1970-01-01T02:00:00+02:00"), Some(0));
        assert_eq!(timestamp_utc("1970-01-01 00:00:00Z"), Some(0));
        assert_eq!(timestamp_utc("1969-12-31T19:00:00-05:00"), Some(0));
        assert_eq!(timestamp_utc("1970-01-01 00:00:00"), None);
    }

    #[test]
    fn an_offset_moves_no_timestamp_out_of_four_digits() {
        let first = FIRST_DAY * MICROS_A_DAY;
        let last = (LAST_DAY + 1) * MICROS_A_DAY - MICROS_A_SECOND;
        for (text, expected) in [
            ("0000-01-01 00:00:00Z", Some(first)),
            ("0000-01-01 02:00:00+02:00", Some(first)),
            ("0000-01-01 00:00:00+02:00", None),
            ("9999-12-31 23:59:59Z", Some(last)),
            ("9999-12-31 21:59:59-02:00", Some(last)),
            ("9999-12-31 23:59:59-02:00", None),
        ] {
            assert_eq!(timestamp_utc(text), expected, "{text}");
        }
    }

    #[test]
    fn days_follow_each_other() {
        let mut last = date("1799-12-31").unwrap();
        for (year, month) in (1800..2200).flat_map(|year| (1..=12).map(move |month| (year, month)))
        {
            for day in 1..=days_in(year, month) {
                last += 1;
                assert_eq!(date(&format!("{year:04}-{month:02}-{day:02}")), Some(last));
            }
        }
    }
}
