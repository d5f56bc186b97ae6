//! Limits of the plugin runtime.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::values::duration;

/// How components become machine code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compiler {
    /// Fast code.
    #[default]
    Cranelift,
    /// Compiles five times as fast; the code runs half as fast.
    Winch,
}

/// A catalogue of plugins: a name, where it lies, and the key that must have signed it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueSource {
    /// Its name, as it stands in the document.
    pub name: String,
    /// A reference such as `oci://registry.example.com/plugins/catalogue:latest`, or a file with `.minisig` beside it.
    pub source: String,
    /// The minisign public key.
    pub key: String,
}

/// A minisign public key and what it may sign. In the settings, either the key or a table
/// `{ key = "RWQ…", plugins = ["connector-postgres"], min_version = "1.2.0" }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedKey {
    /// A minisign public key in base64, without its comment line: `RWQ…`.
    pub key: String,
    /// Names of the plugins that it may sign; `None` means any.
    pub plugins: Option<Vec<String>>,
    /// The lowest version that it may sign; `None` means any.
    pub min_version: Option<String>,
}

impl TrustedKey {
    /// Whether it may sign only some plugins or versions.
    pub fn is_limited(&self) -> bool {
        self.plugins.is_some() || self.min_version.is_some()
    }
}

impl From<String> for TrustedKey {
    /// A key that may sign any plugin.
    fn from(key: String) -> Self {
        Self {
            key,
            plugins: None,
            min_version: None,
        }
    }
}

impl fmt::Display for TrustedKey {
    /// What it may sign: `connector-postgres from version 1.2.0 on`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.plugins {
            Some(plugins) => f.write_str(&plugins.join(", "))?,
            None => f.write_str("any plugin")?,
        }
        match &self.min_version {
            Some(version) => write!(f, " from version {version} on"),
            None => Ok(()),
        }
    }
}

impl<'de> Deserialize<'de> for TrustedKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct KeyTable {
            key: String,
            plugins: Option<Vec<String>>,
            min_version: Option<String>,
        }
        struct TextOrTable;
        impl<'de> Visitor<'de> for TextOrTable {
            type Value = TrustedKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a public key, or a table with `key`, `plugins` and `min_version`")
            }

            fn visit_str<E: de::Error>(self, key: &str) -> Result<TrustedKey, E> {
                Ok(key.to_owned().into())
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<TrustedKey, M::Error> {
                let limited = KeyTable::deserialize(MapAccessDeserializer::new(map))?;
                Ok(TrustedKey {
                    key: limited.key,
                    plugins: limited.plugins,
                    min_version: limited.min_version,
                })
            }
        }
        deserializer.deserialize_any(TextOrTable)
    }
}

/// The limits in the section `[plugins]`. Sizes are in bytes.
#[derive(Clone, Debug, Deserialize)]
pub struct PluginSettings {
    /// Linear memory of one instance. A guest that asks for more traps. Connectors stream, so they need far less than
    /// the default.
    pub max_memory_bytes: u64,
    /// Linear memory of all instances, so that many guests cannot exhaust the machine.
    pub max_total_memory_bytes: u64,
    /// Linear memory of the instances of one workspace.
    pub max_workspace_memory_bytes: u64,
    /// Linear memory of the instances of one datasource or provider.
    pub max_target_memory_bytes: u64,
    /// Instances at most, idle connections included. The start reserves their address space.
    pub max_instances: u32,
    /// Instances of one workspace's datasources and providers.
    pub max_workspace_instances: u32,
    /// Instances that work for one key at a time.
    pub max_key_instances: u32,
    /// Bytes that the host asks a cursor for. Large enough to hide the cost of a call, small enough for slow readers.
    pub batch_bytes: u32,
    /// Bytes that a cursor may return: a row larger than `batch_bytes` is a batch of its own.
    pub max_batch_bytes: u32,
    /// Bytes of the largest value that a result may have.
    pub max_cell_bytes: u32,
    /// Columns that a result or table may have.
    pub max_columns: u32,
    /// Tables that one datasource may list.
    pub max_tables: u32,
    /// Text of one error message of a guest, in bytes; longer ones are cut.
    pub max_message_bytes: u32,
    /// Bytes of one completion of a model, tool calls included.
    pub max_completion_bytes: u32,
    /// Lines that one instance may log per second; the host counts and drops the rest.
    pub log_lines_per_second: u32,
    /// How long a cancelled call may take to return before its instance is dropped.
    #[serde(deserialize_with = "duration")]
    pub cancel_grace: Duration,
    /// How long `cancel` on a second connection may take.
    #[serde(deserialize_with = "duration")]
    pub cancel_timeout: Duration,
    /// How long a cancelled statement holds its connection slot until the engine confirms the end.
    #[serde(deserialize_with = "duration")]
    pub cancel_confirm_timeout: Duration,
    /// How long a connection may be idle before it is closed.
    #[serde(deserialize_with = "duration")]
    pub idle_timeout: Duration,
    /// Longest time for the TCP and TLS handshakes of an HTTP request.
    #[serde(deserialize_with = "duration")]
    pub connect_timeout: Duration,
    /// Longest wait for the next bytes of an HTTP response.
    #[serde(deserialize_with = "duration")]
    pub http_idle_timeout: Duration,
    /// Makes the code that plugins serve with; see `quick_start` for the time until it is ready.
    pub compiler: Compiler,
    /// Serve with quickly compiled code until the optimised code is ready.
    pub quick_start: bool,
    /// How long a start waits for plugins to compile.
    #[serde(deserialize_with = "duration")]
    pub compile_wait: Duration,
    /// How long calls may continue on a replaced version.
    #[serde(deserialize_with = "duration")]
    pub drain_timeout: Duration,
    /// Memory of one statement over a scanner.
    pub query_memory_bytes: u64,
    /// Memory of all statements over scanners.
    pub max_total_query_memory_bytes: u64,
    /// Disk of one statement over scanners, beyond its memory; 0 means that nothing is written to disk.
    pub query_spill_bytes: u64,
    /// Disk of all statements over scanners.
    pub max_total_query_spill_bytes: u64,
    /// Rows that one statement over several datasources may move into the host.
    pub query_moved_rows: u64,
    /// Bytes that it may move.
    pub query_moved_bytes: u64,
    /// Threads for statements over scanners; 0 means one less than the machine has, and at least one.
    pub query_threads: u32,
    /// Largest plugin file.
    pub max_package_bytes: u64,
    /// Longest call of a plugin function, whatever the timeout of the statement is.
    #[serde(deserialize_with = "duration")]
    pub max_call_time: Duration,
    /// When a plugin that fails is no longer called.
    pub faults: FaultSettings,
    /// Limits of single plugins, by their names.
    #[serde(rename = "limits")]
    pub by_plugin: BTreeMap<String, PluginLimits>,
}

