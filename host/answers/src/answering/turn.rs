//! The output of one turn of the model, within bounds.

use std::collections::HashMap;

use serde_json::Value;

use super::{output_limit::OutputLimit, record::Usage};
use mindhost_plugin_api::{Part, StopReason, ToolCall};

/// Tool calls of one turn that are kept; a model that wants more wants more than it may.
const MAX_CALLS: usize = 64;
/// Bytes of the arguments of a call. No statement that the guard accepts is longer.
const MAX_ARGUMENT_BYTES: usize = 512 * 1024;
/// Bytes of the name or id of a call.
const MAX_NAME_BYTES: usize = 128;
/// Bytes of a vendor's own data in one turn.
const MAX_OPAQUE_BYTES: usize = 4 * 1024 * 1024;

/// What stands in place of U+0000.
const REPLACEMENT: &str = "\u{fffd}";

/// What the model said, called and used in one turn, put together from its events.
#[derive(Debug, Default)]
pub struct Turn {
    /// What the model said in words, without its tool calls.
    pub text: String,
    /// The tools that it calls, each with an id of its own.
    pub calls: Vec<ToolCall>,
    /// What the vendor wants back.
    pub opaque: Vec<Part>,
    /// Its tokens, by the vendor's count.
    pub usage: Usage,
    /// What it may write.
    pub limit: OutputLimit,
    /// Why it ended.
    pub stop: Option<StopReason>,
    /// Whether it was cut, because it is larger than an answer may be.
    pub is_too_large: bool,
    /// What of it is too large, in the words of the plugin or the host; `None` of its text.
    pub too_large: Option<String>,
    /// What is wrong with calls, by id.
    faults: HashMap<String, String>,
}

impl Turn {
    /// A turn that has not begun.
    pub fn within(limit: OutputLimit) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Adds a tool call. Its id becomes unique within the turn, since vendors refuse a dialogue where it is not, and
    /// arguments that are not a JSON object are replaced by an empty one for the same reason.
    pub fn add_call(&mut self, mut tool_call: ToolCall) {
        if self.calls.len() >= MAX_CALLS {
            return;
        }
        // No text of the API may have U+0000, and what the model calls a tool with becomes such a text.
        tool_call.id = tool_call.id.replace('\0', REPLACEMENT);
        tool_call.name = tool_call.name.replace('\0', REPLACEMENT);
        tool_call.arguments = without_escaped_nul(&tool_call.arguments);
        let is_taken = |id: &str| self.calls.iter().any(|call| call.id == id);
        let is_usable = !tool_call.id.is_empty() && tool_call.id.len() <= MAX_NAME_BYTES;
        if !is_usable || is_taken(&tool_call.id) {
            tool_call.id = format!("call_{}", self.calls.len() + 1);
            while is_taken(&tool_call.id) {
                tool_call.id.push('x');
            }
        }
        if let Some(fault) = fault(&tool_call) {
            tool_call.arguments = "{}".to_owned();
            self.faults.insert(tool_call.id.clone(), fault);
        }
        if tool_call.name.len() > MAX_NAME_BYTES {
            tool_call.name = "unknown".to_owned();
        }
        self.calls.push(tool_call);
    }

    /// Adds the vendor's own data, if they are not too large.
    pub fn add_opaque(&mut self, kind: String, data: String) {
        let bytes = |part: &Part| match part {
            Part::Opaque { kind, data } => kind.len() + data.len(),
            _ => 0,
        };
        let kept: usize = self.opaque.iter().map(bytes).sum();
        match kept + kind.len() + data.len() <= MAX_OPAQUE_BYTES {
            true => self.opaque.push(Part::Opaque { kind, data }),
            false => {
                self.is_too_large = true;
                self.too_large = Some(format!(
                    "the vendor sent more than {MAX_OPAQUE_BYTES} bytes of its own data"
                ));
            }
        }
    }

    /// Why a call is not run, if it is not.
    pub fn fault_of(&self, tool_call: &ToolCall) -> Option<String> {
        self.faults.get(&tool_call.id).cloned()
    }

    /// The bytes of its calls, which count as output.
    pub fn call_bytes(&self) -> usize {
        let bytes = |call: &ToolCall| call.name.len() + call.arguments.len();
        self.calls.iter().map(bytes).sum()
    }
}

