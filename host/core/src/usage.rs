//! What keys have used: requests, rows, bytes and model tokens, by key, Mind and day.
//!
//! A [`Tally`] belongs to one request. It is added to the sums when the last reference to it is dropped, so an answer
//! that continues after its client disconnects counts too. The sums are written every second; a host that is killed
//! loses at most that.

pub mod plugins;
mod store;

use std::{
    collections::HashMap,
    mem,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jiff::civil::Date;
use serde::Serialize;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use mindhost_base::{error::Result, locks};
use mindhost_store::Store;

/// How often the sums are written.
const WRITE: Duration = Duration::from_secs(1);

/// What was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Counts {
    /// Requests.
    pub requests: u64,
    /// Rows of results.
    pub rows: u64,
    /// Bytes of answers, before compression.
    pub bytes: u64,
    /// Tokens that models read.
    pub input_tokens: u64,
    /// Tokens that models wrote.
    pub output_tokens: u64,
}

/// The key, Mind and day of some usage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Account {
    workspace: Arc<str>,
    key: Arc<str>,
    /// Empty for usage without a Mind.
    mind: Arc<str>,
    /// Days since 1970-01-01, in UTC.
    day: i64,
}

/// A line of the account: of a key, a Mind and a day, or the sum over some of them.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = UsageLine)]
pub struct Line {
    /// In UTC; null in the sum of a key or a Mind.
    #[schema(required = true)]
    pub day: Option<Date>,
    /// Id of the key; null in the sum of a Mind or a day.
    #[schema(required = true)]
    pub key_id: Option<String>,
    /// Its name.
    #[schema(required = true)]
    pub key_name: Option<String>,
    /// Name of the Mind; its id once it is deleted, null for what is of no Mind, and in the sum of a key or a day.
    #[schema(required = true)]
    pub mind: Option<String>,
    /// What was used.
    #[serde(flatten)]
    pub counts: Counts,
}

/// What lines are summed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// A line for each key, the one with most requests first.
    Key,
    /// A line for each Mind, the one with most requests first.
    Mind,
    /// A line for each day, the newest first.
    Day,
}

/// Which lines to read.
#[derive(Clone, Debug)]
pub struct Span {
    /// The first day.
    pub from: Date,
    /// The last day.
    pub until: Date,
    /// Id of the only key to list; `None` for all keys.
    pub key: Option<String>,
    /// What to sum by; `None` for a line of each key, Mind and day.
    pub group: Option<Group>,
    /// Most lines to return.
    pub limit: u32,
}

/// The account of all keys.
#[derive(Clone, Debug)]
pub struct Usage(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    sums: Mutex<HashMap<Account, Counts>>,
}

/// What one request uses.
#[derive(Debug)]
pub struct Tally {
    usage: Usage,
    workspace: Arc<str>,
    key: Arc<str>,
    mind: OnceLock<Arc<str>>,
    rows: AtomicU64,
    bytes: AtomicU64,
    input_tokens: AtomicU64,
    output_tokens: AtomicU64,
}

impl Usage {
    /// Call [`Self::start`] to write the sums.
    pub fn new(store: Store) -> Self {
        Self(Arc::new(Inner {
            store,
            sums: Mutex::default(),
        }))
    }

    /// Writes the sums periodically until `ending`. After that, call [`Self::write`] once more.
    pub fn start(&self, tasks: &TaskTracker, ending: CancellationToken) {
        let usage = self.clone();
        tasks.spawn(async move {
            let write = async {
                loop {
                    tokio::time::sleep(WRITE).await;
                    usage.write().await;
                }
            };
            ending.run_until_cancelled(write).await
        });
    }

    /// The tally of a new request.
    pub fn tally(&self, workspace: Arc<str>, key: Arc<str>) -> Tally {
        Tally {
            usage: self.clone(),
            workspace,
            key,
            mind: OnceLock::new(),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            input_tokens: AtomicU64::new(0),
            output_tokens: AtomicU64::new(0),
        }
    }

    /// Writes the sums. If that fails they are kept for the next time.
    pub async fn write(&self) {
        let sums = mem::take(&mut *locks::lock(&self.0.sums));
        if sums.is_empty() {
            return;
        }
        if let Err(error) = store::add(&self.0.store, &sums).await {
            tracing::warn!(cause = ?std::error::Error::source(&error), "the usage cannot be written yet");
            for (who, counts) in sums {
                self.add(who, counts);
            }
        }
    }

    /// Lines of a workspace, newest day first or as their [`Group`] says, and whether there are more than asked for.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn read(&self, workspace: &str, span: &Span) -> Result<(Vec<Line>, bool)> {
        self.write().await;
        let mut lines = store::read(&self.0.store, workspace, span).await?;
        let more = lines.len() > span.limit as usize;
        lines.truncate(span.limit as usize);
        Ok((lines, more))
    }

    fn add(&self, who: Account, counts: Counts) {
        let mut sums = locks::lock(&self.0.sums);
        let sum = sums.entry(who).or_default();
        sum.requests += counts.requests;
        sum.rows += counts.rows;
        sum.bytes += counts.bytes;
        sum.input_tokens += counts.input_tokens;
        sum.output_tokens += counts.output_tokens;
    }
}

impl Tally {
    /// Sets the Mind; only the first call counts.
    pub fn mind(&self, id: &str) {
        self.mind.get_or_init(|| id.into());
    }

    /// The id of the Mind that was asked.
    pub fn asked(&self) -> Option<Arc<str>> {
        self.mind.get().cloned()
    }

    /// Adds rows of a result that were sent.
    pub fn rows(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Adds bytes of the response that were sent.
    pub fn bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds tokens that a model read and wrote.
    pub fn tokens(&self, input: u64, output: u64) {
        self.input_tokens.fetch_add(input, Ordering::Relaxed);
        self.output_tokens.fetch_add(output, Ordering::Relaxed);
    }
}

/// Days since 1970-01-01, in UTC.
fn today() -> i64 {
    mindhost_store::now().div_euclid(24 * 60 * 60 * 1_000_000)
}

impl Drop for Tally {
    fn drop(&mut self) {
        let who = Account {
            workspace: self.workspace.clone(),
            key: self.key.clone(),
            mind: self.mind.get().cloned().unwrap_or_else(|| "".into()),
            day: today(),
        };
        let counts = Counts {
            requests: 1,
            rows: *self.rows.get_mut(),
            bytes: *self.bytes.get_mut(),
            input_tokens: *self.input_tokens.get_mut(),
            output_tokens: *self.output_tokens.get_mut(),
        };
        self.usage.add(who, counts);
    }
}
