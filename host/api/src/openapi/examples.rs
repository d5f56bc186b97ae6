//! Examples of every body that an operation takes and gives.
//!
//! They are made of the schemas, which come from the handlers' own types, so that an example has the fields that an answer has.
//! What a field looks like is what its type says, else what `examples.json` says of its name.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Default, Deserialize)]
struct ExampleFile {
    /// By the name of a field, or of a schema and a field: what it can look like. The first that fits the schema is taken.
    fields: BTreeMap<String, Vec<Value>>,
    /// By operation: whole bodies that say more than their schemas do.
    requests: BTreeMap<String, Value>,
    answers: BTreeMap<String, Value>,
    /// Those of event streams.
    events: BTreeMap<String, Value>,
}

static KNOWN: LazyLock<ExampleFile> = LazyLock::new(|| {
    serde_json::from_str(include_str!("examples.json")).unwrap_or_else(|error| {
        tracing::error!(%error, "the examples of the OpenAPI document could not be read");
        ExampleFile::default()
    })
});

/// The operations with examples of their own.
#[cfg(test)]
pub fn operations() -> impl Iterator<Item = &'static str> {
    let all = [&KNOWN.requests, &KNOWN.answers, &KNOWN.events];
    all.into_iter()
        .flat_map(|ids| ids.keys().map(String::as_str))
}

/// Adds one to each body of an operation that has none. `components` are the schemas that it leads to.
pub fn add(operation: &mut Value, components: &Value) {
    let id = operation["operationId"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let schemas = Schemas(components);
    if let Some(body) = operation.get_mut("requestBody") {
        for media in medias(body) {
            give(media.1, KNOWN.requests.get(&id), &schemas);
        }
    }
    let responses = operation["responses"].as_object_mut();
    let answers = responses.into_iter().flatten();
    for (_, answer) in answers.filter(|(status, _)| status.starts_with('2')) {
        for (kind, media) in medias(answer) {
            let known = match kind.as_str() {
                "text/event-stream" => &KNOWN.events,
                _ => &KNOWN.answers,
            };
            give(media, known.get(&id), &schemas);
        }
    }
}

fn medias(body: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    let content = body.get_mut("content").and_then(Value::as_object_mut);
    content.into_iter().flatten()
}

fn give(media: &mut Value, known: Option<&Value>, schemas: &Schemas<'_>) {
    if media.get("example").or(media.get("examples")).is_none() {
        let schema = &media["schema"];
        let example = known.cloned();
        let example = example.unwrap_or_else(|| schemas.example(schema, "", ""));
        media["example"] = example;
    }
}

struct Schemas<'a>(&'a Value);

impl<'a> Schemas<'a> {
    /// What a schema refers to, with its name.
    fn referred(&self, schema: &'a Value) -> Option<(&'a str, &'a Value)> {
        let name = schema["$ref"].as_str()?.rsplit('/').next()?;
        Some((name, &self.0[name]))
    }

    /// An example of a schema: of the field `field` in the schema that is called `of`.
    fn example(&self, schema: &'a Value, of: &str, field: &str) -> Value {
        if let Some(own) = own(schema) {
            return own.clone();
        }
        let known = self.known(schema, of, field);
        if let Some(known) = known {
            return known.clone();
        }
        if let Some((name, referred)) = self.referred(schema) {
            return self.example(referred, name, field);
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let parts = parts.iter().map(|part| self.example(part, of, ""));
            let fields = parts.filter_map(|part| part.as_object().cloned());
            return Value::Object(fields.flatten().collect());
        }
        for choices in ["oneOf", "anyOf"] {
            if let Some(choices) = schema[choices].as_array() {
                // Of what may be null nothing is known here: nothing was given.
                let is_nullable = choices.iter().any(|choice| choice["type"] == "null");
                let first = choices.first().filter(|_| !is_nullable || field.is_empty());
                let some = choices.iter().find(|choice| choice["type"] != "null");
                let chosen = first.and(some);
                return chosen.map_or(Value::Null, |chosen| self.example(chosen, of, field));
            }
        }
        if let Some(first) = schema["enum"].get(0) {
            return first.clone();
        }
        match &schema["type"] {
            Value::Array(_) => Value::Null,
            Value::String(kind) => match kind.as_str() {
                "object" => self.object(schema, of),
                "array" if schema["items"].is_object() => {
                    json!([self.example(&schema["items"], of, "")])
                }
                "array" => json!([]),
                "integer" | "number" => schema.get("minimum").cloned().unwrap_or(json!(0)),
                "boolean" => json!(true),
                _ => json!("text"),
            },
            _ => json!({}),
        }
    }

    /// The fields that are always there, and those of which something is known.
    fn object(&self, schema: &'a Value, of: &str) -> Value {
        let required: Vec<&Value> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        let mut fields = Map::new();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let is_required = required.iter().any(|required| *required == name);
            let is_known = own(field).is_some() || self.known(field, of, name).is_some();
            if is_required || is_known {
                fields.insert(name.clone(), self.example(field, of, name));
            }
        }
        Value::Object(fields)
    }

    fn known(&self, schema: &Value, of: &str, field: &str) -> Option<&'static Value> {
        let known = KNOWN.fields.get(&format!("{of}.{field}"));
        let known = known.or_else(|| KNOWN.fields.get(field))?;
        known.iter().find(|value| self.fits(schema, value))
    }

    /// Whether a value can be one of a schema, as far as its kind goes.
    fn fits(&self, schema: &Value, value: &Value) -> bool {
        if let Some(name) = schema["$ref"]
            .as_str()
            .and_then(|place| place.rsplit('/').next())
        {
            return self.fits(&self.0[name], value);
        }
        for choices in ["oneOf", "anyOf"] {
            if let Some(choices) = schema[choices].as_array() {
                return choices.iter().any(|choice| self.fits(choice, value));
            }
        }
        if let Some(allowed) = schema["enum"].as_array() {
            return allowed.contains(value);
        }
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let is = |wanted: &Value| *wanted == kind || (*wanted == "number" && kind == "integer");
        match &schema["type"] {
            Value::Array(kinds) => kinds.iter().any(is),
            wanted => is(wanted),
        }
    }
}

/// What a schema itself says.
fn own(schema: &Value) -> Option<&Value> {
    let first = schema["examples"].get(0);
    let said = schema.get("example").or(first);
    said.or(schema.get("const")).or(schema.get("default"))
}