/// JSON with [`REPLACEMENT`] in place of each escaped U+0000. Unescaped, the character is not JSON.
fn without_escaped_nul(json: &str) -> String {
    let mut clean = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escaped) = rest.split_at(at);
        clean.push_str(before);
        rest = match escaped.strip_prefix(r"\u0000") {
            Some(behind) => {
                clean.push_str(REPLACEMENT);
                behind
            }
            None => {
                // The character behind a backslash is passed with it: it may be a backslash that escapes nothing.
                let length = escaped.char_indices().nth(2);
                let length = length.map_or(escaped.len(), |(length, _)| length);
                let (kept, behind) = escaped.split_at(length);
                clean.push_str(kept);
                behind
            }
        };
    }
    clean.push_str(rest);
    clean
}

/// What is wrong with the arguments of a call.
fn fault(tool_call: &ToolCall) -> Option<String> {
    let arguments = tool_call.arguments.trim();
    if arguments.len() > MAX_ARGUMENT_BYTES {
        return Some(format!(
            "the arguments of {} have {} bytes; at most {MAX_ARGUMENT_BYTES} are read. Send less",
            name(tool_call),
            arguments.len()
        ));
    }
    if arguments.is_empty() {
        return None;
    }
    let what = match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(_)) => return None,
        Ok(_) => "they are JSON, but not an object".to_owned(),
        Err(error) => format!("they are no JSON: {error}"),
    };
    Some(format!(
        "the arguments of {} are not what it takes: {what}. Send one JSON object by the schema of the tool",
        name(tool_call)
    ))
}

fn name(tool_call: &ToolCall) -> String {
    tool_call.name.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: id.to_owned(),
            name: "run_sql".to_owned(),
            arguments: arguments.to_owned(),
        }
    }

    #[test]
    fn ids_of_calls_become_unique_within_a_turn() {
        let mut turn = Turn::default();
        for id in ["a", "a", "", "call_2", "call_4"] {
            turn.add_call(call(id, "{}"));
        }
        let ids: Vec<_> = turn.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["a", "call_2", "call_3", "call_4", "call_5"]);
    }

    #[test]
    fn arguments_that_no_vendor_takes_back_are_replaced_and_named() {
        let huge = format!("{{\"sql\": \"{}\"}}", "x".repeat(10 << 20));
        for (arguments, word) in [
            ("{\"sql\": \"SEL", "no JSON"),
            ("[1]", "object"),
            (huge.as_str(), "bytes"),
        ] {
            let mut turn = Turn::default();
            turn.add_call(call("a", arguments));
            let kept = &turn.calls[0];
            assert_eq!(kept.arguments, "{}");
            assert!(turn.fault_of(kept).unwrap().contains(word));
        }
        let mut turn = Turn::default();
        turn.add_call(call("a", " "));
        assert_eq!(turn.fault_of(&turn.calls[0]), None);
    }

    #[test]
    fn nul_characters_of_a_call_are_replaced() {
        for (arguments, kept) in [
            (
                r#"{"sql": "a\u0000b\u0000"}"#,
                "{\"sql\": \"a\u{fffd}b\u{fffd}\"}",
            ),
            (r#"{"sql": "a\\\u0000b"}"#, "{\"sql\": \"a\\\\\u{fffd}b\"}"),
            (r#"{"sql": "a\\u0000b\n"}"#, r#"{"sql": "a\\u0000b\n"}"#),
            ("{}", "{}"),
        ] {
            let mut turn = Turn::default();
            turn.add_call(call("\0", arguments));
            let added = &turn.calls[0];
            assert_eq!(added.arguments, kept);
            assert_eq!(added.id, REPLACEMENT);
            assert_eq!(turn.fault_of(added), None);
        }
    }

    #[test]
    fn calls_and_data_of_a_turn_are_bounded() {
        let mut turn = Turn::default();
        for _ in 0..1_000 {
            turn.add_call(call("a", "{}"));
        }
        assert_eq!(turn.calls.len(), MAX_CALLS);
        let data = || "x".repeat(MAX_OPAQUE_BYTES / 2);
        for is_too_large in [false, true] {
            turn.add_opaque("thought".to_owned(), data());
            assert_eq!((turn.opaque.len(), turn.is_too_large), (1, is_too_large));
        }
    }
}
