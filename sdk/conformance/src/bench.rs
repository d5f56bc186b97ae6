//! What a case works with: the plugin, its configuration, and short ways to the usual steps.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use mindhost_sdk::{Column, TableRef, Value};
use serde::Deserialize;
use tokio::sync::OnceCell;

use crate::{
    case::{Expect, Stop, skipped_until},
    cases::Sample,
    config::Config,
    dialect::Samples,
    subject::{Call, Connection, Connector, Data, Limits, Model, Noticed, Result, Source},
};

/// The bound on every call of which nothing else is said.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Rows that are asked for at a time.
pub(crate) const ROWS: u32 = 8_192;
/// Tables that are looked at where all would take too long.
const TABLES: usize = 12;

/// What the kit reads of a manifest.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct About {
    pub kind: String,
    pub dialect: String,
    pub capabilities: Capabilities,
    pub network: Vec<Network>,
    pub http: Vec<Http>,
    pub credentials: Vec<Credential>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Capabilities {
    pub cancel: bool,
    pub snapshot: bool,
    pub paging: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Network {
    pub host: String,
    pub port: String,
    pub default_port: u16,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Http {
    pub url: String,
    #[serde(default)]
    pub default: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Credential {
    pub property: String,
}

impl About {
    pub fn of(manifest: &serde_json::Value) -> Self {
        serde_json::from_value(manifest.clone()).unwrap_or_default()
    }
}

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

/// For the cases of a connector.
pub(crate) struct Bench {
    pub plugin: Arc<dyn Connector>,
    pub config: Arc<Config>,
    pub about: About,
    pub samples: Samples,
    /// For the cases of a scanner: its first tables with their first rows.
    pub samples_of_tables: OnceCell<Vec<Sample>>,
    pub notes: Notes,
}

/// The whole answer to a statement.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub columns: Vec<Column>,
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
    pub fn new(plugin: Arc<dyn Connector>, config: Arc<Config>) -> Self {
        let about = About::of(plugin.manifest());
        let samples = Samples::new(&about.dialect, &config.tests);
        Self {
            plugin,
            config,
            about,
            samples,
            samples_of_tables: OnceCell::new(),
            notes: Notes::default(),
        }
    }

    pub fn data(&self) -> &Data {
        &self.config.connection_data
    }

    /// A connection with the usual limits.
    pub async fn open(&self) -> std::result::Result<Box<dyn Connection>, Stop> {
        self.open_with(Limits::USUAL).await
    }

    pub async fn open_with(
        &self,
        limits: Limits,
    ) -> std::result::Result<Box<dyn Connection>, Stop> {
        let opened = self.plugin.open(self.data(), limits, &usual()).await;
        opened.expect_to("a connection opens with the configuration that was given")
    }

    /// A source of a scanner, below the host's SQL.
    pub async fn source(&self, limits: Limits) -> std::result::Result<Box<dyn Source>, Stop> {
        let opened = self.plugin.open_source(self.data(), limits, &usual()).await;
        opened.expect_to("a source opens with the configuration that was given")
    }

    /// The table of the hints, else the first few of the engine.
    pub async fn some_tables(
        &self,
        connection: &mut dyn Connection,
    ) -> std::result::Result<Vec<TableRef>, Stop> {
        match self.named_table() {
            Some(table) => Ok(vec![table]),
            None => self.first_tables(connection.tables(&usual()).await),
        }
    }

    /// The table of the hints.
    pub fn named_table(&self) -> Option<TableRef> {
        let named = self.config.tests.table.as_ref()?;
        let (schema, name) = named.split_once('.').unwrap_or(("main", named));
        Some(TableRef::new(schema, name))
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

    /// A statement of the samples, or why there is none.
    pub fn sample(&self, name: &str, sample: Option<String>) -> std::result::Result<String, Stop> {
        sample.ok_or_else(|| {
            let dialect = &self.about.dialect;
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

/// The usual bounds of a call.
pub(crate) fn usual() -> Call {
    Call::of(PATIENCE)
}

/// Runs a statement and reads its whole answer, so many rows at a time.
pub(crate) async fn read(
    connection: &mut dyn Connection,
    sql: &str,
    max_rows: u32,
) -> Result<Answer> {
    read_within(connection, sql, max_rows, PATIENCE, &usual()).await
}

/// As [`read`], with the time that the engine gets, and the bounds of each call.
pub(crate) async fn read_within(
    connection: &mut dyn Connection,
    sql: &str,
    max_rows: u32,
    timeout: Duration,
    call: &Call,
) -> Result<Answer> {
    let columns = connection.query(sql, timeout, call).await?;
    let mut answer = Answer {
        columns,
        rows: Vec::new(),
        batches: Vec::new(),
    };
    while let Some(batch) = connection.next(max_rows, call).await? {
        answer.batches.push((batch.values.len(), batch.bytes));
        answer.rows.extend(batch.values);
    }
    connection.close(call).await?;
    Ok(answer)
}

/// For the cases of a model.
pub(crate) struct ModelBench {
    pub plugin: Arc<dyn Model>,
    pub config: Arc<Config>,
    pub about: About,
    pub notes: Notes,
}

impl ModelBench {
    pub fn new(plugin: Arc<dyn Model>, config: Arc<Config>) -> Self {
        Self {
            about: About::of(plugin.manifest()),
            plugin,
            config,
            notes: Notes::default(),
        }
    }

    pub fn data(&self) -> &Data {
        &self.config.connection_data
    }
}
