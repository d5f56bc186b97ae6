//! The document as a page: made here as a whole, without a script, so that it needs nothing but itself.

use std::fmt::Write;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("page.css");
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The page, and what it may load: nothing.
pub struct Page {
    /// The text.
    pub html: String,
    /// The value of `Content-Security-Policy`.
    pub policy: String,
}

impl Page {
    /// Of a document.
    pub fn of(document: &Value) -> Self {
        let digest = STANDARD.encode(Sha256::digest(STYLE));
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
        Self {
            html: html(document),
            policy,
        }
    }
}

fn html(document: &Value) -> String {
    let mut navigation = String::new();
    let mut sections = String::new();
    for tag in document["tags"].as_array().into_iter().flatten() {
        let name = text(&tag["name"]);
        let _ = write!(navigation, "<a href=\"#{name}\">{name}</a>");
        let about = prose(&tag["description"]);
        let _ = write!(sections, "<h2 id=\"{name}\">{name}</h2>{about}");
        for (path, item) in entries(&document["paths"]) {
            for method in METHODS {
                let operation = &item[method];
                if operation["tags"][0] == tag["name"] {
                    write_operation(&mut sections, method, path, operation);
                }
            }
        }
    }
    navigation.push_str("<a href=\"#Types\">Types</a>");
    sections.push_str("<h2 id=\"Types\">Types</h2>");
    for (name, schema) in entries(&document["components"]["schemas"]) {
        let name = escape(name);
        let _ = write!(
            sections,
            "<h3 id=\"type-{name}\">{name}</h3>{}",
            described(schema)
        );
    }
    let info = &document["info"];
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style></head><body><nav>{navigation}</nav><main>\
         <h1>{title} {version}</h1>{about}<p>For programs: <a href=\"/api/v1/openapi.json\">openapi.json</a></p>{sections}</main></body></html>",
        title = text(&info["title"]),
        version = text(&info["version"]),
        about = prose(&info["description"]),
    )
}

fn write_operation(out: &mut String, method: &str, path: &str, operation: &Value) {
    let id = text(&operation["operationId"]);
    let role = match operation["x-mindhost-role"].as_str() {
        Some(role) if operation["x-mindhost-all-minds"] == true => {
            format!("key of the role {role} that is not limited to some Minds")
        }
        Some(role) => format!("key of the role {role}"),
        None => "no key needed".to_owned(),
    };
    let _ = write!(
        out,
        "<details id=\"{id}\"><summary><b class=\"{method}\">{method}</b> <code>{}</code> {} <small>{role}</small></summary>{}",
        escape(path),
        text(&operation["summary"]),
        prose(&operation["description"]),
    );
    let parameters = operation["parameters"].as_array();
    if let Some(parameters) = parameters {
        out.push_str("<h4>Parameters</h4><dl>");
        for one in parameters {
            let optional = if one["required"] == true {
                ""
            } else {
                ", optional"
            };
            let _ = write!(
                out,
                "<dt><code>{}</code> <small>{}{optional}</small> {}</dt><dd>{}</dd>",
                text(&one["name"]),
                text(&one["in"]),
                kind(&one["schema"]),
                prose(&one["description"]),
            );
        }
        out.push_str("</dl>");
    }
    if let Some(body) = operation.get("requestBody") {
        let _ = write!(out, "<h4>Body</h4>{}", contents(body));
    }
    out.push_str("<h4>Answers</h4><dl>");
    for (status, response) in entries(&operation["responses"]) {
        let fails = status.starts_with(['4', '5']);
        let content = if fails {
            String::new()
        } else {
            contents(response)
        };
        let _ = write!(
            out,
            "<dt><b>{status}</b></dt><dd>{}{content}</dd>",
            prose(&response["description"])
        );
    }
    out.push_str("</dl></details>");
}

fn contents(holder: &Value) -> String {
    let shown = entries(&holder["content"]).map(|(media, content)| {
        format!(
            "<p><code>{}</code> {}</p>",
            escape(media),
            kind(&content["schema"])
        )
    });
    shown.collect()
}

