//! Whether a request is one that its vendor would take, by the vendor's reference. Each returns what is wrong.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Vendor;

type Judged = Result<(), String>;

/// What the vendor would refuse in the body of a request.
pub(super) fn fault(vendor: Vendor, body: &Value) -> Option<String> {
    let judged = match vendor {
        // Tests of the host send what they like.
        Vendor::OpenAi => Ok(()),
        Vendor::Anthropic => messages(body),
        _ => chat(vendor, body),
    };
    judged.err()
}

fn must(holds: bool, what: &str) -> Judged {
    holds.then_some(()).ok_or_else(|| what.to_owned())
}

fn only(body: &Value, fields: &[&str]) -> Judged {
    let mut names = body.as_object().into_iter().flatten().map(|(name, _)| name);
    match names.find(|name| !fields.contains(&name.as_str())) {
        Some(name) => Err(format!("Unrecognized request argument supplied: {name}")),
        None => Ok(()),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn chat(vendor: Vendor, body: &Value) -> Judged {
    let limit = match vendor {
        Vendor::AzureV1 | Vendor::AzureDeployment => "max_completion_tokens",
        _ => "max_tokens",
    };
    let fields = [
        "model",
        "messages",
        "stream",
        "stream_options",
        "tools",
        "tool_choice",
        "temperature",
        limit,
    ];
    only(body, &fields)?;
    must(body["model"] == "scripted-1", "no such model")?;
    let plain =
        vendor != Vendor::Gemini || !body["tools"].to_string().contains("additionalProperties");
    must(plain, "Unknown name \"additionalProperties\"")?;
    let mut open = BTreeSet::new();
    for message in list(&body["messages"]) {
        let role = text(&message["role"]);
        if role == "tool" {
            let id = text(&message["tool_call_id"]);
            must(open.remove(id), "a result of a call that was not made")?;
            continue;
        }
        must(open.is_empty(), "a call without a result")?;
        for call in list(&message["tool_calls"]) {
            open.insert(text(&call["id"]));
            let arguments = text(&call["function"]["arguments"]);
            must(
                serde_json::from_str::<Value>(arguments).is_ok(),
                "arguments that are no JSON",
            )?;
            let signature = text(&call["extra_content"]["google"]["thought_signature"]);
            must(
                vendor != Vendor::Gemini || !signature.is_empty(),
                "Function call is missing a thought_signature in functionCall parts.",
            )?;
        }
        let has_content = message["content"].is_string() || !open.is_empty();
        must(has_content, "a message without content")?;
    }
    must(open.is_empty(), "a call without a result")
}

fn messages(body: &Value) -> Judged {
    let fields = [
        "model",
        "max_tokens",
        "messages",
        "system",
        "stream",
        "tools",
        "tool_choice",
        "temperature",
    ];
    only(body, &fields)?;
    must(body["max_tokens"].is_u64(), "max_tokens: Field required")?;
    must(
        body["model"] == "scripted-1",
        "model: scripted-1 is the only one",
    )?;
    let marks = body.to_string().matches("cache_control").count();
    must(
        (1..=4).contains(&marks),
        "a maximum of 4 blocks with cache_control may be provided",
    )?;
    must(
        list(&body["system"]).all(is_text),
        "system: text content blocks must be non-empty",
    )?;
    let mut expected = "user";
    let mut open = BTreeSet::new();
    for message in list(&body["messages"]) {
        let role = text(&message["role"]);
        must(
            role == expected,
            "roles must alternate, and the user begins",
        )?;
        expected = if role == "user" { "assistant" } else { "user" };
        for block in list(&message["content"]) {
            match text(&block["type"]) {
                "text" => must(is_text(block), "text content blocks must be non-empty")?,
                "tool_use" => {
                    must(
                        role == "assistant" && block["input"].is_object(),
                        "tool_use.input: an object",
                    )?;
                    open.insert(text(&block["id"]));
                }
                "tool_result" => {
                    let id = text(&block["tool_use_id"]);
                    must(
                        role == "user" && open.remove(id),
                        "unexpected `tool_use_id`",
                    )?;
                }
                other => return Err(format!("no such block: {other}")),
            }
        }
        let waits = role == "user" && !open.is_empty();
        must(
            !waits,
            "`tool_use` ids were found without `tool_result` blocks immediately after",
        )?;
    }
    must(
        expected == "assistant",
        "the conversation must end with a user message",
    )
}

fn is_text(block: &Value) -> bool {
    !text(&block["text"]).trim().is_empty()
}
