//! Moments in the text form of `DateStyle = ISO`; the SDK reads dates and times without a zone.

use mindhost_sdk::datetime::timestamp;

const MICROS_PER_SECOND: i64 = 1_000_000;

/// Microseconds since 1970-01-01T00:00:00Z of `2024-02-29 12:34:56.789+00`; `None` for what the host's types do not
/// hold: infinities, and years before 1 and after 9999.
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
        let part = std::str::from_utf8(part)
            .ok()
            .filter(|part| part.len() == 2)?;
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        seconds += is_number.then(|| part.parse::<i64>().ok()).flatten()? * scale;
    }
    let seconds = if offset[0] == b'-' { -seconds } else { seconds };
    Some(timestamp(local)? - seconds * MICROS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn timestamps_with_offsets_are_instants() {
        for (text, expected) in [
            ("1970-01-01 00:00:00+00", Some(0)),
            ("1970-01-01 01:30:00.25+01:30", Some(250_000)),
            ("1969-12-31 16:00:00-08", Some(0)),
            ("1970-01-01 00:00:01+00:00:01", Some(0)),
            ("1970-01-01 00:00:00", None),
            ("1970-01-01 00:00:00++1", None),
            ("1970-01-01 00:00:00+1", None),
            ("infinity", None),
        ] {
            assert_eq!(timestamp_utc(text.as_bytes()), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(text in "[0-9:.+ -]{0,32}") {
            let _ = timestamp_utc(text.as_bytes());
        }
    }
}
