//! The text form of arrays, as `array_out` writes it: `{1,NULL,"a \"b\""}`, `[0:1]={{1},{2}}`.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// PostgreSQL allows six dimensions.
const MAX_DEPTH: usize = 6;
/// Integers beyond this lose digits in readers that take JSON numbers for floats.
const MAX_SAFE_INTEGER: u64 = 1 << 53;

/// What an array's elements are in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Boolean,
    /// A number, but a string beyond 2^53.
    Integer,
    /// A number, but a string for NaN and the infinities.
    Float,
    /// The document itself.
    Json,
    /// Base64.
    Bytes,
    /// With a `T`, and `Z` for UTC.
    Timestamp,
    Text,
}

/// The text is not that of an array.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotAnArray;

/// A piece of an array, in order.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Open,
    Close,
    Null,
    Value(&'a str),
}

/// The values of an array of any shape, one after the other, as text; `None` is NULL.
pub(crate) fn values(text: &str, delimiter: u8) -> Result<Vec<Option<String>>, NotAnArray> {
    let mut values = Vec::new();
    walk(text, delimiter, |piece| match piece {
        Piece::Null => values.push(None),
        Piece::Value(value) => values.push(Some(value.to_owned())),
        Piece::Open | Piece::Close => {}
    })?;
    Ok(values)
}

/// Writes an array as JSON: an array of arrays when it has several dimensions.
pub(crate) fn write_json(
    text: &str,
    delimiter: u8,
    element: Element,
    json: &mut String,
) -> Result<(), NotAnArray> {
    let mut is_first = true;
    walk(text, delimiter, |piece| {
        if !is_first && piece != Piece::Close {
            json.push(',');
        }
        is_first = piece == Piece::Open;
        match piece {
            Piece::Open => json.push('['),
            Piece::Close => json.push(']'),
            Piece::Null => json.push_str("null"),
            Piece::Value(value) => write_element(value, element, json),
        }
    })
}

fn write_element(value: &str, element: Element, json: &mut String) {
    match element {
        Element::Boolean => json.push_str(if value == "t" { "true" } else { "false" }),
        Element::Integer if is_safe_integer(value) => json.push_str(value),
        Element::Float if is_number(value) => json.push_str(value),
        Element::Json => json.push_str(value),
        Element::Bytes => match unhex(value.as_bytes()) {
            Some(bytes) => write_string(&STANDARD.encode(bytes), json),
            None => write_string(value, json),
        },
        Element::Timestamp => match value.split_once(' ') {
            // `2024-01-02 03:04:05+00`, but neither `infinity` nor a year before Christ.
            Some((date, time)) if !time.contains(' ') => {
                let (time, zone) = time
                    .strip_suffix("+00")
                    .map_or((time, ""), |time| (time, "Z"));
                write_string(&format!("{date}T{time}{zone}"), json);
            }
            _ => write_string(value, json),
        },
        Element::Integer | Element::Float | Element::Text => write_string(value, json),
    }
}

fn is_safe_integer(value: &str) -> bool {
    value
        .parse::<i64>()
        .is_ok_and(|number| number.unsigned_abs() <= MAX_SAFE_INTEGER)
        && is_number(value)
}

/// Whether the text is a number in JSON's grammar.
fn is_number(text: &str) -> bool {
    let digits = |bytes: &mut &[u8]| {
        let count = bytes
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        *bytes = &bytes[count..];
        count
    };
    let mut rest = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let leading_zero = rest.first() == Some(&b'0');
    match digits(&mut rest) {
        0 => return false,
        count if leading_zero && count > 1 => return false,
        _ => {}
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        rest = fraction;
        if digits(&mut rest) == 0 {
            return false;
        }
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        rest = exponent
            .strip_prefix(b"+")
            .or(exponent.strip_prefix(b"-"))
            .unwrap_or(exponent);
        if digits(&mut rest) == 0 {
            return false;
        }
    }
    rest.is_empty()
}

