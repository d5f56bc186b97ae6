//! What a case works with: the plugin, its configuration, and short ways to the usual steps.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use mindhost_base::{Error, Result, error::Code};
use mindhost_plugin_api::{
    Call, Column, Completion, Connection, Connector, Dialect, Manifest, Model, ModelRequest,
    Statement, TableRef, Value,
    intercept::Intercepted,
    is_secret,
    manifest::{CredentialScheme, SCANNER_WORLD},
    scanner::Source,
};
use tokio::sync::OnceCell;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    case::{Expect, Stop, skipped_until},
    cases::Sample,
    config::{Config, Data, target},
    dialect::Samples,
    sandbox::{Limits, LoadedPlugin, Noticed, Sandbox},
    watched::{Farewell, Masked, Watch, WatchedSource},
};

/// The bound on every call of which nothing else is said.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Rows that are asked for at a time.
pub(crate) const ROWS: u32 = 8_192;
/// Tables that are looked at where all would take too long.
const TABLES: usize = 12;
/// How long what a case left behind may take to be gone.
const SETTLE: Duration = Duration::from_secs(10);

/// What the host noticed while the cases ran, by case.
#[derive(Default)]
pub(crate) struct Notes(Mutex<Vec<(&'static str, Noticed)>>);

impl Notes {
    pub fn add(&self, case: &'static str, noticed: Noticed) {
        self.all().push((case, noticed));
    }

    pub fn all(&self) -> MutexGuard<'_, Vec<(&'static str, Noticed)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long the cases look that could go on for any time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// At the first rows of one table: a page of some sources takes seconds.
    pub look: Duration,
    /// At the first rows of all tables.
    pub look_at_all: Duration,
    /// Until a case that can try any number of scans has tried enough.
    pub enough: Duration,
}

impl Pace {
    pub const USUAL: Self = Self {
        look: Duration::from_secs(10),
        look_at_all: Duration::from_secs(40),
        enough: Duration::from_secs(15),
    };
    /// After each build of a plugin, while its author waits.
    pub const QUICK: Self = Self {
        look: Duration::from_secs(2),
        look_at_all: Duration::from_secs(4),
        enough: Duration::from_secs(2),
    };
}

/// What a case works with.
pub(crate) struct Bench {
    sandbox: Arc<dyn Sandbox>,
    pub config: Config,
    pub samples: Samples,
    /// For the cases of a scanner: its first tables with their first rows.
    pub samples_of_tables: OnceCell<Vec<Sample>>,
    pub notes: Notes,
    pub pace: Pace,
    masked: Masked,
    /// Pools that are being closed.
    farewells: TaskTracker,
}

/// The whole answer to a statement.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub columns: Arc<[Column]>,
    pub rows: Vec<Vec<Value>>,
    /// Rows and bytes of each batch.
    pub batches: Vec<(usize, usize)>,
}

impl Answer {
    /// The only value.
    pub fn only(&self) -> Option<&Value> {
        match self.rows.as_slice() {
            [row] => match row.as_slice() {
                [value] => Some(value),
                _ => None,
            },
            _ => None,
        }
    }

    /// The only value, as an integer.
    pub fn integer(&self) -> Option<i128> {
        integer(self.only()?)
    }
}

/// An integer, in whatever type the engine gives it.
pub(crate) fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Int64(number) => Some(i128::from(*number)),
        Value::Uint64(number) => Some(i128::from(*number)),
        Value::Decimal(text) | Value::Text(text) => text.parse().ok(),
        Value::Float64(number) if number.fract() == 0.0 => format!("{number:.0}").parse().ok(),
        _ => None,
    }
}

impl Bench {
    pub fn new(sandbox: Arc<dyn Sandbox>, config: Config, pace: Pace) -> Self {
        Self {
            pace,
            samples: Samples::new(dialect(sandbox.manifest()), &config.tests),
            sandbox,
            config,
            samples_of_tables: OnceCell::new(),
            notes: Notes::default(),
            masked: Masked::default(),
            farewells: TaskTracker::new(),
        }
    }

    pub fn manifest(&self) -> &Manifest {
        self.sandbox.manifest()
    }

    pub fn data(&self) -> &Data {
        &self.config.connection_data
    }

