//! Knowledge of Minds in use: it is checked with the guard and the engine before it is stored, and again when the
//! catalog or the Mind changes; and models are told what fits a question.

mod check;
mod names;
mod of_tables;
mod recheck;
mod relevant;
mod told;
mod words;

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::check::Checker;
pub use self::told::Told;
use crate::results::{Access, Results};
use mindhost_base::error::{Code, Error, Result};
use mindhost_catalog::Catalog;
use mindhost_core::{
    auth::{Caller, Role},
    knowledge::{
        Entry, Imports, Kind, Knowledge, KnowledgeBase, Mode, Status, require_kind, word_key,
        yaml::DocumentEntry,
    },
    minds::{Mind, Minds},
};
use mindhost_plugin_api::Call;
use mindhost_sql::guard::Scope;

/// How long the check of one entry may take, the wait for a connection included.
const CHECK: Duration = Duration::from_secs(20);
/// How long the checks of an import may take.
const CHECK_ALL: Duration = Duration::from_secs(120);
/// Entries of an import that are checked at the same time.
const CHECKS_AT_ONCE: usize = 4;

/// What the knowledge of Minds is checked with.
pub struct Services {
    /// Holds the entries of all Minds.
    pub base: KnowledgeBase,
    /// Finds the Mind that the knowledge belongs to.
    pub minds: Arc<Minds>,
    /// Catalogs, whose changes make checks necessary.
    pub catalog: Arc<Catalog>,
    /// Checks that statements of entries run.
    pub results: Results,
    /// Cancelled when the server begins to end.
    pub ending: CancellationToken,
}

/// The knowledge of Minds. Each entry is checked against the data before it is stored, and again in the background.
#[derive(Clone)]
pub struct CheckedKnowledge(Arc<Services>);

impl CheckedKnowledge {
    /// Also starts the checks in the background, as one of `tasks`.
    pub fn start(parts: Services, tasks: &TaskTracker) -> Self {
        let this = Self(Arc::new(parts));
        let worker = this.clone();
        tasks.spawn(async move { recheck::run(&worker.0).await });
        this
    }

    /// What is stored, for reading.
    pub fn base(&self) -> &KnowledgeBase {
        &self.0.base
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// `forbidden`, `name_taken`, `quota_exceeded`; why the entry does not work, with the field in `param`; those of an
    /// engine that cannot be asked.
    pub async fn add(&self, caller: &Caller, mind: &Arc<Mind>, new: &Knowledge) -> Result<Entry> {
        caller.require(Role::Editor)?;
        self.check(caller, mind, new).await?;
        self.0.base.add(caller, mind, new).await
    }

    /// Replaces an entry by another one of its kind.
    ///
    /// # Errors
    /// As [`Self::add`], and `knowledge_not_found`.
    pub async fn replace(
        &self,
        caller: &Caller,
        mind: &Arc<Mind>,
        id: &str,
        new: &Knowledge,
    ) -> Result<Entry> {
        caller.require(Role::Editor)?;
        require_kind(&self.0.base.get(mind, id).await?, new)?;
        self.check(caller, mind, new).await?;
        self.0.base.replace(caller, mind, id, new).await
    }

    /// Checks all entries of a document and stores all of them, or none.
    ///
    /// # Errors
    /// As [`Self::add`], with the line and name of the entry in the message.
    pub async fn import(
        &self,
        caller: &Caller,
        mind: &Arc<Mind>,
        entries: &[DocumentEntry],
        mode: Mode,
    ) -> Result<Imports> {
        caller.require(Role::Editor)?;
        refuse_doubles(entries)?;
        let access = self.0.results.access(mind, &caller.attributes).await?;
        let call = self.call(caller, CHECK_ALL);
        for some in entries.chunks(CHECKS_AT_ONCE) {
            let checks = some
                .iter()
                .map(|entry| self.check_with(&access, &entry.knowledge, &call));
            for (entry, checked) in some.iter().zip(join_all(checks).await) {
                checked.map_err(|error| entry.to_blame(&error))?;
            }
        }
        let entries: Vec<Knowledge> = entries.iter().map(|one| one.knowledge.clone()).collect();
        self.0.base.import(caller, mind, &entries, mode).await
    }

    async fn check(&self, caller: &Caller, mind: &Arc<Mind>, new: &Knowledge) -> Result<()> {
        let access = self.0.results.access(mind, &caller.attributes).await?;
        self.check_with(&access, new, &self.call(caller, CHECK))
            .await
    }

    async fn check_with(&self, access: &Arc<Access>, new: &Knowledge, call: &Call) -> Result<()> {
        let results = &self.0.results;
        let call = &call.within(CHECK);
        Checker {
            results,
            access,
            call,
        }
        .check(new)
        .await
    }

    fn call(&self, caller: &Caller, timeout: Duration) -> Call {
        let call = Call::new(timeout, self.0.ending.child_token());
        call.for_key(caller.key_id.clone())
    }

    /// What a model is told for a question: at most `tokens`, estimated at four bytes each; empty if there is nothing.
    /// Metrics and terms of the `earlier` questions belong to it: "and by month?" asks for them again.
    ///
    /// An entry that does not fit is left out, in this order: the verified query of the very question, instructions,
    /// metrics, terms, relationships, similar verified queries.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn told(
        &self,
        mind: &Mind,
        question: &str,
        earlier: &str,
        tokens: usize,
    ) -> Result<Told> {
        let all = self.0.base.all(mind).await?;
        let valid = all.iter().filter(|entry| entry.status == Status::Valid);
        let valid: Vec<&Knowledge> = valid.map(|entry| &entry.knowledge).collect();
        Ok(told::text(
            &relevant::choose(&valid, question, earlier),
            tokens,
        ))
    }

    /// What the Mind was taught about the tables of a scope, for finding them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn of_tables(
        &self,
        mind: &Mind,
        scope: &Scope,
    ) -> Result<Arc<mindhost_retrieval::Knowledge>> {
        let all = self.0.base.all(mind).await?;
        let valid = all.iter().filter(|entry| entry.status == Status::Valid);
        let valid: Vec<&Knowledge> = valid.map(|entry| &entry.knowledge).collect();
        Ok(Arc::new(of_tables::read(&valid, scope)))
    }
}

/// Refuses a document that has a name twice, or a word of two metrics: which of them it means is not clear.
fn refuse_doubles(entries: &[DocumentEntry]) -> Result<()> {
    let mut seen: HashMap<(Kind, String), u64> = HashMap::new();
    for entry in entries {
        let key = (entry.knowledge.kind(), entry.knowledge.name_key());
        if let Some(first) = seen.insert(key, entry.line) {
            let message = format!("duplicate name (first on line {first}); names must be unique");
            return Err(entry.to_blame(&Error::new(Code::InvalidYaml, message)));
        }
    }
    let mut words: HashMap<String, (usize, u64)> = HashMap::new();
    for (at, entry) in entries.iter().enumerate() {
        let Knowledge::Metric(metric) = &entry.knowledge else {
            continue;
        };
        for (param, word) in metric.words() {
            let first = words.insert(word_key(word), (at, entry.line));
            if let Some((_, line)) = first.filter(|(first, _)| *first != at) {
                let message = format!(
                    "`{param}`: a word of the metric on line {line}; a word may belong to one metric"
                );
                return Err(entry.to_blame(&Error::new(Code::InvalidYaml, message)));
            }
        }
    }
    Ok(())
}
