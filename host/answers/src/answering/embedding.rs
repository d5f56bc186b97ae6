//! Vectors of tables, from the plugin of a Mind's provider, so that tables are found by meaning too.
//!
//! An answer never waits for the vectors of tables: they are made in the background, when a catalog that does not fit
//! into a prompt is first asked about, and kept in memory by the digest of their texts. Until they are all there, and
//! where the vendor fails or is slow, words alone lead to tables.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use sha2::{Digest, Sha256};
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use mindhost_base::{
    error::{Code, Error, Kind, Result},
    locks::lock,
};
use mindhost_plugin_api::{Call, Model, Target};
use mindhost_retrieval::{self as retrieval, Index};

/// The setting of a provider that names the vendor's model.
const SETTING: &str = "embedding_model";
/// Tables of a catalog at most; those of a larger one are not embedded.
const MAX_TABLES: usize = 5_000;
/// Numbers of all vectors that are kept: 64 MiB.
const MAX_NUMBERS: usize = 16 << 20;
/// Texts of one call.
const BATCH: usize = 64;
/// How long a call for tables may take, and all calls for a catalog.
const BATCH_TIMEOUT: Duration = Duration::from_secs(60);
const CATALOG_TIMEOUT: Duration = Duration::from_secs(600);
/// How long an answer waits for the vector of its question.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a vendor that failed is not asked again.
const PAUSE: Duration = Duration::from_secs(60);

/// SHA-256.
type Hash = [u8; 32];

/// Who makes vectors: the model of a provider, with what names it.
#[derive(Clone)]
pub struct Embedder {
    model: Arc<dyn Model>,
    target: Target,
    /// The vendor's name of it.
    name: String,
    /// Of all that its vectors depend on.
    hash: Hash,
}

impl Embedder {
    /// The embedder of a provider; `None` if its plugin makes no vectors, or it names no model for them.
    pub fn of(model: &Arc<dyn Model>, target: &Target) -> Option<Self> {
        let name = target.connection_data.get(SETTING)?.as_str()?;
        if name.is_empty() || !model.manifest().has_embeddings() {
            return None;
        }
        let mut hash = Sha256::new();
        hash.update(&target.id);
        for (name, value) in target.connection_data.iter() {
            hash.update(format!("\n{name}={value}"));
        }
        Some(Self {
            model: Arc::clone(model),
            target: target.clone(),
            name: name.to_owned(),
            hash: hash.finalize().into(),
        })
    }

    async fn embed(&self, texts: &[String], call: &Call) -> Result<Vec<Vec<f32>>> {
        self.model
            .embed(&self.target, &self.name, texts, call)
            .await
    }

    fn warn(&self, error: &Error) {
        let provider = &self.target.name;
        tracing::warn!(provider, %error, "no vectors; words alone lead to tables for a minute");
    }
}

/// What orders the tables of an answer by meaning.
pub struct Meaning<'a> {
    /// Those of this host.
    pub vectors: &'a Arc<TableVectors>,
    /// Of the provider that answers.
    pub embedder: Embedder,
    /// The caller's.
    pub call: Call,
}

impl Meaning<'_> {
    /// As [`TableVectors::nearest`].
    pub async fn nearest(&self, index: &Arc<Index>, question: &str) -> Vec<u32> {
        let question = question.to_owned();
        self.vectors
            .nearest(&self.embedder, index, question, &self.call)
            .await
    }
}

/// A text of a table, with the hash of it and its embedder.
type TableText = (Hash, String);

/// The vectors of tables that this host has, of all providers.
pub struct TableVectors {
    state: Mutex<State>,
    tasks: TaskTracker,
    ending: CancellationToken,
}

