//! The settings: built-in defaults ← file ← environment.
//!
//! `mindhost.default.toml` is both the documentation and the defaults, so the two cannot disagree. A setting that
//! it does not name does not exist: a typing error is refused with the nearest name. This is the only place that
//! reads the environment.

mod address;
mod bounds;
mod load;
mod plugins;
mod values;

use std::{net::SocketAddr, num::NonZeroU32, path::PathBuf, time::Duration};

use serde::Deserialize;

pub use address::AddressRule;
pub use load::{ConfigError, DEFAULTS};
pub use plugins::{Compiler, FaultSettings, PluginLimits, PluginSettings, TrustedKey};
pub use values::{LogFormat, Secret, Switch, Synchronous};

/// Every setting. `mindhost.default.toml` says what each is for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where the server listens.
    pub listen: SocketAddr,
    /// The server's own files.
    pub data_dir: PathBuf,
    /// The store; empty means SQLite in the data directory. Holds a password.
    pub database_url: Secret,
    /// Where plugins are installed from at start.
    pub plugins_dir: PathBuf,
    /// An operator key that is valid while set; empty means none.
    pub admin_key: Secret,
    /// The HTTP server.
    pub server: Server,
    /// What one key or workspace may take of the server.
    pub limits: Limits,
    /// The audit trail.
    pub audit: Audit,
    /// The store.
    pub store: Store,
    /// Encryption of secrets.
    pub secrets: Secrets,
    /// The plugin runtime.
    pub plugins: Plugins,
    /// How a version takes the place of another.
    pub rollouts: Rollouts,
    /// What plugins may reach.
    pub egress: Egress,
    /// What file engines may read.
    pub files: Files,
    /// Statements and results.
    pub sql: Sql,
    /// Catalog runs.
    pub catalog: Catalog,
    /// Bounds of an answer.
    pub answering: Answering,
    /// Log lines.
    pub log: Log,
    /// Figures of the host.
    pub metrics: Metrics,
    /// Traces.
    pub telemetry: Telemetry,
}

/// The HTTP server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Bytes.
    pub body_limit: usize,
    /// Until the next bytes of a body.
    #[serde(deserialize_with = "values::duration")]
    pub body_idle_timeout: Duration,
    /// Until its last.
    #[serde(deserialize_with = "values::duration")]
    pub body_timeout: Duration,
    /// Connections of clients.
    pub max_connections: usize,
    /// From a connection to the head of its first request.
    #[serde(deserialize_with = "values::duration")]
    pub first_request_timeout: Duration,
    /// Between two requests of a connection.
    #[serde(deserialize_with = "values::duration")]
    pub idle_timeout: Duration,
    /// Origins whose pages may call the API.
    pub cors_origins: Vec<String>,
    /// Gzip where the client asks for it.
    pub compression: bool,
    /// Proxies whose forwarding headers are believed.
    #[serde(deserialize_with = "values::networks")]
    pub trusted_proxies: Vec<ipnet::IpNet>,
    /// Time to end what is under way.
    #[serde(deserialize_with = "values::duration")]
    pub shutdown_grace: Duration,
}

/// What one key or workspace may take of the server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Requests a second, over some time; 0 means no limit.
    pub requests_per_second: u32,
    /// Requests at once beyond that.
    pub burst: u32,
    /// Requests under way; 0 means no limit.
    pub concurrent_requests: u32,
    /// Bytes of whole answers that clients have yet to read; 0 means no limit.
    pub unread_bytes_per_key: u64,
    /// Exports of a key that may run at once; 0 means no limit.
    pub exports_per_key: u32,
    /// Keys of one workspace that are valid; 0 means no limit.
    pub keys_per_workspace: u32,
    /// Datasources of one workspace; 0 means no limit.
    pub datasources_per_workspace: u32,
    /// Model providers of one workspace; 0 means no limit.
    pub providers_per_workspace: u32,
    /// Minds of one workspace; 0 means no limit.
    pub minds_per_workspace: u32,
    /// Wrong keys that one address may send in a minute; 0 means no limit.
    pub failed_logins: u32,
}

