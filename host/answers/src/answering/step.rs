//! A tool call of the model, as it is sent and stored.

use serde::{Deserialize, Serialize};

/// A tool call, for clients that want to see how an answer was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Step {
    /// `search_catalog`, `describe_tables`, `find_values`, `run_sql`.
    #[schema(example = "run_sql")]
    pub name: String,
    /// Whether the call gave a result.
    pub status: StepStatus,
    /// The SQL, when the step ran one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    /// The number of rows, or the error.
    #[schema(example = "3 rows")]
    pub message: String,
    /// Zero for a call that was refused before it ran.
    pub duration_ms: u64,
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepStatus {
    /// With a result.
    Completed,
    /// With an error, which the model was told.
    Failed,
}
