//! What runs now: answers, and the statements of pages and exports. For those who look after a server: they see what it
//! works on, and stop what takes too long.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    answering::{
        Answering,
        record::{Limits, ResponseRecord},
    },
    results::stored::StoredResults,
};
use mindhost_base::{
    error::{Code, Error, Result},
    locks::lock,
};
use mindhost_core::{auth::Caller, minds::Mind};

/// The longest text that is shown, in characters.
const MAX_TEXT: usize = 2_000;

/// What a piece of work is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An answer to a question in words.
    Answer,
    /// An answer to a `sql_query`.
    SqlQuery,
    /// A page of an answer's result.
    Page,
    /// A CSV file with an answer's whole result.
    Export,
}

/// A piece of work.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its id; that of the response for an answer.
    pub id: Uuid,
    /// Which request made it: a question, SQL, a page or an export.
    pub kind: Kind,
    /// Id of the workspace of its key.
    pub workspace_id: String,
    /// Id of the key that it runs for.
    pub key_id: String,
    /// Id of the Mind that is asked.
    pub mind_id: String,
    /// The Mind's name at the start.
    pub mind_name: String,
    /// The start of the question, or of the statement in the caller's words. `None` if the response is not stored, or if
    /// another host makes it.
    pub text: Option<String>,
    /// Whether it goes on without its client.
    pub background: bool,
    /// When it began.
    pub started_at: Timestamp,
    /// Whether this host does it.
    pub is_here: bool,
}

impl Kind {
    /// Of a response with these limits: only a `sql_query` has one of rows.
    pub fn of(limits: &Limits) -> Self {
        match limits.max_inline_rows {
            Some(_) => Self::SqlQuery,
            None => Self::Answer,
        }
    }
}

impl Job {
    /// Of a response, without its text.
    pub fn of_response(record: &ResponseRecord) -> Self {
        Self {
            id: record.id,
            kind: Kind::of(&record.limits),
            workspace_id: record.workspace_id.clone(),
            key_id: record.key_id.clone(),
            mind_id: record.mind_id.clone(),
            mind_name: record.mind_name.clone(),
            text: None,
            background: record.background,
            started_at: record.created_at,
            is_here: false,
        }
    }
}

/// The start of a text that is shown.
pub fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The statements of pages and exports that run on this host.
#[derive(Clone, Default)]
pub struct RunningStatements(Arc<Mutex<HashMap<Uuid, Statement>>>);

struct Statement {
    about: Job,
    cancel: CancellationToken,
    is_stopped: bool,
}

/// The registration of a running statement, which ends when this is dropped.
pub struct Registration {
    id: Uuid,
    statements: RunningStatements,
}

impl RunningStatements {
    /// Registers a statement that `cancel` stops.
    pub fn begin(
        &self,
        kind: Kind,
        caller: &Caller,
        mind: &Mind,
        sql: &str,
        cancel: &CancellationToken,
    ) -> Registration {
        let id = Uuid::now_v7();
        let about = Job {
            id,
            kind,
            workspace_id: caller.workspace.to_string(),
            key_id: caller.key_id.to_string(),
            mind_id: mind.id.clone(),
            mind_name: mind.name.clone(),
            text: Some(shown(sql)),
            background: false,
            started_at: Timestamp::now(),
            is_here: true,
        };
        let statement = Statement {
            about,
            cancel: cancel.clone(),
            is_stopped: false,
        };
        lock(&self.0).insert(id, statement);
        Registration {
            id,
            statements: self.clone(),
        }
    }

    fn all(&self) -> Vec<Job> {
        let statements = lock(&self.0);
        statements.values().map(|one| one.about.clone()).collect()
    }

    /// Stops a statement, if it is one of these.
    fn stop(&self, id: Uuid) -> bool {
        let mut statements = lock(&self.0);
        let Some(statement) = statements.get_mut(&id) else {
            return false;
        };
        statement.is_stopped = true;
        statement.cancel.cancel();
        true
    }
}

impl Registration {
    /// Says who cancelled the statement, if it was stopped here and not by its client.
    pub fn explained(&self, error: Error) -> Error {
        let is_stopped = |one: &Statement| one.is_stopped;
        let statements = lock(&self.statements.0);
        match statements.get(&self.id).is_some_and(is_stopped) {
            true => Error::new(
                Code::Cancelled,
                "this statement was stopped by somebody who looks after the server",
            ),
            false => error,
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        lock(&self.statements.0).remove(&self.id);
    }
}

/// Lists and stops what runs.
#[derive(Clone)]
pub struct RunningWork {
    answering: Answering,
    statements: RunningStatements,
}

impl RunningWork {
    /// Over its parts.
    pub fn new(answering: Answering, stored_results: &StoredResults) -> Self {
        Self {
            answering,
            statements: stored_results.running().clone(),
        }
    }

    /// What runs for the caller, and for an admin all of the workspace; the oldest first. Answers that other hosts of
    /// this server make are listed if they are stored, their pages and exports are not.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<Job>> {
        let mut all = self.answering.running(caller).await?;
        all.extend(self.statements.all());
        all.retain(|one| is_visible(caller, one));
        all.sort_by_key(|one| (one.started_at, one.id));
        Ok(all)
    }

    /// What runs under an id, if the caller sees it.
    ///
    /// # Errors
    /// `not_running`
    pub async fn find(&self, caller: &Caller, id: Uuid) -> Result<Job> {
        let all = self.list(caller).await?;
        let found = all.into_iter().find(|one| one.id == id);
        found.ok_or_else(|| {
            Error::new(
                Code::NotRunning,
                format!("nothing runs under the id '{id}'; it may have ended by now"),
            )
        })
    }

    /// Stops a piece of work, down to its statement in the database. What is stored of an answer says that it was
    /// cancelled.
    ///
    /// # Errors
    /// `not_running`; `wrong_state` when another host does not stop it in time.
    pub async fn stop(&self, caller: &Caller, id: Uuid) -> Result<Job> {
        let found = self.find(caller, id).await?;
        if !self.statements.stop(id) {
            self.answering.stop(id).await?;
        }
        Ok(found)
    }
}

fn is_visible(caller: &Caller, one: &Job) -> bool {
    caller.may_read(&one.workspace_id, &one.key_id, Some(&one.mind_id))
}
