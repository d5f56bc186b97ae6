//! What holds numbers of the caller's own, which come back as they were sent.

use std::{collections::BTreeMap, ops::Range};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error},
};
use serde_json::value::RawValue;

use mindhost_base::{
    decimal,
    policy::{Attribute, Attributes},
};

/// More digits than any float has without an exponent.
const MAX_DIGITS: usize = 400;

/// An object, or whatever else the field takes. Floats are kept as floats of 64 bits.
///
/// # Errors
/// For an integer that 64 bits do not hold: it would be read as a float, and rounded.
pub fn value<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let sent = Box::<RawValue>::deserialize(deserializer)?;
    let json = sent.get();
    if numbers(json).any(|at| is_longer_integer(&json[at])) {
        return Err(D::Error::custom(
            "an integer of more than 64 bits would be rounded; send it as a text",
        ));
    }
    serde_json::from_str(json).map_err(D::Error::custom)
}

/// The attributes of a key. A policy compares them, so a rounded one would be that of another key.
///
/// # Errors
/// For a number of which a digit would be lost.
pub fn attributes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Attributes, D::Error> {
    let sent = BTreeMap::<String, Exact>::deserialize(deserializer)?;
    let kept = sent.into_iter();
    Ok(kept.map(|(name, Exact(value))| (name, value)).collect())
}

/// An attribute with all digits that were sent. It is a type of its own so that a failure names the attribute.
struct Exact(Attribute);

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sent = Box::<RawValue>::deserialize(deserializer)?;
        let json = sent.get();
        if !numbers(json).all(|at| is_kept(&json[at])) {
            return Err(D::Error::custom(
                "a number with more digits than 64 bits hold would be rounded; send it as a text, and let the policy \
                 cast it to the type of its column",
            ));
        }
        serde_json::from_str(json)
            .map(Self)
            .map_err(D::Error::custom)
    }
}

/// Where a JSON document has numbers.
pub(super) fn numbers(json: &str) -> impl Iterator<Item = Range<usize>> {
    let json = json.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(byte) = json.get(at) {
            match byte {
                b'"' => at = behind_text(json, at + 1),
                b'-' | b'0'..=b'9' => {
                    let is_of_number =
                        |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                    let start = at;
                    let length = json[start..].iter().take_while(|byte| is_of_number(byte));
                    at += length.count();
                    return Some(start..at);
                }
                _ => at += 1,
            }
        }
        None
    })
}

/// The end of a text whose first quote is before `start`.
fn behind_text(json: &[u8], start: usize) -> usize {
    let mut is_escaped = false;
    let end = json[start..].iter().position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(json.len(), |end| start + end + 1)
}

fn is_longer_integer(number: &str) -> bool {
    !number.contains(['.', 'e', 'E'])
        && number.parse::<i64>().is_err()
        && number.parse::<u64>().is_err()
}

/// Whether a number, read as an integer or a float of 64 bits, has the digits with which it was sent.
pub(super) fn is_kept(number: &str) -> bool {
    let digits = |number: &str| decimal::plain(number, MAX_DIGITS);
    number.parse::<i64>().is_ok()
        || serde_json::from_str::<f64>(number).is_ok_and(|kept| {
            digits(number).is_some_and(|sent| digits(&format!("{kept:e}")) == Some(sent))
        })
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Body {
        #[serde(default, deserialize_with = "value")]
        parameters: Option<Map<String, Value>>,
    }

    /// The policy preview of a Mind has an integer as well.
    #[derive(Debug, Deserialize)]
    struct Preview {
        #[serde(deserialize_with = "attributes")]
        attributes: Attributes,
        limit: u32,
    }

    fn read(parameters: &str) -> mindhost_base::error::Result<Option<Map<String, Value>>> {
        let body = format!(r#"{{"parameters": {parameters}}}"#);
        crate::extract::parse::<Body>(body.as_bytes()).map(|body| body.parameters)
    }

    fn read_attribute(value: &str, limit: &str) -> mindhost_base::error::Result<Value> {
        let body = format!(r#"{{"limit": {limit}, "attributes": {{"tenant": {value}}}}}"#);
        let body = crate::extract::parse::<Preview>(body.as_bytes())?;
        assert_eq!(body.limit, 5);
        Ok(json!(body.attributes["tenant"]))
    }

    #[test]
    fn numbers_come_back_as_they_were_sent() {
        for kept in [
            r#"{"a":9007199254740993,"b":[-9223372036854775808,18446744073709551615]}"#,
            r#"{"a":0.1,"b":{"c":1e+300,"d":-2.5}}"#,
            r#"{"a \" 99999999999999999999":"99999999999999999999\\"}"#,
            "{}",
        ] {
            let parameters = read(kept).unwrap().unwrap();
            assert_eq!(Value::Object(parameters).to_string(), kept);
        }
        assert_eq!(read("null").unwrap(), None);
    }

    #[test]
    fn integer_that_would_be_rounded_is_refused() {
        for rounded in [
            r#"{"a":18446744073709551616}"#,
            r#"{"a":{"b":[1,-9223372036854775809]}}"#,
            r#"{"a":"\\","b":123456789012345678901234567890}"#,
        ] {
            let error = read(rounded).unwrap_err();
            assert_eq!(error.param_name(), Some("parameters"), "{rounded}");
            assert!(error.message().contains("send it as a text"), "{error}");
        }
        let error = read("[]").unwrap_err();
        assert_eq!(
            error.message(),
            "`parameters`: expected an object, got a list"
        );
    }

    #[test]
    fn attribute_has_all_its_digits_or_is_refused() {
        for (sent, kept) in [
            ("9223372036854775807", "9223372036854775807"),
            ("[-9223372036854775808, 7]", "[-9223372036854775808,7]"),
            ("0.10", "0.1"),
            ("-12.5", "-12.5"),
            ("0.123456789012345", "0.123456789012345"),
            ("125e-1", "12.5"),
            ("0", "0"),
            (r#""18446744073709551617""#, r#""18446744073709551617""#),
            ("true", "true"),
        ] {
            // A float where an integer belongs makes the body be read again.
            for limit in ["5", "5.0"] {
                let attribute = read_attribute(sent, limit).unwrap();
                assert_eq!(attribute.to_string(), kept, "{sent}");
            }
        }
        for rounded in [
            "18446744073709551617",
            "-9223372036854775809",
            "9223372036854775808",
            "[1, 18446744073709551617]",
            "0.1234567890123456789",
            "9007199254740993.0",
            "1.00000000000000000001",
            "1844674407370955161.7e1",
            "1e-400",
        ] {
            for limit in ["5", "5.0"] {
                let error = read_attribute(rounded, limit).unwrap_err();
                let param = error.param_name();
                assert_eq!(param, Some("attributes.tenant"), "{rounded}");
                assert!(error.message().contains("send it as a text"), "{error}");
            }
        }
        let error = read_attribute("null", "5").unwrap_err();
        assert_eq!(error.param_name(), Some("attributes.tenant"));
        assert!(error.message().contains("a text, a number"), "{error}");
    }
}
