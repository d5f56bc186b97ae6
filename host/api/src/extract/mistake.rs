//! What a failure of Serde is called: the parameter at fault, and a message for people.

/// Characters of a caller's word that are repeated to it.
const LONGEST_WORD: usize = 80;
/// Characters of the path of a mistake.
pub(super) const LONGEST_PATH: usize = 200;
/// Characters of a message that a type of ours gave.
const LONGEST_MESSAGE: usize = 500;

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

/// Readable messages for the errors of number and boolean parsers.
fn plain(message: &str) -> &str {
    match message {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "expected an integer from 0"
        }
        "number too large to fit in target type" => "the number is too large",
        "provided string was not `true` or `false`" => "expected true or false",
        other => other,
    }
}
