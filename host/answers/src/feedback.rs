//! What callers say of their responses, and verified queries made of it.
//!
//! Feedback keeps what its caller wrote, and no copy of the question, the answer or its SQL: those are read from the
//! conversation for as long as it is there. It is deleted with its response.

mod store;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    answering::{Answering, record::ResponseRecord},
    conversations,
    knowledge::CheckedKnowledge,
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_core::{
    auth::{Caller, Role},
    knowledge::{Entry, Knowledge, VerifiedQuery, check_text},
    minds::Mind,
};
use mindhost_store::Store;
use std::{collections::HashMap, sync::Arc};

/// Most characters of a comment.
pub const MAX_COMMENT: usize = 2000;
/// Most characters of a corrected statement.
pub const MAX_SQL: usize = 20_000;

/// Whether an answer was right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rating {
    /// It was.
    Up,
    /// It was not.
    Down,
}

impl Rating {
    fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }

    fn parse(text: &str) -> Self {
        match text {
            "up" => Self::Up,
            _ => Self::Down,
        }
    }
}

/// What a caller says of a response.
#[derive(Clone, Debug)]
pub struct NewFeedback {
    /// Whether it was right.
    pub rating: Rating,
    /// Why, in the caller's words; at most [`MAX_COMMENT`] characters.
    pub comment: Option<String>,
    /// The statement that would have been right.
    pub corrected_sql: Option<String>,
}

impl NewFeedback {
    fn check(&self) -> Result<()> {
        if let Some(comment) = &self.comment {
            check_text("comment", comment, MAX_COMMENT)?;
        }
        match &self.corrected_sql {
            Some(sql) => check_text("corrected_sql", sql, MAX_SQL),
            None => Ok(()),
        }
    }

    fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        mindhost_store::ROW_BYTES + length(&self.comment) + length(&self.corrected_sql)
    }
}

/// The rating of a response by one key, with the question and the statement that it rates.
#[derive(Clone, Debug)]
pub struct Feedback {
    /// Id; later ones sort after earlier ones.
    pub id: Uuid,
    /// UUID of the rated response.
    pub response_id: Uuid,
    /// Id of the key that gave it. A key that rates a response again replaces its feedback.
    pub key_id: String,
    /// Whether the response was right.
    pub rating: Rating,
    /// Why, in the words of the key's holder.
    pub comment: Option<String>,
    /// The statement that would have been right.
    pub corrected_sql: Option<String>,
    /// The question, as long as its conversation is there.
    pub question: Option<String>,
    /// The statement of the answer, as long as its conversation is there.
    pub sql: Option<String>,
    /// The verified query that was made of it.
    pub knowledge_id: Option<String>,
    /// When it was given first.
    pub created_at: Timestamp,
    /// When it was given last.
    pub updated_at: Timestamp,
}

/// How a response was rated by the key that asked.
#[derive(Clone, Debug)]
pub struct Rated {
    /// Whether it was right.
    pub rating: Rating,
    /// Why, in the words of the key's holder.
    pub comment: Option<String>,
    /// The statement that would have been right.
    pub corrected_sql: Option<String>,
}

/// What an editor makes of feedback; what is missing comes from the feedback.
#[derive(Clone, Debug, Default)]
pub struct Promotion {
    /// The question to verify; else the one that was asked.
    pub question: Option<String>,
    /// The statement; else the corrected one, else that of the answer.
    pub sql: Option<String>,
    /// What to know about it.
    pub notes: Option<String>,
}

/// The feedback of all workspaces.
#[derive(Clone)]
pub struct FeedbackBox {
    store: Store,
    answering: Answering,
    knowledge: CheckedKnowledge,
}

impl FeedbackBox {
    /// Over its parts.
    pub fn new(store: Store, answering: Answering, knowledge: CheckedKnowledge) -> Self {
        Self {
            store,
            answering,
            knowledge,
        }
    }

