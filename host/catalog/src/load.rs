//! The work of one run: list the tables, describe them, and get statistics.

use std::collections::HashMap;

use futures_util::{StreamExt, stream};
use tokio_util::sync::CancellationToken;

use super::{
    Engines, Source, Statistics,
    sample::{self, Bounds, Sample},
    store::{CatalogStore, TableSnapshot},
    types::Run,
};
use mindhost_base::{
    config,
    error::{Code, Error, Kind, Result},
};
use mindhost_plugin_api::{
    Call, ColumnInfo, Connection, Connector, StatisticsOptions, TableInfo, TableRef, Target,
};

/// Tables that one call of `describe_tables` names.
const TABLES_PER_CALL: usize = 50;

/// Columns that a note names.
const SHOWN: usize = 10;

/// Rows up to which a table is always sampled to its end.
const SMALL: u64 = 10_000;

/// How the work on a run ended.
#[derive(Debug)]
pub enum RunOutcome {
    /// The run tried every table.
    Finished,
    /// Cancelled by a request or a shutdown.
    Cancelled,
    /// The run has ended, was deleted, or belongs to another host. It must not write.
    Lost,
    /// The engine failed or does not exist. Tables that alone could not be loaded do not end a run.
    Failed(Error),
}

/// Loads the tables of one run.
pub struct Loader<'a> {
    /// Where it puts the tables, and asks whether the run is still its own.
    pub store: &'a CatalogStore,
    /// Finds the engine.
    pub engines: &'a dyn Engines,
    /// Timeouts and sizes of samples.
    pub settings: &'a config::Catalog,
    /// Id of this process. Writes for a run that another host has claimed are lost.
    pub host: &'a str,
    /// The row in the store that this host has claimed.
    pub run: &'a Run,
    /// Cancels the work, and its statement in the engine.
    pub cancel: &'a CancellationToken,
}

/// Id and name of a table of the run.
type Entry = (String, TableRef);

/// Why the work ends early.
enum Abort {
    Cancelled,
    Lost,
    Failed(Error),
}

impl From<Error> for Abort {
    fn from(error: Error) -> Self {
        match error.kind() {
            Kind::Cancelled => Abort::Cancelled,
            _ => Abort::Failed(error),
        }
    }
}

/// The result of one table.
enum Outcome {
    TableSnapshot(Box<TableSnapshot>),
    /// With the description of the table, if the engine gave one.
    Failed(Error, Option<Box<TableInfo>>),
    /// The source no longer has it.
    Gone,
}

