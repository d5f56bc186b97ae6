//! A request of the host as the body of a chat completion.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mindhost_sdk::model::{Media, Message, Part, Request, Role, Tool};
use mindhost_sdk::vendor::{as_image, json_text, model_name, schema_of, temperature, text_of};
use mindhost_sdk::{Error, Result};
use serde_json::{Map, Value, json};

use crate::adaption::Form;
use crate::assembly::CALL_EXTRA;
use crate::settings::Settings;

/// Fields that `extra_body` cannot replace: without them the answer could not be read or would be another one.
const KEPT: [&str; 3] = ["messages", "tools", "stream"];

/// Writes the body.
///
/// # Errors
/// `InvalidConfig` when no model is named, `InvalidStatement` for a schema that is no JSON, `Unsupported` for media other
/// than images.
pub fn write(settings: &Settings, form: &Form, request: &Request) -> Result<Vec<u8>> {
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
    set("model", model_name(request, settings.model())?.into());
    set("messages", Value::Array(messages(&request.messages)?));
    set("stream", true.into());
    if form.usage {
        set("stream_options", json!({"include_usage": true}));
    }
    let hidden = request.tool_choice == "none" && settings.flavor.ignores_tool_choice();
    if !request.tools.is_empty() && !hidden {
        let tools = request.tools.iter().map(|one| tool(settings, one));
        set("tools", Value::Array(tools.collect::<Result<_>>()?));
        set("tool_choice", tool_choice(&request.tool_choice));
    }
    if let Some(temperature) = temperature(request, settings.temperature()) {
        set("temperature", temperature.into());
    }
    if let Some(limit) = request.max_output_tokens {
        set(&form.limit_field, limit.into());
    }
    if let Some(schema) = &request.response_schema {
        let schema = json_text(schema, "the schema of the answer")?;
        let schema = json!({"name": "answer", "schema": schema});
        set(
            "response_format",
            json!({"type": "json_schema", "json_schema": schema}),
        );
    }
    let extra = settings.extra_body().iter();
    for (name, value) in extra.filter(|(name, _)| !KEPT.contains(&name.as_str())) {
        set(name, value.clone());
    }
    serde_json::to_vec(&body)
        .map_err(|error| Error::internal(format!("the request cannot be written: {error}")))
}

fn tool(settings: &Settings, tool: &Tool) -> Result<Value> {
    let mut parameters = schema_of(tool)?;
    if settings.flavor.wants_plain_schemas() {
        plain(&mut parameters);
    }
    let function =
        json!({"name": tool.name, "description": tool.description, "parameters": parameters});
    Ok(json!({"type": "function", "function": function}))
}

/// Takes out the keywords of a JSON schema that OpenAPI does not have. The host checks arguments itself.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("$schema");
            fields.remove("additionalProperties");
            fields.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

fn tool_choice(choice: &str) -> Value {
    match choice {
        "" => "auto".into(),
        "auto" | "none" | "required" => choice.into(),
        name => json!({"type": "function", "function": {"name": name}}),
    }
}

fn messages(messages: &[Message]) -> Result<Vec<Value>> {
    let mut written = Vec::new();
    for message in messages {
        match message.role {
            Role::System => written.push(json!({"role": "system", "content": text_of(message)})),
            Role::User => written.push(json!({"role": "user", "content": user_content(message)?})),
            Role::Assistant => written.push(assistant(message)),
            Role::Tool => {}
        }
        // Each result is a message of its own, whichever message of the host carries it.
        written.extend(message.parts.iter().filter_map(|part| match part {
            Part::ToolResult(result) => Some(
                json!({"role": "tool", "tool_call_id": result.call_id, "content": result.content}),
            ),
            _ => None,
        }));
    }
    Ok(written)
}

fn user_content(message: &Message) -> Result<Value> {
    if !message
        .parts
        .iter()
        .any(|part| matches!(part, Part::Media(_)))
    {
        return Ok(text_of(message).into());
    }
    let parts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(Ok(json!({"type": "text", "text": text}))),
        Part::Media(media) => Some(image(media)),
        _ => None,
    });
    Ok(Value::Array(parts.collect::<Result<_>>()?))
}

fn image(media: &Media) -> Result<Value> {
    let media = as_image(media)?;
    let data = STANDARD.encode(&media.data);
    let url = format!("data:{};base64,{data}", media.media_type);
    Ok(json!({"type": "image_url", "image_url": {"url": url}}))
}

