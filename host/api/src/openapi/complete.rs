//! What is the same for every operation: keys, tags, parameters of paths, headers, failures.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{examples, kinds};
use crate::{
    error::{status, type_name},
    routes::{Route, Routes, Rules, Tag},
};
use mindhost_base::error::Code;
use mindhost_core::auth::Role;

/// Failures of every request with a key.
const KEY: &[Code] = &[
    Code::InvalidApiKey,
    Code::RateLimited,
    Code::Internal,
    Code::Overloaded,
];

/// Failures of every body.
const BODY: &[Code] = &[
    Code::InvalidBody,
    Code::InvalidParameter,
    Code::BodyTimeout,
    Code::BodyTooLarge,
    Code::UnsupportedMediaType,
];

/// Parameters of paths: the segment before one, its name, what it is.
const IN_PATH: &[(&str, &str, &str)] = &[
    ("engines", "engine", "Name of the engine, or an alias."),
    ("datasources", "name", "Name of the datasource."),
    (
        "tables",
        "table_name",
        "`schema.table`, or the bare name where it is unique.",
    ),
    ("columns", "column_name", "Name of the column."),
    ("files", "file", "Name of the file."),
    ("providers", "name", "Name of the provider."),
    ("minds", "name", "Name of the Mind."),
    ("knowledge", "id", "Id of the entry."),
    ("feedback", "id", "Id of the feedback."),
    ("evaluations", "id", "Id of the evaluation."),
    ("running", "id", "Id of what runs, as the list gives it."),
    ("models", "name", "Name of the Mind."),
    (
        "responses",
        "id",
        "Id of the response, with or without `resp_`.",
    ),
    (
        "conversations",
        "id",
        "Id of the conversation, with or without `conv_`.",
    ),
    (
        "items",
        "item_id",
        "Id of the message, with or without `msg_`.",
    ),
    ("keys", "id", "Id of the key."),
    ("workspaces", "name", "Name of the workspace."),
    ("plugins", "name", "Name of the plugin."),
    ("rollouts", "id", "Id of the rollout."),
    (
        "versions",
        "version",
        "A version, or the beginning of a digest.",
    ),
];

/// Adds the routes to a document, which has their schemas.
///
/// # Errors
/// When what a handler says of itself cannot be written as JSON.
pub fn complete(document: &mut Value, routes: &Routes) -> serde_json::Result<()> {
    kinds::merge(&mut document["components"]["schemas"]);
    let schemas = document["components"]["schemas"].clone();
    for route in routes.iter() {
        let item: Map<String, Value> = serde_json::from_value(serde_json::to_value(&route.item)?)?;
        for (method, mut operation) in item {
            complete_operation(route, &method, &mut operation);
            examples::add(&mut operation, &schemas);
            document["paths"][&route.path][method] = operation;
        }
    }
    refine(document);
    let tags = Tag::ALL.iter();
    document["tags"] = tags
        .map(|(tag, about)| json!({"name": tag.name(), "description": about}))
        .collect();
    let components = &mut document["components"];
    components["securitySchemes"] = json!({"key": {
        "type": "http", "scheme": "bearer",
        "description": "A key, as `Authorization: Bearer mh_…`.",
    }});
    components["headers"] = json!({
        "x-request-id": {"required": true, "schema": {"type": "string"}, "description": "Names the request in the server's log: the client's own id, or a new one."},
        "retry-after": {"schema": {"type": "integer", "minimum": 0}, "description": "Seconds to wait."},
        "www-authenticate": {"required": true, "schema": {"type": "string"}, "description": "`Bearer`"},
    });
    let examples = Code::ALL
        .iter()
        .map(|code| (code.as_str().to_owned(), example(*code)));
    components["examples"] = Value::Object(examples.collect());
    Ok(())
}

fn complete_operation(route: &Route, method: &str, operation: &mut Value) {
    let rules = &route.rules;
    let id = operation["operationId"].as_str().unwrap_or_default();
    // One handler serves both methods.
    let id = match (method, id.strip_prefix("update_")) {
        ("patch", Some(of)) => format!("patch_{of}"),
        _ => id.to_owned(),
    };
    operation["operationId"] = id.into();
    operation["tags"] = json!([route.tag.name()]);
    add_parameters(route, operation);
    if let Some(body) = operation.get_mut("requestBody") {
        without_null(body);
        as_bytes(body);
    }
    match rules.role {
        None => operation["security"] = json!([]),
        Some(role) => {
            operation["security"] = json!([{"key": []}]);
            operation["x-mindhost-role"] = role.as_str().into();
            // Said only where it is so.
            if rules.beyond_minds.is_some() {
                operation["x-mindhost-all-minds"] = true.into();
            }
        }
    }
    for (status, response) in failures(rules, operation) {
        operation["responses"][status] = response;
    }
    add_links(rules, &mut operation["responses"]);
    let responses = operation["responses"].as_object_mut();
    for (status, response) in responses.into_iter().flatten() {
        add_headers(status, response);
    }
}

