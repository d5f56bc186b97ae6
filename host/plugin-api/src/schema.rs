//! What the JSON schema of a manifest says of connection data: which are secret, which lead where, what they must look
//! like and what they are when they are left out.

use jsonschema::{ValidationError, error::ValidationErrorKind};
use serde_json::{Map, Value};

use mindhost_base::error::{Blame, Code, Error, Result};

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
        self.property(name)
            .is_none_or(|property| marked(property, "x-secret"))
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
        self.check_shape(data)?;
        self.check_lines(data, |_| false)
    }

    /// Checks stored data with a change applied. See [`Self::check_stored`] for what did not change.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn check_changed(
        &self,
        data: &Map<String, Value>,
        stored: &Map<String, Value>,
    ) -> Result<()> {
        self.check_shape(data)?;
        let is_kept = |name: &str| data.get(name) == stored.get(name);
        self.check_lines(data, |name| !self.knows_lines() && is_kept(name))
    }

    /// Checks data that were stored before. A plugin that was built before there was the mark `x-multiline` has it
    /// nowhere, and certificates with lines were stored for it: they stay usable.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn check_stored(&self, data: &Map<String, Value>) -> Result<()> {
        self.check_shape(data)?;
        self.check_lines(data, |_| !self.knows_lines())
    }

    fn check_shape(&self, data: &Map<String, Value>) -> Result<()> {
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

    /// Data that were checked, with the defaults of the schema where nothing is given.
    pub fn filled(&self, data: &Map<String, Value>) -> Map<String, Value> {
        let mut data = data.clone();
        fill(self.schema, &mut data);
        data
    }

    /// Refuses control characters: what a plugin sends somewhere must not begin a line there that says something else.
    /// Properties that the schema marks as `x-multiline` may have lines, and those that `is_old` names.
    fn check_lines(&self, data: &Map<String, Value>, is_old: impl Fn(&str) -> bool) -> Result<()> {
        for (name, value) in data {
            let is_marked = self.property(name).is_some_and(is_multiline);
            let is_multiline = is_marked || is_old(name);
            if let Some(place) = unprintable(value, is_multiline) {
                let param = format!("connection_data.{name}{place}");
                let but = match is_multiline {
                    true => "; of these, only line feeds, carriage returns and tabs are taken here",
                    false => ", line feeds included; leave them out",
                };
                let message = format!("`{param}` must not contain control characters{but}");
                return Err(Error::new(Code::InvalidConnectionData, message).param(param));
            }
        }
        Ok(())
    }

    /// Whether the author of the schema knew of the mark `x-multiline`.
    fn knows_lines(&self) -> bool {
        self.properties()
            .any(|(_, property)| is_multiline(property))
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
            ValidationErrorKind::Enum { options } => {
                let options = options.as_array().into_iter().flatten();
                let known = any_of(options.map(Value::to_string).collect());
                let message = format!("`{place}`: value is not one of {known}");
                (place.clone(), message)
            }
            // What is wrong for the alternative of the value's own type says most.
            ValidationErrorKind::AnyOf { context }
            | ValidationErrorKind::OneOfNotValid { context }
                if let Some(inner) = nearest(context) =>
            {
                return self.explain(inner);
            }
            // A pattern is for programs; the author says in words what it means.
            ValidationErrorKind::Pattern { .. } if let Some(says) = self.description(error) => (
                place.clone(),
                format!("`{place}`: value does not have the form that is described: {says}"),
            ),
            _ => (place.clone(), format!("`{place}`: {}", error.masked())),
        };
        Error::new(Code::InvalidConnectionData, message).param(param)
    }

    /// What the author says of the property that a mistake is in.
    fn description(&self, error: &ValidationError<'_>) -> Option<&'a str> {
        let place = error.instance_path().to_string();
        let name = place.split('/').find(|part| !part.is_empty())?;
        self.property(name)?.get("description")?.as_str()
    }

    fn property(&self, name: &str) -> Option<&'a Value> {
        let mut properties = self.properties();
        let found = properties.find(|(known, _)| *known == name);
        found.map(|(_, property)| property)
    }

    fn properties(&self) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
        let properties = self.schema.get("properties").and_then(Value::as_object);
        properties.into_iter().flatten()
    }
}

/// The first mistake of several alternatives that is not about the type.
fn nearest<'e>(
    alternatives: &'e [Vec<ValidationError<'static>>],
) -> Option<&'e ValidationError<'static>> {
    let is_of_type =
        |error: &ValidationError<'_>| !matches!(error.kind(), ValidationErrorKind::Type { .. });
    alternatives
        .iter()
        .flatten()
        .find(|error| is_of_type(error))
}

/// `a, b or c`: all of them, where the validator says how many more there are.
fn any_of(mut known: Vec<String>) -> String {
    let last = known.pop().unwrap_or_default();
    match known.is_empty() {
        true => last,
        false => format!("{} or {last}", known.join(", ")),
    }
}

