//! The text forms of values, the same in JSON, CSV and the statistics of a catalog.
//!
//! Dates and times are ISO 8601. A year outside of 0 to 9999 has a sign and at least four digits, and the year before 1
//! is 0: `-0043-03-15` is 15 March 44 BC. A fraction of a second has six digits or is absent. Date libraries stop near
//! the year 9999, and allocate.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};

const DAY_MICROS: i64 = 86_400_000_000;

/// More bytes than the longest timestamp.
const LONGEST: usize = 48;

/// Short ASCII text on the stack.
pub struct ShortText {
    bytes: [u8; LONGEST],
    length: usize,
}

impl ShortText {
    fn new() -> Self {
        Self {
            bytes: [0; LONGEST],
            length: 0,
        }
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.length) {
            *slot = byte;
            self.length += 1;
        }
    }

    /// The last `count` digits of a number.
    #[inline]
    fn digits(&mut self, number: u64, count: u32) {
        let mut scale = 10_u64.pow(count - 1);
        for _ in 0..count {
            self.push(b'0' + (number / scale % 10) as u8);
            scale /= 10;
        }
    }

    /// Always ASCII.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// Always ASCII.
    pub fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    fn date(&mut self, days: i64) {
        let (year, month, day) = civil(days);
        let length = year.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
        if !(0..=9999).contains(&year) {
            self.push(if year < 0 { b'-' } else { b'+' });
        }
        self.digits(year.unsigned_abs(), length.max(4));
        self.push(b'-');
        self.digits(month, 2);
        self.push(b'-');
        self.digits(day, 2);
    }

    fn time(&mut self, micros: u64) {
        let seconds = micros / 1_000_000;
        self.digits(seconds / 3600, 2);
        self.push(b':');
        self.digits(seconds / 60 % 60, 2);
        self.push(b':');
        self.digits(seconds % 60, 2);
        if !micros.is_multiple_of(1_000_000) {
            self.push(b'.');
            self.digits(micros % 1_000_000, 6);
        }
    }
}

impl fmt::Display for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// `2024-02-29`, from days since 1970-01-01.
pub fn date(days: i32) -> ShortText {
    let mut text = ShortText::new();
    text.date(i64::from(days));
    text
}

/// `17:45:00.250000`, from microseconds since midnight.
pub fn time(micros: u64) -> ShortText {
    let mut text = ShortText::new();
    text.time(micros);
    text
}

/// `2024-02-29T17:45:00`, from microseconds since 1970-01-01T00:00:00, with `Z` behind it when it is in UTC.
pub fn timestamp(micros: i64, utc: bool) -> ShortText {
    let mut text = ShortText::new();
    text.date(micros.div_euclid(DAY_MICROS));
    text.push(b'T');
    text.time(micros.rem_euclid(DAY_MICROS).unsigned_abs());
    if utc {
        text.push(b'Z');
    }
    text
}

/// Year, month and day of the proleptic Gregorian calendar. Counts from 1 March of the year 0, so that the leap day is
/// the last of a year: 400 years have 146,097 days, and the months from March on repeat a pattern of 153 days.
fn civil(days: i64) -> (i64, u64, u64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097).unsigned_abs();
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era.cast_signed() + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// The name of NaN or an infinity.
pub fn special(number: f64) -> Option<&'static str> {
    if number.is_nan() {
        Some("NaN")
    } else if number.is_infinite() {
        Some(if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        })
    } else {
        None
    }
}

/// Appends bytes as base64 with padding.
pub(super) fn push_base64(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let target = out.get_mut(start..).unwrap_or_default();
    let written = STANDARD.encode_slice(bytes, target).unwrap_or_default();
    out.truncate(start + written);
}

/// Encodes bytes as base64 with padding.
pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use jiff::{civil, tz::TimeZone};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn year_outside_of_0_to_9999_has_a_sign() {
        let year = |days: i32| date(days).as_str().to_owned();
        assert_eq!(year(0), "1970-01-01");
        assert_eq!(year(-719_528), "0000-01-01");
        assert_eq!(year(-719_529), "-0001-12-31");
        assert_eq!(year(2_932_896), "9999-12-31");
        assert_eq!(year(2_932_897), "+10000-01-01");
        assert_eq!(year(i32::MAX), "+5881580-07-11");
        assert_eq!(year(i32::MIN), "-5877641-06-23");
    }

    #[test]
    fn extreme_values_have_a_text() {
        assert_eq!(
            timestamp(i64::MAX, true).as_str(),
            "+294247-01-10T04:00:54.775807Z"
        );
        assert_eq!(
            timestamp(i64::MIN, false).as_str(),
            "-290308-12-21T19:59:05.224192"
        );
        assert_eq!(time(86_399_999_999).as_str(), "23:59:59.999999");
        assert_eq!(time(0).as_str(), "00:00:00");
    }

    proptest! {
        #[test]
        fn dates_are_those_of_a_date_library(days in -4_371_000..2_932_896_i32) {
            let expected = civil::date(1970, 1, 1) + jiff::Span::new().days(days);
            prop_assert_eq!(civil(i64::from(days)), (
                i64::from(expected.year()), expected.month().unsigned_abs().into(), expected.day().unsigned_abs().into()
            ));
            if expected.year() >= 0 {
                let text = date(days);
                prop_assert_eq!(text.as_str(), expected.to_string());
            }
        }

        #[test]
        fn timestamps_are_those_of_a_date_library(micros in -62_135_596_800_000_000..253_402_300_799_999_999_i64) {
            let expected = jiff::Timestamp::from_microsecond(micros)
                .map(|at| at.to_zoned(TimeZone::UTC).datetime());
            let text = timestamp(micros, false);
            prop_assert_eq!(text.as_str().parse::<civil::DateTime>().ok(), expected.ok());
            let utc = timestamp(micros, true);
            prop_assert_eq!(utc.as_str().parse::<jiff::Timestamp>().ok(), jiff::Timestamp::from_microsecond(micros).ok());
        }

        #[test]
        fn base64_is_appended(before in any::<Vec<u8>>(), bytes in any::<Vec<u8>>()) {
            let mut out = before.clone();
            push_base64(&bytes, &mut out);
            prop_assert_eq!(out, [before, base64(&bytes).into_bytes()].concat());
        }
    }
}
