//! Vectors of tables, from the plugin of a Mind's provider, so that tables are found by meaning too.
//!
//! An answer never waits for the vectors of tables: they are made in the background, when a catalog that does not fit
//! into a prompt is asked about, and kept in memory by the digest of their texts. Until they are all there, and where
//! the vendor fails or is slow, words alone lead to tables.

mod kept;

use std::{
    slice,
    sync::{Arc, Mutex},
    time::Duration,
};

use sha2::{Digest, Sha256};
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use mindhost_base::{
    error::{Blame, Code, Error, Kind, Result},
    locks::lock,
};
use mindhost_plugin_api::{Call, Model, Target};
use mindhost_retrieval::{self as retrieval, Index};

use kept::{Hash, Kept, LONGEST_PAUSE, Numbers};

/// The setting of a provider that names the vendor's model.
const SETTING: &str = "embedding_model";
/// Tables of a catalog at most; those of a larger one are not embedded.
const MAX_TABLES: usize = 5_000;
/// Texts of one call.
const BATCH: usize = 32;
/// How long a call for tables may take.
const BATCH_TIMEOUT: Duration = Duration::from_secs(30);
/// How long tables are embedded because of one question. The next one goes on, with the provider as it is then.
const RUN: Duration = Duration::from_secs(60);
/// How long an answer waits for the vector of its question.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(2);
/// Characters of a question that are embedded, as of a table.
const QUESTION: usize = 4_000;

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
        hash.update(model.digest());
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

    fn warn(&self, why: &str, pause: Duration) {
        let (provider, seconds) = (&self.target.name, pause.as_secs());
        tracing::warn!(
            provider,
            why,
            seconds,
            "no vectors; words alone lead to tables for a while"
        );
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
        self.vectors
            .nearest(&self.embedder, index, question, &self.call)
            .await
    }
}

/// A text of a table, with the hash of it and its embedder.
type TableText = (Hash, String);

/// The vectors of tables that this host has, of all providers.
pub struct TableVectors {
    kept: Mutex<Kept>,
    tasks: TaskTracker,
    ending: CancellationToken,
}

impl TableVectors {
    /// None yet. Background work runs in `tasks` and stops when `ending` is cancelled.
    pub fn new(tasks: &TaskTracker, ending: &CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            kept: Mutex::default(),
            tasks: tasks.clone(),
            ending: ending.clone(),
        })
    }

    /// The numbers of the tables of an index, those nearest to the question first; none if that is not known.
    async fn nearest(
        self: &Arc<Self>,
        embedder: &Embedder,
        index: &Arc<Index>,
        question: &str,
        call: &Call,
    ) -> Vec<u32> {
        let is_small = index.tables().len() <= MAX_TABLES;
        let has_time = call.remaining() > QUESTION_TIMEOUT;
        if !is_small || !has_time || lock(&self.kept).is_waiting(&embedder.hash, Instant::now()) {
            return Vec::new();
        }
        let (source, index) = (embedder.hash, Arc::clone(index));
        let Ok(texts) = tokio::task::spawn_blocking(move || texts(&index, source)).await else {
            return Vec::new();
        };
        let hashes = texts.iter().map(|(hash, _)| hash);
        let known = lock(&self.kept).vectors(&embedder.hash, hashes, Instant::now());
        let Some(vectors) = known else {
            self.embed_in_background(embedder, texts);
            return Vec::new();
        };
        let question: String = question.chars().take(QUESTION).collect();
        let call = call.within(QUESTION_TIMEOUT);
        match embedder.embed(&[question], &call).await {
            Ok(question) => self.order(embedder, question, vectors).await,
            // The vendor is not to blame for a question that is too long for it, or for a caller that asks too often.
            Err(error) if is_too_long(&error) || error.blame() == Some(Blame::Host) => Vec::new(),
            Err(error) => {
                self.fail(embedder, &error);
                Vec::new()
            }
        }
    }

    async fn order(
        &self,
        embedder: &Embedder,
        question: Vec<Vec<f32>>,
        vectors: Vec<Numbers>,
    ) -> Vec<u32> {
        let order = move || {
            let question = question.first().map(Vec::as_slice).unwrap_or_default();
            retrieval::nearest(question, &vectors)
        };
        let order = tokio::task::spawn_blocking(order).await.unwrap_or_default();
        if order.is_empty() {
            // The vendor has another model under the name of before.
            lock(&self.kept).forget(&embedder.hash);
            let error = Error::new(
                Code::UpstreamError,
                "the vector of the question cannot be compared with those of the tables",
            );
            self.fail(embedder, &error);
        }
        order
    }

    /// Does not ask the vendor for a while, and longer each time.
    fn fail(&self, embedder: &Embedder, error: &Error) {
        if error.kind() != Kind::Cancelled {
            let pause = lock(&self.kept).fail(embedder.hash, Instant::now());
            embedder.warn(&error.to_string(), pause);
        }
    }

    /// Begins to embed the texts that have no vector, unless the embedder is at work already.
    fn embed_in_background(self: &Arc<Self>, embedder: &Embedder, texts: Vec<TableText>) {
        let mut kept = lock(&self.kept);
        if !kept.begin(embedder.hash, Instant::now()) {
            return;
        }
        let is_missing = |(hash, _): &TableText| !kept.has(&embedder.hash, hash);
        let missing: Vec<TableText> = texts.into_iter().filter(is_missing).collect();
        drop(kept);
        let work = Work {
            vectors: Arc::clone(self),
            embedder: embedder.clone(),
        };
        self.tasks.spawn(work.run(missing));
    }
}

