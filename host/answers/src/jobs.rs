//! Jobs: a request that runs, as a person sees it, and the statements of pages and exports among them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use mindhost_base::{
    error::{Code, Error},
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

    /// All of them, in no order.
    pub fn all(&self) -> Vec<Job> {
        let statements = lock(&self.0);
        statements.values().map(|one| one.about.clone()).collect()
    }

    /// Stops a statement, if it is one of these.
    pub fn stop(&self, id: Uuid) -> bool {
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
