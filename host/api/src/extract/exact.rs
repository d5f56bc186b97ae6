//! Objects of the caller's own, which come back as they were sent.

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value, value::RawValue};

/// An object or null. Floats are kept as floats of 64 bits.
///
/// # Errors
/// For an integer that 64 bits do not hold: it would be read as a float, and rounded.
pub fn object<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Map<String, Value>>, D::Error> {
    let Some(sent) = Option::<Box<RawValue>>::deserialize(deserializer)? else {
        return Ok(None);
    };
    if has_longer_integer(sent.get().as_bytes()) {
        return Err(D::Error::custom(
            "an integer of more than 64 bits would be rounded; send it as a text",
        ));
    }
    serde_json::from_str(sent.get()).map_err(D::Error::custom)
}

/// Whether a JSON document has an integer that 64 bits do not hold.
fn has_longer_integer(json: &[u8]) -> bool {
    let mut rest = json;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = match byte {
            b'"' => behind_text(behind),
            b'-' | b'0'..=b'9' => {
                let is_of_number =
                    |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let end = rest.iter().position(|byte| !is_of_number(byte));
                let (number, behind) = rest.split_at(end.unwrap_or(rest.len()));
                if is_longer_integer(number) {
                    return true;
                }
                behind
            }
            _ => behind,
        };
    }
    false
}

/// What follows a text, of which the first quote is read.
fn behind_text(json: &[u8]) -> &[u8] {
    let mut is_escaped = false;
    let end = json.iter().position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    });
    end.and_then(|end| json.get(end + 1..)).unwrap_or_default()
}

fn is_longer_integer(number: &[u8]) -> bool {
    let number = std::str::from_utf8(number).unwrap_or_default();
    !number.contains(['.', 'e', 'E'])
        && number.parse::<i64>().is_err()
        && number.parse::<u64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Body {
        #[serde(default, deserialize_with = "object")]
        parameters: Option<Map<String, Value>>,
    }

    fn read(parameters: &str) -> mindhost_base::error::Result<Option<Map<String, Value>>> {
        let body = format!(r#"{{"parameters": {parameters}}}"#);
        crate::extract::parse::<Body>(body.as_bytes()).map(|body| body.parameters)
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
}
