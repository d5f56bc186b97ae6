//! An answer of a Mind, as it comes in the events of its stream.

use std::time::Duration;

use serde_json::Value;

use crate::{
    compare::{self, Rows},
    named_items::NamedItems,
};

/// The ending of an answer that the data do not hold.
const CANNOT_ANSWER: &str = "cannot_answer";
/// Endings without an answer.
const LIMITS: &[&str] = &[
    "tool_limit",
    "repair_limit",
    "token_budget",
    "timeout",
    "size_limit",
];

/// A result, as the API sends it.
#[derive(Debug, Default)]
pub struct Table {
    /// As the API names them; a name may repeat.
    pub columns: Vec<String>,
    /// Its rows, or the first of them.
    pub rows: Rows,
    /// All of its rows.
    pub total: u64,
}

impl Table {
    /// Of the names and rows that the API sends; `None` if there are none.
    pub fn of(names: &Value, data: &Value, total: &Value) -> Option<Self> {
        let names = names.as_array().into_iter().flatten();
        let data: Vec<Vec<Value>> = serde_json::from_value(data.clone()).ok()?;
        Some(Self {
            columns: names.filter_map(Value::as_str).map(str::to_owned).collect(),
            rows: compare::rows(&data),
            total: total.as_u64().unwrap_or(0),
        })
    }
}

/// What a stream said of one answer, as far as it is judged.
#[derive(Debug, Default)]
pub struct Answer {
    /// What the Mind said in words; empty if it failed before.
    pub text: String,
    /// The statement that it is based on.
    pub sql: Option<String>,
    /// Its conversation, where its rows are.
    pub conversation: String,
    /// Id of its message there; its rows are asked for by it.
    pub message: String,
    /// Code and message of the error that it ended with.
    pub error: Option<(String, String)>,
    /// How it ended, if not by itself: `cannot_answer`, `tool_limit`, …
    pub ending: Option<String>,
    /// What its steps tell.
    pub told: NamedItems,
    /// Tokens that the model read.
    pub input_tokens: u64,
    /// Tokens that the model wrote.
    pub output_tokens: u64,
    /// From the request to its end.
    pub latency: Duration,
}

impl Answer {
    /// Reads the events of its stream; `latency` was measured. `None` if they have no end.
    pub fn of(events: &[Value], latency: Duration) -> Option<Self> {
        let last = |kind: &str| events.iter().rev().find(|event| event["type"] == kind);
        let end = last("response.completed").or_else(|| last("response.failed"))?;
        let response = &end["response"];
        let steps = events
            .iter()
            .filter(|event| event["type"] == "response.mindhost.step");
        let steps: Vec<Value> = steps.map(|event| event["step"].clone()).collect();
        let item = &response["output"][0];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let usage = |name: &str| response["usage"][name].as_u64().unwrap_or(0);
        let error = &response["error"];
        Some(Self {
            text: text(&item["content"][0]["text"]),
            sql: item["sql"].as_str().map(str::to_owned),
            conversation: text(&response["conversation"]["id"]),
            message: text(&item["id"]),
            ending: item["ending"].as_str().map(str::to_owned),
            error: (end["type"] == "response.failed")
                .then(|| (text(&error["code"]), text(&error["message"]))),
            told: NamedItems::of(&steps),
            input_tokens: usage("input_tokens"),
            output_tokens: usage("output_tokens"),
            latency,
        })
    }

    /// Whether the Mind said that it cannot answer, or answered without a statement.
    pub fn is_declined(&self) -> bool {
        match &self.error {
            Some((code, _)) => code == CANNOT_ANSWER,
            None => self.sql.is_none() || self.ending.as_deref() == Some(CANNOT_ANSWER),
        }
    }

    /// The error that it ended with, or the limit that it reached before it had an answer.
    pub fn failure(&self) -> Option<String> {
        let reached = |ending: &&str| LIMITS.contains(ending);
        match &self.error {
            Some((code, message)) => (code != CANNOT_ANSWER).then(|| format!("{code}: {message}")),
            None => self.ending.as_deref().filter(reached).map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answer_is_read_from_the_last_event() {
        let step = json!({"type": "response.mindhost.step", "step": {"name": "run_sql", "status": "failed"}});
        let done = json!({"type": "response.completed", "response": {
            "conversation": {"id": "c"}, "usage": {"input_tokens": 5, "output_tokens": 2},
            "output": [{"id": "m", "sql": "SELECT 1", "content": [{"text": "One."}]}]}});
        let answer = Answer::of(&[step.clone(), done], Duration::ZERO).unwrap();
        assert_eq!(
            (answer.text.as_str(), answer.sql.as_deref()),
            ("One.", Some("SELECT 1"))
        );
        assert_eq!(
            (answer.conversation.as_str(), answer.message.as_str()),
            ("c", "m")
        );
        assert_eq!(
            (
                answer.told.repairs,
                answer.input_tokens,
                answer.output_tokens
            ),
            (1, 5, 2)
        );
        assert!(!answer.is_declined());
        assert!(Answer::of(&[step], Duration::ZERO).is_none());
    }

    #[test]
    fn a_failure_is_not_a_refusal_unless_it_says_so() {
        let failed = |code: &str| {
            let error = json!({"code": code, "message": "no"});
            let event =
                json!({"type": "response.failed", "response": {"error": error, "output": []}});
            Answer::of(&[event], Duration::ZERO).unwrap().is_declined()
        };
        assert!(failed("cannot_answer"));
        assert!(!failed("answer_failed"));
    }

    #[test]
    fn an_ending_at_a_limit_is_a_failure() {
        let ended = |ending: &str| {
            let item = json!({"sql": "SELECT 1", "ending": ending});
            let event = json!({"type": "response.completed", "response": {"output": [item]}});
            let answer = Answer::of(&[event], Duration::ZERO).unwrap();
            (answer.is_declined(), answer.failure().is_some())
        };
        assert_eq!(ended("cannot_answer"), (true, false));
        assert_eq!(ended("repair_limit"), (false, true));
        assert_eq!(ended("max_output_tokens"), (false, false));
    }
}
