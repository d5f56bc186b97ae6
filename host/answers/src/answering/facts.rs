//! The facts of an answer beside its text: what it is based on, and what can be asked next.

use super::record::EarlyEnd;
use crate::conversations::StoredSql;

/// Assumptions that an answer lists, and characters of each.
const MAX_ASSUMPTIONS: usize = 8;
const MAX_CHARACTERS: usize = 300;

/// A statement of the model that ran.
#[derive(Clone, Debug)]
pub struct ExecutedStatement {
    /// As the model wrote it, so that it can run again.
    pub sql: StoredSql,
    /// What is known of its result.
    pub facts: ResultFacts,
}

/// The tables, the size and the assumptions of a result, without its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultFacts {
    /// The tables that the statement read, as `datasource.schema.table`.
    pub tables: Vec<String>,
    /// The ids of their datasources, which are not told.
    pub datasources: Vec<String>,
    /// Rows of the whole result.
    pub row_count: u64,
    /// Whether the model got fewer rows than there are.
    pub truncated: bool,
    /// What the model assumed for the statement.
    pub assumptions: Vec<String>,
}

/// What is told beside the text of an answer: statement, tables, sizes, warnings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerFacts {
    /// `None` if the answer is not based on a statement.
    pub result: Option<ResultFacts>,
    /// Questions that can be answered next.
    pub follow_up_questions: Vec<String>,
    /// Numbers of the text that are in nothing that the model has read, and do not follow from it.
    pub unverified_numbers: Vec<String>,
    /// How it ended, if it did not end by itself.
    pub ending: Option<EarlyEnd>,
}

/// The assumptions of a model within bounds: plain texts, each once.
pub fn assumptions(given: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for text in given {
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text: String = text.chars().take(MAX_CHARACTERS).collect();
        if !text.is_empty() && !kept.contains(&text) && kept.len() < MAX_ASSUMPTIONS {
            kept.push(text);
        }
    }
    kept
}