/// The embedding of a catalog. However it ends, another one can begin, after a failure not at once.
struct Work {
    vectors: Arc<TableVectors>,
    embedder: Embedder,
}

impl Work {
    async fn run(self, texts: Vec<TableText>) {
        let end = Instant::now() + RUN;
        let mut rest = texts.as_slice();
        while !rest.is_empty() && Instant::now() < end {
            let (batch, later) = rest.split_at(BATCH.min(rest.len()));
            rest = later;
            let vectors = match self.embed(batch).await {
                Ok(vectors) => vectors,
                Err(error) => return self.vectors.fail(&self.embedder, &error),
            };
            let hashes = batch.iter().map(|(hash, _)| *hash);
            let vectors = hashes.zip(vectors);
            let now = Instant::now();
            let has_room =
                lock(&self.vectors.kept).keep(self.embedder.hash, vectors, rest.len(), now);
            if !has_room {
                let why = "there is no room for the vectors of this catalog";
                return self.embedder.warn(why, LONGEST_PAUSE);
            }
        }
        lock(&self.vectors.kept).succeed(&self.embedder.hash);
    }

    /// The vectors of a batch. A text that is too long for the vendor has none, which is like no question.
    async fn embed(&self, batch: &[TableText]) -> Result<Vec<Vec<f32>>> {
        match self.ask(batch).await {
            Err(error) if is_too_long(&error) && batch.len() > 1 => {
                let mut vectors = Vec::with_capacity(batch.len());
                for one in batch {
                    match self.ask(slice::from_ref(one)).await {
                        Err(error) if is_too_long(&error) => vectors.push(Vec::new()),
                        asked => vectors.extend(asked?),
                    }
                }
                Ok(vectors)
            }
            Err(error) if is_too_long(&error) => Ok(vec![Vec::new(); batch.len()]),
            asked => asked,
        }
    }

    async fn ask(&self, batch: &[TableText]) -> Result<Vec<Vec<f32>>> {
        let call = Call::new(BATCH_TIMEOUT, self.vectors.ending.child_token());
        let texts: Vec<String> = batch.iter().map(|(_, text)| text.clone()).collect();
        self.embedder.embed(&texts, &call).await
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        lock(&self.vectors.kept).end(&self.embedder.hash);
    }
}

fn is_too_long(error: &Error) -> bool {
    error.code() == Code::ContextLengthExceeded
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
