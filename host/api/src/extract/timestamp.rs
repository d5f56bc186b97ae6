//! Times in text form: `"2026-12-31T00:00:00Z"`.

use jiff::{Timestamp, civil::date, fmt::temporal::Pieces};
use serde::{Deserialize, Deserializer, de::Error};

const EXPECTED: &str = "expected a time as in RFC 3339, such as \"2026-12-31T00:00:00Z\"";

/// A time or null.
///
/// # Errors
/// For a text that is not a time, in words that say how one is written.
pub fn option<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let read = |text: String| time(&text).ok_or_else(|| D::Error::custom(EXPECTED));
    text.map(read).transpose()
}

/// RFC 3339 has times on the last two days of the year 9999 that cannot be kept: they become the last one that can.
fn time(text: &str) -> Option<Timestamp> {
    if let Ok(time) = text.parse() {
        return Some(time);
    }
    let pieces = Pieces::parse(text).ok()?;
    let is_last = pieces.date() >= date(9999, 12, 30);
    let is_time = pieces.time().is_some() && pieces.offset().is_some();
    (is_last && is_time).then(|| Timestamp::from_second(Timestamp::MAX.as_second()).ok())?
}

/// A time, null or absent.
///
/// # Errors
/// As [`option`].
pub fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<Timestamp>>, D::Error> {
    option(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_times_of_rfc_3339_are_times() {
        let kept = time("2026-12-31T00:00:00Z").unwrap();
        assert_eq!(kept.to_string(), "2026-12-31T00:00:00Z");
        for last in ["9999-12-31T23:59:59Z", "9999-12-30T23:00:00-05:00"] {
            assert_eq!(time(last).unwrap().to_string(), "9999-12-30T22:00:00Z");
        }
        for text in [
            "soon",
            "9999-12-31",
            "9999-12-31T23:59:59",
            "9999-12-32T00:00:00Z",
            "10000-01-01T00:00:00Z",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