/// Writes a JSON string.
pub(crate) fn write_string(text: &str, json: &mut String) {
    json.push('"');
    let mut from = 0;
    for (index, byte) in text
        .bytes()
        .enumerate()
        .filter(|(_, byte)| *byte < 0x20 || matches!(byte, b'"' | b'\\'))
    {
        json.push_str(&text[from..index]);
        from = index + 1;
        match byte {
            b'"' => json.push_str("\\\""),
            b'\\' => json.push_str("\\\\"),
            b'\n' => json.push_str("\\n"),
            b'\r' => json.push_str("\\r"),
            b'\t' => json.push_str("\\t"),
            // Writing into a string cannot fail.
            _ => _ = write!(json, "\\u{byte:04x}"),
        }
    }
    json.push_str(&text[from..]);
    json.push('"');
}

/// The bytes of `\x0aff`.
pub(crate) fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    unhex_into(text, &mut bytes).then_some(bytes)
}

/// Decodes `\x0aff` into a buffer, which is emptied first; false when it is something else.
pub(crate) fn unhex_into(text: &[u8], bytes: &mut Vec<u8>) -> bool {
    bytes.clear();
    let Some((pairs, [])) = text
        .strip_prefix(b"\\x")
        .map(|digits| digits.as_chunks::<2>())
    else {
        return false;
    };
    let nibble = |digit: u8| char::from(digit).to_digit(16);
    for [high, low] in pairs {
        let (Some(high), Some(low)) = (nibble(*high), nibble(*low)) else {
            return false;
        };
        bytes.push((high << 4 | low) as u8);
    }
    true
}

/// Reads an array and shows its pieces to `visit`.
fn walk(text: &str, delimiter: u8, mut visit: impl FnMut(Piece<'_>)) -> Result<(), NotAnArray> {
    // Lower bounds other than 1 stand before the braces.
    let text = if text.starts_with('[') {
        text.split_once('=').ok_or(NotAnArray)?.1
    } else {
        text
    };
    let mut unescaped = String::new();
    let mut depth = 0;
    // Whether a value may come next; else a delimiter or a closing brace must.
    let mut wants_value = true;
    let mut rest = text;
    loop {
        match rest.as_bytes().first() {
            Some(b'{') if wants_value && depth < MAX_DEPTH => {
                depth += 1;
                visit(Piece::Open);
                rest = &rest[1..];
                if let Some(after) = rest.strip_prefix('}') {
                    depth -= 1;
                    visit(Piece::Close);
                    rest = after;
                    wants_value = false;
                }
            }
            Some(b'}') if !wants_value && depth > 0 => {
                depth -= 1;
                visit(Piece::Close);
                rest = &rest[1..];
            }
            Some(byte) if *byte == delimiter && !wants_value && depth > 0 => {
                wants_value = true;
                rest = &rest[1..];
            }
            Some(b'"') if wants_value && depth > 0 => {
                rest = quoted(&rest[1..], &mut unescaped)?;
                visit(Piece::Value(&unescaped));
                wants_value = false;
            }
            Some(_) if wants_value && depth > 0 => {
                let end = rest
                    .bytes()
                    .position(|byte| byte == delimiter || byte == b'}')
                    .ok_or(NotAnArray)?;
                let value = &rest[..end];
                if value.is_empty() || value.contains(['"', '{', '\\']) {
                    return Err(NotAnArray);
                }
                visit(if value.eq_ignore_ascii_case("NULL") {
                    Piece::Null
                } else {
                    Piece::Value(value)
                });
                rest = &rest[end..];
                wants_value = false;
            }
            None if depth == 0 && !wants_value => return Ok(()),
            _ => return Err(NotAnArray),
        }
    }
}

/// Reads to the closing quote and past it.
fn quoted<'a>(text: &'a str, value: &mut String) -> Result<&'a str, NotAnArray> {
    value.clear();
    let mut rest = text;
    loop {
        let end = rest.find(['"', '\\']).ok_or(NotAnArray)?;
        value.push_str(&rest[..end]);
        let after = &rest[end + 1..];
        if rest.as_bytes()[end] == b'"' {
            return Ok(after);
        }
        let escaped = after.chars().next().ok_or(NotAnArray)?;
        value.push(escaped);
        rest = &after[escaped.len_utf8()..];
    }
}

