//! The values of a target's connection data, as the rules of a manifest name them.

use serde_json::{Map, Value};

use super::host_errors::misconfigured;
use mindhost_base::error::Result;
use mindhost_plugin_api::{manifest::Manifest, schema::Rules};

/// The configuration of a target for its grants: with the defaults of the schema, except those of properties that name
/// a destination.
///
/// # Errors
/// When the data do not match the schema. They did when they were stored, but the plugin may be another version now.
pub fn configured(manifest: &Manifest, stored: &Map<String, Value>) -> Result<Map<String, Value>> {
    let rules = Rules::new(&manifest.connection_data);
    rules.check_stored(stored).map_err(|error| {
        misconfigured(format!(
            "the connection data do not fit {} {}: {}",
            manifest.name,
            manifest.version,
            error.message()
        ))
    })?;
    let mut data = rules.filled(stored);
    for place in manifest.places() {
        if !stored.contains_key(place) {
            data.remove(place);
        }
    }
    Ok(data)
}

/// A property as text. Numbers too, because ports can be either.
pub fn text(data: &Map<String, Value>, property: &str) -> String {
    match data.get(property) {
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// A property as a port; `default` if it is empty.
pub fn port(data: &Map<String, Value>, property: &str, default: u16) -> Result<u16> {
    let text = text(data, property);
    if text.is_empty() {
        return Ok(default);
    }
    text.parse()
        .ok()
        .filter(|port| *port != 0)
        .ok_or_else(|| misconfigured(format!("`{property}` must be a number from 1 to 65535")))
}