/// Adds what can be called next to the answer of an operation that went well.
fn add_links(rules: &Rules, responses: &mut Value) {
    let made_or_given = ["201", "200"];
    let status = made_or_given
        .into_iter()
        .find(|status| responses.get(status).is_some());
    let Some(status) = status else {
        return;
    };
    for link in &rules.links {
        let parameters: Map<String, Value> = link
            .parameters
            .iter()
            .map(|(name, from)| ((*name).to_owned(), json!(from)))
            .collect();
        for next in link.operations {
            let link = json!({"operationId": next, "parameters": parameters});
            responses[status]["links"][next] = link;
        }
    }
}

/// Describes the parameters of the path, and adds the header of requests that may come twice.
fn add_parameters(route: &Route, operation: &mut Value) {
    let mut parameters = operation["parameters"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    for parameter in parameters.iter_mut().filter(|one| one["in"] == "path") {
        let name = parameter["name"].as_str().unwrap_or_default();
        let before = route
            .path
            .split(&format!("/{{{name}}}"))
            .next()
            .unwrap_or_default();
        let before = before.rsplit('/').next().unwrap_or_default();
        let known = IN_PATH.iter().find(|one| (one.0, one.1) == (before, name));
        parameter["description"] = known.map(|one| one.2).into();
    }
    if route.rules.once.is_some() {
        parameters.push(json!({
            "name": "Idempotency-Key", "in": "header",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[\\t -~]*[!-~][\\t -~]*$"},
            "description": "A name of the request's own, such as a UUID: sent again under it within a day, it is done once.",
        }));
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
}

/// Adds the bounds of integers.
fn refine(value: &mut Value) {
    match value {
        Value::Array(some) => some.iter_mut().for_each(refine),
        Value::Object(fields) => {
            let largest = match fields.get("format").and_then(Value::as_str) {
                Some("uint32") => Some(u64::from(u32::MAX)),
                Some("uint64") => Some(u64::MAX),
                _ => None,
            };
            if let Some(largest) = largest {
                fields.entry("maximum").or_insert(largest.into());
            }
            fields.values_mut().for_each(refine);
        }
        _ => {}
    }
}

/// A body that may be left out is never null.
fn without_null(body: &mut Value) {
    let Some(schema) = body.pointer_mut("/content/application~1json/schema") else {
        return;
    };
    if let Some(choices) = schema["oneOf"].as_array() {
        let whole = choices.iter().find(|choice| choice["type"] != "null");
        if let (Some(whole), 2) = (whole.cloned(), choices.len()) {
            *schema = whole;
        }
    }
}

/// A file is its bytes, not a list of numbers.
fn as_bytes(body: &mut Value) {
    if let Some(file) = body.pointer_mut("/content/application~1wasm") {
        file["schema"] = json!({"type": "string", "format": "binary"});
    }
}

/// The failures of an operation by status.
fn failures(rules: &Rules, operation: &Value) -> BTreeMap<String, Value> {
    let mut codes = rules.failures.clone();
    if let Some(role) = rules.role {
        codes.extend(KEY);
        if role > Role::User {
            codes.push(Code::Forbidden);
        }
    }
    if operation.get("requestBody").is_some() {
        codes.extend(BODY);
    }
    if operation.get("parameters").is_some() {
        codes.push(Code::InvalidParameter);
    }
    let mut by_status: BTreeMap<String, Vec<Code>> = BTreeMap::new();
    for code in Code::ALL.iter().filter(|code| codes.contains(code)) {
        let status = status(code.kind()).as_u16().to_string();
        by_status.entry(status).or_default().push(*code);
    }
    let responses = by_status.into_iter();
    responses
        .map(|(status, codes)| (status, failure(&codes)))
        .collect()
}

fn failure(codes: &[Code]) -> Value {
    let said = codes
        .iter()
        .map(|code| format!("- `{}`: {}", code.as_str(), code.summary()));
    let examples = codes.iter().map(|code| {
        let place = format!("#/components/examples/{}", code.as_str());
        (code.as_str().to_owned(), json!({"$ref": place}))
    });
    let names: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    json!({
        "description": said.collect::<Vec<_>>().join("\n"),
        "content": {"application/json": {
            "schema": {
                "allOf": [{"$ref": "#/components/schemas/Error"}],
                "properties": {"error": {"type": "object", "properties": {"code": {"enum": names}}}},
            },
            "examples": examples.collect::<Map<_, _>>(),
        }},
    })
}

fn example(code: Code) -> Value {
    json!({
        "summary": code.summary(),
        "value": {
            "error": {
                "message": code.summary(),
                "type": type_name(code.kind()),
                "code": code.as_str(),
                "param": null,
            },
            "detail": code.summary(),
        },
    })
}

fn add_headers(status: &str, response: &mut Value) {
    let also = match status {
        "401" => Some("www-authenticate"),
        "429" | "503" => Some("retry-after"),
        _ => None,
    };
    for name in ["x-request-id"].into_iter().chain(also) {
        response["headers"][name] = json!({"$ref": format!("#/components/headers/{name}")});
    }
}