impl Loader<'_> {
    /// Executes the run.
    pub async fn load(&self) -> RunOutcome {
        if self.run.cancel_requested {
            return RunOutcome::Cancelled;
        }
        match self.work().await {
            Ok(()) => RunOutcome::Finished,
            _ if self.cancel.is_cancelled() => RunOutcome::Cancelled,
            Err(Abort::Cancelled) => RunOutcome::Cancelled,
            Err(Abort::Lost) => RunOutcome::Lost,
            Err(Abort::Failed(error)) => RunOutcome::Failed(error),
        }
    }

    async fn work(&self) -> Result<(), Abort> {
        let source = Source {
            workspace: &self.run.workspace,
            id: &self.run.datasource_id,
            seen: None,
            request_id: None,
        };
        let (connector, target) = self.engines.engine(source.workspace, source.id).await?;
        let engine = Engine {
            loader: self,
            connector: &*connector,
            target: &target,
        };
        if self.run.whole && !self.run.listed {
            let call = Call::new(self.settings.check_timeout, self.cancel.clone());
            let call = call.limited_by("catalog.check_timeout");
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
                return Err(Abort::Lost);
            }
        }
        let entries = self.store.unfinished(&self.run.id).await?;
        for entries in entries.chunks(TABLES_PER_CALL) {
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
        let (settings, cancel) = (self.loader.settings, self.loader.cancel.clone());
        Call::new(settings.table_timeout, cancel).limited_by("catalog.table_timeout")
    }

    /// Describes some tables in one call, then gets their statistics, several concurrently.
    async fn load_chunk(&self, entries: &[Entry]) -> Result<(), Abort> {
        let described = self.describe_chunk(entries).await?;
        let at_once = usize::try_from(self.target.max_connections).unwrap_or(usize::MAX);
        let at_once = at_once.min(self.loader.settings.concurrency).max(1);
        let load = |entry: &Entry| {
            let info = described
                .as_ref()
                .map(|described| described.get(&entry.1).cloned());
            self.load_table(entry.clone(), info)
        };
        // Wait for all, even if one stops the work, so that each ends its own calls.
        let outcomes: Vec<Result<(), Abort>> = stream::iter(entries.iter().map(load))
            .buffer_unordered(at_once)
            .collect()
            .await;
        outcomes.into_iter().collect()
    }

    /// Describes tables in one call. `None` if that fails: then each is described alone, so that one bad table does not
    /// fail the others.
    async fn describe_chunk(
        &self,
        entries: &[Entry],
    ) -> Result<Option<HashMap<TableRef, TableInfo>>, Abort> {
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
            Err(error) if error.kind() == Kind::Cancelled => Err(Abort::Cancelled),
            Err(error) => {
                tracing::debug!(%error, run = self.loader.run.id, "describing tables one by one");
                Ok(None)
            }
        }
    }

    /// Loads one table. `described` is the result of an earlier call, if any.
    async fn load_table(
        &self,
        (id, table): Entry,
        described: Option<Option<TableInfo>>,
    ) -> Result<(), Abort> {
        let Loader {
            store,
            run,
            host,
            cancel,
            ..
        } = *self.loader;
        if cancel.is_cancelled() {
            return Err(Abort::Cancelled);
        }
        store.begin_table(run, &id).await?;
        let mut outcome = self.read_table(&table, described.clone()).await;
        if matches!(&outcome, Outcome::Failed(error, _) if is_passing(error))
            && !cancel.is_cancelled()
        {
            outcome = self.read_table(&table, described).await;
        }
        let alive = match outcome {
            Outcome::TableSnapshot(loaded) => store.table_loaded(run, host, &id, &loaded).await?,
            Outcome::Gone => {
                let reason = "the source no longer has this table";
                store.table_failed(run, host, &id, reason, true).await?
            }
            Outcome::Failed(error, _) if error.kind() == Kind::Cancelled => {
                return Err(Abort::Cancelled);
            }
            Outcome::Failed(error, info) => {
                tracing::info_span!("table", run = run.id, request_id = run.request_id, %table)
                    .in_scope(|| error.log());
                let reason = error.message();
                match info.filter(|info| !info.columns.is_empty()) {
                    Some(info) => store.table_described(run, host, &id, &info, reason).await?,
                    None => store.table_failed(run, host, &id, reason, false).await?,
                }
            }
        };
        if alive { Ok(()) } else { Err(Abort::Lost) }
    }

    async fn read_table(&self, table: &TableRef, described: Option<Option<TableInfo>>) -> Outcome {
        let call = self.call();
        let described = match described {
            Some(info) => Ok(info),
            None => self.describe(table, &call).await,
        };
        let info = match described {
            Ok(Some(info)) => info,
            Ok(None) => return Outcome::Gone,
            Err(error) => return Outcome::Failed(error, None),
        };
        match self.measure(&info, &call).await {
            Ok((sample, note)) => Outcome::TableSnapshot(Box::new(TableSnapshot {
                row_count: sample.row_count,
                statistics: sample.statistics,
                info,
                note,
            })),
            Err(error) => Outcome::Failed(error, Some(Box::new(info))),
        }
    }

    async fn describe(&self, table: &TableRef, call: &Call) -> Result<Option<TableInfo>> {
        let mut connection = self.connector.connect(self.target, call).await?;
        let one = std::slice::from_ref(table);
        let described = connection.describe_tables(one, call).await?;
        Ok(described.into_iter().find(|info| info.table == *table))
    }

    /// Statistics of the engine, or of a sample; and a note on what could not be learnt.
    async fn measure(&self, info: &TableInfo, call: &Call) -> Result<(Sample, Option<String>)> {
        let mut connection = self.connector.connect(self.target, call).await?;
        let of_engine = self.of_engine(&mut *connection, info, call).await?;
        drop(connection);
        match of_engine.filter(|known| is_enough(info, known)) {
            Some(statistics) => {
                let row_count = info.row_count;
                let known = Sample {
                    statistics,
                    row_count,
                };
                Ok((known, None))
            }
            None => self.of_allowed(info, call).await,
        }
    }

    /// The engine's statistics. A failure counts as none.
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

    /// A sample of the columns that may be read. The note names the others: a database may grant columns one by one,
    /// and refuses a statement with any that it did not grant.
    async fn of_allowed(&self, info: &TableInfo, call: &Call) -> Result<(Sample, Option<String>)> {
        let refused = match self.of_scan(info, call).await {
            Err(error) if error.code() == Code::SqlPermissionDenied => error,
            sample => return Ok((sample?, None)),
        };
        let (allowed, denied) = self.split_by_right(info, call).await?;
        if allowed.is_empty() || denied.is_empty() {
            return Err(refused);
        }
        let part = TableInfo {
            columns: allowed,
            ..info.clone()
        };
        let sample = self.of_scan(&part, call).await?;
        Ok((sample, Some(note_on(&denied))))
    }

    /// The columns that may be read, and the names of the others: groups are halved until one column alone is refused.
    async fn split_by_right(
        &self,
        info: &TableInfo,
        call: &Call,
    ) -> Result<(Vec<ColumnInfo>, Vec<String>)> {
        let (mut allowed, mut denied) = (Vec::new(), Vec::new());
        let mut waiting = vec![info.columns.clone()];
        while let Some(mut columns) = waiting.pop() {
            let part = TableInfo {
                columns,
                ..info.clone()
            };
            // An error may cost the connection.
            let mut connection = self.connector.connect(self.target, call).await?;
            let manifest = self.connector.manifest();
            let time = self.loader.settings.sample_time;
            let tried = sample::try_columns(&mut *connection, manifest, &part, time, call).await;
            columns = part.columns;
            match tried {
                Ok(()) => allowed.append(&mut columns),
                Err(error) if error.code() != Code::SqlPermissionDenied => return Err(error),
                Err(_) if columns.len() > 1 => {
                    let second = columns.split_off(columns.len() / 2);
                    waiting.push(second);
                    waiting.push(columns);
                }
                Err(_) => denied.extend(columns.into_iter().map(|column| column.name)),
            }
        }
        Ok((allowed, denied))
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

/// What to say of a table of which some columns may not be read.
fn note_on(denied: &[String]) -> String {
    let shown: Vec<_> = denied
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = match denied.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "no statistics of {}{more}: the database gives this user no right to read them; grant SELECT, or leave them \
         out of the questions",
        shown.join(", ")
    )
}

/// Whether the engine's statistics are better than a sample. For small tables they often have no values, and a sample
/// is cheap and exact.
fn is_enough(info: &TableInfo, known: &HashMap<String, Statistics>) -> bool {
    let says_nothing = |one: &Statistics| {
        one.null_percentage < 100.0 && one.max_value.is_empty() && one.most_common_values.is_none()
    };
    info.row_count.is_none_or(|rows| rows > SMALL) || !known.values().any(says_nothing)
}

/// Whether an error is transient: a broken connection, or a plugin that was just replaced.
fn is_passing(error: &Error) -> bool {
    matches!(error.kind(), Kind::Unavailable | Kind::BadGateway)
}