#[derive(Default)]
struct State {
    vectors: HashMap<Hash, Arc<[f32]>>,
    /// In all vectors.
    numbers: usize,
    /// By embedder: what keeps it from being asked for tables.
    busy: HashMap<Hash, Busy>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Busy {
    /// It makes those of a catalog.
    Embedding,
    /// It failed.
    PausedUntil(Instant),
}

impl TableVectors {
    /// None yet. Background work runs in `tasks` and stops when `ending` is cancelled.
    pub fn new(tasks: &TaskTracker, ending: &CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            tasks: tasks.clone(),
            ending: ending.clone(),
        })
    }

    /// The numbers of all tables of an index, those nearest to the question first; none if that is not known.
    async fn nearest(
        self: &Arc<Self>,
        embedder: &Embedder,
        index: &Arc<Index>,
        question: String,
        call: &Call,
    ) -> Vec<u32> {
        if index.tables().len() > MAX_TABLES || self.is_paused(embedder) {
            return Vec::new();
        }
        let (source, index) = (embedder.hash, Arc::clone(index));
        let texts = tokio::task::spawn_blocking(move || texts(&index, source)).await;
        let vectors = match texts.map(|texts| self.known(texts)) {
            Ok(Ok(vectors)) => vectors,
            Ok(Err(missing)) => {
                self.embed_in_background(embedder, missing);
                return Vec::new();
            }
            Err(_) => return Vec::new(),
        };
        let call = call.within(QUESTION_TIMEOUT);
        match embedder.embed(&[question], &call).await {
            Ok(question) => {
                let order = move || retrieval::nearest(&question[0], &vectors);
                tokio::task::spawn_blocking(order).await.unwrap_or_default()
            }
            Err(error) => {
                if error.kind() != Kind::Cancelled {
                    embedder.warn(&error);
                    self.pause(embedder);
                }
                Vec::new()
            }
        }
    }

    fn is_paused(&self, embedder: &Embedder) -> bool {
        let state = lock(&self.state);
        let busy = state.busy.get(&embedder.hash);
        matches!(busy, Some(Busy::PausedUntil(end)) if *end > Instant::now())
    }

    fn pause(&self, embedder: &Embedder) {
        let end = Busy::PausedUntil(Instant::now() + PAUSE);
        lock(&self.state).busy.insert(embedder.hash, end);
    }

    /// The vectors of all texts, in order.
    ///
    /// # Errors
    /// The texts that have none.
    fn known(&self, texts: Vec<TableText>) -> Result<Vec<Arc<[f32]>>, Vec<TableText>> {
        let state = lock(&self.state);
        let known = texts.iter().map(|(hash, _)| state.vectors.get(hash));
        let known: Option<Vec<_>> = known.map(|vector| vector.cloned()).collect();
        if let Some(vectors) = known {
            return Ok(vectors);
        }
        let is_missing = |(hash, _): &TableText| !state.vectors.contains_key(hash);
        Err(texts.into_iter().filter(is_missing).collect())
    }

    /// Begins to embed texts, unless the embedder is at work for a catalog already.
    fn embed_in_background(self: &Arc<Self>, embedder: &Embedder, texts: Vec<TableText>) {
        let mut state = lock(&self.state);
        let now = Instant::now();
        state.busy.retain(|_, busy| match busy {
            Busy::Embedding => true,
            Busy::PausedUntil(end) => *end > now,
        });
        if state.busy.contains_key(&embedder.hash) {
            return;
        }
        state.busy.insert(embedder.hash, Busy::Embedding);
        drop(state);
        let work = Work {
            vectors: Arc::clone(self),
            embedder: embedder.clone(),
        };
        self.tasks.spawn(work.run(texts));
    }

    /// Keeps vectors. If there are too many, those of before are dropped.
    fn keep(&self, hashes: impl Iterator<Item = Hash>, vectors: Vec<Vec<f32>>) {
        let mut state = lock(&self.state);
        let more: usize = vectors.iter().map(Vec::len).sum();
        if state.numbers + more > MAX_NUMBERS {
            state.vectors.clear();
            state.numbers = 0;
        }
        state.numbers += more;
        state
            .vectors
            .extend(hashes.zip(vectors.into_iter().map(Arc::from)));
    }
}

/// The embedding of a catalog. However it ends, another one can begin, after a failure not at once.
struct Work {
    vectors: Arc<TableVectors>,
    embedder: Embedder,
}

impl Work {
    async fn run(self, texts: Vec<TableText>) {
        let timeout = Error::new(Code::Timeout, "the tables of a catalog took too long");
        let embedded = tokio::time::timeout(CATALOG_TIMEOUT, self.embed(&texts)).await;
        match embedded.unwrap_or(Err(timeout)) {
            Ok(()) => {
                lock(&self.vectors.state).busy.remove(&self.embedder.hash);
            }
            Err(error) => self.embedder.warn(&error),
        }
    }

    async fn embed(&self, texts: &[TableText]) -> Result<()> {
        let mut numbers = 0;
        for batch in texts.chunks(BATCH) {
            let call = Call::new(BATCH_TIMEOUT, self.vectors.ending.child_token());
            let asked: Vec<String> = batch.iter().map(|(_, text)| text.clone()).collect();
            let vectors = self.embedder.embed(&asked, &call).await?;
            numbers += vectors.iter().map(Vec::len).sum::<usize>();
            if numbers > MAX_NUMBERS {
                let message = "the vectors of this catalog are too large to be kept";
                return Err(Error::new(Code::UpstreamError, message));
            }
            self.vectors
                .keep(batch.iter().map(|(hash, _)| *hash), vectors);
        }
        Ok(())
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let mut state = lock(&self.vectors.state);
        if let Some(busy) = state.busy.get_mut(&self.embedder.hash)
            && *busy == Busy::Embedding
        {
            *busy = Busy::PausedUntil(Instant::now() + PAUSE);
        }
    }
}

fn texts(index: &Index, source: Hash) -> Vec<TableText> {
    let text = |table| {
        let text = index.embedded_text(table);
        let hash = Sha256::new().chain_update(source).chain_update(&text);
        (hash.finalize().into(), text)
    };
    (0..index.tables().len()).map(text).collect()
}

#[cfg(test)]
mod tests;
