//! What the datasource or provider is configured with.

use std::fmt;

use serde::de::DeserializeOwned;

use crate::bindings::connector::mindhost::plugin::types as wire;
use crate::error::{Error, Result};
use crate::values::Extra;

/// The connection data: a JSON object that matches the schema in the plugin's manifest, with the defaults of the schema
/// filled in.
///
/// Paths are already those inside the sandbox, and credentials that the host adds by itself are absent, also those that
/// the schema requires. It may hold secrets, so neither `Debug` nor an error of [`Config::parse`] shows a value.
#[derive(Clone)]
pub struct Config {
    json: String,
    extra: Extra,
}

impl Config {
    /// For tests: a configuration from the text of a JSON object.
    pub fn from_json(json: impl Into<String>) -> Self {
        Self {
            json: json.into(),
            extra: Vec::new(),
        }
    }

    /// The JSON text.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// A named addition of the host's.
    pub fn extra(&self, name: &str) -> Option<&str> {
        self.extra
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// Reads the connection data into a type of the plugin's.
    ///
    /// # Errors
    /// `InvalidConfig`, which names the field and what it should be, and never the value that it has.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        let mut deserializer = serde_json::Deserializer::from_str(&self.json);
        serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            let path = error.path().to_string();
            let field = if path == "." {
                "connection_data".into()
            } else {
                format!("`{path}` in connection_data")
            };
            Error::invalid_config(format!("{field} {}", what_is_wrong(error.inner())))
        })
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Config(..)")
    }
}

impl From<wire::Config> for Config {
    fn from(config: wire::Config) -> Self {
        Self {
            json: config.json,
            extra: config.extra,
        }
    }
}

/// The part of serde's message that names fields and types. The rest may quote a value, which may be a secret.
fn what_is_wrong(error: &serde_json::Error) -> String {
    if !error.is_data() {
        return "is not valid JSON".into();
    }
    let message = error.to_string();
    let message = message
        .rsplit_once(" at line ")
        .map_or(message.as_str(), |(text, _)| text);
    if message.starts_with("missing field") || message.starts_with("duplicate field") {
        return format!("is not complete: {message}");
    }
    if let Some(field) = message.strip_prefix("unknown field ") {
        return format!("has an unknown field {field}");
    }
    match message.rfind("expected ") {
        Some(at) => format!("has a wrong value: {}", &message[at..]),
        None => "has a value that does not fit".into(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Data {
        #[allow(dead_code, reason = "only parsed")]
        host: String,
        #[allow(dead_code, reason = "only parsed")]
        port: Option<u16>,
    }

    fn check(json: &str, message: &str) {
        let error = Config::from_json(json).parse::<Data>().unwrap_err();
        assert_eq!(error.message(), message);
    }

    #[test]
    fn errors_name_the_field_and_never_its_value() {
        check(
            r#"{"host": "a", "port": "hunter2"}"#,
            "`port` in connection_data has a wrong value: expected u16",
        );
        check(
            r#"{"port": 1}"#,
            "connection_data is not complete: missing field `host`",
        );
        check(
            r#"{"host": "a", "pass": "hunter2"}"#,
            "`pass` in connection_data has an unknown field `pass`, expected `host` or `port`",
        );
        check("hunter2", "connection_data is not valid JSON");
    }

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(
            format!("{:?}", Config::from_json(r#"{"password": "hunter2"}"#)),
            "Config(..)"
        );
    }
}