    /// A new connection in an instance of its own. Dropped, it ends in the background.
    pub async fn connect(&self, data: &Data, limits: Limits) -> Result<Box<dyn Connection>> {
        let (LoadedPlugin::Connector(connector) | LoadedPlugin::Scanner(_, connector)) =
            self.sandbox.load(limits).await?
        else {
            return Err(of_another_kind("connector"));
        };
        let target = target(data.clone());
        let pool = (Arc::clone(&connector), target.id.clone());
        let forget = async move { pool.0.forget(&pool.1).await };
        let farewell = Farewell::new(&self.farewells, forget);
        let watch = Watch::new(&self.masked, Some(farewell));
        let connector = Intercepted::<dyn Connector, _>::new(connector, watch);
        connector.connect(&target, &usual()).await
    }

    /// A connection with the usual limits.
    pub async fn open(&self) -> std::result::Result<Box<dyn Connection>, Stop> {
        self.open_with(Limits::USUAL).await
    }

    pub async fn open_with(
        &self,
        limits: Limits,
    ) -> std::result::Result<Box<dyn Connection>, Stop> {
        let opened = self.connect(self.data(), limits).await;
        opened.expect_to("a connection opens with the configuration that was given")
    }

    /// A source of a scanner, below the host's SQL, in an instance of its own.
    pub async fn source(&self, limits: Limits) -> std::result::Result<Box<dyn Source>, Stop> {
        let opened = self.open_source(limits).await;
        opened.expect_to("a source opens with the configuration that was given")
    }

    async fn open_source(&self, limits: Limits) -> Result<Box<dyn Source>> {
        let LoadedPlugin::Scanner(scanner, _) = self.sandbox.load(limits).await? else {
            return Err(of_another_kind("scanner"));
        };
        let target = target(self.data().clone());
        let pool = (Arc::clone(&scanner), target.id.clone());
        let forget = async move { pool.0.forget(&pool.1).await };
        let farewell = Farewell::new(&self.farewells, forget);
        let opened = scanner.open(&target, &usual()).await;
        let opened = self.masked.check(opened)?;
        Ok(WatchedSource::new(opened, &self.masked, farewell))
    }

    async fn model(&self) -> Result<Arc<dyn Model>> {
        match self.sandbox.load(Limits::USUAL).await? {
            LoadedPlugin::Model(model) => {
                let watch = Watch::new(&self.masked, None);
                Ok(Intercepted::<dyn Model, _>::new(model, watch))
            }
            _ => Err(of_another_kind("model provider")),
        }
    }

    /// `model.check`
    pub async fn check_model(&self) -> Result<String> {
        let target = target(self.data().clone());
        self.model().await?.check(&target, &usual()).await
    }

    /// `model.models`
    pub async fn models(&self) -> Result<Vec<String>> {
        let target = target(self.data().clone());
        self.model().await?.models(&target, &usual()).await
    }

    /// `model.start`
    pub async fn start(
        &self,
        data: &Data,
        request: ModelRequest,
        call: &Call,
    ) -> Result<Box<dyn Completion>> {
        let model = self.model().await?;
        model.start(&target(data.clone()), request, call).await
    }

    /// Waits, within bounds, until what a case left behind is gone; gives what was noticed since the last call.
    pub async fn settle(&self) -> Noticed {
        let settled = async {
            self.farewells.close();
            self.farewells.wait().await;
            self.sandbox.settle().await;
        };
        let _ = tokio::time::timeout(SETTLE, settled).await;
        let mut noticed = self.sandbox.noticed();
        noticed.leaks.extend(self.masked.take());
        // Without a secret of its own, a plugin only repeats what a vendor says of one that the host added.
        if !holds_secrets(self.manifest()) {
            noticed.leaks.clear();
        }
        noticed
    }

    /// The last statements since the last call.
    pub fn take_statements(&self) -> Vec<String> {
        self.masked.take_statements()
    }

    /// The table of the hints, else the first few of the engine.
    pub async fn some_tables(
        &self,
        connection: &mut dyn Connection,
    ) -> std::result::Result<Vec<TableRef>, Stop> {
        match self.named_tables() {
            named if named.is_empty() => self.first_tables(connection.tables(&usual()).await),
            named => Ok(named),
        }
    }