impl PluginSettings {
    /// The settings for one plugin, with its own limits in place of the general ones.
    #[must_use]
    pub fn of(&self, plugin: &str) -> Self {
        let mut settings = self.clone();
        let Some(own) = self.by_plugin.get(plugin) else {
            return settings;
        };
        let replace = |all: &mut u64, own: Option<u64>| *all = own.unwrap_or(*all);
        replace(&mut settings.max_memory_bytes, own.max_memory_bytes);
        replace(
            &mut settings.max_target_memory_bytes,
            own.max_target_memory_bytes,
        );
        let replace = |all: &mut u32, own: Option<u32>| *all = own.unwrap_or(*all);
        replace(&mut settings.batch_bytes, own.batch_bytes);
        replace(&mut settings.max_batch_bytes, own.max_batch_bytes);
        replace(&mut settings.max_cell_bytes, own.max_cell_bytes);
        settings.max_call_time = own.max_call_time.unwrap_or(settings.max_call_time);
        settings
    }

    /// The largest `max_memory_bytes` of any plugin.
    pub fn largest_memory_bytes(&self) -> u64 {
        let own = self.by_plugin.values();
        let own = own.filter_map(|one| one.max_memory_bytes);
        own.fold(self.max_memory_bytes, u64::max)
    }
}

/// Limits of one plugin, which override the general ones: the section `[plugins.limits.<name>]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PluginLimits {
    /// Linear memory of one instance.
    pub max_memory_bytes: Option<u64>,
    /// Linear memory of all instances of the plugin, over its versions, datasources and workspaces.
    pub max_total_memory_bytes: Option<u64>,
    /// Linear memory of the instances of one datasource or provider.
    pub max_target_memory_bytes: Option<u64>,
    /// Connections to one datasource, whatever its own setting is.
    pub max_connections: Option<u32>,
    /// Longest call of a function.
    #[serde(deserialize_with = "optional_duration")]
    pub max_call_time: Option<Duration>,
    /// Bytes that the host asks a cursor for.
    pub batch_bytes: Option<u32>,
    /// Bytes that a cursor may return.
    pub max_batch_bytes: Option<u32>,
    /// Bytes of the largest value that a result may have.
    pub max_cell_bytes: Option<u32>,
}

impl PluginLimits {
    /// The names of all limits.
    pub(super) const NAMES: [&str; 8] = [
        "max_memory_bytes",
        "max_total_memory_bytes",
        "max_target_memory_bytes",
        "max_connections",
        "max_call_time",
        "batch_bytes",
        "max_batch_bytes",
        "max_cell_bytes",
    ];
}

fn optional_duration<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

/// When a plugin that fails is no longer called (a circuit breaker): the section `[plugins.faults]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultSettings {
    /// Faults of one target, minus its successes, that start a backoff.
    pub budget: u32,
    /// Age after which a fault no longer counts.
    #[serde(deserialize_with = "duration")]
    pub window: Duration,
    /// Length of the first backoff; each further one is twice as long.
    #[serde(deserialize_with = "duration")]
    pub backoff: Duration,
    /// No backoff is longer, however often it doubled.
    #[serde(deserialize_with = "duration")]
    pub max_backoff: Duration,
    /// Backoffs after which a version is quarantined; 0 means never.
    pub quarantine_after: u32,
}
