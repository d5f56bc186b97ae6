//! The rights of a running answer, which are those of now: a Mind or its policies may change while a model thinks.

use std::sync::Arc;

use super::Toolbox;
use crate::knowledge::CheckedKnowledge;
use mindhost_base::error::Result;
use mindhost_core::{
    auth::Caller,
    minds::{self, Mind, Minds},
};

/// Looks up the Mind of an answer.
pub struct CurrentRights<'a> {
    /// The Minds as they are stored.
    pub minds: &'a Minds,
    /// What they were taught.
    pub knowledge: &'a CheckedKnowledge,
    /// Who asks.
    pub caller: &'a Caller,
    /// The Mind when the answer began.
    pub begun: &'a Mind,
}

impl CurrentRights<'_> {
    /// The Mind as it is now.
    ///
    /// # Errors
    /// `mind_deleted`
    pub async fn mind(&self) -> Result<Arc<Mind>> {
        let found = self.minds.current_by_id(self.caller, &self.begun.id);
        found.await?.ok_or_else(|| minds::deleted(&self.begun.name))
    }
}

impl Toolbox<'_> {
    /// Takes the rights of now, before a tool reads anything. They come from the caches that every new question uses,
    /// so a change on this host counts at once, and one of another host within a second.
    ///
    /// A datasource that the Mind got since the answer began is not read: what the model read before was not recorded
    /// as coming from one of several datasources, and the prompt does not name it.
    ///
    /// # Errors
    /// `mind_deleted`, which ends the answer; as [`Results::access`](crate::results::Results::access).
    pub async fn renew_access(&mut self) -> Result<()> {
        let mind = self.rights.mind().await?;
        let attributes = &self.rights.caller.attributes;
        let access = self.results.access(&mind, attributes).await?;
        let access = access.within(&self.access);
        if !Arc::ptr_eq(&access, &self.access) {
            let knowledge = self.rights.knowledge;
            self.knowledge = knowledge.of_tables(&mind, &access.scope).await?;
            self.access = access;
        }
        Ok(())
    }
}
