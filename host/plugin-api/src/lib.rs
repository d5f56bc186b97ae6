//! What the host asks of a plugin, in the host's own words.
//!
//! [`Connector`] and [`Model`] are the only view that the rest of the host has of an engine or a model vendor.
//! They mirror `wit/`; the crate `mindhost-runtime` implements them over WebAssembly components and is the only place that
//! knows so. Everything that comes out of here was already checked: a value of these types can be trusted to
//! be well-formed, though not to be true.

mod batch;
pub mod intercept;
pub mod manifest;
mod model;
pub mod redact;
pub mod scanner;
pub mod schema;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use batch::Batch;
pub use manifest::{Dialect, Manifest, Paging, PluginKind};
use mindhost_base::error::{Code, Error, Result};
pub use model::{
    AnswerTooLarge, Completion, Model, ModelEvent, ModelMessage, ModelRequest, Part, Role,
    StopReason, Tool, ToolCall,
};
pub use redact::{MASK, is_secret};

/// The bounds of one call: how long it may take, and the word to stop it.
#[derive(Clone, Debug)]
pub struct Call {
    /// The host ends the call then, whatever the guest does.
    pub deadline: Instant,
    /// Cancelled when nobody wants the result any more. Reaches down to the engine.
    pub cancel: CancellationToken,
    /// Id of the key that it is made for; the host's own calls have none.
    pub key: Option<Arc<str>>,
    /// Whether it begins an export, which keeps its connection for as long as a client reads.
    pub is_export: bool,
    /// The setting that set the deadline, for the error; `None` if the caller names it, or there is no setting.
    pub limit: Option<&'static str>,
}

impl Call {
    /// A call that may take `timeout` and that `cancel` stops.
    pub fn new(timeout: Duration, cancel: CancellationToken) -> Self {
        Self {
            deadline: Instant::now() + timeout,
            cancel,
            key: None,
            is_export: false,
            limit: None,
        }
    }

    /// The same call, made for a key: what it holds counts against the key's share.
    #[must_use]
    pub fn for_key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The same call, to begin an export: those have a part of the connections of a datasource.
    #[must_use]
    pub fn for_export(mut self) -> Self {
        self.is_export = true;
        self
    }

    /// The same call, whose time is that of this setting: `catalog.check_timeout`.
    #[must_use]
    pub fn limited_by(mut self, setting: &'static str) -> Self {
        self.limit = Some(setting);
        self
    }

    /// The same call with no more time than `timeout`.
    #[must_use]
    pub fn within(&self, timeout: Duration) -> Self {
        let deadline = Instant::now() + timeout;
        match deadline < self.deadline {
            true => Self {
                deadline,
                limit: None,
                ..self.clone()
            },
            false => self.clone(),
        }
    }

    /// The time that is left.
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The error of a call at its deadline.
    pub fn timed_out(&self) -> Error {
        let limit = self.limit.map(|limit| format!(" (`{limit}`)"));
        let limit = limit.unwrap_or_default();
        Error::new(Code::Timeout, format!("the time limit ran out{limit}"))
    }
}

/// What a plugin is pointed at: one datasource or one model provider, with its secrets in clear.
///
/// Grants are derived from `connection_data` by the rules of the plugin's manifest and from nothing else.
#[derive(Clone)]
pub struct Target {
    /// Id of the datasource or provider.
    pub id: String,
    /// Workspace that it belongs to; decides egress rules.
    pub workspace: String,
    /// Directory of that workspace below `files/` in the data directory; decides file roots.
    pub folder: String,
    /// Name, for messages.
    pub name: String,
    /// Matches the manifest's schema; holds secrets, so `Target` has no `Debug` that prints it.
    pub connection_data: Arc<serde_json::Map<String, serde_json::Value>>,
    /// Connections that may be open at once.
    pub max_connections: u32,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target")
            .field("id", &self.id)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// `schema` and `name` of a table, unquoted and as the engine spells them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableRef {
    /// `main` where the engine has no schemas.
    pub schema: String,
    /// The bare name.
    pub name: String,
}

impl TableRef {
    /// A table of a schema.
    pub fn new(schema: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            schema: schema.into(),
            name: name.into(),
        }
    }
}

impl std::fmt::Display for TableRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}

/// The engine behind a connection.
#[derive(Clone, Debug, Serialize)]
pub struct ServerInfo {
    /// `PostgreSQL`
    pub product: String,
    /// As the server says it, such as `15.18`.
    pub version: String,
}