/// A text array as a parameter: `{"a","b \"c\""}`.
pub(crate) fn literal<'a>(values: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::from("{");
    for value in values {
        if text.len() > 1 {
            text.push(',');
        }
        text.push('"');
        for character in value.chars() {
            if matches!(character, '"' | '\\') {
                text.push('\\');
            }
            text.push(character);
        }
        text.push('"');
    }
    text.push('}');
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(text: &str, element: Element) -> String {
        let mut json = String::new();
        write_json(text, b',', element, &mut json).unwrap();
        json
    }

    #[test]
    fn arrays_become_json() {
        for (text, element, expected) in [
            ("{}", Element::Text, "[]"),
            ("{1,-2,NULL}", Element::Integer, "[1,-2,null]"),
            ("[0:1]={1,2}", Element::Integer, "[1,2]"),
            ("{{1,2},{3,4}}", Element::Integer, "[[1,2],[3,4]]"),
            (
                "{9007199254740993}",
                Element::Integer,
                r#"["9007199254740993"]"#,
            ),
            (
                "{1.5,1e+20,NaN,-Infinity}",
                Element::Float,
                r#"[1.5,1e+20,"NaN","-Infinity"]"#,
            ),
            ("{t,f}", Element::Boolean, "[true,false]"),
            ("{1.50}", Element::Text, r#"["1.50"]"#),
            (
                r#"{"a,b","c\"d\\e","NULL",NULL,""}"#,
                Element::Text,
                r#"["a,b","c\"d\\e","NULL",null,""]"#,
            ),
            (r#"{"{\"a\": 1}"}"#, Element::Json, r#"[{"a": 1}]"#),
            (r#"{"\\x00ff"}"#, Element::Bytes, r#"["AP8="]"#),
            (
                r#"{"2024-01-02 03:04:05+00",infinity}"#,
                Element::Timestamp,
                r#"["2024-01-02T03:04:05Z","infinity"]"#,
            ),
            ("{\"a\nb\u{1}\"}", Element::Text, r#"["a\nb\u0001"]"#),
        ] {
            assert_eq!(json(text, element), expected);
        }
    }

    #[test]
    fn what_is_no_array_is_refused() {
        for text in [
            "",
            "1",
            "{",
            "{1",
            "{1,}",
            "{,1}",
            "{1}}",
            "{\"a}",
            "{a\"b}",
            "[1:2]",
            "{{{{{{{1}}}}}}}",
            "{1}{2}",
        ] {
            assert_eq!(values(text, b','), Err(NotAnArray), "{text}");
        }
    }

    #[test]
    fn a_number_is_one_of_json() {
        for (text, expected) in [
            ("0", true),
            ("-1.5e-7", true),
            ("01", false),
            ("1.", false),
            (".5", false),
            ("+1", false),
            ("NaN", false),
        ] {
            assert_eq!(is_number(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(values in proptest::collection::vec(".*", 0..8)) {
            let text = literal(values.iter().map(String::as_str));
            let read: Vec<String> = super::values(&text, b',').unwrap().into_iter().flatten().collect();
            prop_assert_eq!(read, values.clone());
            let parsed: Vec<String> = serde_json::from_str(&json(&text, Element::Text)).unwrap();
            prop_assert_eq!(parsed, values);
        }

        #[test]
        fn any_text_is_read_or_refused(text in r#"[\[\]{},"\\=a1N ]{0,24}"#) {
            let mut json = String::new();
            if write_json(&text, b',', Element::Text, &mut json).is_ok() {
                serde_json::from_str::<serde_json::Value>(&json).unwrap();
            }
        }
    }
}
