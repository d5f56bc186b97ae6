//! The settings: built-in defaults ← file ← environment.
//!
//! `mindhost.default.toml` is both the documentation and the defaults, so the two cannot disagree. Every setting is in
//! it: any other name is refused, with the nearest one as a suggestion. Nothing else reads the environment.

mod address;
mod bounds;
mod effective;
mod load;
mod plugins;
mod values;

use std::{net::SocketAddr, num::NonZeroU32, path::PathBuf, time::Duration};

use serde::Deserialize;

pub use address::AddressRule;
pub use effective::{EffectiveSetting, Origin};
pub use load::{ConfigError, DEFAULTS};
pub use plugins::{
    CatalogueSource, Compiler, FaultSettings, PluginLimits, PluginSettings, TrustedKey,
};
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
    /// Directory of plugin files that the start installs.
    pub plugins_dir: PathBuf,
    /// An operator key that is valid while set; empty means none.
    pub admin_key: Secret,
    /// Limits of connections and request bodies, and who may call from where.
    pub server: Server,
    /// Limits per key and per workspace.
    pub limits: Limits,
    /// How long the audit trail is kept.
    pub audit: Audit,
    /// Where everything but rows of datasources is kept.
    pub store: Store,
    /// Where the key comes from that encrypts passwords and API keys in the store.
    pub secrets: Secrets,
    /// Limits of plugins, whom they must be signed by, and how they are compiled.
    pub plugins: Plugins,
    /// How a new version replaces the active one.
    pub rollouts: Rollouts,
    /// Network addresses that plugins may reach.
    pub egress: Egress,
    /// Directories that file engines may read.
    pub files: Files,
    /// Statements and results.
    pub sql: Sql,
    /// Timeouts and samples when tables and columns of datasources are read.
    pub catalog: Catalog,
    /// What one answer may use at most, and how many a key may have at once.
    pub answering: Answering,
    /// Form and level of the log.
    pub log: Log,
    /// Where `/metrics` is served without a key.
    pub metrics: Metrics,
    /// Where spans of requests and plugin calls are sent.
    pub telemetry: Telemetry,
}

/// The section `server`: connections, request bodies, origins and proxies.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Largest request body in bytes.
    pub body_limit: usize,
    /// Longest wait for the next bytes of a request body.
    #[serde(deserialize_with = "values::duration")]
    pub body_idle_timeout: Duration,
    /// Longest time for a whole request body.
    #[serde(deserialize_with = "values::duration")]
    pub body_timeout: Duration,
    /// Open client connections at most.
    pub max_connections: usize,
    /// From the start of a connection to the head of its first request.
    #[serde(deserialize_with = "values::duration")]
    pub first_request_timeout: Duration,
    /// Between two requests of a connection.
    #[serde(deserialize_with = "values::duration")]
    pub idle_timeout: Duration,
    /// Origins whose pages may call the API.
    pub cors_origins: Vec<String>,
    /// Gzip where the client asks for it.
    pub compression: bool,
    /// Proxies whose forwarding headers are trusted.
    #[serde(deserialize_with = "values::networks")]
    pub trusted_proxies: Vec<ipnet::IpNet>,
    /// Time for running requests to end at shutdown.
    #[serde(deserialize_with = "values::duration")]
    pub shutdown_grace: Duration,
    /// Time before that in which load balancers see that the server is not ready any more; may be zero.
    #[serde(deserialize_with = "values::duration")]
    pub shutdown_delay: Duration,
}

/// Limits per key and per workspace.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Sustained requests per second; 0 means no limit.
    pub requests_per_second: u32,
    /// Requests above that rate at one moment (token bucket).
    pub burst: u32,
    /// Requests in flight; 0 means no limit.
    pub concurrent_requests: u32,
    /// Bytes of buffered responses that clients have not read yet; 0 means no limit.
    pub unread_bytes_per_key: u64,
    /// Concurrent exports of a key; 0 means no limit.
    pub exports_per_key: u32,
    /// Valid keys of one workspace; 0 means no limit.
    pub keys_per_workspace: u32,
    /// Datasources of one workspace; 0 means no limit.
    pub datasources_per_workspace: u32,
    /// Model providers of one workspace; 0 means no limit.
    pub providers_per_workspace: u32,
    /// Minds of one workspace; 0 means no limit.
    pub minds_per_workspace: u32,
    /// Entries of knowledge of one Mind; 0 means no limit.
    pub knowledge_per_mind: u32,
    /// Wrong keys per address and minute; 0 means no limit.
    pub failed_logins: u32,
}

/// The section `audit`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// Age after which entries are deleted.
    #[serde(deserialize_with = "values::duration")]
    pub retention: Duration,
}

