//! Times as ClickHouse writes them; the SDK reads dates.

use mindhost_sdk::datetime;

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Microseconds since 1970 of `2024-02-29 12:00:00.5`, whatever the zone.
pub(crate) fn civil(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(' ')?;
    at(date, time)
}

/// Microseconds of `-10:00:00.5`, which may be more than a day; finer digits are cut.
pub(crate) fn clock(text: &str) -> Option<i64> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let mut parts = text.splitn(3, ':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    let minutes = minutes
        .parse::<i64>()
        .ok()
        .filter(|minutes| (0..60).contains(minutes))?;
    let seconds = micros(seconds)?;
    let hours = hours
        .parse::<i64>()
        .ok()
        .filter(|hours| (0..=999).contains(hours))?;
    Some(sign * ((hours * 60 + minutes) * 60_000_000 + seconds))
}

/// Microseconds since 1970 of `2024-02-29T12:00:00.5Z`; finer digits are cut, which is downwards.
pub(crate) fn instant(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    at(date, time)
}

fn at(date: &str, time: &str) -> Option<i64> {
    let time = clock(time).filter(|time| (0..DAY).contains(time))?;
    Some(i64::from(datetime::date(date.as_bytes())?) * DAY + time)
}

/// Microseconds of the seconds of a minute, such as `05.125`; finer digits are cut.
fn micros(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: u8 = whole.parse().ok().filter(|seconds| *seconds < 60)?;
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanos: i64 = format!("{fraction:0<9}").parse().ok()?;
    Some(i64::from(seconds) * 1_000_000 + nanos / 1000)
}

/// `2024-02-29` of days since 1970.
pub(crate) fn date_text(days: i64) -> String {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = (era * 400 + year, (month + 2) % 12 + 1);
    let year = if month <= 2 { year + 1 } else { year };
    format!("{year:04}-{month:02}-{day:02}")
}

/// `2024-02-29T12:00:00.500000` of microseconds since 1970, without a fraction of zero.
pub(crate) fn timestamp_text(micros: i64) -> String {
    let (days, of_day) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    let (seconds, fraction) = (of_day / 1_000_000, of_day % 1_000_000);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let whole = format!(
        "{}T{hours:02}:{minutes:02}:{:02}",
        date_text(days),
        seconds % 60
    );
    match fraction {
        0 => whole,
        _ => format!("{whole}.{fraction:06}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_written_as_dates() {
        for (days, text) in [
            (0, "1970-01-01"),
            (-25_567, "1900-01-01"),
            (19_782, "2024-02-29"),
            (120_529, "2299-12-31"),
        ] {
            assert_eq!(date_text(days), text);
        }
    }

    #[test]
    fn instants_may_be_before_1970() {
        for (text, micros) in [
            ("1969-12-31T23:59:59.5Z", -500_000),
            ("1924-07-01T00:00:00.5Z", -1_435_967_999_500_000),
            ("2024-01-02T03:04:05.123456789Z", 1_704_164_645_123_456),
            ("1969-12-31T23:59:59.123456789Z", -876_544),
            ("2300-01-01T10:00:00.1234567Z", 10_413_828_000_123_456),
            ("1970-01-01T00:00:00Z", 0),
        ] {
            assert_eq!(instant(text), Some(micros), "{text}");
        }
        for text in [
            "1704164645",
            "0.+",
            "2024-01-02T03:04:05",
            "2024-01-02 03:04:05Z",
            "2024-01-02T24:00:00Z",
            "2024-01-02T-1:00:00Z",
            "2024-01-02T03:04:-5Z",
            "2024-02-30T03:04:05Z",
        ] {
            assert_eq!(instant(text), None, "{text}");
        }
        assert_eq!(timestamp_text(-500_000), "1969-12-31T23:59:59.500000");
        assert_eq!(civil("2024-01-02 03:04:05"), Some(1_704_164_645_000_000));
    }

    #[test]
    fn times_may_be_longer_than_a_day() {
        assert_eq!(clock("999:59:59"), Some(3_599_999_000_000));
        assert_eq!(clock("-00:00:01.5"), Some(-1_500_000));
        assert_eq!((clock("1:60:00"), clock("12:00")), (None, None));
        assert_eq!((clock("0:00:60"), clock("0:00:-1")), (None, None));
    }
}