    /// Stores what the caller says of its own response; what it said before is replaced.
    ///
    /// # Errors
    /// `response_not_found`, also with `store: false`; `forbidden` for the response of another key; `wrong_state` for
    /// one that is being made; `invalid_parameter`, `quota_exceeded`, `storage_full`.
    pub async fn give(
        &self,
        caller: &Caller,
        response: Uuid,
        new: &NewFeedback,
    ) -> Result<Feedback> {
        let record = self.answering.get(caller, response).await?;
        conversations::require_owner(caller, &record.key_id)?;
        new.check()?;
        require_end(&record)?;
        let (workspace, key) = (&caller.workspace, &caller.key_id);
        self.store.check_byte_quota(workspace, key).await?;
        let id = store::put(&self.store, &record, new).await?;
        let found = store::find(&self.store, &record.mind_id, &id).await?;
        found.ok_or_else(|| no_response(response))
    }

    /// The ratings of these responses by the keys that asked. The caller has checked who may read them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn ratings(&self, responses: &[Uuid]) -> Result<HashMap<Uuid, Rated>> {
        store::ratings(&self.store, responses).await
    }

    /// A page of what was said of a Mind, oldest first, and whether there is more.
    ///
    /// # Errors
    /// `forbidden` below the role of an editor.
    pub async fn page(
        &self,
        caller: &Caller,
        mind: &Mind,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<(Vec<Feedback>, bool)> {
        caller.require(Role::Editor)?;
        let mut page = store::page(&self.store, &mind.id, after, limit).await?;
        let has_more = page.len() > limit as usize;
        page.truncate(limit as usize);
        Ok((page, has_more))
    }

    /// Makes a verified query of feedback, which is checked like any other.
    ///
    /// # Errors
    /// `feedback_not_found`; `wrong_state` if it was done; `invalid_parameter` if there is no question or statement;
    /// as [`CheckedKnowledge::add`].
    pub async fn promote(
        &self,
        caller: &Caller,
        mind: &Arc<Mind>,
        id: &str,
        promotion: Promotion,
    ) -> Result<Entry> {
        caller.require(Role::Editor)?;
        let found = store::find(&self.store, &mind.id, id).await?;
        let feedback = found.ok_or_else(|| not_found(mind, id))?;
        self.require_new(mind, &feedback).await?;
        let question = promotion.question.or(feedback.question);
        let sql = promotion.sql.or(feedback.corrected_sql).or(feedback.sql);
        let query = VerifiedQuery {
            question: question
                .ok_or_else(|| missing("question"))?
                .trim()
                .to_owned(),
            sql: sql.ok_or_else(|| missing("sql"))?.trim().to_owned(),
            notes: promotion.notes,
        };
        let query = Knowledge::VerifiedQuery(query);
        let entry = self.knowledge.add(caller, mind, &query).await?;
        store::promoted(&self.store, id, &entry.id).await?;
        Ok(entry)
    }

    async fn require_new(&self, mind: &Mind, feedback: &Feedback) -> Result<()> {
        let Some(made) = &feedback.knowledge_id else {
            return Ok(());
        };
        match self.knowledge.base().get(mind, made).await {
            Ok(_) => Err(Error::new(
                Code::WrongState,
                format!("this feedback is the verified query '{made}' already; change that one"),
            )),
            Err(error) if error.code() == Code::KnowledgeNotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn require_end(record: &ResponseRecord) -> Result<()> {
    if !record.is_stored {
        return Err(no_response(record.id));
    }
    match record.completed_at {
        Some(_) => Ok(()),
        None => Err(Error::new(
            Code::WrongState,
            "the response is still being made; send feedback when it has ended",
        )),
    }
}

fn no_response(id: Uuid) -> Error {
    let message =
        format!("there is no response '{id}'; with `store: false` nothing is kept to comment on");
    Error::new(Code::ResponseNotFound, message)
}

fn missing(param: &str) -> Error {
    let message = format!(
        "send `{param}`: neither the feedback nor the conversation of its response has one"
    );
    Error::invalid(param, message)
}

fn not_found(mind: &Mind, id: &str) -> Error {
    let message = format!(
        "the Mind '{}' has no feedback '{id}'; `GET /minds/{}/feedback` lists it",
        mind.name, mind.name
    );
    Error::new(Code::FeedbackNotFound, message)
}