/// The section `store`: SQLite in the data directory, or PostgreSQL.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// Size of the connection pool.
    pub max_connections: u32,
    /// Longest wait for a connection, and on SQLite for the writer lock.
    #[serde(deserialize_with = "values::duration")]
    pub acquire_timeout: Duration,
    /// Bytes of conversations and responses of one key; 0 means no limit.
    pub max_key_bytes: u64,
    /// Bytes of conversations and responses of one workspace; 0 means no limit.
    pub max_workspace_bytes: u64,
    /// Age after which conversations and responses are deleted; zero keeps them.
    #[serde(deserialize_with = "values::duration")]
    pub retention: Duration,
    /// Free bytes on the disk below which nothing new is stored; 0 turns the check off.
    pub min_free_bytes: u64,
    /// Durability of an SQLite write.
    pub synchronous: Synchronous,
}

/// The section `secrets`: at most one of the three is set.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Secrets {
    /// File of the key; empty means `secrets.key` in the data directory.
    pub key_file: PathBuf,
    /// The key, or several; empty means another source.
    pub key: Secret,
    /// A program that prints the key, and its arguments; empty means another source.
    pub key_command: Vec<String>,
}

/// The section `plugins`: where plugins come from, and what they may use.
#[derive(Clone, Debug, Deserialize)]
pub struct Plugins {
    /// Directory of compiled plugins; empty means `cache` in the data directory.
    pub cache_dir: PathBuf,
    /// Refuse plugins without a signature of a trusted key.
    pub require_signature: bool,
    /// minisign public keys.
    pub trusted_keys: Vec<TrustedKey>,
    /// Catalogues that `plugin search` and `plugin install NAME` read.
    pub catalogues: Vec<CatalogueSource>,
    /// What the runtime and the engine for scanners may use; in the same section of the file.
    #[serde(flatten)]
    pub limits: PluginSettings,
}

/// How a new version replaces the active one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rollouts {
    /// Datasources or providers that a new version is checked with.
    pub targets: usize,
    /// Longest check of one of them.
    #[serde(deserialize_with = "values::duration")]
    pub check_timeout: Duration,
    /// How long a version is watched after the switch.
    #[serde(deserialize_with = "values::duration")]
    pub probation: Duration,
    /// Share of faulty calls above that of the old version that ends a canary, 0.0 to 1.0.
    pub fault_share: f64,
    /// Factor by which its calls may be slower, from 1.0.
    pub slower: f64,
    /// Time by which they may be slower on top of the factor.
    #[serde(deserialize_with = "values::duration")]
    pub slack: Duration,
}

/// Network addresses that plugins may reach.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Egress {
    /// Whether plugins may connect to this machine; `auto` decides by who can call the server.
    pub allow_loopback: Switch,
    /// Whether plugins may connect to addresses such as 10/8 and 192.168/16.
    pub allow_private: bool,
    /// `CIDR:port`; unless empty, only these.
    pub allow: Vec<AddressRule>,
    /// `CIDR:port`; never these, whatever else allows them.
    pub deny: Vec<AddressRule>,
    /// Ports of other well-known protocols that are allowed nevertheless.
    #[serde(deserialize_with = "values::ports")]
    pub allow_ports: Vec<u16>,
    /// PEM file of authorities for HTTPS, besides the public ones; empty means none.
    pub root_certificates: PathBuf,
}

/// Directories that file engines may read, and files that are uploaded.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// Directories beside `files/` in the data directory.
    pub roots: Vec<PathBuf>,
    /// Bytes of one uploaded file at most.
    pub max_upload_bytes: u64,
    /// Bytes of all files in the directory of a workspace, with which an upload is still taken.
    pub max_workspace_bytes: u64,
}

/// Statements and results.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sql {
    /// Timeout of statements on datasources that set none.
    #[serde(deserialize_with = "values::duration")]
    pub statement_timeout: Duration,
    /// The longest timeout that a datasource may set.
    #[serde(deserialize_with = "values::duration")]
    pub statement_timeout_ceiling: Duration,
    /// Default number of connections to one datasource.
    pub max_connections: u32,
    /// The largest number that a datasource may set.
    pub max_connections_ceiling: u32,
    /// Bytes of an accepted statement at most.
    pub statement_bytes: usize,
    /// Bytes of a page at most, as JSON.
    pub page_bytes: usize,
    /// Longest time of a whole CSV export.
    #[serde(deserialize_with = "values::duration")]
    pub export_timeout: Duration,
    /// Longest wait for a client that does not read its export.
    #[serde(deserialize_with = "values::duration")]
    pub export_idle_timeout: Duration,
    /// How a CSV export writes formulas, unless the request says.
    pub csv_formulas: Formulas,
}

/// How a CSV file holds text that a spreadsheet would run as a formula.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Formulas {
    /// Unchanged.
    #[default]
    Keep,
    /// With an apostrophe in front, which makes it text.
    Escape,
}

