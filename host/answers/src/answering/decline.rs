//! The tool with which the model says that the data do not have what was asked for.

use serde_json::{Value, json};

use mindhost_plugin_api::{Tool, ToolCall};

/// The name that the model calls this tool by.
const NAME: &str = "cannot_answer";

/// The tool, as the model is offered it.
pub fn tool() -> Tool {
    let parameters = json!({"type": "object", "properties": {
        "reason": {"type": "string",
            "description": "what is missing in the data, in one or two sentences, for the person who asked; empty if you wrote it before"}
    }, "required": ["reason"], "additionalProperties": false});
    Tool {
        name: NAME.to_owned(),
        description: "Ends the answer because the data do not have what was asked for. The person gets your reason, \
                      and questions that can be answered.".to_owned(),
        parameters: parameters.to_string(),
    }
}

/// The reason, if the call is of this tool.
pub fn reason(tool_call: &ToolCall) -> Option<String> {
    if tool_call.name != NAME {
        return None;
    }
    let arguments: Value = serde_json::from_str(&tool_call.arguments).unwrap_or_default();
    Some(arguments["reason"].as_str().unwrap_or_default().to_owned())
}