/// The audit trail.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// Older entries are deleted.
    #[serde(deserialize_with = "values::duration")]
    pub retention: Duration,
}

/// The store.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// Connections.
    pub max_connections: u32,
    /// Wait for one of them.
    #[serde(deserialize_with = "values::duration")]
    pub acquire_timeout: Duration,
    /// Bytes of conversations and responses of one key; 0 means no limit.
    pub max_key_bytes: u64,
    /// The same of one workspace.
    pub max_workspace_bytes: u64,
    /// Older conversations and responses are deleted; zero keeps them.
    #[serde(deserialize_with = "values::duration")]
    pub retention: Duration,
    /// Free disk below which nothing new is stored; 0 means none.
    pub min_free_bytes: u64,
    /// How safe an SQLite write is.
    pub synchronous: Synchronous,
}

/// Encryption of secrets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Secrets {
    /// Empty means `secrets.key` in the data directory.
    pub key_file: PathBuf,
    /// The key itself, or several; empty means another source.
    pub key: Secret,
    /// A program and its arguments that prints it; empty means another source.
    pub key_command: Vec<String>,
}

/// The plugin runtime.
#[derive(Clone, Debug, Deserialize)]
pub struct Plugins {
    /// Empty means `cache` in the data directory.
    pub cache_dir: PathBuf,
    /// Whether only plugins run that a trusted key signed.
    pub require_signature: bool,
    /// Public keys of minisign.
    pub trusted_keys: Vec<TrustedKey>,
    /// Limits of the runtime.
    #[serde(flatten)]
    pub limits: PluginSettings,
}

/// How a version takes the place of another.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rollouts {
    /// Datasources or providers that a new version is tried with.
    pub targets: usize,
    /// For each of them.
    #[serde(deserialize_with = "values::duration")]
    pub check_timeout: Duration,
    /// How long a version is watched after it took over.
    #[serde(deserialize_with = "values::duration")]
    pub probation: Duration,
    /// Faults, as a share of its calls and above those of the old version, that end a trial.
    pub fault_share: f64,
    /// How many times as long its calls may take.
    pub slower: f64,
    /// And this much on top.
    #[serde(deserialize_with = "values::duration")]
    pub slack: Duration,
}

/// What plugins may reach.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Egress {
    /// This machine itself.
    pub allow_loopback: Switch,
    /// Private addresses.
    pub allow_private: bool,
    /// `CIDR:port`; if not empty, nothing else.
    pub allow: Vec<AddressRule>,
    /// `CIDR:port`; never.
    pub deny: Vec<AddressRule>,
    /// Ports of other protocols that may be reached all the same.
    #[serde(deserialize_with = "values::ports")]
    pub allow_ports: Vec<u16>,
}

/// What file engines may read.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// Directories beside `files/` in the data directory.
    pub roots: Vec<PathBuf>,
}

/// Statements and results.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sql {
    /// For one statement.
    #[serde(deserialize_with = "values::duration")]
    pub statement_timeout: Duration,
    /// The longest that a datasource may set.
    #[serde(deserialize_with = "values::duration")]
    pub statement_timeout_ceiling: Duration,
    /// Open at once to one datasource.
    pub max_connections: u32,
    /// The most that a datasource may set.
    pub max_connections_ceiling: u32,
    /// Longest statement in bytes.
    pub statement_bytes: usize,
    /// Largest page in bytes.
    pub page_bytes: usize,
    /// Longest export.
    #[serde(deserialize_with = "values::duration")]
    pub export_timeout: Duration,
    /// Longest wait for a client that does not read.
    #[serde(deserialize_with = "values::duration")]
    pub export_idle_timeout: Duration,
    /// What becomes of formulas in an export that does not say it itself.
    pub csv_formulas: Formulas,
}

