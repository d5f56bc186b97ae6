//! The messages of a request as the turn that they are.

use mindhost_sdk::model::{Message, Part, Request, Role};

use crate::taught;
use crate::turn::{Step, Turn, today};

/// Reads a request. What follows the last question of the user are the steps taken for it.
pub fn turn(request: &Request) -> Turn {
    let texts = |role: Role| {
        request
            .messages
            .iter()
            .filter(move |m| m.role == role)
            .map(text)
    };
    let mut questions: Vec<String> = texts(Role::User).filter(|t| !t.trim().is_empty()).collect();
    let last = request
        .messages
        .iter()
        .rposition(|m| m.role == Role::User)
        .map_or(0, |at| at + 1);
    let may_call = request.tool_choice != "none";
    let question = questions.pop().unwrap_or_default();
    // The first is the host's; a caller may send others.
    let ours = texts(Role::System).next().unwrap_or_default();
    let knowledge = taught::knowledge(&ours).unwrap_or_default().to_owned();
    Turn {
        today: texts(Role::System).find_map(|t| today(&t)),
        taught: taught::find(&knowledge, &question),
        knowledge,
        question,
        earlier: questions,
        steps: steps(&request.messages[last..]),
        tools: request
            .tools
            .iter()
            .filter(|_| may_call)
            .map(|t| t.name.clone())
            .collect(),
    }
}

fn text(message: &Message) -> String {
    let parts = message.parts.iter().filter_map(|p| match p {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// Each call with what it gave; a call without a result is as if it had not been made.
fn steps(messages: &[Message]) -> Vec<Step> {
    let parts = || messages.iter().flat_map(|m| &m.parts);
    parts()
        .filter_map(|part| {
            let Part::ToolCall(call) = part else {
                return None;
            };
            let result = parts().find_map(|p| match p {
                Part::ToolResult(result) if result.call_id == call.id => Some(result),
                _ => None,
            })?;
            Some(Step {
                tool: call.name.clone(),
                arguments: call.arguments.clone(),
                content: result.content.clone(),
                failed: result.is_error,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_sdk::model::{ToolCall, ToolResult};

    #[test]
    fn the_last_question_and_what_was_done_for_it() {
        let call = Part::ToolCall(ToolCall {
            id: "call_1".into(),
            name: "search_catalog".into(),
            arguments: "{}".into(),
        });
        let result = Part::ToolResult(ToolResult {
            call_id: "call_1".into(),
            content: "[]".into(),
            is_error: false,
        });
        let read = turn(&Request::new(vec![
            Message::text(Role::System, "You are sales.\nToday is 2026-11-20."),
            Message::text(Role::User, "How many orders?"),
            Message::text(Role::Assistant, "There are 3."),
            Message::text(Role::User, "and in 2024?"),
            Message {
                role: Role::Assistant,
                parts: vec![call],
            },
            Message {
                role: Role::Tool,
                parts: vec![result],
            },
        ]));
        assert_eq!(
            (read.question.as_str(), read.earlier.len(), read.steps.len()),
            ("and in 2024?", 1, 1)
        );
        assert_eq!(read.today.map(|d| d.to_string()), Some("2026-11-20".into()));
    }
}
