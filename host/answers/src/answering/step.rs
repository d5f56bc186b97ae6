//! A step of an answer, as it is sent and stored: what of the catalog stood in the prompt, or a tool call of the model.

use serde::{Deserialize, Serialize};

/// A step, for clients that want to see how an answer was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Step {
    /// `context`, which comes first, or the tool: `search_catalog`, `describe_tables`, `find_values`, `run_sql`.
    #[schema(example = "run_sql")]
    pub name: String,
    /// Whether the call gave a result.
    pub status: StepStatus,
    /// The SQL, when the step ran one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    /// The number of rows or tables, or the error.
    #[schema(example = "3 rows")]
    pub message: String,
    /// Zero for a call that was refused before it ran.
    pub duration_ms: u64,
    /// Of `context`: the tables that the prompt shows, in its order. Only in streams of answers that this host has in
    /// memory; they are not stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<ShownTable>,
}

/// A table of the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ShownTable {
    /// `datasource.schema.table`
    #[schema(example = "shop.public.orders")]
    pub name: String,
    /// The columns that the prompt shows of it.
    pub columns: Vec<String>,
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

impl Step {
    /// As it is stored: the tables of a prompt would take more room than the rest of the response.
    #[must_use]
    pub fn without_tables(&self) -> Self {
        Self {
            tables: Vec::new(),
            name: self.name.clone(),
            sql: self.sql.clone(),
            message: self.message.clone(),
            ..*self
        }
    }

    /// The bytes of its texts.
    pub fn bytes(&self) -> usize {
        let of_table = |table: &ShownTable| {
            let columns = table.columns.iter().map(String::len);
            table.name.len() + columns.sum::<usize>()
        };
        let sql = self.sql.as_ref().map_or(0, String::len);
        let tables = self.tables.iter().map(of_table);
        self.name.len() + self.message.len() + sql + tables.sum::<usize>()
    }
}
