//! Token counts, as vendors write them.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The largest count that is believed. The host takes a larger one for a broken plugin.
const MOST: u64 = 1 << 40;

/// Reads a field of token counts, by `#[serde(default, deserialize_with = "token_count")]`. What cannot be a count,
/// such as a number below 0, is `None`: the answer is worth more than its count, which the host estimates then.
///
/// # Errors
/// For what is not JSON.
pub fn token_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let count = Value::deserialize(deserializer)?.as_u64();
    Ok(count.filter(|count| *count <= MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Usage {
        #[serde(default, deserialize_with = "token_count")]
        input: Option<u64>,
    }

    #[test]
    fn impossible_count_is_none() {
        for (json, count) in [
            (r#"{"input": 7}"#, Some(7)),
            (r#"{"input": 1099511627776}"#, Some(MOST)),
            (r#"{"input": 1099511627777}"#, None),
            (r#"{"input": 9223372036854775809}"#, None),
            (r#"{"input": 1e30}"#, None),
            (r#"{"input": -5}"#, None),
            (r#"{"input": "7"}"#, None),
            (r#"{"input": null}"#, None),
            ("{}", None),
        ] {
            let usage: Usage = serde_json::from_str(json).unwrap();
            assert_eq!(usage.input, count, "{json}");
        }
    }
}
