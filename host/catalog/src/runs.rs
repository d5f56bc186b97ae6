//! Executes runs in the background, a bounded number at a time, each claimed by one host.
//!
//! If a host is killed or shut down, it or another host of the same store resumes its runs after the last finished
//! table. A host sends heartbeats for its runs; without them its claims expire.

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
    load::{Loader, RunOutcome},
    store::{CatalogStore, Heartbeat},
    types::{Run, RunStatus, Status},
};
use mindhost_base::{
    config,
    error::{Error, Result},
    locks::lock,
};
use mindhost_plugin_api::{Call, TableRef};
use mindhost_store::{new_id, now};

/// Runs that this host executes concurrently.
const MAX_RUNS: usize = 4;
/// How often this host tells the store that a run is alive, and asks whether to cancel it.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);
/// Time without a heartbeat after which another host may claim the run.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(20);
/// Interval of the checks for new runs of other hosts.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Interval of the checks whether a run of another host has ended.
const WAIT_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Executes the runs of the store.
pub struct Runner {
    store: CatalogStore,
    engines: Arc<dyn Engines>,
    settings: config::Catalog,
    /// Id of this process among the hosts of the store.
    host: String,
    shutdown: CancellationToken,
    tasks: TaskTracker,
    work: Notify,
    ended: watch::Sender<()>,
    running: Mutex<HashMap<String, CancellationToken>>,
    permits: Arc<Semaphore>,
}

impl Runner {
    /// A runner, which does nothing until started. `shutdown` ends its work; `tasks` tracks it.
    pub fn new(
        store: CatalogStore,
        engines: Arc<dyn Engines>,
        settings: config::Catalog,
        shutdown: CancellationToken,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            store,
            engines,
            settings,
            host: new_id(),
            shutdown,
            tasks,
            work: Notify::new(),
            ended: watch::Sender::new(()),
            running: Mutex::default(),
            permits: Arc::new(Semaphore::new(MAX_RUNS)),
        }
    }

    /// Starts to claim runs.
    pub async fn start(self: &Arc<Self>) -> Result<()> {
        if self.store.is_exclusive() {
            self.store.release_all().await?;
        }
        let runner = self.clone();
        self.tasks.spawn(async move {
            let shutdown = runner.shutdown.clone();
            shutdown.run_until_cancelled(runner.poll_for_runs()).await;
        });
        Ok(())
    }

    /// Tells the runner that there may be a new run.
    pub fn wake(&self) {
        self.work.notify_one();
    }

    /// Cancels those of these runs that this host executes. Other hosts see the request at their next heartbeat.
    pub fn cancel(&self, run_ids: &[String]) {
        let running = lock(&self.running);
        run_ids
            .iter()
            .filter_map(|id| running.get(id))
            .for_each(CancellationToken::cancel);
        drop(running);
        self.ended.send_replace(());
    }

    /// Waits until none of these runs is active, at most until `deadline`.
    pub async fn wait(&self, run_ids: &[String], deadline: Instant) -> Result<()> {
        let mut ended = self.ended.subscribe();
        while Instant::now() < deadline && self.store.any_active(run_ids).await? {
            tokio::select! {
                _ = ended.changed() => {}
                () = sleep(WAIT_POLL_INTERVAL) => {}
                () = sleep_until(deadline) => {}
                () = self.shutdown.cancelled() => break,
            }
        }
        Ok(())
    }

    /// Asks the engine for the tables of a datasource.
    pub async fn list(&self, source: Source<'_>) -> Result<Vec<TableRef>> {
        let call = Call::new(self.settings.check_timeout, self.shutdown.child_token());
        let call = call.limited_by("catalog.check_timeout");
        let (connector, target) = self.engines.engine(source.workspace, source.id).await?;
        let mut connection = connector.connect(&target, &call).await?;
        connection.tables(&call).await
    }

    async fn poll_for_runs(self: &Arc<Self>) {
        loop {
            let Ok(permit) = self.permits.clone().acquire_owned().await else {
                return;
            };
            let silent_since =
                now() - i64::try_from(HEARTBEAT_TIMEOUT.as_micros()).unwrap_or(i64::MAX);
            match self.store.claim(&self.host, silent_since).await {
                Ok(Some(run)) => {
                    self.tasks.spawn(self.clone().execute(run, permit));
                    continue;
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(cause = ?std::error::Error::source(&error), "cannot claim catalog runs")
                }
            }
            drop(permit);
            tokio::select! {
                () = self.work.notified() => {}
                () = sleep(POLL_INTERVAL) => {}
            }
        }
    }

    async fn execute(self: Arc<Self>, run: Run, _permit: OwnedSemaphorePermit) {
        let cancel = self.shutdown.child_token();
        let _running = RunningGuard::new(&self, &run.id, &cancel);
        tracing::info!(
            run = run.id,
            request_id = run.request_id,
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
        // A run that panics fails: it would panic again.
        let load = AssertUnwindSafe(loader.load()).catch_unwind();
        let outcome = tokio::select! {
            outcome = load => outcome.unwrap_or_else(|_| RunOutcome::Failed(Error::internal("a catalog run panicked"))),
            outcome = self.keep_alive(&run, &cancel) => outcome,
        };
        if let Err(error) = self.end(&run, outcome).await {
            // Its heartbeats have stopped, so it is claimed again later.
            tracing::error!(run = run.id, cause = ?std::error::Error::source(&error), "could not end a catalog run");
        }
    }

    /// Sends heartbeats until the run is lost. Passes a request to cancel to `cancel`.
    async fn keep_alive(&self, run: &Run, cancel: &CancellationToken) -> RunOutcome {
        loop {
            sleep(HEARTBEAT_INTERVAL).await;
            match self.store.heartbeat(&run.id, &self.host).await {
                Ok(Heartbeat::Continue) => {}
                Ok(Heartbeat::CancelRequested) => cancel.cancel(),
                Ok(Heartbeat::Lost) => return RunOutcome::Lost,
                Err(error) => {
                    tracing::warn!(run = run.id, cause = ?std::error::Error::source(&error), "the heartbeat of a catalog run failed");
                }
            }
        }
    }

    async fn end(&self, run: &Run, outcome: RunOutcome) -> Result<()> {
        let (status, error) = match outcome {
            RunOutcome::Lost => {
                tracing::info!(
                    run = run.id,
                    "catalog run was claimed by another host or deleted"
                );
                return Ok(());
            }
            RunOutcome::Cancelled if self.shutdown.is_cancelled() => {
                return self.store.release(&run.id, &self.host).await;
            }
            RunOutcome::Cancelled => (RunStatus::Cancelled, None),
            RunOutcome::Finished if self.store.failed(&run.id).await? > 0 => {
                (RunStatus::Failed, None)
            }
            RunOutcome::Finished => (RunStatus::Completed, None),
            RunOutcome::Failed(error) => (RunStatus::Failed, Some(error)),
        };
        if let Some(error) = &error {
            tracing::info_span!("run", id = run.id, request_id = run.request_id)
                .in_scope(|| error.log());
        }
        let reason = error.as_ref().map(Error::message);
        self.store.finish(run, &self.host, status, reason).await?;
        tracing::info!(
            run = run.id,
            request_id = run.request_id,
            status = status.as_str(),
            reason,
            "catalog run ended"
        );
        Ok(())
    }
}