/// What becomes of texts in a CSV file that a spreadsheet would take for formulas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Formulas {
    /// They are written as they are.
    #[default]
    Keep,
    /// They get an apostrophe in front, which makes them texts.
    Escape,
}

/// Catalog runs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    /// Testing a connection and listing tables.
    #[serde(deserialize_with = "values::duration")]
    pub check_timeout: Duration,
    /// Reading one table's description and statistics.
    #[serde(deserialize_with = "values::duration")]
    pub table_timeout: Duration,
    /// Rows read for the statistics of a table.
    pub sample_rows: u64,
    /// Time spent on them.
    #[serde(deserialize_with = "values::duration")]
    pub sample_time: Duration,
    /// Tables at the same time.
    pub concurrency: usize,
}

/// Bounds of an answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answering {
    /// Calls of tools.
    pub tool_calls: u32,
    /// Corrections of failed SQL.
    pub repairs: u32,
    /// From question to end.
    #[serde(deserialize_with = "values::duration")]
    pub wall_clock: Duration,
    /// Tokens read and written by the model, over all its turns.
    pub tokens: u64,
    /// Bytes of text in one answer.
    pub answer_bytes: usize,
    /// Rows that the model sees.
    pub rows_for_model: NonZeroU32,
    /// Earlier messages that the model sees.
    pub history: usize,
    /// Answers under way a key.
    pub concurrent_per_key: usize,
    /// Those of them in the background.
    pub background_per_key: usize,
    /// How long the events of an answer in the background are kept.
    #[serde(deserialize_with = "values::duration")]
    pub replay: Duration,
    /// Bytes of all of them.
    pub replay_bytes: usize,
    /// Between two signs of life on a quiet stream.
    #[serde(deserialize_with = "values::duration")]
    pub keep_alive: Duration,
}

/// Log lines.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// For people or for machines.
    pub format: LogFormat,
    /// A filter of `tracing`.
    pub level: String,
}

/// Figures of the host.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// A listener of their own; empty means none.
    #[serde(deserialize_with = "values::optional_address")]
    pub listen: Option<SocketAddr>,
}

/// Traces.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Telemetry {
    /// A collector of OTLP over HTTP; empty means none.
    pub otlp_endpoint: String,
    /// What this server is called in traces.
    pub service_name: String,
    /// Of hundred requests that no caller's trace decides about, so many are traced.
    pub sample_percent: u32,
}

impl Config {
    /// The settings of this process: `MINDHOST_CONFIG` names the file.
    ///
    /// # Errors
    /// A setting that does not exist or has the wrong type, or a file that cannot be read.
    pub fn load() -> Result<Self, ConfigError> {
        load::load(load::texts(std::env::vars_os())?)
    }

    /// The settings that hold when nothing is set.
    ///
    /// # Errors
    /// None, as long as `mindhost.default.toml` names every setting.
    pub fn defaults() -> Result<Self, ConfigError> {
        load::load([])
    }

    /// The settings with this environment in place of the process's own.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn from_env(vars: impl IntoIterator<Item = (String, String)>) -> Result<Self, ConfigError> {
        load::load(vars)
    }

    /// Where compiled plugins are kept.
    pub fn cache_dir(&self) -> PathBuf {
        match self.plugins.cache_dir.as_os_str().is_empty() {
            true => self.data_dir.join("cache"),
            false => self.plugins.cache_dir.clone(),
        }
    }

    /// Where installed plugins are kept.
    pub fn artifacts_dir(&self) -> PathBuf {
        self.data_dir.join("plugins")
    }

    /// Where the key is that encrypts secrets.
    pub fn key_file(&self) -> PathBuf {
        match self.secrets.key_file.as_os_str().is_empty() {
            true => self.data_dir.join("secrets.key"),
            false => self.secrets.key_file.clone(),
        }
    }
}
