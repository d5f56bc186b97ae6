//! Takes a target's secrets out of text that leaves a plugin.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::{Arc, PoisonError, RwLock},
};

use base64::{Engine as _, engine::general_purpose};
use memchr::memmem;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use super::manifest::{CredentialScheme, Manifest};

/// What stands in the place of a secret.
pub const MASK: &str = "********";
/// Shorter secrets are not searched for: they would tear holes into every text and protect nothing.
const MIN_SECRET: usize = 3;
/// Lines of a key in PEM form that are this long are searched for by themselves.
const MIN_LINE: usize = 16;
/// Secrets that came up later and are still looked for.
const MAX_LATER: usize = 4;
/// What RFC 3986 calls reserved: most libraries leave these four marks as they are.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The secrets of one target, in the spellings in which they could show up.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Longest first.
    needles: Vec<String>,
    /// Secrets that came up since: access tokens, newest last. Clones share them.
    later: Arc<RwLock<VecDeque<String>>>,
}

impl Redactor {
    /// Collects the values of all properties that the schema marks `x-secret`, and what the credential rules make
    /// of them.
    pub fn new(manifest: &Manifest, connection_data: &Map<String, Value>) -> Self {
        let schema = &manifest.connection_data;
        let mut needles = Vec::new();
        for (name, value) in connection_data {
            let property = schema.pointer(&format!("/properties/{}", pointer_token(name)));
            if property.is_some_and(is_secret) {
                collect(value, &mut needles);
            }
        }
        for rule in &manifest.credentials {
            let user = rule
                .name
                .as_ref()
                .and_then(|name| connection_data.get(name));
            let secret = connection_data.get(&rule.property).and_then(Value::as_str);
            use CredentialScheme::{Basic, Oauth2ClientCredentials};
            if let (Basic | Oauth2ClientCredentials, Some(secret)) = (rule.scheme, secret) {
                let user = user.and_then(Value::as_str).unwrap_or_default();
                in_base64(&format!("{}:{}", user.trim(), secret.trim()), &mut needles);
            }
        }
        needles.retain(|needle| needle.len() >= MIN_SECRET);
        needles.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        needles.dedup();
        Self {
            needles,
            later: Arc::default(),
        }
    }

    /// Also looks for a secret that is made while the target is used. The last few of them are remembered.
    pub fn add(&self, secret: &str) {
        if secret.len() >= MIN_SECRET {
            let mut later = self.later.write().unwrap_or_else(PoisonError::into_inner);
            if later.iter().any(|known| known == secret) {
                return;
            }
            later.push_back(secret.to_owned());
            if later.len() > MAX_LATER {
                later.pop_front();
            }
        }
    }

    /// At most `max` bytes of a text, without secrets. One that begins before the cut goes as a whole.
    pub fn redact_cut(&self, text: &str, max: usize) -> String {
        let end = text.floor_char_boundary(max);
        let seen = text.floor_char_boundary(end.saturating_add(self.longest()));
        let text = text.get(..seen).unwrap_or_default();
        let mut clean = String::new();
        let mut at = 0;
        for found in self.found(text) {
            if found.start >= end {
                break;
            }
            clean.push_str(text.get(at..found.start).unwrap_or_default());
            clean.push_str(MASK);
            at = found.end;
        }
        clean.push_str(text.get(at..end).unwrap_or_default());
        clean.truncate(clean.floor_char_boundary(max));
        clean
    }

    /// Length of the longest secret in bytes: as much of a text beyond a cut must be seen to recognise one.
    pub fn longest(&self) -> usize {
        let later = self.later.read().unwrap_or_else(PoisonError::into_inner);
        let first = self.needles.first();
        later
            .iter()
            .chain(first)
            .map(String::len)
            .max()
            .unwrap_or(0)
    }