/// The type of a column. Each has one physical form in Arrow; see `wit/README.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DataType {
    /// Arrow `Boolean`.
    Boolean,
    /// Arrow `Int64`.
    Int64,
    /// Arrow `UInt64`.
    Uint64,
    /// Arrow `Float64`.
    Float64,
    /// Exact number as text; Arrow `Utf8`.
    Decimal,
    /// Arrow `Utf8`.
    Text,
    /// Arrow `Binary`.
    Bytes,
    /// Arrow `Date32`.
    Date,
    /// Arrow `Time64(Microsecond)`.
    Time,
    /// Arrow `Timestamp(Microsecond, None)`.
    Timestamp,
    /// Arrow `Timestamp(Microsecond, "UTC")`.
    TimestampUtc,
    /// JSON as text; Arrow `Utf8`.
    Json,
    /// Differs from row to row: never Arrow.
    Any,
}

/// One value of a row batch.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value, in a column of any type.
    Null,
    /// A truth value.
    Boolean(bool),
    /// A signed integer.
    Int64(i64),
    /// An unsigned integer.
    Uint64(u64),
    /// A floating-point number, NaN and infinities included.
    Float64(f64),
    /// An exact number as decimal text.
    Decimal(String),
    /// Unicode text of any length.
    Text(String),
    /// Binary data of any length.
    Bytes(Vec<u8>),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(u64),
    /// Microseconds since 1970-01-01T00:00:00, no zone.
    Timestamp(i64),
    /// Microseconds since 1970-01-01T00:00:00Z.
    TimestampUtc(i64),
    /// A JSON document as text.
    Json(String),
    /// What nothing else can hold, as the engine writes it.
    Other(String),
}

impl Value {
    /// The type of columns that holds such values; none for NULL and for [`Value::Other`].
    pub fn data_type(&self) -> Option<DataType> {
        Some(match self {
            Value::Null | Value::Other(_) => return None,
            Value::Boolean(_) => DataType::Boolean,
            Value::Int64(_) => DataType::Int64,
            Value::Uint64(_) => DataType::Uint64,
            Value::Float64(_) => DataType::Float64,
            Value::Decimal(_) => DataType::Decimal,
            Value::Text(_) => DataType::Text,
            Value::Bytes(_) => DataType::Bytes,
            Value::Date(_) => DataType::Date,
            Value::Time(_) => DataType::Time,
            Value::Timestamp(_) => DataType::Timestamp,
            Value::TimestampUtc(_) => DataType::TimestampUtc,
            Value::Json(_) => DataType::Json,
        })
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Value::Decimal(text) | Value::Text(text) | Value::Json(text) | Value::Other(text) => {
                text.len()
            }
            Value::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
    }
}

/// A column of a result, as the host has checked it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// As the engine names it; names may repeat.
    pub name: String,
    /// How the host reads the values, from the types that it knows.
    pub data_type: DataType,
    /// The engine's own type: `numeric(12,2)`.
    pub native_type: String,
    /// Whether NULL can occur.
    pub nullable: bool,
}

/// A table as its engine describes it.
#[derive(Clone, Debug)]
pub struct TableInfo {
    /// Schema and name of the table, as it was asked for.
    pub table: TableRef,
    /// `TABLE`, `VIEW`, …
    pub kind: String,
    /// For people, as the source has it; `None` if it has none.
    pub comment: Option<String>,
    /// Count or estimate, when the engine has one for free.
    pub row_count: Option<u64>,
    /// In the order of the table.
    pub columns: Vec<ColumnInfo>,
    /// One entry a key column, in order.
    pub primary_key: Vec<KeyColumn>,
    /// One entry a key column, in order.
    pub foreign_keys: Vec<ForeignKeyColumn>,
}

/// A column as its engine describes it.
#[derive(Clone, Debug)]
pub struct ColumnInfo {
    /// Without quotes, in the case in which the source lists it.
    pub name: String,
    /// From 1.
    pub ordinal: u32,
    /// The engine's own type.
    pub native_type: String,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// The default, as SQL text.
    pub default_value: Option<String>,
    /// For people, as the source has it; `None` if it has none.
    pub comment: Option<String>,
}

/// A part of a primary key; a composite key has several.
#[derive(Clone, Debug)]
pub struct KeyColumn {
    /// Name of the constraint.
    pub constraint_name: String,
    /// From 1.
    pub ordinal: u32,
    /// Name of a column of this table.
    pub column: String,
}

/// A part of a foreign key; a composite key has several with the same constraint.
#[derive(Clone, Debug)]
pub struct ForeignKeyColumn {
    /// Name of the constraint.
    pub constraint_name: String,
    /// From 1.
    pub ordinal: u32,
    /// Name of the column of this table that refers.
    pub column: String,
    /// The table that it points to.
    pub referenced: TableRef,
    /// Name of the column of `referenced` that it points to.
    pub referenced_column: String,
}

