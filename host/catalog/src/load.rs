//! The work of one run: list the tables, describe them, learn what their values are like.

use std::collections::HashMap;

use futures_util::{StreamExt, stream};
use tokio_util::sync::CancellationToken;

use super::{
    Engines, Source, Statistics,
    sample::{self, Bounds, Sample},
    store::{CatalogStore, Loaded},
    types::Run,
};
use mindhost_base::{
    config,
    error::{Error, Kind, Result},
};
use mindhost_plugin_api::{
    Call, Connection, Connector, StatisticsOptions, TableInfo, TableRef, Target,
};

/// Tables that an engine is asked to describe at once.
const DESCRIBED_AT_ONCE: usize = 50;

/// Tables of so few rows are read whole without a second thought.
const SMALL: u64 = 10_000;

/// How the work on a run ended.
#[derive(Debug)]
pub enum Ended {
    /// Every table was tried.
    Finished,
    /// Stopped: on request, or because the server ends.
    Cancelled,
    /// The run is over, gone, or another host's; nothing more may be written.
    Lost,
    /// The engine could not be worked with at all.
    Failed(Error),
}

/// What the work needs.
pub struct Loader<'a> {
    /// Where results go.
    pub store: &'a CatalogStore,
    /// Where engines come from.
    pub engines: &'a dyn Engines,
    /// Bounds.
    pub settings: &'a config::Catalog,
    /// Name of this host.
    pub host: &'a str,
    /// The run.
    pub run: &'a Run,
    /// Stops the work, down to the engine.
    pub cancel: &'a CancellationToken,
}

/// A table that the run took.
type Entry = (String, TableRef);

/// Why work stops early.
enum Stop {
    Cancelled,
    Lost,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        match error.kind() {
            Kind::Cancelled => Stop::Cancelled,
            _ => Stop::Failed(error),
        }
    }
}

/// What became of one table.
enum Outcome {
    Loaded(Box<Loaded>),
    Failed(Error),
    /// The source does not have it any more.
    Gone,
}

impl Loader<'_> {
    /// Does the work.
    pub async fn load(&self) -> Ended {
        if self.run.cancel_requested {
            return Ended::Cancelled;
        }
        match self.work().await {
            Ok(()) => Ended::Finished,
            _ if self.cancel.is_cancelled() => Ended::Cancelled,
            Err(Stop::Cancelled) => Ended::Cancelled,
            Err(Stop::Lost) => Ended::Lost,
            Err(Stop::Failed(error)) => Ended::Failed(error),
        }
    }

    async fn work(&self) -> Result<(), Stop> {
        let source = Source {
            workspace: &self.run.workspace,
            id: &self.run.datasource_id,
            seen: None,
        };
        let (connector, target) = self.engines.engine(source.workspace, source.id).await?;
        let engine = Engine {
            loader: self,
            connector: &*connector,
            target: &target,
        };
        if self.run.whole && !self.run.listed {
            let call = Call::new(self.settings.check_timeout, self.cancel.clone());
            let listed = connector
                .connect(&target, &call)
                .await?
                .tables(&call)
                .await?;
            if !self
                .store
                .apply_listing(self.run, self.host, &listed)
                .await?
            {
                return Err(Stop::Lost);
            }
        }
        let entries = self.store.unfinished(&self.run.id).await?;
        for entries in entries.chunks(DESCRIBED_AT_ONCE) {
            engine.load_chunk(entries).await?;
        }
        Ok(())
    }
}

/// The engine that a run reads from.
struct Engine<'a> {
    loader: &'a Loader<'a>,
    connector: &'a dyn Connector,
    target: &'a Target,
}

