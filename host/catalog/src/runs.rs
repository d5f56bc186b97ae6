//! Working off runs: in the background, a bounded number at a time, each claimed by one host.
//!
//! A run that a host left (killed, or shut down) is taken up again, here or by another host on the same store,
//! where it was left: a table is either done or not. A host that works on a run says so every few seconds;
//! silence for longer means that it is gone.

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::FutureExt;
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, watch},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Engines, Source,
    load::{Ended, Loader},
    store::{Beat, CatalogStore},
    types::{Run, RunStatus, Status},
};
use mindhost_base::{
    config,
    error::{Error, Result},
    locks::lock,
};
use mindhost_plugin_api::{Call, TableRef};
use mindhost_store::{new_id, now};

/// Runs that this host works on at the same time.
const AT_ONCE: usize = 4;
/// How often a host says that it still works on a run.
const BEAT: Duration = Duration::from_secs(2);
/// After so long without that, another host may take the run.
const SILENCE: Duration = Duration::from_secs(20);
/// How often a host looks for runs that nobody told it of.
const LOOK: Duration = Duration::from_secs(5);
/// How often someone who waits looks at runs of other hosts.
const GLANCE: Duration = Duration::from_millis(500);

/// Works off the runs of the store.
pub struct Runner {
    store: CatalogStore,
    engines: Arc<dyn Engines>,
    settings: config::Catalog,
    /// Names this process among the hosts of the store.
    host: String,
    ending: CancellationToken,
    tasks: TaskTracker,
    work: Notify,
    ended: watch::Sender<()>,
    under_way: Mutex<HashMap<String, CancellationToken>>,
    places: Arc<Semaphore>,
}

impl Runner {
    /// Does nothing until started. Work ends when `ending` is cancelled, and is counted in `tasks`.
    pub fn new(
        store: CatalogStore,
        engines: Arc<dyn Engines>,
        settings: config::Catalog,
        ending: CancellationToken,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            store,
            engines,
            settings,
            host: new_id(),
            ending,
            tasks,
            work: Notify::new(),
            ended: watch::Sender::new(()),
            under_way: Mutex::default(),
            places: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Starts looking for work.
    pub async fn start(self: &Arc<Self>) -> Result<()> {
        if self.store.is_exclusive() {
            self.store.release_all().await?;
        }
        let runner = self.clone();
        self.tasks.spawn(async move {
            let ending = runner.ending.clone();
            ending.run_until_cancelled(runner.look_for_work()).await;
        });
        Ok(())
    }

    /// Says that there may be work.
    pub fn wake(&self) {
        self.work.notify_one();
    }

    /// Stops those of these runs that this host works on. Other hosts learn it when they next say that they live.
    pub fn cancel(&self, run_ids: &[String]) {
        let under_way = lock(&self.under_way);
        run_ids
            .iter()
            .filter_map(|id| under_way.get(id))
            .for_each(CancellationToken::cancel);
        drop(under_way);
        self.ended.send_replace(());
    }

    /// Waits until none of these runs is active, at most until `deadline`.
    pub async fn wait(&self, run_ids: &[String], deadline: Instant) -> Result<()> {
        let mut ended = self.ended.subscribe();
        while Instant::now() < deadline && self.store.any_active(run_ids).await? {
            tokio::select! {
                _ = ended.changed() => {}
                () = sleep(GLANCE) => {}
                () = sleep_until(deadline) => {}
                () = self.ending.cancelled() => break,
            }
        }
        Ok(())
    }

    /// The tables that a datasource has now.
    pub async fn list(&self, source: Source<'_>) -> Result<Vec<TableRef>> {
        let call = Call::new(self.settings.check_timeout, self.ending.child_token());
        let (connector, target) = self.engines.engine(source.workspace, source.id).await?;
        let mut connection = connector.connect(&target, &call).await?;
        connection.tables(&call).await
    }

    async fn look_for_work(self: &Arc<Self>) {
        loop {
            let Ok(place) = self.places.clone().acquire_owned().await else {
                return;
            };
            let silent_since = now() - i64::try_from(SILENCE.as_micros()).unwrap_or(i64::MAX);
            match self.store.claim(&self.host, silent_since).await {
                Ok(Some(run)) => {
                    self.tasks.spawn(self.clone().work_on(run, place));
                    continue;
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(cause = ?std::error::Error::source(&error), "cannot look for catalog runs")
                }
            }
            drop(place);
            tokio::select! {
                () = self.work.notified() => {}
                () = sleep(LOOK) => {}
            }
        }
    }

    async fn work_on(self: Arc<Self>, run: Run, _place: OwnedSemaphorePermit) {
        let cancel = self.ending.child_token();
        let _under_way = UnderWay::enter(&self, &run.id, &cancel);
        tracing::info!(
            run = run.id,
            datasource = run.datasource_id,
            mode = run.mode.as_str(),
            "catalog run begins"
        );
        let loader = Loader {
            store: &self.store,
            engines: &*self.engines,
            settings: &self.settings,
            host: &self.host,
            run: &run,
            cancel: &cancel,
        };
        // One that panics ends: it would do so again.
        let load = AssertUnwindSafe(loader.load()).catch_unwind();
        let ended = tokio::select! {
            ended = load => ended.unwrap_or_else(|_| Ended::Failed(Error::internal("a catalog run panicked"))),
            ended = self.keep_alive(&run, &cancel) => ended,
        };
        if let Err(error) = self.end(&run, ended).await {
            // Nobody says any more that this run is alive, so it is taken up again later.
            tracing::error!(run = run.id, cause = ?std::error::Error::source(&error), "a catalog run could not be ended");
        }
    }

    /// Never ends while the run goes on; a request to stop goes to the work through `cancel`.
    async fn keep_alive(&self, run: &Run, cancel: &CancellationToken) -> Ended {
        loop {
            sleep(BEAT).await;
            match self.store.beat(&run.id, &self.host).await {
                Ok(Beat::GoOn) => {}
                Ok(Beat::CancelRequested) => cancel.cancel(),
                Ok(Beat::Lost) => return Ended::Lost,
                Err(error) => {
                    tracing::warn!(run = run.id, cause = ?std::error::Error::source(&error), "a catalog run could not be kept alive");
                }
            }
        }
    }

    async fn end(&self, run: &Run, ended: Ended) -> Result<()> {
        let (status, error) = match ended {
            Ended::Lost => {
                tracing::info!(run = run.id, "catalog run was taken away or deleted");
                return Ok(());
            }
            Ended::Cancelled if self.ending.is_cancelled() => {
                return self.store.release(&run.id, &self.host).await;
            }
            Ended::Cancelled => (RunStatus::Cancelled, None),
            Ended::Finished if self.store.failed(&run.id).await? > 0 => (RunStatus::Failed, None),
            Ended::Finished => (RunStatus::Completed, None),
            Ended::Failed(error) => (RunStatus::Failed, Some(error)),
        };
        if let Some(error) = &error {
            tracing::info_span!("run", id = run.id).in_scope(|| error.log());
        }
        let reason = error.as_ref().map(Error::message);
        self.store.finish(run, &self.host, status, reason).await?;
        tracing::info!(
            run = run.id,
            status = status.as_str(),
            reason,
            "catalog run ended"
        );
        Ok(())
    }
}

/// Keeps a run's token where [`Runner::cancel`] finds it, for as long as the run is worked on.
struct UnderWay<'a> {
    runner: &'a Runner,
    run_id: &'a str,
}

