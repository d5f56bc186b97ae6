//! What Minds were taught: instructions, words, figures, joins, and questions with their statements.
//!
//! This module stores entries that were checked before. It runs no SQL of them: `mindhost-answers` checks them with the
//! guard and the engine, when they are saved and whenever the catalog changes.

mod kinds;
mod metric_words;
mod rules;
mod store;
#[cfg(test)]
mod tests;
pub mod yaml;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use self::metric_words::MetricWords;
use crate::{
    auth::{Caller, Role},
    minds::Mind,
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_store::{ReadCache, Store, Tx};

pub use kinds::{
    Cardinality, Instruction, Kind, Knowledge, Metric, Relationship, Term, VerifiedQuery, word_key,
};
pub use rules::{check, text as check_text};

/// Whether an entry works with the database as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = KnowledgeStatus)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It passed its last check.
    Valid,
    /// It did not, and no model is told of it.
    Stale,
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Stale => "stale",
        }
    }

    fn parse(text: &str) -> Self {
        match text {
            "stale" => Self::Stale,
            _ => Self::Valid,
        }
    }
}

/// A piece of knowledge as it is stored, with the result of its last check.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Id; later ones sort after earlier ones.
    pub id: String,
    /// Workspace that the Mind belongs to.
    pub workspace_id: String,
    /// UUID, so that a Mind made again under the name has none of it.
    pub mind_id: String,
    /// What it says.
    pub knowledge: Knowledge,
    /// Whether it passed its last check.
    pub status: Status,
    /// Why not.
    pub stale_reason: Option<String>,
    /// When it was made.
    pub created_at: jiff::Timestamp,
    /// When what it says was last written.
    pub updated_at: jiff::Timestamp,
    /// When its status was last written.
    pub checked_at: jiff::Timestamp,
}

/// What an import does with entries that its document does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = KnowledgeImportMode)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Keeps them.
    #[default]
    Merge,
    /// Deletes them.
    Replace,
}

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = KnowledgeImport)]
pub struct Imports {
    /// New entries.
    pub created: u64,
    /// Entries of the same kind and name that said something else.
    pub updated: u64,
    /// Entries that said the same.
    pub unchanged: u64,
    /// Entries that the document does not have, with `mode=replace`.
    pub deleted: u64,
}

/// What the note of a check did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The entry had this status.
    None,
    /// The entry has this status now.
    Done,
    /// The entry was changed or deleted during the check.
    Overtaken,
}

/// What tells whether the knowledge of a Mind must be checked again.
#[derive(Clone, Debug)]
pub struct MindRef {
    /// Id of the workspace of the Mind.
    pub workspace: String,
    /// Id of the Mind, which has at least one entry.
    pub mind: String,
    /// When the Mind was changed.
    pub updated_at: i64,
    /// Ids of its datasources, and when each was changed.
    pub datasources: Vec<(String, i64)>,
    /// The state that its entries were checked against; none if they never were.
    pub state: Option<String>,
}

/// The knowledge of all Minds.
#[derive(Clone)]
pub struct KnowledgeBase {
    store: Store,
    /// Entries of a Mind at most; 0 means no limit.
    most: u32,
    /// By id of the Mind.
    cache: Arc<ReadCache<Arc<Vec<Entry>>>>,
}

impl KnowledgeBase {
    /// Over a store. `most` is `limits.knowledge_per_mind`.
    pub fn new(store: Store, most: u32) -> Self {
        Self {
            cache: Arc::new(ReadCache::new(&store)),
            store,
            most,
        }
    }

    /// A page of the entries of a Mind, oldest first, and whether there are more.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn page(
        &self,
        mind: &Mind,
        kind: Option<Kind>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<(Vec<Entry>, bool)> {
        let after = after.unwrap_or_default();
        let mut page = store::page(&self.store, &mind.id, kind, after, limit).await?;
        let has_more = page.len() > limit as usize;
        page.truncate(limit as usize);
        Ok((page, has_more))
    }