/// A type by its fields, or by what it is one of.
fn described(schema: &Value) -> String {
    let mut out = prose(&schema["description"]);
    let parts = ["oneOf", "anyOf", "allOf"]
        .iter()
        .filter_map(|name| schema[*name].as_array());
    let objects = parts
        .flatten()
        .filter(|part| part.get("properties").is_some());
    let fields: Vec<_> = std::iter::once(schema)
        .chain(objects)
        .flat_map(|object| entries(&object["properties"]).map(move |field| (object, field)))
        .collect();
    if fields.is_empty() || schema.get("properties").is_none() {
        let _ = write!(out, "<p>{}</p>", kind(schema));
    }
    if fields.is_empty() {
        return out;
    }
    out.push_str("<dl>");
    for (object, (name, field)) in fields {
        let required = object["required"]
            .as_array()
            .is_some_and(|some| some.iter().any(|one| one == name));
        let optional = if required {
            ""
        } else {
            "<small>optional</small> "
        };
        let _ = write!(
            out,
            "<dt><code>{}</code> {optional}{}</dt><dd>{}</dd>",
            escape(name),
            kind(field),
            prose(said(field)),
        );
    }
    out.push_str("</dl>");
    out
}

/// A type in a few words.
fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = escape(reference.rsplit('/').next().unwrap_or_default());
        return format!("<a href=\"#type-{name}\">{name}</a>");
    }
    if let Some(values) = schema["enum"].as_array() {
        let shown = values
            .iter()
            .map(|value| format!("<code>{}</code>", escape(&value.to_string())));
        return shown.collect::<Vec<_>>().join(" ");
    }
    for (name, between) in [("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")] {
        if let Some(parts) = schema[name].as_array() {
            return parts.iter().map(kind).collect::<Vec<_>>().join(between);
        }
    }
    let types = match &schema["type"] {
        Value::Array(types) => types.iter().map(text).collect::<Vec<_>>().join(" or "),
        one => text(one),
    };
    let of = match schema.get("items") {
        Some(items) => format!(" of {}", kind(items)),
        None => String::new(),
    };
    format!("{types}{of}{}", bounds(schema))
}

/// What limits a value.
fn bounds(schema: &Value) -> String {
    let known = [
        ("format", "as"),
        ("pattern", "like"),
        ("minimum", "from"),
        ("maximum", "to"),
        ("maxLength", "characters at most:"),
        ("minItems", "at least:"),
        ("maxItems", "at most:"),
        ("default", "unless given:"),
    ];
    let found = known.iter().filter_map(|(name, word)| {
        let value = schema.get(*name)?;
        Some(format!(" {word} <code>{}</code>", text(value)))
    });
    found.collect()
}

/// Paragraphs and lists, with `code`. A line goes on with the next one unless that is empty or begins a point.
fn prose(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    let text = text.replace("\n- ", "\n\n- ");
    let blocks = text.split("\n\n").filter(|block| !block.trim().is_empty());
    let shown = blocks.map(|block| match block.strip_prefix("- ") {
        Some(point) => format!("<li>{}</li>", with_code(point)),
        None => format!("<p>{}</p>", with_code(block)),
    });
    shown.collect()
}

/// The description of a field, or of its form that is not null.
fn said(field: &Value) -> &Value {
    match field.get("description") {
        Some(said) => said,
        None => &field["oneOf"][0]["description"],
    }
}

/// Every second piece between backticks is code.
fn with_code(line: &str) -> String {
    let pieces = line.split('`').enumerate();
    let shown = pieces.map(|(index, piece)| match index % 2 {
        0 => escape(piece),
        _ => format!("<code>{}</code>", escape(piece)),
    });
    shown.collect()
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => escape(text),
        Value::Null => String::new(),
        other => escape(&other.to_string()),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_comes_from_elsewhere_is_text() {
        assert_eq!(
            prose(&json!("a <b> `c<d>`\n- e")),
            "<p>a &lt;b&gt; <code>c&lt;d&gt;</code></p><li>e</li>"
        );
    }

    #[test]
    fn a_type_is_said_in_a_few_words() {
        let schema = json!({"type": ["array", "null"], "items": {"$ref": "#/components/schemas/Key"}, "maxItems": 3});
        assert_eq!(
            kind(&schema),
            "array or null of <a href=\"#type-Key\">Key</a> at most: <code>3</code>"
        );
    }
}