/// The section `catalog`: limits of the runs that read tables and columns.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    /// Timeout for a connection test or a list of tables.
    #[serde(deserialize_with = "values::duration")]
    pub check_timeout: Duration,
    /// Timeout for the description and statistics of one table.
    #[serde(deserialize_with = "values::duration")]
    pub table_timeout: Duration,
    /// Rows to sample for the statistics of a table.
    pub sample_rows: u64,
    /// Longest time to read those rows.
    #[serde(deserialize_with = "values::duration")]
    pub sample_time: Duration,
    /// Tables that a run loads concurrently.
    pub concurrency: usize,
}

/// The section `answering`: what one answer may use, and how many a key may have.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answering {
    /// Tool calls that the model may make for one answer.
    pub tool_calls: u32,
    /// Failed SQL statements that the model may correct.
    pub repairs: u32,
    /// Longest time from the question to the end.
    #[serde(deserialize_with = "values::duration")]
    pub wall_clock: Duration,
    /// Tokens that the model reads and writes over all turns.
    pub tokens: u64,
    /// Bytes of text that one answer may have.
    pub answer_bytes: usize,
    /// Rows that the model gets of each result; it is told when there are more.
    pub rows_for_model: NonZeroU32,
    /// Estimated tokens of the part of the catalog in the prompt; below 200 there is none.
    pub catalog_tokens: usize,
    /// Earlier messages that are read of a conversation.
    pub history: usize,
    /// Tokens of one request to the model.
    pub context_tokens: usize,
    /// Statements of the model whose plan costs more, by the engine's estimate, are refused; 0 means no estimate.
    pub max_plan_cost: f64,
    /// Answers in progress of one key at most, in words and in SQL.
    pub concurrent_per_key: usize,
    /// Concurrent background answers of a key.
    pub background_per_key: usize,
    /// How long the events of a background answer can be replayed.
    #[serde(deserialize_with = "values::duration")]
    pub replay: Duration,
    /// Bytes of all events that can be replayed.
    pub replay_bytes: usize,
    /// Interval of keep-alive comments on a quiet stream.
    #[serde(deserialize_with = "values::duration")]
    pub keep_alive: Duration,
}

/// The section `log`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// For people or for machines.
    pub format: LogFormat,
    /// A filter of `tracing`.
    pub level: String,
}

/// The section `metrics`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// Address of a separate listener; empty means none.
    #[serde(deserialize_with = "values::optional_address")]
    pub listen: Option<SocketAddr>,
}

/// The section `telemetry`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Telemetry {
    /// A collector of OTLP over HTTP; empty means none.
    pub otlp_endpoint: String,
    /// Name of this server in traces.
    pub service_name: String,
    /// Share of requests to trace, in percent. A `traceparent` header overrides it.
    pub sample_percent: u32,
}

/// The folder of this user for what can be made again, by the rules of freedesktop.org; none if the system names none.
pub fn user_cache_dir() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    folder("XDG_CACHE_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| Some(folder("HOME")?.join(".cache")))
}

impl Config {
    /// The settings of this process: `MINDHOST_CONFIG` names the file.
    ///
    /// # Errors
    /// A setting that does not exist or has the wrong type, or a file that cannot be read.
    pub fn load() -> Result<Self, ConfigError> {
        load::load(load::texts(std::env::vars_os())?)
    }

    /// Every setting of this process with its value and where that comes from. Secrets are masked.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn effective() -> Result<Vec<EffectiveSetting>, ConfigError> {
        effective::effective(&load::layers(load::texts(std::env::vars_os())?)?)
    }

    /// The default settings.
    ///
    /// # Errors
    /// None, as long as `mindhost.default.toml` names every setting.
    pub fn defaults() -> Result<Self, ConfigError> {
        load::load([])
    }

    /// The settings with `vars` in place of the environment of the process.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn from_env(vars: impl IntoIterator<Item = (String, String)>) -> Result<Self, ConfigError> {
        load::load(vars)
    }

    /// Directory for what statements keep on disk while they run.
    pub fn spill_dir(&self) -> PathBuf {
        self.data_dir.join("spill")
    }

    /// Directory of compiled plugins.
    pub fn cache_dir(&self) -> PathBuf {
        match self.plugins.cache_dir.as_os_str().is_empty() {
            true => self.data_dir.join("cache"),
            false => self.plugins.cache_dir.clone(),
        }
    }

    /// Directory of installed plugins.
    pub fn artifacts_dir(&self) -> PathBuf {
        self.data_dir.join("plugins")
    }

    /// File of the key that encrypts secrets.
    pub fn key_file(&self) -> PathBuf {
        match self.secrets.key_file.as_os_str().is_empty() {
            true => self.data_dir.join("secrets.key"),
            false => self.secrets.key_file.clone(),
        }
    }
}