fn assistant(message: &Message) -> Value {
    let extras: Vec<Value> = message.parts.iter().filter_map(extra).collect();
    let calls = message.parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    });
    let calls: Vec<Value> = calls
        .map(|call| {
            let arguments = match call.arguments.trim() {
                "" => "{}",
                _ => &call.arguments,
            };
            let function = json!({"name": call.name, "arguments": arguments});
            let mut written = json!({"id": call.id, "type": "function", "function": function});
            if let Some(extra) = extras.iter().find(|extra| extra["id"] == call.id.as_str()) {
                written["extra_content"] = extra["extra_content"].clone();
            }
            written
        })
        .collect();
    let text = text_of(message);
    let content = match text.is_empty() && !calls.is_empty() {
        true => Value::Null,
        false => text.into(),
    };
    let mut written = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        written["tool_calls"] = Value::Array(calls);
    }
    written
}

/// What the vendor wanted back with a call. Opaque parts of other vendors are left out.
fn extra(part: &Part) -> Option<Value> {
    match part {
        Part::Opaque(opaque) if opaque.kind == CALL_EXTRA => {
            serde_json::from_str(&opaque.data).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_sdk::Config;
    use mindhost_sdk::model::{ToolCall, ToolResult};

    fn body(settings: &str, request: &Request) -> Value {
        let settings = Settings::read(&Config::from_json(settings)).unwrap();
        let form = Form::first(&settings);
        serde_json::from_slice(&write(&settings, &form, request).unwrap()).unwrap()
    }

    #[test]
    fn a_conversation_with_tools() {
        let call = |id: &str| {
            Part::ToolCall(ToolCall {
                id: id.into(),
                name: "run_sql".into(),
                arguments: "{\"sql\":1}".into(),
            })
        };
        let result = |id: &str| {
            Part::ToolResult(ToolResult {
                call_id: id.into(),
                content: "[]".into(),
                is_error: false,
            })
        };
        let mut request = Request::new(vec![
            Message::text(Role::System, "Be brief."),
            Message::text(Role::User, "How many?"),
            Message {
                role: Role::Assistant,
                parts: vec![call("a"), call("b")],
            },
            Message {
                role: Role::Tool,
                parts: vec![result("a"), result("b")],
            },
        ]);
        request.tools = vec![Tool {
            name: "run_sql".into(),
            description: "Runs.".into(),
            parameters: "{\"type\":\"object\"}".into(),
        }];
        request.temperature = Some(0.7);
        request.max_output_tokens = Some(100);
        let body = body(r#"{"model": "m"}"#, &request);
        assert_eq!(body["model"], "m");
        assert_eq!(
            (&body["temperature"], &body["max_completion_tokens"]),
            (&json!(0.7), &json!(100))
        );
        assert_eq!(body["messages"][2]["content"], Value::Null);
        assert_eq!(
            body["messages"][2]["tool_calls"][1]["function"]["arguments"],
            "{\"sql\":1}"
        );
        assert_eq!(
            body["messages"][4],
            json!({"role": "tool", "tool_call_id": "b", "content": "[]"})
        );
        assert_eq!(body["tools"][0]["function"]["name"], "run_sql");
        assert_eq!(body["tool_choice"], "auto");
        assert_eq!(body["stream_options"]["include_usage"], true);
    }

    #[test]
    fn extra_fields_win_except_over_what_makes_the_answer_readable() {
        let settings = r#"{"model": "m", "extra_body": {"stream": false, "messages": [], "top_p": 0.5, "model": "n"}}"#;
        let question = Request::new(vec![Message::text(Role::User, "Hi")]);
        let body = body(settings, &question);
        assert_eq!(
            (&body["stream"], &body["top_p"], &body["model"]),
            (&json!(true), &json!(0.5), &json!("n"))
        );
        assert_eq!(body["messages"][0]["content"], "Hi");
    }

    #[test]
    fn images_travel_as_data_urls() {
        let media = Part::Media(Media {
            media_type: "image/png".into(),
            data: vec![1, 2, 3],
        });
        let request = Request::new(vec![Message {
            role: Role::User,
            parts: vec![Part::Text("What?".into()), media],
        }]);
        let body = body(r#"{"model": "m"}"#, &request);
        assert_eq!(
            body["messages"][0]["content"][1]["image_url"]["url"],
            "data:image/png;base64,AQID"
        );
    }

    #[test]
    fn without_a_model_the_setting_is_named() {
        let settings = Settings::read(&Config::from_json("{}")).unwrap();
        let form = Form::first(&settings);
        let error = write(&settings, &form, &Request::new(Vec::new())).unwrap_err();
        assert!(error.message().contains("`model`"));
    }
}
