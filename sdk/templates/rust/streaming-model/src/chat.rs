//! The vendor's form of a conversation and of an answer.

use mindhost_sdk::model::{Event, Message, Part, Request, Role, StopReason, Tool};
use mindhost_sdk::vendor::{
    Protocol, VendorMessage, ToolCalls, json_text, model_name, schema_of, temperature, text_of,
};
use mindhost_sdk::{Error, ErrorKind, Result};
use serde::Deserialize;
use serde_json::{Value, json};

/// What was read of an answer so far.
#[derive(Default)]
pub struct Chat {
    /// By the vendor's index.
    calls: ToolCalls<usize>,
    reason: Option<String>,
    is_done: bool,
}

/// A piece of an answer, as far as it is read; the vendor may leave out all of it.
#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Usage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Deserialize)]
struct CallPiece {
    index: usize,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Default, Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

impl Protocol for Chat {
    const ANSWER: &'static str = "a chat completion";
    const BASE_URL: &'static str = "it usually ends in /v1";

    fn event(&mut self, data: &str, events: &mut Vec<Event>) -> Result<()> {
        if data == "[DONE]" {
            self.is_done = true;
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_str(data)
            .map_err(|_| upstream("the vendor sent an event that is not a piece of an answer"))?;
        if let Some(error) = &chunk.error {
            return Err(upstream(&VendorMessage::of(error).after("the vendor failed")));
        }
        for choice in chunk.choices.into_iter().flatten().take(1) {
            if let Some(delta) = choice.delta {
                self.delta(delta, events)?;
            }
            self.reason = choice.finish_reason.or(self.reason.take());
        }
        if let Some(usage) = chunk.usage {
            events.push(Event::Usage(vec![
                ("input".into(), usage.prompt_tokens),
                ("output".into(), usage.completion_tokens),
            ]));
        }
        Ok(())
    }

    fn whole(&mut self, _: &[u8], _: &mut Vec<Event>) -> Result<()> {
        Err(upstream("the vendor does not stream its answer"))
    }

    fn is_finished(&self) -> bool {
        self.reason.is_some()
    }

    fn is_complete(&self) -> bool {
        self.is_done
    }

    fn close(&mut self, events: &mut Vec<Event>) {
        self.calls.take_into(events);
        let word = self.reason.take().unwrap_or_default();
        let reason = match word.as_str() {
            "stop" => StopReason::End,
            "tool_calls" => StopReason::ToolCalls,
            "length" => StopReason::Length,
            "content_filter" => StopReason::Refused,
            _ => StopReason::Other,
        };
        events.push(Event::Stop((reason, word)));
    }
}

impl Chat {
    fn delta(&mut self, delta: Delta, events: &mut Vec<Event>) -> Result<()> {
        let text = delta.content.filter(|text| !text.is_empty());
        events.extend(text.map(Event::Text));
        for piece in delta.tool_calls.into_iter().flatten() {
            let at = match self.calls.position(|index, _| *index == piece.index) {
                Some(at) => at,
                None => self.calls.begin(piece.index)?,
            };
            if let Some(id) = piece.id {
                self.calls.identify(at, id);
            }
            let function = piece.function.unwrap_or_default();
            let name = function.name.unwrap_or_default();
            let arguments = function.arguments.unwrap_or_default();
            self.calls.add(at, &name, &arguments)?;
        }
        Ok(())
    }
}

fn upstream(message: &str) -> Error {
    Error::new(ErrorKind::Upstream, message)
}

/// A request as the vendor wants it; `model` is the provider's own, for requests that name none.
pub fn body(request: &Request, model: &str) -> Result<Vec<u8>> {
    let messages: Vec<Vec<Value>> = request
        .messages
        .iter()
        .map(messages)
        .collect::<Result<_>>()?;
    let mut body = json!({
        "model": model_name(request, Some(model))?,
        "messages": messages.concat(),
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect::<Result<_>>()?;
        body["tool_choice"] = match &*request.tool_choice {
            "auto" | "none" | "required" => request.tool_choice.clone().into(),
            name => json!({"type": "function", "function": {"name": name}}),
        };
    }
    if let Some(limit) = request.max_output_tokens {
        body["max_tokens"] = limit.into();
    }
    if let Some(temperature) = temperature(request, None) {
        body["temperature"] = temperature.into();
    }
    if let Some(schema) = &request.response_schema {
        let schema = json_text(schema, "the schema of the answer")?;
        let schema = json!({"name": "answer", "schema": schema});
        body["response_format"] = json!({"type": "json_schema", "json_schema": schema});
    }
    Ok(body.to_string().into_bytes())
}

/// A message of the host; each result of a tool is a message of its own.
fn messages(message: &Message) -> Result<Vec<Value>> {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut results = Vec::new();
    let mut calls = Vec::new();
    for part in &message.parts {
        match part {
            Part::ToolResult(result) => results.push(json!({
                "role": "tool", "tool_call_id": result.call_id, "content": result.content,
            })),
            Part::ToolCall(call) => calls.push(json!({
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            })),
            Part::Media(_) => return Err(Error::unsupported("this model only reads text")),
            Part::Text(_) | Part::Opaque(_) => {}
        }
    }
    if role == "tool" {
        return Ok(results);
    }
    let mut said = json!({"role": role, "content": text_of(message)});
    if !calls.is_empty() {
        said["tool_calls"] = calls.into();
    }
    Ok(vec![said])
}

fn tool(tool: &Tool) -> Result<Value> {
    Ok(json!({"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": schema_of(tool)?,
    }}))
}
