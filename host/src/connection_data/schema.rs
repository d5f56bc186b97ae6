//! Reads the JSON schema of a manifest.

use jsonschema::{ValidationError, error::ValidationErrorKind};
use serde_json::{Map, Value};

use crate::error::{Blame, Code, Error, Result};

/// The rules of a manifest's schema.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    schema: &'a Value,
}

impl<'a> Rules<'a> {
    /// Over the `connection_data` of a manifest.
    pub fn new(schema: &'a Value) -> Self {
        Self { schema }
    }

    /// Whether a property is encrypted and masked. A property that the schema does not know is treated as if it
    /// were.
    pub fn is_secret(&self, name: &str) -> bool {
        self.properties()
            .find(|(known, _)| *known == name)
            .is_none_or(|(_, property)| marked(property, "x-secret"))
    }

    /// The properties that decide where secrets go.
    pub fn destinations(&self) -> impl Iterator<Item = &'a str> {
        self.properties()
            .filter(|(_, property)| marked(property, "x-destination"))
            .map(|(name, _)| name.as_str())
    }

    /// Checks data in clear.
    ///
    /// # Errors
    /// `invalid_connection_data`, naming the property; the value is not repeated, for it may be a secret.
    pub fn check(&self, data: &Map<String, Value>) -> Result<()> {
        let validator = jsonschema::draft202012::new(self.schema).map_err(|error| {
            Error::new(
                Code::PluginError,
                "the plugin's schema of connection_data is not valid; tell its author",
            )
            .blamed(Blame::Plugin)
            .with_source(error.to_string())
        })?;
        let data = Value::Object(data.clone());
        match validator.iter_errors(&data).next() {
            None => Ok(()),
            Some(error) => Err(self.explain(&error)),
        }
    }

    fn explain(&self, error: &ValidationError<'_>) -> Error {
        let place = error
            .instance_path()
            .to_string()
            .split('/')
            .filter(|part| !part.is_empty())
            .fold("connection_data".to_owned(), |path, part| {
                format!("{path}.{part}")
            });
        let (param, message) = match error.kind() {
            ValidationErrorKind::Required { property } => {
                let param = format!("{place}.{}", property.as_str().unwrap_or_default());
                (param.clone(), format!("`{param}` is missing"))
            }
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let param = format!("{place}.{}", unexpected.join(", "));
                let known: Vec<_> = self.properties().map(|(name, _)| name.as_str()).collect();
                let message = format!(
                    "`{param}` is not known here; known are: {}",
                    known.join(", ")
                );
                (param, message)
            }
            _ => (place.clone(), format!("`{place}`: {}", error.masked())),
        };
        Error::new(Code::InvalidConnectionData, message).param(param)
    }

    fn properties(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        let properties = self.schema.get("properties").and_then(Value::as_object);
        properties.into_iter().flatten()
    }
}

fn marked(property: &Value, mark: &str) -> bool {
    property.get(mark).and_then(Value::as_bool).unwrap_or(false)
}
