//! Arrays, maps and rows, from the protocol's JSON to the host's.

use serde_json::value::RawValue;

use crate::time;
use crate::types::Type;

/// Integers beyond this lose digits in most readers of JSON, so they become strings.
const EXACT: u64 = 1 << 53;

/// Writes a value as JSON; `None` if it is not of the type.
pub(crate) fn json(value: &RawValue, of: &Type, out: &mut String) -> Option<()> {
    let text = value.get();
    if text == "null" {
        out.push_str("null");
        return Some(());
    }
    match of {
        Type::Array(item) => {
            let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            out.push('[');
            for (nth, value) in items.into_iter().enumerate() {
                comma(nth, out);
                json(value, item, out)?;
            }
            out.push(']');
        }
        Type::Map(of) => map(text, of, out)?,
        Type::Row(fields) => row(text, fields, out)?,
        Type::Integer => {
            let number: i64 = text.parse().ok()?;
            match number.unsigned_abs() <= EXACT {
                true => out.push_str(text),
                false => string(text, out),
            }
        }
        Type::Json => {
            let document: String = serde_json::from_str(text).ok()?;
            let document: &RawValue = serde_json::from_str(&document).ok()?;
            out.push_str(document.get());
        }
        Type::Timestamp | Type::Instant => {
            let written: String = serde_json::from_str(text).ok()?;
            let is_instant = *of == Type::Instant;
            let read = match is_instant {
                true => time::instant(&written),
                false => time::timestamp(&written),
            };
            let iso = read.and_then(|micros| time::text(micros, is_instant));
            string(&iso.unwrap_or(written), out);
        }
        // Texts, numbers and truth values are the same in both.
        _ => out.push_str(text),
    }
    Some(())
}

/// Entries in the order of the server, with keys that are texts in both.
fn map(text: &str, of: &Type, out: &mut String) -> Option<()> {
    let entries: Entries<'_> = serde_json::from_str(text).ok()?;
    out.push('{');
    for (nth, (key, value)) in entries.0.into_iter().enumerate() {
        comma(nth, out);
        string(&key, out);
        out.push(':');
        json(value, of, out)?;
    }
    out.push('}');
    Some(())
}

/// A row is an object if all of its fields have names, each its own.
fn row(text: &str, fields: &[(Option<String>, Type)], out: &mut String) -> Option<()> {
    let values: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    if values.len() != fields.len() {
        return None;
    }
    let mut names: Vec<&String> = fields
        .iter()
        .filter_map(|(name, _)| name.as_ref())
        .collect();
    names.sort();
    names.dedup();
    let is_named = names.len() == fields.len();
    out.push(if is_named { '{' } else { '[' });
    for (nth, (value, (name, of))) in values.into_iter().zip(fields).enumerate() {
        comma(nth, out);
        if let (true, Some(name)) = (is_named, name) {
            string(name, out);
            out.push(':');
        }
        json(value, of, out)?;
    }
    out.push(if is_named { '}' } else { ']' });
    Some(())
}

fn comma(nth: usize, out: &mut String) {
    if nth > 0 {
        out.push(',');
    }
}

fn string(text: &str, out: &mut String) {
    // A text can always be written as JSON.
    out.push_str(&serde_json::Value::from(text).to_string());
}

/// The entries of an object, in their order.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de> serde::Deserialize<'de> for Entries<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut access: A,
            ) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = access.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, of: &str) -> Option<String> {
        let value: &RawValue = serde_json::from_str(text).unwrap();
        let mut out = String::new();
        json(value, &Type::parse(of).unwrap(), &mut out)?;
        Some(out)
    }

    #[test]
    fn values_become_json() {
        for (text, kind, expected) in [
            (
                "[1, null, 9007199254740993]",
                "array(bigint)",
                r#"[1,null,"9007199254740993"]"#,
            ),
            (
                r#"{"b": 1.5, "a": "NaN"}"#,
                "map(varchar, double)",
                r#"{"b":1.5,"a":"NaN"}"#,
            ),
            (
                r#"[1, "x"]"#,
                "row(a bigint, \"b c\" varchar)",
                r#"{"a":1,"b c":"x"}"#,
            ),
            (r#"[1, "x"]"#, "row(bigint, varchar)", r#"[1,"x"]"#),
            (r#"[1, 2]"#, "row(a bigint, a bigint)", "[1,2]"),
            (
                r#"["1 00:00:00.000"]"#,
                "row(INTERVAL DAY TO SECOND)",
                r#"["1 00:00:00.000"]"#,
            ),
            (r#"["{\"k\":1}"]"#, "array(json)", r#"[{"k":1}]"#),
            (
                r#"["2024-07-01 14:00:00.000 Europe/Berlin"]"#,
                "array(timestamp(3) with time zone)",
                r#"["2024-07-01T12:00:00Z"]"#,
            ),
        ] {
            assert_eq!(of(text, kind).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(of("[1]", "row(a bigint, b bigint)"), None);
        assert_eq!(of("5", "array(bigint)"), None);
    }
}