    /// The tables of the hints.
    pub fn named_tables(&self) -> Vec<TableRef> {
        let named = self.config.tests.table.iter().map(|named| {
            let (schema, name) = named.split_once('.').unwrap_or(("main", named));
            TableRef::new(schema, name)
        });
        named.collect()
    }

    /// The first few of all tables.
    pub fn first_tables(
        &self,
        tables: Result<Vec<TableRef>>,
    ) -> std::result::Result<Vec<TableRef>, Stop> {
        let mut tables = tables.expect_to("tables are listed")?;
        tables.truncate(TABLES);
        match tables.is_empty() {
            false => Ok(tables),
            true => Err(skipped_until(
                "the configuration reaches no table",
                "connection_data of a database with at least one table that has rows",
            )),
        }
    }

    /// A statement of the configuration as a server sends it: over a scanner, whose SQL is the host's, with the schema of
    /// each table.
    pub async fn sent(&self, connection: &mut dyn Connection, sql: &str) -> Result<String> {
        if self.manifest().world != SCANNER_WORLD {
            return Ok(sql.to_owned());
        }
        let tables = connection.tables(&usual()).await?;
        self.sandbox.qualified(sql, tables)
    }

    /// A statement of the samples, or why there is none.
    pub fn sample(&self, name: &str, sample: Option<String>) -> std::result::Result<String, Stop> {
        sample.ok_or_else(|| {
            let dialect = dialect(self.manifest());
            skipped_until(
                format!("the kit knows no such statement in the dialect `{dialect}`"),
                format!("tests.{name}: a statement, as the documentation of the kit describes it"),
            )
        })
    }

    /// Asks something that always works, to see that a connection can be used.
    pub async fn works(
        &self,
        connection: &mut dyn Connection,
        when: &str,
    ) -> std::result::Result<(), Stop> {
        let one = self.sample("one", self.samples.one.clone())?;
        let answer = read(connection, &one, ROWS).await;
        answer
            .expect_to(format!("the connection can be used {when}"))
            .map(drop)
    }
}

/// The name of the dialect in the manifest; empty for a scanner, whose SQL is the host's.
pub(crate) fn dialect(manifest: &Manifest) -> &'static str {
    manifest.dialect.map_or("", Dialect::as_str)
}

/// Whether the plugin is given a secret; those that the host adds itself, it never sees.
fn holds_secrets(manifest: &Manifest) -> bool {
    let is_hosts = |name: &String| {
        let mut rules = manifest.credentials.iter();
        rules.any(|rule| rule.property == *name && rule.scheme != CredentialScheme::GuestHeld)
    };
    let properties = manifest.connection_data["properties"].as_object();
    let mut properties = properties.into_iter().flatten();
    properties.any(|(name, schema)| is_secret(schema) && !is_hosts(name))
}

fn of_another_kind(wanted: &str) -> Error {
    Error::new(Code::PluginRefused, format!("this is no {wanted}"))
}

/// How long each call may take, and how to stop all of them.
#[derive(Clone)]
pub(crate) struct Bounds {
    pub timeout: Duration,
    pub cancel: CancellationToken,
}

impl Bounds {
    /// Calls that may each take `timeout`.
    pub fn of(timeout: Duration) -> Self {
        Self {
            timeout,
            cancel: CancellationToken::new(),
        }
    }

    /// The bounds of a call that begins now.
    pub fn call(&self) -> Call {
        Call::new(self.timeout, self.cancel.clone())
    }
}

/// The usual bounds of a call that begins now.
pub(crate) fn usual() -> Call {
    Bounds::of(PATIENCE).call()
}

/// A statement that the engine may work on as long as a call may take.
pub(crate) fn statement(sql: &str) -> Statement {
    Statement {
        text: sql.to_owned(),
        id: new_id(),
        timeout: PATIENCE,
    }
}

/// An id for one execution.
pub(crate) fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// Runs a statement and reads its whole answer, so many rows at a time.
pub(crate) async fn read(
    connection: &mut dyn Connection,
    sql: &str,
    max_rows: u32,
) -> Result<Answer> {
    let bounds = Bounds::of(PATIENCE);
    read_within(connection, &statement(sql), max_rows, &bounds).await
}

