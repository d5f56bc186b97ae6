//! A request of the host as the body of a message.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mindhost_sdk::model::{Media, Message, Part, Request, Role, Tool, ToolCall, ToolResult};
use mindhost_sdk::vendor::{as_image, json_text, model_name, schema_of, temperature, text_of};
use mindhost_sdk::{Error, Result};
use serde_json::{Map, Value, json};

use crate::assembly::THOUGHT;
use crate::settings::Settings;

/// Fields that `extra_body` cannot replace: without them the answer could not be read or would be another one.
const KEPT: [&str; 4] = ["messages", "system", "tools", "stream"];

/// Writes the body.
///
/// # Errors
/// `InvalidConfig` when no model is named, `InvalidStatement` for a schema that is no JSON, `Unsupported` for media other
/// than images.
pub fn write(settings: &Settings, request: &Request) -> Result<Vec<u8>> {
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
    let cached = settings.prompt_cache();
    set("model", model_name(request, settings.model())?.into());
    let limit = request.max_output_tokens.unwrap_or(settings.max_tokens());
    set("max_tokens", limit.into());
    set("stream", true.into());
    set(
        "messages",
        Value::Array(messages(&request.messages, cached)?),
    );
    let system = system(&request.messages, cached);
    if !system.is_empty() {
        set("system", Value::Array(system));
    }
    if !request.tools.is_empty() {
        set("tools", Value::Array(tools(&request.tools, cached)?));
        set("tool_choice", tool_choice(&request.tool_choice));
    }
    if let Some(temperature) = temperature(request, settings.temperature()) {
        // Others go up to 2; this vendor refuses what is above 1.
        set("temperature", temperature.min(1.0).into());
    }
    if let Some(schema) = &request.response_schema {
        let schema = json_text(schema, "the schema of the answer")?;
        set(
            "output_config",
            json!({"format": {"type": "json_schema", "schema": schema}}),
        );
    }
    let extra = settings.extra_body().iter();
    for (name, value) in extra.filter(|(name, _)| !KEPT.contains(&name.as_str())) {
        set(name, value.clone());
    }
    serde_json::to_vec(&body)
        .map_err(|error| Error::internal(format!("the request cannot be written: {error}")))
}

/// Tells the vendor to cache everything up to here. It reads tools first, then the system prompt, then the messages, and
/// allows four marks: the tools are the same for all Minds, the system prompt for all questions to one Mind, and the
/// messages for all turns of one answer.
fn mark(blocks: &mut [Value], cached: bool) {
    if let Some(last) = blocks.last_mut().filter(|_| cached) {
        last["cache_control"] = json!({"type": "ephemeral"});
    }
}

fn tools(tools: &[Tool], cached: bool) -> Result<Vec<Value>> {
    let written = tools.iter().map(|tool| {
        let schema = schema_of(tool)?;
        Ok(json!({"name": tool.name, "description": tool.description, "input_schema": schema}))
    });
    let mut written: Vec<Value> = written.collect::<Result<_>>()?;
    mark(&mut written, cached);
    Ok(written)
}

fn tool_choice(choice: &str) -> Value {
    match choice {
        "" | "auto" => json!({"type": "auto"}),
        "none" => json!({"type": "none"}),
        "required" => json!({"type": "any"}),
        name => json!({"type": "tool", "name": name}),
    }
}

/// The system prompt is a field of its own.
fn system(messages: &[Message], cached: bool) -> Vec<Value> {
    let texts = messages
        .iter()
        .filter(|message| message.role == Role::System);
    let mut blocks: Vec<Value> = texts
        .filter_map(|message| block(&text_of(message)))
        .collect();
    mark(&mut blocks, cached);
    blocks
}

/// A block of text; none for a text of nothing, which the vendor refuses.
fn block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

/// Turns of user and assistant, one after the other: results of tools belong to the user, all of one turn together.
fn messages(messages: &[Message], cached: bool) -> Result<Vec<Value>> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message.role {
            Role::System => continue,
            Role::Assistant => ("assistant", assistant(message)),
            Role::User | Role::Tool => ("user", user(message)?),
        };
        match turns.last_mut().filter(|(last, _)| *last == role) {
            _ if blocks.is_empty() => {}
            Some((_, last)) => last.extend(blocks),
            None => turns.push((role, blocks)),
        }
    }
    if turns.first().is_none_or(|(role, _)| *role == "assistant") {
        // The vendor wants the user to begin.
        let gap = json!({"type": "text", "text": "(what came before is left out)"});
        turns.insert(0, ("user", vec![gap]));
    }
    if let Some((_, last)) = turns.last_mut() {
        mark(last, cached);
    }
    let written = turns
        .into_iter()
        .map(|(role, content)| json!({"role": role, "content": content}));
    Ok(written.collect())
}

fn user(message: &Message) -> Result<Vec<Value>> {
    let blocks = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => block(text).map(Ok),
        Part::Media(media) => Some(image(media)),
        Part::ToolResult(result) => Some(Ok(tool_result(result))),
        Part::ToolCall(_) | Part::Opaque(_) => None,
    });
    let mut blocks: Vec<Value> = blocks.collect::<Result<_>>()?;
    // Results come before any other part of a turn.
    blocks.sort_by_key(|block| block["type"] != "tool_result");
    Ok(blocks)
}

fn image(media: &Media) -> Result<Value> {
    let media = as_image(media)?;
    let data = STANDARD.encode(&media.data);
    let source = json!({"type": "base64", "media_type": media.media_type, "data": data});
    Ok(json!({"type": "image", "source": source}))
}

fn tool_result(result: &ToolResult) -> Value {
    json!({
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": result.content,
        "is_error": result.is_error,
    })
}

fn assistant(message: &Message) -> Vec<Value> {
    // Thoughts stand before what came of them. Those of other vendors mean nothing here.
    let blocks = message.parts.iter().filter_map(|part| match part {
        Part::Opaque(opaque) if opaque.kind == THOUGHT => serde_json::from_str(&opaque.data).ok(),
        Part::Text(text) => block(text),
        Part::ToolCall(call) => Some(tool_use(call)),
        _ => None,
    });
    blocks.collect()
}

fn tool_use(call: &ToolCall) -> Value {
    // The vendor takes only objects, and the model has to see what it wrote.
    let input = match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(arguments)) => Value::Object(arguments),
        _ if call.arguments.trim().is_empty() => json!({}),
        _ => json!({"not_an_object": call.arguments}),
    };
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
}

#[cfg(test)]
mod tests;