    /// Where secrets are, in order; those that overlap are one.
    fn found(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let later = self.later.read().unwrap_or_else(PoisonError::into_inner);
        for needle in self.needles.iter().chain(&*later) {
            let finder = memmem::Finder::new(needle);
            let mut from = 0;
            while let Some(at) = text
                .as_bytes()
                .get(from..)
                .and_then(|rest| finder.find(rest))
            {
                found.push(from + at..from + at + needle.len());
                from += at + 1;
            }
        }
        found.sort_unstable_by_key(|range| range.start);
        found.dedup_by(|next, before| {
            let overlaps = next.start < before.end;
            if overlaps {
                before.end = before.end.max(next.end);
            }
            overlaps
        });
        found
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
    needles.push(secret.to_owned());
    needles.push(Value::from(secret).to_string().trim_matches('"').to_owned());
    in_base64(secret, needles);
    in_a_url(secret, needles);
    // A key in PEM form may be quoted a line at a time.
    let lines = secret.lines().map(str::trim);
    let lines = lines.filter(|line| line.len() >= MIN_LINE && !line.starts_with("-----"));
    needles.extend(lines.map(str::to_owned));
}

/// Without padding: what is left of it says nothing.
fn in_base64(text: &str, needles: &mut Vec<String>) {
    needles.push(general_purpose::STANDARD_NO_PAD.encode(text));
    needles.push(general_purpose::URL_SAFE_NO_PAD.encode(text));
}

/// Percent-encoded as strictly and as loosely as libraries do it, with either case of the digits, and as a form.
fn in_a_url(secret: &str, needles: &mut Vec<String>) {
    for set in [NON_ALPHANUMERIC, RESERVED] {
        let upper = utf8_percent_encode(secret, set).to_string();
        let lower = lower_digits(&upper);
        needles.push(upper.replace("%20", "+"));
        needles.push(lower.replace("%20", "+"));
        needles.push(upper);
        needles.push(lower);
    }
}

/// `%2F` as `%2f`; what is not encoded keeps its case.
fn lower_digits(encoded: &str) -> String {
    let mut digits = 0;
    encoded
        .chars()
        .map(|c| match (c, digits) {
            ('%', _) => {
                digits = 2;
                c
            }
            (_, 0) => c,
            _ => {
                digits -= 1;
                c.to_ascii_lowercase()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    impl Redactor {
        fn redact(&self, text: &str) -> String {
            self.redact_cut(text, usize::MAX)
        }
    }

    fn redactor(secret: &str) -> Redactor {
        let manifest = json!({
            "kind": "model", "name": "m", "title": "M", "version": "1.0.0", "wit": "0.1.0",
            "world": "model-provider", "http": [{"url": "base_url"}],
            "credentials": [{"property": "password", "scheme": "basic", "name": "user"}],
            "connection_data": {"properties": {"password": {"x-secret": true}, "user": {}}}
        });
        let data = json!({"password": secret, "user": "alice"});
        let manifest = serde_json::from_value(manifest).unwrap();
        Redactor::new(&manifest, data.as_object().unwrap())
    }

    #[test]
    fn a_secret_goes_in_every_spelling_and_nothing_else_does() {
        let redactor = redactor("p@ss w0rd");
        for text in ["p@ss w0rd", "p%40ss%20w0rd", "p%40ss+w0rd", "cEBzcyB3MHJk"] {
            assert_eq!(
                redactor.redact(&format!("alice:{text}!")),
                "alice:********!"
            );
        }
    }

    #[test]
    fn urls_are_encoded_in_several_ways() {
        let redactor = redactor("a/b-c.d_e~F");
        for text in [
            "a%2Fb-c.d_e~F",
            "a%2fb-c.d_e~F",
            "a%2Fb%2Dc%2Ed%5Fe%7EF",
            "a%2fb%2dc%2ed%5fe%7eF",
        ] {
            assert_eq!(redactor.redact(&format!("?key={text}&")), "?key=********&");
        }
    }

    #[test]
    fn the_header_of_basic_authentication_goes_too() {
        let header = general_purpose::STANDARD.encode("alice:secret1");
        let text = redactor("secret1").redact(&format!("Authorization: Basic {header}"));
        assert!(!text.contains(header.trim_end_matches('=')), "{text}");
        assert!(text.starts_with("Authorization: Basic ********"), "{text}");
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

    #[test]
    fn secrets_that_overlap_go_as_one() {
        assert_eq!(redactor("abab").redact("xababab!"), "x********!");
    }

    proptest! {
        #[test]
        fn no_cut_leaves_a_part_of_a_secret(before in "[x ]{0,80}", repeats in 1usize..6, max in 0usize..120) {
            let redactor = redactor("hunter22");
            let text = format!("{before}{}", "hunter22".repeat(repeats));
            let clean = redactor.redact_cut(&text, max);
            prop_assert!(clean.len() <= max);
            prop_assert!(!clean.contains(['h', 'u', 'n', 't', 'e', 'r', '2']), "{}", clean);
        }
    }
}