    /// All entries of a Mind, oldest first. Cached until something changes, at most for a second.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn all(&self, mind: &Mind) -> Result<Arc<Vec<Entry>>> {
        if let Some(all) = self.cache.get(&mind.id) {
            return Ok(all);
        }
        let read = async { Ok(Arc::new(store::all(self.store.pool(), &mind.id).await?)) };
        self.cache.read(&mind.id, read).await
    }

    /// One entry.
    ///
    /// # Errors
    /// `knowledge_not_found`
    pub async fn get(&self, mind: &Mind, id: &str) -> Result<Entry> {
        let found = store::find(&self.store, &mind.id, id).await?;
        found.ok_or_else(|| not_found(mind, id))
    }

    /// Adds an entry that was checked.
    ///
    /// # Errors
    /// `forbidden`, `name_taken`, `quota_exceeded`, `storage_full`
    pub async fn add(&self, caller: &Caller, mind: &Mind, knowledge: &Knowledge) -> Result<Entry> {
        caller.require(Role::Editor)?;
        self.store.check_free_space()?;
        let mut tx = store::begin(&self.store, mind).await?;
        let id = store::insert(&mut tx, mind, knowledge).await?;
        check_words(&mut tx, mind, std::slice::from_ref(knowledge)).await?;
        store::check_bounds(&mut tx, &mind.id, self.most).await?;
        tx.commit().await?;
        self.get(mind, &id).await
    }

    /// Replaces an entry by one of the same kind that was checked.
    ///
    /// # Errors
    /// `forbidden`, `knowledge_not_found`, `name_taken`, `quota_exceeded`; `invalid_parameter` for another kind.
    pub async fn replace(
        &self,
        caller: &Caller,
        mind: &Mind,
        id: &str,
        knowledge: &Knowledge,
    ) -> Result<Entry> {
        caller.require(Role::Editor)?;
        self.store.check_free_space()?;
        let old = self.get(mind, id).await?;
        require_kind(&old, knowledge)?;
        let mut tx = store::begin(&self.store, mind).await?;
        if !store::replace(&mut tx, &mind.id, id, knowledge).await? {
            return Err(not_found(mind, id));
        }
        check_words(&mut tx, mind, std::slice::from_ref(knowledge)).await?;
        store::check_bounds(&mut tx, &mind.id, self.most).await?;
        tx.commit().await?;
        self.get(mind, id).await
    }

    /// Deletes an entry.
    ///
    /// # Errors
    /// `forbidden`, `knowledge_not_found`
    pub async fn delete(&self, caller: &Caller, mind: &Mind, id: &str) -> Result<()> {
        caller.require(Role::Editor)?;
        match store::delete(&self.store, &mind.id, id).await? {
            true => Ok(()),
            false => Err(not_found(mind, id)),
        }
    }

    /// Stores many entries that were checked: all of them or none.
    ///
    /// # Errors
    /// `forbidden`, `quota_exceeded`, `storage_full`; `invalid_yaml` for a word of another metric.
    pub async fn import(
        &self,
        caller: &Caller,
        mind: &Mind,
        entries: &[Knowledge],
        mode: Mode,
    ) -> Result<Imports> {
        caller.require(Role::Editor)?;
        self.store.check_free_space()?;
        let mut tx = store::begin(&self.store, mind).await?;
        let imports = store::import(&mut tx, mind, entries, mode).await?;
        let words = check_words(&mut tx, mind, entries).await;
        words.map_err(|error| match error.code() {
            Code::NameTaken => Error::new(Code::InvalidYaml, error.message()).param("metrics"),
            _ => error,
        })?;
        store::check_bounds(&mut tx, &mind.id, self.most).await?;
        tx.commit().await?;
        Ok(imports)
    }
}

/// For the checks in the background.
impl KnowledgeBase {
    /// The Minds with knowledge, of all workspaces.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn taught(&self) -> Result<Vec<MindRef>> {
        store::taught(&self.store).await
    }

    /// The entries of a Mind as they are in the store.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn stored(&self, mind: &Mind) -> Result<Vec<Entry>> {
        store::all(self.store.pool(), &mind.id).await
    }

    /// Notes the result of a check: valid, or why not.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn checked(&self, entry: &Entry, stale_reason: Option<&str>) -> Result<Change> {
        store::checked(&self.store, entry, stale_reason).await
    }

    /// Notes the state that all entries of a Mind were checked against.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn note_state(&self, mind: &Mind, state: &str) -> Result<()> {
        store::note_state(&self.store, mind, state).await
    }
}

/// Refuses to change the kind of an entry.
///
/// # Errors
/// `invalid_parameter`
pub fn require_kind(old: &Entry, new: &Knowledge) -> Result<()> {
    if old.knowledge.kind() == new.kind() {
        return Ok(());
    }
    let kind = old.knowledge.kind().as_str();
    let message =
        format!("`kind` cannot change: send '{kind}', or delete the entry and add another");
    Err(Error::invalid("kind", message))
}

/// Refuses new entries that share a word with another metric of the Mind, as its entries are at the end of a change.
async fn check_words(tx: &mut Tx, mind: &Mind, new: &[Knowledge]) -> Result<()> {
    if !new.iter().any(|one| one.kind() == Kind::Metric) {
        return Ok(());
    }
    let stored = store::all(&mut **tx, &mind.id).await?;
    let words = MetricWords::new(&stored);
    new.iter().try_for_each(|one| words.check(one))
}

fn not_found(mind: &Mind, id: &str) -> Error {
    let message = format!(
        "the Mind '{}' has no knowledge '{id}'; `GET /minds/{}/knowledge` lists it",
        mind.name, mind.name
    );
    Error::new(Code::KnowledgeNotFound, message)
}
