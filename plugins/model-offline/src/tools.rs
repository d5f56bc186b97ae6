//! The host's tools: their names, their arguments, what they give.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::turn::{Action, Step, Turn};

/// Finds tables by words.
pub const SEARCH: &str = "search_catalog";
/// Shows columns, keys and values of tables.
pub const DESCRIBE: &str = "describe_tables";
/// Runs a statement on one datasource.
pub const RUN: &str = "run_sql";
/// Ends an answer that the data do not hold.
pub const CANNOT_ANSWER: &str = "cannot_answer";

/// What is said where the host does not offer a tool any more.
pub fn not_offered(tool: &str) -> String {
    format!(
        "I would need the tool {tool} to answer that, and it is not offered to me now. I cannot answer without data."
    )
}

/// Tables that one call describes at most.
pub const MOST_DESCRIBED: usize = 20;
/// Rows that are fetched of a result whose length the question does not say.
pub const LISTED_ROWS: u64 = 50;
/// Assumptions that [`RUN`] takes at most.
const MOST_NOTES: usize = 8;
/// Rows that the model is shown at most.
pub const MOST_ROWS: u64 = 100;

/// A table as the search gives it.
#[derive(Debug, Clone, Deserialize)]
pub struct Found {
    /// Name of the datasource, which a statement on it is sent to.
    #[serde(default)]
    pub datasource: String,
    /// `schema.table`, as [`DESCRIBE`] takes it.
    pub table: String,
    /// The catalog's words about it.
    #[serde(default)]
    pub description: Option<String>,
    /// Number of rows, where known.
    #[serde(default)]
    pub row_count: Option<u64>,
    /// In the order of the table; the first of them if there are very many.
    #[serde(default)]
    pub columns: Vec<FoundColumn>,
}

/// A column as the search gives it.
#[derive(Debug, Clone, Deserialize)]
pub struct FoundColumn {
    /// As the engine spells it.
    pub name: String,
}

/// What the search gives.
#[derive(Debug, Clone, Deserialize)]
pub struct FoundTables {
    /// Best first.
    pub tables: Vec<Found>,
    /// How many the Mind has in all.
    pub total_tables: usize,
    /// Why there are none, where the host says so.
    #[serde(default)]
    pub note: Option<String>,
}

impl FoundTables {
    /// Whether the Mind has more tables than these.
    pub fn are_some(&self) -> bool {
        self.total_tables > self.tables.len()
    }
}

/// What a statement gives.
#[derive(Debug, Clone, Deserialize)]
pub struct Rows {
    /// In the order of the values of a row.
    pub columns: Vec<FoundColumn>,
    /// One list of values a row.
    #[serde(default)]
    pub rows: Vec<Vec<Value>>,
    /// How many rows the whole result has, where the host says so.
    #[serde(default)]
    pub row_count: RowCount,
    /// Whether the datasource's settings keep the rows from models.
    #[serde(default)]
    pub rows_withheld: bool,
    /// Whether rows were left out.
    #[serde(default)]
    pub truncated: bool,
}

/// How many rows a result has.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum RowCount {
    /// That many.
    Exactly(u64),
    /// `many`: more than one, and the host keeps to itself how many.
    Roughly(String),
}

impl Default for RowCount {
    fn default() -> Self {
        Self::Exactly(0)
    }
}

impl Rows {
    /// Whether there are rows that are not told.
    pub fn are_withheld(&self) -> bool {
        self.rows_withheld || (self.rows.is_empty() && self.row_count != RowCount::Exactly(0))
    }

    /// The same with the numbers of these columns rounded to so many decimals.
    pub fn rounded(&self, decimals: impl Iterator<Item = Option<u32>>) -> Self {
        let mut rows = self.clone();
        let columns = decimals.enumerate();
        for (column, decimals) in columns.filter_map(|(at, d)| Some((at, d?))) {
            for value in rows.rows.iter_mut().filter_map(|row| row.get_mut(column)) {
                let number = match &*value {
                    Value::String(text) => text.parse().ok(),
                    other => other.as_f64(),
                };
                let unit = 10_f64.powi(decimals.try_into().unwrap_or(0));
                if let Some(number) = number.map(|n: f64| (n * unit).round() / unit) {
                    *value = Value::from(number);
                }
            }
        }
        rows
    }

    /// What is said below a table of these rows where they are not all. `is_full`: there are as many as were asked for.
    pub fn more(&self, is_full: bool) -> String {
        let shown = self.rows.len();
        match self.row_count {
            _ if !(self.truncated || is_full && shown > 1) => String::new(),
            RowCount::Exactly(all) if all > shown as u64 => {
                format!("\nThese are the first {shown} of {all} rows.\n")
            }
            _ => format!("\nThese are the first {shown}; there may be more.\n"),
        }
    }
}

impl Turn {
    /// Whether a tool may be called.
    pub fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|t| t == tool)
    }

    /// The uses of a tool so far, oldest first.
    pub fn uses(&self, tool: &str) -> Vec<&Step> {
        self.steps.iter().filter(|s| s.tool == tool).collect()
    }

    /// What came of a statement, if it was run.
    pub fn ran(&self, sql: &str) -> Option<&Step> {
        let same = |s: &&&Step| {
            let arguments: Option<Value> = serde_json::from_str(&s.arguments).ok();
            arguments.is_some_and(|a| a.get("sql").and_then(Value::as_str) == Some(sql))
        };
        self.uses(RUN).iter().rev().find(same).copied()
    }
}

/// Calls [`SEARCH`] for at most 100 tables.
pub fn search(query: &str) -> Action {
    Action::Call {
        tool: SEARCH,
        arguments: json!({"query": query, "limit": 100}).to_string(),
    }
}

/// Calls for the description of tables.
pub fn describe(tables: &[String]) -> Action {
    Action::Call {
        tool: DESCRIBE,
        arguments: json!({"tables": tables}).to_string(),
    }
}

/// Calls [`RUN`] for at most `rows` rows, from 1 to [`MOST_ROWS`]; an empty datasource is left out. The first of the
/// notes become the assumptions of the answer.
pub fn run(datasource: &str, sql: &str, rows: u64, notes: &[String]) -> Action {
    let mut arguments = json!({"sql": sql, "max_rows": rows.clamp(1, MOST_ROWS)});
    if !datasource.is_empty() {
        arguments["datasource"] = Value::from(datasource);
    }
    if !notes.is_empty() {
        arguments["assumptions"] = json!(&notes[..notes.len().min(MOST_NOTES)]);
    }
    Action::Call {
        tool: RUN,
        arguments: arguments.to_string(),
    }
}

/// Ends the answer without one. The text before it says why, so that the reason is empty.
pub fn decline() -> (&'static str, String) {
    (CANNOT_ANSWER, json!({"reason": ""}).to_string())
}

/// The message of an error that a tool gave.
pub fn error_message(content: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(content).ok();
    let message = parsed
        .as_ref()
        .and_then(|v| v.pointer("/error/message"))
        .and_then(Value::as_str);
    message.unwrap_or("the tool gave no reason").to_owned()
}
