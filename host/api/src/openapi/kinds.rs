//! Schemas of what has kinds.
//!
//! A type with kinds is written as `allOf` of the fields of a kind and its name, and one that holds it as `allOf` of that and
//! more fields. The parts refuse each other's fields, so no value would be right. Each kind becomes one object here.

use serde_json::{Map, Value, json};

/// Schemas with kinds, and whether other fields are refused.
const WITH_KINDS: [(&str, bool); 2] = [("Knowledge", true), ("KnowledgeEntry", false)];

/// The page of entries with kinds, which holds their schema in place of a reference.
const PAGE: &str = "Page_KnowledgeEntry";

/// Makes one object of each kind.
pub fn merge(schemas: &mut Value) {
    for (name, is_closed) in WITH_KINDS {
        let mut kinds = kinds(&schemas[name], schemas);
        if is_closed {
            kinds
                .iter_mut()
                .for_each(|kind| kind["additionalProperties"] = false.into());
        }
        let description = schemas[name]["description"].clone();
        schemas[name] = json!({"oneOf": kinds});
        if description.is_string() {
            schemas[name]["description"] = description;
        }
    }
    schemas[PAGE]["properties"]["data"]["items"] =
        json!({"$ref": "#/components/schemas/KnowledgeEntry"});
}

/// The objects that a schema stands for.
fn kinds(schema: &Value, schemas: &Value) -> Vec<Value> {
    if let Some(place) = schema["$ref"].as_str() {
        let name = place.rsplit('/').next().unwrap_or_default();
        return kinds(&schemas[name], schemas);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        return choices
            .iter()
            .flat_map(|choice| kinds(choice, schemas))
            .collect();
    }
    let Some(parts) = schema["allOf"].as_array() else {
        return vec![schema.clone()];
    };
    parts
        .iter()
        .fold(vec![json!({"type": "object"})], |whole, part| {
            let part = kinds(part, schemas);
            let with = |one: &Value| part.iter().map(|more| both(one, more)).collect::<Vec<_>>();
            whole.iter().flat_map(with).collect()
        })
}

/// An object with the fields of two.
fn both(one: &Value, other: &Value) -> Value {
    let fields = |object: &Value| {
        object["properties"]
            .as_object()
            .cloned()
            .unwrap_or_default()
    };
    let required = |object: &Value| object["required"].as_array().cloned().unwrap_or_default();
    let properties: Map<_, _> = fields(one).into_iter().chain(fields(other)).collect();
    let required = [required(one), required(other)].concat();
    let mut whole = json!({"type": "object", "required": required, "properties": properties});
    for object in [other, one] {
        if object["description"].is_string() {
            whole["description"] = object["description"].clone();
        }
    }
    whole
}