/// Registers the token of a running run for [`Runner::cancel`].
struct RunningGuard<'a> {
    runner: &'a Runner,
    run_id: &'a str,
}

impl<'a> RunningGuard<'a> {
    fn new(runner: &'a Runner, run_id: &'a str, cancel: &CancellationToken) -> Self {
        lock(&runner.running).insert(run_id.to_owned(), cancel.clone());
        Self { runner, run_id }
    }
}

impl Drop for RunningGuard<'_> {
    fn drop(&mut self) {
        lock(&self.runner.running).remove(self.run_id);
        self.runner.ended.send_replace(());
    }
}

/// The runs of some datasources, which give the status of their catalogs.
#[derive(Clone, Debug)]
pub struct Statuses {
    /// Active runs, and the one of each datasource that ended last, newest first.
    runs: Vec<Run>,
}

impl Statuses {
    pub(super) fn new(runs: Vec<Run>) -> Self {
        Self { runs }
    }

    /// The combined status: the first of loading, pending, failed, cancelled, not started, completed that any of them
    /// has.
    pub fn of<'a>(&self, datasource_ids: impl IntoIterator<Item = &'a str>) -> Status {
        let each: Vec<Status> = datasource_ids.into_iter().map(|id| self.one(id)).collect();
        let first = each
            .iter()
            .min_by_key(|status| match status.overall_status {
                RunStatus::Loading => 0,
                RunStatus::Pending => 1,
                RunStatus::Failed => 2,
                RunStatus::Cancelled => 3,
                RunStatus::NotStarted => 4,
                RunStatus::Completed => 5,
            });
        let Some(first) = first else {
            return self.one("");
        };
        #[allow(clippy::cast_precision_loss, reason = "a Mind has few datasources")]
        let progress = each.iter().map(|status| status.progress).sum::<f64>() / each.len() as f64;
        Status {
            overall_status: first.overall_status,
            progress,
            message: first.message.clone(),
            request_id: first.request_id.clone(),
            active_flow_runs: each.iter().map(|status| status.active_flow_runs).sum(),
        }
    }

    fn one(&self, datasource_id: &str) -> Status {
        let of_it = |run: &&Run| run.datasource_id == datasource_id;
        let mut runs = self.runs.iter().filter(of_it);
        let mut active = runs.clone().filter(|run| run.status.is_active());
        let running = active.clone().count();
        // One that found nothing to load may end before the run that loads it all.
        let Some(newest) = active.next().or_else(|| runs.next()) else {
            return Status {
                overall_status: RunStatus::NotStarted,
                progress: 0.0,
                message: "the catalog is not loaded; POST …/catalog/refresh loads it".into(),
                active_flow_runs: 0,
                request_id: None,
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
            active_flow_runs: u32::try_from(running).unwrap_or(u32::MAX),
            request_id: newest.request_id.clone(),
        }
    }
}
