//! The texts of answers that the host ends: what happened, what was tried, and what can be asked.

use super::{costs::Attempt, record::EarlyEnd};
use mindhost_base::config;

/// Characters of a statement or a reason in such a text.
const MAX_CHARACTERS: usize = 240;

/// The text of an answer that begins with this sentence. `follow_ups` are questions that can be answered.
pub fn text(first_sentence: String, attempts: &[Attempt], follow_ups: &[String]) -> String {
    let mut text = first_sentence;
    if !attempts.is_empty() {
        text.push_str("\n\nWhat was tried last:\n");
        for attempt in attempts {
            let (sql, result) = (
                short(&attempt.sql).replace('`', "'"),
                short(&attempt.result),
            );
            text.push_str(&format!("- `{sql}`: {result}\n"));
        }
    }
    text.push_str(&can_be_asked(follow_ups));
    text.trim_end().to_owned()
}

/// What is added to an answer that the model declined, for this reason. `is_empty`: it has no text yet.
pub fn declined(reason: &str, is_empty: bool, follow_ups: &[String]) -> String {
    let reason = match (reason.trim(), is_empty) {
        ("", true) => "The data of this Mind do not have what was asked for.".to_owned(),
        (reason, _) => short(reason),
    };
    format!("{reason}{}", can_be_asked(follow_ups))
        .trim()
        .to_owned()
}

/// What happened, for a turn of which this is too large, in the words of the plugin or the host.
pub fn too_large(what: &str) -> String {
    format!(
        "This answer was stopped: {}. Ask for less at once, or more precisely.",
        short(what).trim_end_matches('.')
    )
}

/// What happened. `allowed` are the tool calls that the model may make.
pub fn first_sentence(ending: EarlyEnd, bounds: &config::Answering, allowed: u32) -> String {
    match ending {
        EarlyEnd::ToolLimit => format!(
            "This answer was stopped: the model wanted more than {allowed} tool call{}. Ask for less at once, or more \
             precisely.",
            if allowed == 1 { "" } else { "s" }
        ),
        EarlyEnd::RepairLimit => format!(
            "This answer was stopped: more than {} tool calls of the model were refused or failed. Name the tables, \
             columns or values that you mean, or ask for less at once.",
            bounds.repairs
        ),
        EarlyEnd::TokenBudget => format!(
            "This answer was stopped: it used up its {} tokens, or its results do not fit into a request of {} tokens. \
             Ask for less at once.",
            bounds.tokens, bounds.context_tokens
        ),
        EarlyEnd::Timeout => format!(
            "This answer was stopped: it took longer than {:?}. Ask for less at once.",
            bounds.wall_clock
        ),
        EarlyEnd::SizeLimit => format!(
            "This answer was stopped: the model wrote more than {} bytes. Ask for less at once, or more precisely.",
            bounds.answer_bytes
        ),
        EarlyEnd::CannotAnswer => {
            "The model ended without an answer. Ask in other words, or choose another model."
                .to_owned()
        }
        EarlyEnd::Length => {
            "This answer was stopped: it reached its limit of output tokens before it was complete. Set a larger \
             `max_output_tokens`, or ask for less at once."
                .to_owned()
        }
        // The text of the model breaks off, and nothing is added to it.
        EarlyEnd::Filter | EarlyEnd::UnknownReason => String::new(),
    }
}

fn can_be_asked(follow_ups: &[String]) -> String {
    if follow_ups.is_empty() {
        return String::new();
    }
    let mut text = "\n\nYou can ask, for example:\n".to_owned();
    for question in follow_ups {
        text.push_str(&format!("- {question}\n"));
    }
    text
}

/// One line of at most [`MAX_CHARACTERS`].
fn short(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let mut line = line.join(" ");
    if let Some((end, _)) = line.char_indices().nth(MAX_CHARACTERS) {
        line.truncate(end);
        line.push('…');
    }
    line
}
