//! Takes a target's secrets out of text that leaves a plugin.

use base64::{Engine as _, engine::general_purpose};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

/// What stands in the place of a secret.
pub const MASK: &str = "********";
/// Shorter secrets are not searched for: they would tear holes into every text and protect nothing.
const MIN_SECRET: usize = 3;

/// The secrets of one target, in the spellings in which they could show up.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Longest first, so that a secret that contains another goes as a whole.
    needles: Vec<String>,
}

impl Redactor {
    /// Collects the values of all properties that the schema marks `x-secret`.
    pub fn new(schema: &Value, connection_data: &Map<String, Value>) -> Self {
        let mut needles = Vec::new();
        for (name, value) in connection_data {
            let property = schema.pointer(&format!("/properties/{}", pointer_token(name)));
            if property.is_some_and(is_secret) {
                collect(value, &mut needles);
            }
        }
        needles.sort_unstable_by_key(|needle| std::cmp::Reverse(needle.len()));
        needles.dedup();
        Self { needles }
    }

    /// The text without secrets.
    pub fn redact(&self, text: &str) -> String {
        self.needles.iter().fold(text.to_owned(), |text, needle| {
            match text.contains(needle) {
                true => text.replace(needle, MASK),
                false => text,
            }
        })
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} spellings)", self.needles.len())
    }
}

fn pointer_token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Whether a schema marks its value as secret.
pub fn is_secret(schema: &Value) -> bool {
    schema
        .get("x-secret")
        .and_then(Value::as_bool)
        .unwrap_or(false)
}

fn collect(value: &Value, needles: &mut Vec<String>) {
    match value {
        Value::String(text) => spellings(text, needles),
        Value::Number(number) => spellings(&number.to_string(), needles),
        Value::Array(items) => items.iter().for_each(|item| collect(item, needles)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, needles)),
        Value::Null | Value::Bool(_) => {}
    }
}

fn spellings(secret: &str, needles: &mut Vec<String>) {
    let secret = secret.trim();
    if secret.len() < MIN_SECRET {
        return;
    }
    let json = Value::from(secret).to_string();
    needles.extend([
        secret.to_owned(),
        utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string(),
        general_purpose::STANDARD.encode(secret),
        general_purpose::URL_SAFE_NO_PAD.encode(secret),
        json.trim_matches('"').to_owned(),
    ]);
    // A key in PEM form may be quoted a line at a time.
    let lines = secret
        .lines()
        .map(str::trim)
        .filter(|line| line.len() >= 16);
    needles.extend(
        lines
            .filter(|line| !line.starts_with("-----"))
            .map(str::to_owned),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn redactor(secret: &str) -> Redactor {
        let schema = json!({"properties": {"password": {"x-secret": true}, "user": {}}});
        let data = json!({"password": secret, "user": "alice"});
        Redactor::new(&schema, data.as_object().unwrap())
    }

    #[test]
    fn a_secret_goes_in_every_spelling_and_nothing_else_does() {
        let redactor = redactor("p@ss w0rd");
        for text in ["p@ss w0rd", "p%40ss%20w0rd", "cEBzcyB3MHJk"] {
            assert_eq!(
                redactor.redact(&format!("alice:{text}!")),
                "alice:********!"
            );
        }
    }

    #[test]
    fn a_line_of_a_key_goes_too() {
        let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END KEY-----";
        assert_eq!(
            redactor(key).redact("at MIIEvQIBADANBgkqhkiG9w0"),
            "at ********"
        );
    }

    #[test]
    fn a_tiny_secret_does_not_tear_text_apart() {
        assert_eq!(redactor("a").redact("a cat"), "a cat");
    }
}