impl Engine<'_> {
    fn call(&self) -> Call {
        Call::new(
            self.loader.settings.table_timeout,
            self.loader.cancel.clone(),
        )
    }

    /// Describes some tables in one go, then learns their statistics, several at a time.
    async fn load_chunk(&self, entries: &[Entry]) -> Result<(), Stop> {
        let described = self.describe_chunk(entries).await?;
        let at_once = usize::try_from(self.target.max_connections).unwrap_or(usize::MAX);
        let at_once = at_once.min(self.loader.settings.concurrency).max(1);
        let load = |entry: &Entry| {
            let info = described
                .as_ref()
                .map(|described| described.get(&entry.1).cloned());
            self.load_table(entry.clone(), info)
        };
        // All of them are heard even when one stops the work: each ends its own calls in good order then.
        let outcomes: Vec<Result<(), Stop>> = stream::iter(entries.iter().map(load))
            .buffer_unordered(at_once)
            .collect()
            .await;
        outcomes.into_iter().collect()
    }

    /// `None` when the engine could not describe them together: then each is described by itself, so that one
    /// bad table does not take others with it.
    async fn describe_chunk(
        &self,
        entries: &[Entry],
    ) -> Result<Option<HashMap<TableRef, TableInfo>>, Stop> {
        let call = self.call();
        // An engine that cannot be connected fails the run, not table after table.
        let mut connection = match self.connector.connect(self.target, &call).await {
            Err(error) if is_passing(&error) && !call.cancel.is_cancelled() => {
                self.connector.connect(self.target, &call).await?
            }
            connected => connected?,
        };
        let tables: Vec<TableRef> = entries.iter().map(|(_, table)| table.clone()).collect();
        match connection.describe_tables(&tables, &call).await {
            Ok(described) => Ok(Some(
                described
                    .into_iter()
                    .map(|info| (info.table.clone(), info))
                    .collect(),
            )),
            Err(error) if error.kind() == Kind::Cancelled => Err(Stop::Cancelled),
            Err(error) => {
                tracing::debug!(%error, run = self.loader.run.id, "tables are described one by one");
                Ok(None)
            }
        }
    }

    /// `described`: not yet, or with what came of it.
    async fn load_table(
        &self,
        (id, table): Entry,
        described: Option<Option<TableInfo>>,
    ) -> Result<(), Stop> {
        let Loader {
            store,
            run,
            host,
            cancel,
            ..
        } = *self.loader;
        if cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        store.begin_table(run, &id).await?;
        let mut outcome = self.read_table(&table, described.clone()).await;
        if matches!(&outcome, Outcome::Failed(error) if is_passing(error)) && !cancel.is_cancelled()
        {
            outcome = self.read_table(&table, described).await;
        }
        let alive = match outcome {
            Outcome::Loaded(loaded) => store.table_loaded(run, host, &id, &loaded).await?,
            Outcome::Gone => {
                let reason = "the source has no such table any more";
                store.table_failed(run, host, &id, reason, true).await?
            }
            Outcome::Failed(error) if error.kind() == Kind::Cancelled => {
                return Err(Stop::Cancelled);
            }
            Outcome::Failed(error) => {
                tracing::info_span!("table", run = run.id, %table).in_scope(|| error.log());
                store
                    .table_failed(run, host, &id, error.message(), false)
                    .await?
            }
        };
        if alive { Ok(()) } else { Err(Stop::Lost) }
    }

    async fn read_table(&self, table: &TableRef, described: Option<Option<TableInfo>>) -> Outcome {
        match self.try_table(table, described).await {
            Ok(Some(loaded)) => Outcome::Loaded(Box::new(loaded)),
            Ok(None) => Outcome::Gone,
            Err(error) => Outcome::Failed(error),
        }
    }

    async fn try_table(
        &self,
        table: &TableRef,
        described: Option<Option<TableInfo>>,
    ) -> Result<Option<Loaded>> {
        let call = self.call();
        let mut connection = self.connector.connect(self.target, &call).await?;
        let info = match described {
            Some(info) => info,
            None => {
                let one = std::slice::from_ref(table);
                let described = connection.describe_tables(one, &call).await?;
                described.into_iter().find(|info| info.table == *table)
            }
        };
        let Some(info) = info else { return Ok(None) };
        let of_engine = self.of_engine(&mut *connection, &info, &call).await?;
        if let Some(statistics) = of_engine.filter(|known| is_enough(&info, known)) {
            return Ok(Some(Loaded {
                row_count: info.row_count,
                statistics,
                info,
            }));
        }
        drop(connection);
        let Sample {
            statistics,
            row_count,
        } = self.of_scan(&info, &call).await?;
        Ok(Some(Loaded {
            row_count,
            statistics,
            info,
        }))
    }

    /// The engine's own statistics. An engine that fails here is as good as one that has none.
    async fn of_engine(
        &self,
        connection: &mut dyn Connection,
        info: &TableInfo,
        call: &Call,
    ) -> Result<Option<HashMap<String, Statistics>>> {
        let options = StatisticsOptions {
            columns: info
                .columns
                .iter()
                .map(|column| column.name.clone())
                .collect(),
            max_rows: self.loader.settings.sample_rows,
            max_time: self.loader.settings.sample_time,
        };
        match connection.statistics(&info.table, &options, call).await {
            Ok(None) => Ok(None),
            Ok(Some(given)) => {
                let one = |given: &mindhost_plugin_api::ColumnStatistics| {
                    (given.column.clone(), Statistics::of_engine(given))
                };
                Ok(Some(given.iter().map(one).collect()))
            }
            Err(error) if error.kind() == Kind::Cancelled => Err(error),
            Err(error) => {
                tracing::debug!(%error, table = %info.table, "the engine gave no statistics");
                Ok(None)
            }
        }
    }

    async fn of_scan(&self, info: &TableInfo, call: &Call) -> Result<Sample> {
        let bounds = Bounds {
            rows: self.loader.settings.sample_rows,
            time: self.loader.settings.sample_time,
        };
        let mut connection = self.connector.connect(self.target, call).await?;
        let manifest = self.connector.manifest();
        sample::scan(&mut *connection, manifest, info, bounds, call).await
    }
}

/// Whether the engine's statistics are worth more than a look of our own. Of small tables they often leave a
/// column without any value, and looking is cheap and exact there.
fn is_enough(info: &TableInfo, known: &HashMap<String, Statistics>) -> bool {
    let says_nothing = |one: &Statistics| {
        one.null_percentage < 100.0 && one.max_value.is_empty() && one.most_common_values.is_none()
    };
    info.row_count.is_none_or(|rows| rows > SMALL) || !known.values().any(says_nothing)
}

/// Whether the same may well work a moment later: a connection that broke, a plugin that was just replaced.
fn is_passing(error: &Error) -> bool {
    matches!(error.kind(), Kind::Unavailable | Kind::BadGateway)
}
