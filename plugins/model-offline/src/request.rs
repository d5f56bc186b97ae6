//! The messages of a request as the turn that they are.

use mindhost_sdk::model::{Message, Part, Request, Role};

use crate::taught;
use crate::turn::{MOST_WORDS, Step, Turn, today, words};

/// Earlier questions that are read at most.
const EARLIER: usize = 10;

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
        earlier: earlier(questions, &question),
        question,
        steps: steps(&request.messages[last..]),
        tools: request
            .tools
            .iter()
            .filter(|_| may_call)
            .map(|t| t.name.clone())
            .collect(),
    }
}

/// The last of the earlier questions. Reading takes time that grows with the words, so what the question may go on from
/// has no more of them than a question has. An empty text stands for what is too long: nothing goes on from that.
fn earlier(mut questions: Vec<String>, question: &str) -> Vec<String> {
    questions.drain(..questions.len().saturating_sub(EARLIER));
    let mut room = MOST_WORDS.saturating_sub(words(question));
    let fits = |text: &&String| {
        let rest = room.checked_sub(words(text));
        room = rest.unwrap_or_default();
        rest.is_some()
    };
    let kept = questions.iter().rev().take_while(fits).count();
    let long = questions.len() - kept;
    questions.splice(..long, (long > 0).then(String::new));
    questions
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
    fn what_a_question_may_go_on_from_has_no_more_words_than_a_question() {
        let long = "books ".repeat(MOST_WORDS);
        let kept = |asked: &[&str]| {
            let asked = asked.iter().map(|text| Message::text(Role::User, *text));
            turn(&Request::new(asked.collect())).earlier
        };
        assert_eq!(
            kept(&["How many books?", "and in 2023?"]),
            ["How many books?"]
        );
        assert_eq!(
            kept(&["Books?", &long, "How many?", "in 2023?"]),
            ["", "How many?"]
        );
        assert_eq!(kept(&[&long, "in 2023?"]), [""]);
        let many = vec!["How many books are there in the house of Ann?"; 2 * MOST_WORDS];
        assert_eq!(kept(&many).len(), EARLIER);
    }

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
