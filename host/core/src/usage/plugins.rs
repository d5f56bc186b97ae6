//! The usage of plugins, by version, target and day. The meters of the plugins count it; this sums the increments and
//! writes them every few seconds. A host that is killed loses at most that.

mod store;

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex},
    time::Duration,
};

use jiff::civil::Date;
use serde::Serialize;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::today;
use mindhost_base::{error::Result, locks};
use mindhost_runtime::{
    ids::{TargetId, VersionId},
    meter::{Figures, Meters, UsageDelta},
};
use mindhost_store::Store;

/// How often the sums are written.
const WRITE: Duration = Duration::from_secs(5);
/// Older days are deleted.
const RETENTION_DAYS: i64 = 400;

/// The account of all plugins.
#[derive(Clone, Debug)]
pub struct PluginUsage(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    meters: Option<Arc<Meters>>,
    sums: Mutex<HashMap<Account, Figures>>,
}

/// The version, target and day of some usage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Account {
    version: VersionId,
    target: TargetId,
    /// Days since 1970-01-01, in UTC.
    day: i64,
}

/// A line of the account.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = PluginUsageLine)]
pub struct Line {
    /// In UTC.
    pub day: Date,
    /// The version of the plugin.
    pub version: String,
    /// SHA-256 of its file.
    pub digest: String,
    /// Id of the datasource or provider.
    pub target_id: String,
    /// Its name, when it was used last on that day.
    pub target: String,
    /// Name of its workspace.
    pub workspace: String,
    /// What was used.
    pub figures: Figures,
}

/// Which lines to read.
#[derive(Clone, Debug)]
pub struct Span {
    /// The `name` in the plugin's manifest; lines of all its versions are read.
    pub plugin: String,
    /// The first day.
    pub from: Date,
    /// The last day.
    pub until: Date,
    /// Most lines to return.
    pub limit: u32,
}

impl PluginUsage {
    /// Reads these meters.
    pub fn new(store: Store, meters: Option<Arc<Meters>>) -> Self {
        Self(Arc::new(Inner {
            store,
            meters,
            sums: Mutex::default(),
        }))
    }

    /// Writes the increments periodically until `ending`. After that, call [`Self::write`] once more.
    pub fn start(&self, tasks: &TaskTracker, ending: CancellationToken) {
        let usage = self.clone();
        tasks.spawn(async move {
            let write = async {
                let mut swept = 0;
                loop {
                    tokio::time::sleep(WRITE).await;
                    usage.write().await;
                    if swept != today() {
                        swept = today();
                        usage.sweep(swept - RETENTION_DAYS).await;
                    }
                }
            };
            ending.run_until_cancelled(write).await
        });
    }

    /// Writes the increments. If that fails they are kept for the next time.
    pub async fn write(&self) {
        let news = self.0.meters.as_ref().map(|meters| meters.take_news());
        self.add(news.unwrap_or_default());
        let sums = mem::take(&mut *locks::lock(&self.0.sums));
        if sums.is_empty() {
            return;
        }
        if let Err(error) = store::add(&self.0.store, &sums).await {
            tracing::warn!(cause = ?std::error::Error::source(&error), "the usage of plugins cannot be written yet");
            let mut kept = locks::lock(&self.0.sums);
            for (who, figures) in sums {
                kept.entry(who).or_default().add(&figures);
            }
        }
    }

    fn add(&self, news: Vec<UsageDelta>) {
        let day = today();
        let mut sums = locks::lock(&self.0.sums);
        for one in news {
            let who = Account {
                version: one.version,
                target: one.target,
                day,
            };
            sums.entry(who).or_default().add(&one.figures);
        }
    }

    async fn sweep(&self, before: i64) {
        if let Err(error) = store::delete(&self.0.store, before).await {
            tracing::warn!(cause = ?std::error::Error::source(&error), "old usage of plugins cannot be deleted yet");
        }
    }

    /// Lines of a plugin, newest day first, and whether there are more than asked for.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn read(&self, span: &Span) -> Result<(Vec<Line>, bool)> {
        self.write().await;
        let mut lines = store::read(&self.0.store, span).await?;
        let more = lines.len() > span.limit as usize;
        lines.truncate(span.limit as usize);
        Ok((lines, more))
    }
}
