//! A question and how it went.

use serde::{Deserialize, Serialize};

use crate::suite::Expect;

/// How a question went.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[schema(as = EvaluationMark)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// An accepted result; or declined, as expected.
    Right,
    /// Another result; or any, where the Mind should have declined; or numbers without a statement.
    Wrong,
    /// Answered without a statement or a row, and without a number.
    Declined,
    /// Ended with an error, or at a limit.
    #[default]
    Failed,
    /// The question could not be judged: its accepted statement fails on this Mind.
    Invalid,
}

impl Mark {
    /// In the order of reports, the best first.
    pub const ALL: [Self; 5] = [
        Self::Right,
        Self::Wrong,
        Self::Declined,
        Self::Failed,
        Self::Invalid,
    ];

    /// The word in reports and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::Declined => "declined",
            Self::Failed => "failed",
            Self::Invalid => "invalid",
        }
    }
}

/// A question and how it went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = EvaluationQuestion)]
pub struct Judged {
    /// Its id.
    pub id: String,
    /// The question.
    pub question: String,
    /// What was expected.
    pub expect: Expect,
    /// The mark.
    pub mark: Mark,
    /// Why it is not right, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The statement of the answer.
    #[serde(default)]
    pub sql: Option<String>,
    /// The first accepted statement.
    #[serde(default)]
    pub gold: Option<String>,
    /// The text of the answer.
    #[serde(default)]
    pub text: String,
    /// Numbers in the text that are neither in the rows nor derived from them; see [`crate::numbers`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported_numbers: Vec<String>,
    /// Share of the needed tables that the model was told of; null if no step shows it.
    #[serde(default)]
    pub recall_tables: Option<f64>,
    /// Share of the needed columns.
    #[serde(default)]
    pub recall_columns: Option<f64>,
    /// Statements of the model that were refused or failed.
    #[serde(default)]
    pub repairs: u32,
    /// Tokens that the model read.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens that the model wrote.
    #[serde(default)]
    pub output_tokens: u64,
    /// Price of the tokens; null without prices.
    #[serde(default)]
    pub cost: Option<f64>,
    /// From the request to the end of the answer, in milliseconds.
    #[serde(default)]
    pub latency_ms: u64,
}
