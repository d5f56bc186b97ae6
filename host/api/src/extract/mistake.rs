//! What a failure of Serde is called: the parameter at fault, and a message for people.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Characters of a caller's word that are repeated to it.
const LONGEST_WORD: usize = 80;
/// Characters of the path of a mistake.
pub(super) const LONGEST_PATH: usize = 200;
/// Characters of a message that a type of ours gave.
const LONGEST_MESSAGE: usize = 500;
/// Bytes and fields of an object that is read again to find its mistake.
const LONGEST_REREAD: usize = 64 << 10;
const REREAD_FIELDS: usize = 32;

fn cut(word: &str) -> String {
    word.chars().take(LONGEST_WORD).collect()
}

/// The parameter and the message of a serde error, without the value, which may be a password.
pub(super) fn explain(path: &str, message: &str) -> (Option<String>, String) {
    let message = match message.rsplit_once(" at line ") {
        // Where the body has it is appended; the same words in a value are left alone.
        Some((message, position))
            if position
                .chars()
                .all(|one| !one.is_alphabetic() || "column".contains(one)) =>
        {
            message
        }
        _ => message,
    };
    let quoted = |prefix: &str| {
        message
            .strip_prefix(prefix)
            .and_then(|rest| rest.split('`').next())
            .map(cut)
    };
    let parent = match path {
        "." | "?" => "",
        path => path.trim_end_matches(".?"),
    };
    // The keys in it are the caller's.
    let parent = match parent.char_indices().nth(LONGEST_PATH) {
        Some((end, _)) => &parent[..end],
        None => parent,
    };
    let join = |name: &str| match parent {
        "" => name.to_owned(),
        parent if parent.ends_with(name) => parent.to_owned(),
        parent => format!("{parent}.{name}"),
    };
    if let Some(name) = quoted("missing field `") {
        let param = join(&name);
        return (Some(param.clone()), format!("`{param}` is missing"));
    }
    if let Some(name) = quoted("duplicate field `") {
        let param = join(&name);
        return (Some(param.clone()), format!("`{param}` is there twice"));
    }
    if let Some(name) = quoted("unknown field `") {
        let param = join(&name);
        let expected = message.split_once(", ").map_or("", |(_, rest)| rest);
        return (
            Some(param.clone()),
            format!("`{param}` is not known here; {expected}"),
        );
    }
    let unknown = message
        .strip_prefix("unknown variant `")
        .and_then(|rest| rest.rsplit_once("`, expected "));
    let message = match (message.split_once(": "), message.rsplit_once(", expected ")) {
        _ if let Some((word, expected)) = unknown => {
            format!("'{}' is not known here; expected {expected}", cut(word))
        }
        (Some(("invalid type" | "invalid value", found)), Some((_, expected))) => {
            let found = found.split([' ', ',']).next().unwrap_or_default();
            let expected = match expected {
                "a nonzero u32" => "an integer from 1",
                "u16" | "u32" | "u64" | "usize" => "an integer from 0",
                "i64" => "an integer",
                "f32" | "f64" => "a number",
                "a sequence" => "a list",
                "a map" => "an object",
                "a boolean" => "true or false",
                "a string" | "string or map" => "a text",
                "map with a single key" => "an object with one field",
                expected if expected.starts_with("struct ") => "an object",
                expected => expected,
            };
            let found = match found {
                "integer" | "floating" if expected.starts_with("an integer") => "another number",
                "map" if expected == "an object with one field" => "another number of fields",
                "integer" | "floating" => "a number",
                "string" => "a text",
                "map" => "an object",
                "sequence" => "a list",
                "boolean" => "true or false",
                found => found,
            };
            format!("expected {expected}, got {found}")
        }
        _ => plain(message).chars().take(LONGEST_MESSAGE).collect(),
    };
    match parent {
        "" => (None, message),
        parent => (Some(parent.to_owned()), format!("`{parent}`: {message}")),
    }
}

/// The field of an object whose value Serde refused with this message, for a type of which Serde does not tell the
/// path: an enum with a tag. It is the field without which the message is another, or none.
pub(super) fn field_at_fault<T: DeserializeOwned>(body: &[u8], message: &str) -> Option<String> {
    let says_itself = ["missing field ", "unknown field ", "duplicate field "];
    if body.len() > LONGEST_REREAD || says_itself.iter().any(|start| message.starts_with(start)) {
        return None;
    }
    let fields: Map<String, Value> = serde_json::from_slice(body).ok()?;
    if fields.len() > REREAD_FIELDS {
        return None;
    }
    let failure = |fields: Map<String, Value>| {
        let read = serde_json::from_value::<T>(Value::Object(fields));
        read.err().map(|error| error.to_string())
    };
    let whole = failure(fields.clone())?;
    if !message.starts_with(&whole) {
        return None;
    }
    // Without its tag nothing of an enum can be read, so that is another message in any case.
    let without_any = failure(Map::new()).unwrap_or_default();
    let is_tag = |name: &str| without_any == format!("missing field `{name}`");
    let is_at_fault = |name: &str| {
        let mut others = fields.clone();
        others.remove(name);
        failure(others).as_ref() != Some(&whole)
    };
    let found = fields
        .keys()
        .find(|name| !is_tag(name) && is_at_fault(name));
    let tag = || fields.keys().find(|name| is_tag(name));
    match found {
        None if whole.starts_with("unknown variant ") => tag().cloned(),
        found => found.cloned(),
    }
}

/// Readable messages for the errors of number and boolean parsers.
fn plain(message: &str) -> &str {
    match message {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "expected a whole number without a sign"
        }
        "number too large to fit in target type" => "the number is too large",
        "number too small to fit in target type" => "the number is too small",
        "provided string was not `true` or `false`" => "expected true or false",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(dead_code, reason = "the types are only read")]

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    enum Body {
        Join(Join),
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Join {
        name: String,
        many: Option<Many>,
        columns: Vec<String>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Many {
        One,
        Several,
    }

    fn at_fault(body: &str) -> Option<String> {
        let error = serde_json::from_str::<Body>(body).unwrap_err();
        field_at_fault::<Body>(body.as_bytes(), &error.to_string())
    }

    #[test]
    fn field_of_an_enum_with_a_tag_is_found() {
        for (body, field) in [
            (
                r#"{"kind": "join", "name": "n", "many": "foo", "columns": []}"#,
                Some("many"),
            ),
            (
                r#"{"many": "foo", "kind": "join", "name": "n", "columns": []}"#,
                Some("many"),
            ),
            (
                r#"{"kind": "join", "name": 5, "columns": []}"#,
                Some("name"),
            ),
            (
                r#"{"kind": "join", "name": "n", "columns": 5}"#,
                Some("columns"),
            ),
            (r#"{"kind": "foo", "name": "n"}"#, Some("kind")),
            // The message names the field, or there is none.
            (r#"{"kind": "join", "name": "n"}"#, None),
            (
                r#"{"kind": "join", "name": "n", "columns": [], "foo": 1}"#,
                None,
            ),
            ("[]", None),
        ] {
            assert_eq!(at_fault(body).as_deref(), field, "{body}");
        }
    }
}
