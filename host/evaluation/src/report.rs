//! The report of a run.

use serde::{Deserialize, Serialize};

use crate::{figures::Figures, judged::Judged};

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The `name` in the suite; may be empty.
    pub suite: String,
    /// Name of the Mind as it was given: `{db}` stands for the database of each question.
    pub mind: String,
    /// URL of the server that was asked.
    pub server: String,
    /// When it began: ISO 8601 in UTC.
    pub began_at: String,
    /// Whether each question was asked. A run that was interrupted is not complete.
    pub is_complete: bool,
    /// Figures over all questions.
    pub figures: Figures,
    /// The questions that were asked, in the order of the suite.
    pub questions: Vec<Judged>,
}
