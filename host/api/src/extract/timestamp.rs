//! Times in text form: `"2026-12-31T00:00:00Z"`.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, de::Error};

const EXPECTED: &str = "expected a time as in RFC 3339, such as \"2026-12-31T00:00:00Z\"";

/// A time or null.
///
/// # Errors
/// For a text that is not a time, in words that say how one is written.
pub fn option<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let time = text.map(|text| text.parse::<Timestamp>()).transpose();
    time.map_err(|_| D::Error::custom(EXPECTED))
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
