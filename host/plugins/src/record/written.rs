//! The JSON form of recorded values, and digests that tell two results apart.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use mindhost_plugin_api::{
    ModelEvent, ModelMessage, ModelRequest, Part, Role, Tool, ToolCall, Value,
};
use mindhost_runtime::package::hex;

/// One value. A value without a JSON form of its own carries the name of its type.
pub fn written(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Boolean(value) => json!(value),
        Value::Int64(value) => json!(value),
        Value::Text(text) => json!(text),
        Value::Uint64(value) => json!({"uint64": value}),
        Value::Float64(value) => json!({"float64": value.to_string()}),
        Value::Decimal(text) => json!({"decimal": text}),
        Value::Bytes(bytes) => json!({"bytes": STANDARD.encode(bytes)}),
        Value::Date(days) => json!({"date": days}),
        Value::Time(micros) => json!({"time": micros}),
        Value::Timestamp(micros) => json!({"timestamp": micros}),
        Value::TimestampUtc(micros) => json!({"timestamp-utc": micros}),
        Value::Json(text) => json!({"json": text}),
        Value::Other(text) => json!({"other": text}),
    }
}

/// Digests of the rows of a result, one that depends on their order and one that does not.
#[derive(Clone, Default)]
pub struct Sum {
    rows: u64,
    ordered: Sha256,
    /// The sum of the rows' digests, a byte at a time: the same rows in another order have the same.
    unordered: [u8; 32],
}

impl Sum {
    /// Adds some rows.
    pub fn add(&mut self, rows: &[Vec<Value>]) {
        for row in rows {
            let text = row.iter().map(written).collect::<Json>().to_string();
            let digest = Sha256::digest(text.as_bytes());
            self.ordered.update(digest);
            for (sum, byte) in self.unordered.iter_mut().zip(digest) {
                *sum = sum.wrapping_add(byte);
            }
            self.rows += 1;
        }
    }

    /// Its recorded form.
    pub fn shown(&self) -> Json {
        json!({
            "rows": self.rows,
            "ordered": hex(&self.ordered.clone().finalize()),
            "unordered": hex(&self.unordered),
        })
    }
}

/// Events of a model.
pub fn events(events: &[ModelEvent]) -> Json {
    events
        .iter()
        .map(|event| match event {
            ModelEvent::Text(text) => json!({"text": text}),
            ModelEvent::ToolCall(call) => {
                json!({"tool-call": {"id": call.id, "name": call.name, "arguments": call.arguments}})
            }
            ModelEvent::Opaque { kind, data } => json!({"opaque": {"kind": kind, "data": data}}),
            ModelEvent::Usage(counts) => json!({"usage": counts}),
            ModelEvent::Stop(reason, word) => json!({"stop": [format!("{reason:?}"), word]}),
        })
        .collect()
}

/// A request to a model.
pub fn request(request: &ModelRequest) -> Json {
    let messages = request.messages.iter().map(|message| {
        let parts = message.parts.iter().map(part);
        json!({"role": message.role, "parts": parts.collect::<Json>()})
    });
    let tools = request.tools.iter().map(|tool| {
        json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters})
    });
    json!({
        "model": request.model,
        "messages": messages.collect::<Json>(),
        "tools": tools.collect::<Json>(),
        "tool_choice": request.tool_choice,
        "max_output_tokens": request.max_output_tokens,
        "temperature": request.temperature,
    })
}

fn part(part: &Part) -> Json {
    match part {
        Part::Text(text) => json!({"text": text}),
        Part::ToolCall(call) => {
            json!({"tool-call": {"id": call.id, "name": call.name, "arguments": call.arguments}})
        }
        Part::ToolResult {
            call_id,
            content,
            is_error,
        } => {
            json!({"tool-result": {"call_id": call_id, "content": content, "is_error": is_error}})
        }
        Part::Opaque { kind, data } => json!({"opaque": {"kind": kind, "data": data}}),
    }
}

/// A request as [`request`] wrote it; unreadable parts are left out.
pub fn to_request(written: &Json) -> ModelRequest {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Json| value.as_array().cloned().unwrap_or_default();
    let messages = list(&written["messages"])
        .into_iter()
        .map(|message| ModelMessage {
            role: serde_json::from_value(message["role"].clone()).unwrap_or(Role::User),
            parts: list(&message["parts"]).iter().filter_map(to_part).collect(),
        });
    let tools = list(&written["tools"]).into_iter().map(|tool| Tool {
        name: text(&tool["name"]),
        description: text(&tool["description"]),
        parameters: text(&tool["parameters"]),
    });
    let number = |value: &Json| value.as_u64().and_then(|number| u32::try_from(number).ok());
    ModelRequest {
        model: text(&written["model"]),
        messages: messages.collect(),
        tools: tools.collect(),
        tool_choice: text(&written["tool_choice"]),
        max_output_tokens: number(&written["max_output_tokens"]),
        temperature: written["temperature"].as_f64().map(|value| value as f32),
    }
}

fn to_part(written: &Json) -> Option<Part> {
    let (name, value) = written.as_object()?.iter().next()?;
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    Some(match name.as_str() {
        "text" => Part::Text(value.as_str()?.to_owned()),
        "tool-call" => Part::ToolCall(ToolCall {
            id: text("id"),
            name: text("name"),
            arguments: text("arguments"),
        }),
        "tool-result" => Part::ToolResult {
            call_id: text("call_id"),
            content: text("content"),
            is_error: value["is_error"].as_bool().unwrap_or_default(),
        },
        "opaque" => Part::Opaque {
            kind: text("kind"),
            data: text("data"),
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(rows: &[Vec<Value>]) -> Json {
        let mut sum = Sum::default();
        rows.chunks(2).for_each(|rows| sum.add(rows));
        sum.shown()
    }

    #[test]
    fn rows_in_another_order_differ_in_one_sum_alone() {
        let row = |n| vec![Value::Int64(n), Value::Null];
        let (one, other) = (
            sum(&[row(1), row(2), row(3)]),
            sum(&[row(3), row(1), row(2)]),
        );
        assert_eq!(one["unordered"], other["unordered"]);
        assert_ne!(one["ordered"], other["ordered"]);
        assert_ne!(
            one["unordered"],
            sum(&[row(1), row(2), row(2)])["unordered"]
        );
    }

    #[test]
    fn values_of_different_types_are_written_differently() {
        let all = [
            Value::Int64(1),
            Value::Uint64(1),
            Value::Text("1".into()),
            Value::Decimal("1".into()),
            Value::Float64(1.0),
            Value::Other("1".into()),
        ];
        let written: std::collections::HashSet<_> =
            all.iter().map(|value| written(value).to_string()).collect();
        assert_eq!(written.len(), all.len());
    }

    #[test]
    fn a_request_survives_the_recording() {
        let asked = ModelRequest {
            messages: vec![ModelMessage {
                role: Role::Tool,
                parts: vec![
                    Part::Text("hello".into()),
                    Part::ToolResult {
                        call_id: "c1".into(),
                        content: "{}".into(),
                        is_error: true,
                    },
                ],
            }],
            tool_choice: "auto".into(),
            max_output_tokens: Some(7),
            ..ModelRequest::default()
        };
        assert_eq!(to_request(&request(&asked)), asked);
    }
}