/// How much may be read to learn a table's statistics.
#[derive(Clone, Debug)]
pub struct StatisticsOptions {
    /// Names of the columns, as the description has them.
    pub columns: Vec<String>,
    /// No more rows may be read to answer.
    pub max_rows: u64,
    /// The answer may take no longer.
    pub max_time: Duration,
}

/// What the values of one column are like; `None` where the engine does not know.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStatistics {
    /// Name of the column, as the description has it.
    pub column: String,
    /// Share of the rows without a value, from 0.0 to 1.0.
    pub null_fraction: Option<f64>,
    /// Distinct values, NULL not counted.
    pub distinct_count: Option<u64>,
    /// Value and its share of all rows, most common first.
    pub common_values: Vec<(String, f64)>,
    /// Least value as text.
    pub min_value: Option<String>,
    /// Greatest value as text.
    pub max_value: Option<String>,
    /// Whether the figures are estimates.
    pub estimated: bool,
    /// Rows that were read, when it was a sample.
    pub sampled_rows: Option<u64>,
}

/// A statement for the engine, and how long it may take.
#[derive(Clone, Debug)]
pub struct Statement {
    /// SQL in the engine's dialect. Only `sql::guard` makes the text of a caller's statement.
    pub text: String,
    /// Id of this execution, for the engine's log.
    pub id: String,
    /// The engine is told to stop by itself after this long.
    pub timeout: Duration,
}

/// A version of a plugin that serves.
pub trait Plugin: Send + Sync {
    /// What it says of itself; checked at installation.
    fn manifest(&self) -> &Manifest;
    /// SHA-256 of the component, in hex.
    fn digest(&self) -> &str;
    /// Another version serves in its place: from now on it keeps nothing idle. What is in progress goes on. Returns how
    /// to learn of its end and to bring it about; `None` from one that holds nothing.
    fn retire(&self) -> Option<Retirement> {
        None
    }
}

/// The end of a version that was retired.
#[derive(Clone, Debug, Default)]
pub struct Retirement {
    /// Cancelled when nobody uses it any more.
    pub gone: CancellationToken,
    /// Cancel it to end what still runs on it.
    pub cut: CancellationToken,
}

/// A connector plugin that serves.
#[async_trait]
pub trait Connector: Plugin {
    /// A connection from the pool of this target, opened if none is free. Waits at most until the deadline of
    /// the call for a place, then fails with `overloaded`.
    async fn connect(&self, target: &Target, call: &Call) -> Result<Box<dyn Connection>>;
    /// Closes what is pooled for a target whose configuration changed or that is gone.
    async fn forget(&self, target_id: &str);
}

/// One connection. Dropping it gives it back to its pool if it can be used again; dropped in the middle of a
/// call or with an open cursor it is cancelled down to the engine and thrown away.
///
/// At most one cursor is open at a time: after [`Connection::query`] only `next` and `close` may be called.
#[async_trait]
pub trait Connection: Send {
    /// SHA-256 of the component that serves it.
    fn digest(&self) -> &str;
    /// The plan of the first statement on this connection and what it read, where the host itself runs the SQL.
    fn plan(&self) -> Option<String> {
        None
    }
    /// Proves that the engine answers.
    async fn check(&mut self, call: &Call) -> Result<ServerInfo>;
    /// Every table and view in reach.
    async fn tables(&mut self, call: &Call) -> Result<Vec<TableRef>>;
    /// Columns, keys, comments. A table that is gone is left out.
    async fn describe_tables(&mut self, tables: &[TableRef], call: &Call)
    -> Result<Vec<TableInfo>>;
    /// The engine's own statistics, `None` when it has no fresh ones.
    async fn statistics(
        &mut self,
        table: &TableRef,
        options: &StatisticsOptions,
        call: &Call,
    ) -> Result<Option<Vec<ColumnStatistics>>>;
    /// From here all statements see one state of the data. False when the engine cannot.
    async fn begin_snapshot(&mut self, timeout: Duration, call: &Call) -> Result<bool>;
    /// Ends the snapshot; statements see newer data again.
    async fn end_snapshot(&mut self, call: &Call) -> Result<()>;
    /// Starts a statement and opens its cursor.
    async fn query(&mut self, statement: &Statement, call: &Call) -> Result<Arc<[Column]>>;
    /// At most `max_rows` rows; `None` at the end. Never more than asked, never an unchecked value.
    async fn next(&mut self, max_rows: u32, call: &Call) -> Result<Option<Batch>>;
    /// Closes the cursor, read to its end or not.
    async fn close(&mut self, call: &Call) -> Result<()>;
}
