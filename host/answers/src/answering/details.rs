//! What is known of a stored answer besides its text: how it was found, and what it is based on.

use std::{collections::HashMap, sync::Arc};

use serde::Deserialize;
use uuid::Uuid;

use super::{Answering, record::EarlyEnd, step::Step, store};
use mindhost_base::error::Result;

/// What is stored of an answer in words besides its message.
#[derive(Clone, Debug, Default)]
pub struct AnswerDetails {
    /// What the prompt had of the catalog and the tool calls of the model, in order. Empty for answers that were stored
    /// before steps were kept.
    pub steps: Vec<Arc<Step>>,
    /// Why it failed or was cancelled.
    pub error: Option<StoredError>,
    /// How it ended, if it did not end by itself.
    pub ending: Option<EarlyEnd>,
    /// What it is based on.
    pub facts: StoredFacts,
}

/// Why an answer failed, as it was told the caller.
#[derive(Clone, Debug, Deserialize)]
pub struct StoredError {
    /// Id of the request that asked, which is stored with its settings.
    #[serde(skip)]
    pub request_id: Option<Arc<str>>,
    /// The code of the error.
    pub code: String,
    /// Its message.
    pub message: String,
}

/// The part of a stored output message that says what the answer is based on.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StoredFacts {
    /// The tables that its statement read, as `datasource.schema.table`.
    pub tables: Vec<String>,
    /// Rows of the whole result.
    pub row_count: Option<u64>,
    /// Whether the model got fewer rows than there are.
    pub truncated: bool,
    /// What the model took for granted.
    pub assumptions: Vec<String>,
    /// Questions that can be answered next.
    pub follow_up_questions: Vec<String>,
    /// Numbers of the text that are in nothing that the model has read.
    pub unverified_numbers: Vec<String>,
}

impl Answering {
    /// What is stored of these responses. The caller has checked who may read them; those that are deleted are missing.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn details(&self, responses: &[Uuid]) -> Result<HashMap<Uuid, AnswerDetails>> {
        store::details(&self.0.services.store, responses).await
    }
}
