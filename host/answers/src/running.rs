//! What runs now: answers, and the statements of pages and exports. For those who look after a server: they see what it
//! works on, and stop what takes too long.

use uuid::Uuid;

use crate::{
    answering::Answering,
    jobs::{Job, RunningStatements},
    results::stored::StoredResults,
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_core::auth::Caller;

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