/// Goes into objects that are given, and makes none: an object that is left out has its own default or none.
fn fill(schema: &Value, data: &mut Map<String, Value>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        match (data.get_mut(name), property.get("default")) {
            (Some(Value::Object(inner)), _) => fill(property, inner),
            (None, Some(default)) => {
                data.insert(name.clone(), default.clone());
            }
            _ => {}
        }
    }
}

/// Where a value has a control character, from the value on: empty for the value itself.
fn unprintable(value: &Value, is_multiline: bool) -> Option<String> {
    let is_bad = |text: &str| {
        let is_line = |char| is_multiline && matches!(char, '\n' | '\r' | '\t');
        text.chars().any(|char| char.is_control() && !is_line(char))
    };
    match value {
        Value::String(text) => is_bad(text).then(String::new),
        Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            Some(format!(".{index}{}", unprintable(item, is_multiline)?))
        }),
        Value::Object(fields) => fields.iter().find_map(|(name, field)| {
            // A bad name is not repeated.
            match is_bad(name) {
                true => Some(String::new()),
                false => Some(format!(".{name}{}", unprintable(field, is_multiline)?)),
            }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn is_multiline(property: &Value) -> bool {
    marked(property, "x-multiline")
}

fn marked(property: &Value, mark: &str) -> bool {
    property.get(mark).and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(given: Value, expected: Value) {
        let schema = json!({
            "type": "object",
            "properties": {
                "host": {"type": "string"},
                "port": {"type": "integer", "default": 5432},
                "tls": {
                    "type": "object",
                    "properties": {"mode": {"type": "string", "default": "prefer"}}
                }
            }
        });
        let filled = Rules::new(&schema).filled(given.as_object().unwrap());
        assert_eq!(Value::Object(filled), expected, "{given}");
    }

    #[test]
    fn only_what_is_left_out_gets_its_default() {
        check(json!({"host": "a"}), json!({"host": "a", "port": 5432}));
        check(json!({"port": 1}), json!({"port": 1}));
        check(json!({"port": null}), json!({"port": null}));
        check(
            json!({"port": 1, "tls": {}}),
            json!({"port": 1, "tls": {"mode": "prefer"}}),
        );
    }

    #[test]
    fn value_outside_of_a_choice_is_told_all_of_it() {
        let schema = json!({"type": "object", "properties": {
            "types": {"type": "object", "additionalProperties": {"enum": ["date", "time", "text", "json"]}},
        }});
        let data = json!({"types": {"a.b": "decimal(14,2)"}});
        let error = Rules::new(&schema).check(data.as_object().unwrap());
        assert_eq!(
            error.unwrap_err().message(),
            r#"`connection_data.types.a.b`: value is not one of "date", "time", "text" or "json""#
        );
    }

    #[test]
    fn value_that_fits_no_alternative_is_told_what_is_wrong_for_its_type() {
        let schema = json!({"type": "object", "properties": {"port": {
            "anyOf": [{"type": "integer", "maximum": 65535}, {"type": "string", "pattern": "^[0-9]{1,5}$"}],
            "description": "A number or digits.",
        }}});
        for (port, says) in [
            (json!(70_000), "value is greater than the maximum of 65535"),
            (
                json!("abc"),
                "value does not have the form that is described: A number or digits.",
            ),
            (
                json!(true),
                "value is not valid under any of the schemas listed in the 'anyOf' keyword",
            ),
        ] {
            let data = json!({"port": port});
            let error = Rules::new(&schema).check(data.as_object().unwrap());
            let message = format!("`connection_data.port`: {says}");
            assert_eq!(error.unwrap_err().message(), message);
        }
    }

    #[test]
    fn stored_lines_stay_usable_where_the_plugin_is_older_than_the_mark() {
        let pem = "-----BEGIN CERTIFICATE-----\nMIIB\n";
        let data = |ca: &str, user: &str| {
            let data = json!({"ca": ca, "user": user});
            data.as_object().unwrap().clone()
        };
        let schema = |mark: bool| {
            json!({"type": "object", "properties": {
                "ca": {"type": "string", "x-multiline": mark}, "user": {"type": "string"},
            }})
        };
        let (old, new) = (schema(false), schema(true));
        let (old, new) = (Rules::new(&old), Rules::new(&new));
        let stored = data(pem, "u");
        assert!(old.check_stored(&stored).is_ok() && new.check_stored(&stored).is_ok());
        assert!(old.check_stored(&data("a\u{1}b", "u")).is_err());
        assert!(new.check_stored(&data(pem, "u\r\nQUIT")).is_err());
        // What is sent anew is held to the marks there are.
        assert!(old.check(&stored).is_err() && new.check(&stored).is_ok());
        assert!(old.check_changed(&data(pem, "other"), &stored).is_ok());
        assert!(old.check_changed(&data(pem, "u\nv"), &stored).is_err());
        assert!(old.check_changed(&data("a\nb", "u"), &stored).is_err());
        assert!(new.check_changed(&data("a\nb", "u"), &stored).is_ok());
    }
}
