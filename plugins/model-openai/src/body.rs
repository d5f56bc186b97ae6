//! A request of the host as the body of a chat completion.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mindhost_sdk::model::{Media, Message, Part, Request, Role, Tool};
use mindhost_sdk::{Error, Result};
use serde_json::{Map, Value, json};

use crate::settings::Settings;

/// Fields that `extra_body` cannot replace: without them the answer could not be read or would be another one.
const KEPT: [&str; 3] = ["messages", "tools", "stream"];

/// Writes the body.
///
/// # Errors
/// `InvalidConfig` when no model is named, `InvalidStatement` for a schema that is no JSON, `Unsupported` for media other
/// than images.
pub fn write(settings: &Settings, request: &Request) -> Result<Vec<u8>> {
    let mut body = Map::new();
    body.insert("model".into(), model(settings, request)?.into());
    body.insert(
        "messages".into(),
        Value::Array(messages(&request.messages)?),
    );
    body.insert("stream".into(), true.into());
    if settings.include_usage {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    if !request.tools.is_empty() {
        let tools: Result<Vec<Value>> = request.tools.iter().map(tool).collect();
        body.insert("tools".into(), Value::Array(tools?));
        body.insert("tool_choice".into(), tool_choice(&request.tool_choice));
    }
    if let Some(temperature) = request.temperature.map(shortest).or(settings.temperature) {
        body.insert("temperature".into(), temperature.into());
    }
    if let Some(limit) = request.max_output_tokens {
        body.insert(settings.max_tokens_field().to_owned(), limit.into());
    }
    if let Some(schema) = &request.response_schema {
        let schema = json_text(schema, "the schema of the answer")?;
        let format =
            json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}});
        body.insert("response_format".into(), format);
    }
    for (name, value) in settings
        .extra_body
        .iter()
        .filter(|(name, _)| !KEPT.contains(&name.as_str()))
    {
        body.insert(name.clone(), value.clone());
    }
    serde_json::to_vec(&body)
        .map_err(|error| Error::internal(format!("the request cannot be written: {error}")))
}

/// The model that a request is for.
///
/// # Errors
/// `InvalidConfig` when neither the request nor the settings name one.
pub fn model<'a>(settings: &'a Settings, request: &'a Request) -> Result<&'a str> {
    let own = Some(request.model.as_str()).filter(|m| !m.is_empty());
    own.or(settings.model.as_deref()).ok_or_else(|| {
        Error::invalid_config("no model is named: set `model` in the provider's connection_data, or `model_name` of the Mind")
    })
}

/// `0.7_f32` is 0.7, not 0.699999988079071.
fn shortest(number: f32) -> f64 {
    number
        .to_string()
        .parse()
        .unwrap_or_else(|_| f64::from(number))
}

fn json_text(text: &str, what: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| Error::invalid_statement(format!("{what} is not JSON: {error}")))
}

fn tool(tool: &Tool) -> Result<Value> {
    let parameters = if tool.parameters.trim().is_empty() {
        json!({"type": "object", "properties": {}})
    } else {
        json_text(&tool.parameters, "the schema of a tool's arguments")?
    };
    let function =
        json!({"name": tool.name, "description": tool.description, "parameters": parameters});
    Ok(json!({"type": "function", "function": function}))
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
            Role::System => written.push(json!({"role": "system", "content": text(message)})),
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

fn text(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn user_content(message: &Message) -> Result<Value> {
    if !message
        .parts
        .iter()
        .any(|part| matches!(part, Part::Media(_)))
    {
        return Ok(text(message).into());
    }
    let parts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(Ok(json!({"type": "text", "text": text}))),
        Part::Media(media) => Some(image(media)),
        _ => None,
    });
    Ok(Value::Array(parts.collect::<Result<_>>()?))
}

fn image(media: &Media) -> Result<Value> {
    if !media.media_type.starts_with("image/") {
        return Err(Error::unsupported(format!(
            "{} cannot be sent to this model; only images can",
            media.media_type
        )));
    }
    let url = format!(
        "data:{};base64,{}",
        media.media_type,
        STANDARD.encode(&media.data)
    );
    Ok(json!({"type": "image_url", "image_url": {"url": url}}))
}

fn assistant(message: &Message) -> Value {
    let calls: Vec<Value> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall(call) => {
                let arguments = if call.arguments.trim().is_empty() {
                    "{}"
                } else {
                    &call.arguments
                };
                let function = json!({"name": call.name, "arguments": arguments});
                Some(json!({"id": call.id, "type": "function", "function": function}))
            }
            _ => None,
        })
        .collect();
    let text = text(message);
    let content = if text.is_empty() && !calls.is_empty() {
        Value::Null
    } else {
        text.into()
    };
    let mut written = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        written["tool_calls"] = Value::Array(calls);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_sdk::Config;
    use mindhost_sdk::model::{ToolCall, ToolResult};

    fn body(settings: &str, request: &Request) -> Value {
        let settings = Settings::read(&Config::from_json(settings)).unwrap();
        serde_json::from_slice(&write(&settings, request).unwrap()).unwrap()
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
        let body = body(
            settings,
            &Request::new(vec![Message::text(Role::User, "Hi")]),
        );
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
        let error = write(&settings, &Request::new(Vec::new())).unwrap_err();
        assert!(error.message().contains("`model`"));
    }
}