impl<'a> UnderWay<'a> {
    fn enter(runner: &'a Runner, run_id: &'a str, cancel: &CancellationToken) -> Self {
        lock(&runner.under_way).insert(run_id.to_owned(), cancel.clone());
        Self { runner, run_id }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        lock(&self.runner.under_way).remove(self.run_id);
        self.runner.ended.send_replace(());
    }
}

/// How far the catalogs of some datasources have got.
#[derive(Clone, Debug)]
pub struct Statuses {
    /// Active runs and the newest of each datasource, newest first.
    runs: Vec<Run>,
}

impl Statuses {
    pub(super) fn new(runs: Vec<Run>) -> Self {
        Self { runs }
    }

    /// Of these together: what is under way tells, else what went wrong, else what was never begun.
    pub fn of<'a>(&self, datasource_ids: impl IntoIterator<Item = &'a str>) -> Status {
        let each: Vec<Status> = datasource_ids.into_iter().map(|id| self.one(id)).collect();
        let telling = each
            .iter()
            .min_by_key(|status| match status.overall_status {
                RunStatus::Loading => 0,
                RunStatus::Pending => 1,
                RunStatus::Failed => 2,
                RunStatus::Cancelled => 3,
                RunStatus::NotStarted => 4,
                RunStatus::Completed => 5,
            });
        let Some(telling) = telling else {
            return self.one("");
        };
        #[allow(clippy::cast_precision_loss, reason = "a Mind has few datasources")]
        let progress = each.iter().map(|status| status.progress).sum::<f64>() / each.len() as f64;
        Status {
            overall_status: telling.overall_status,
            progress,
            message: telling.message.clone(),
            active_flow_runs: each.iter().map(|status| status.active_flow_runs).sum(),
        }
    }

    fn one(&self, datasource_id: &str) -> Status {
        let of_it = |run: &&Run| run.datasource_id == datasource_id;
        let mut runs = self.runs.iter().filter(of_it);
        let active = runs.clone().filter(|run| run.status.is_active()).count();
        let Some(newest) = runs.next() else {
            return Status {
                overall_status: RunStatus::NotStarted,
                progress: 0.0,
                message: "the catalog was never loaded; POST …/catalog/refresh loads it".into(),
                active_flow_runs: 0,
            };
        };
        let message = match newest.status {
            _ if newest.cancel_requested && newest.status.is_active() => "stopping".into(),
            RunStatus::Pending => "waiting for its turn".into(),
            RunStatus::Loading if newest.whole && !newest.listed => "listing the tables".into(),
            RunStatus::Loading => format!("loaded {} of {} tables", newest.done, newest.total),
            _ => newest.message.clone(),
        };
        Status {
            overall_status: newest.status,
            progress: newest.progress(),
            message,
            active_flow_runs: u32::try_from(active).unwrap_or(u32::MAX),
        }
    }
}