/// As [`read`], of a statement with a time limit of its own, within the bounds of each call.
pub(crate) async fn read_within(
    connection: &mut dyn Connection,
    statement: &Statement,
    max_rows: u32,
    bounds: &Bounds,
) -> Result<Answer> {
    let (answer, _) = read_until(connection, statement, max_rows, bounds, None).await?;
    Ok(answer)
}

/// As [`read`], but only the rows that come within a time; the second value says whether these are all.
pub(crate) async fn read_for(
    connection: &mut dyn Connection,
    sql: &str,
    max_rows: u32,
    time: Duration,
) -> Result<(Answer, bool)> {
    let until = Instant::now() + time;
    let bounds = Bounds::of(PATIENCE);
    read_until(connection, &statement(sql), max_rows, &bounds, Some(until)).await
}

/// Reads an answer to its end or until a moment; the second value says whether these are all rows.
async fn read_until(
    connection: &mut dyn Connection,
    statement: &Statement,
    max_rows: u32,
    bounds: &Bounds,
    until: Option<Instant>,
) -> Result<(Answer, bool)> {
    let mut answer = Answer {
        columns: connection.query(statement, &bounds.call()).await?,
        rows: Vec::new(),
        batches: Vec::new(),
    };
    let mut has_ended = false;
    while !has_ended && until.is_none_or(|until| Instant::now() < until) {
        match connection.next(max_rows, &bounds.call()).await? {
            Some(batch) => {
                answer.batches.push((batch.rows(), batch.bytes()));
                answer.rows.extend(batch.into_values(&answer.columns));
            }
            None => has_ended = true,
        }
    }
    connection.close(&bounds.call()).await?;
    Ok((answer, has_ended))
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use mindhost_plugin_api::{
        Batch, ColumnStatistics, DataType, ServerInfo, StatisticsOptions, TableInfo,
    };

    use super::*;

    /// Gives so many batches of one row, each a little later than the one before.
    struct Slow(u32);

    #[async_trait]
    impl Connection for Slow {
        fn digest(&self) -> &str {
            ""
        }

        async fn check(&mut self, _: &Call) -> Result<ServerInfo> {
            unreachable!()
        }

        async fn tables(&mut self, _: &Call) -> Result<Vec<TableRef>> {
            unreachable!()
        }

        async fn describe_tables(&mut self, _: &[TableRef], _: &Call) -> Result<Vec<TableInfo>> {
            unreachable!()
        }

        async fn statistics(
            &mut self,
            _: &TableRef,
            _: &StatisticsOptions,
            _: &Call,
        ) -> Result<Option<Vec<ColumnStatistics>>> {
            unreachable!()
        }

        async fn begin_snapshot(&mut self, _: Duration, _: &Call) -> Result<bool> {
            unreachable!()
        }

        async fn end_snapshot(&mut self, _: &Call) -> Result<()> {
            unreachable!()
        }

        async fn query(&mut self, _: &Statement, _: &Call) -> Result<Arc<[Column]>> {
            Ok(Arc::new([Column {
                name: "n".into(),
                data_type: DataType::Int64,
                native_type: String::new(),
                nullable: false,
            }]))
        }

        async fn next(&mut self, _: u32, _: &Call) -> Result<Option<Batch>> {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let Some(left) = self.0.checked_sub(1) else {
                return Ok(None);
            };
            self.0 = left;
            Ok(Some(Batch::Rows(vec![vec![Value::Int64(i64::from(left))]])))
        }

        async fn close(&mut self, _: &Call) -> Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn slow_answer_is_read_for_a_time() {
        // Long for a thread that waits for a processor, and less than a tenth of what all rows take.
        let time = Duration::from_millis(1500);
        let (part, has_ended) = read_for(&mut Slow(1_000), "", ROWS, time).await.unwrap();
        assert!((1..100).contains(&part.rows.len()) && !has_ended);
        let (whole, has_ended) = read_for(&mut Slow(3), "", ROWS, PATIENCE).await.unwrap();
        assert_eq!((whole.rows.len(), has_ended), (3, true));
    }
}
