//! Limits of the plugin runtime.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::values::duration;

/// What makes machine code of plugins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compiler {
    /// Fast code.
    #[default]
    Cranelift,
    /// Code that is made five times as fast, and runs half as fast.
    Winch,
}

/// A public key of minisign, and what it is trusted with: in the settings the key alone, or a table
/// `{ key = "RWQ…", plugins = ["connector-postgres"], min_version = "1.2.0" }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedKey {
    /// The key as text.
    pub key: String,
    /// Names of the plugins that it may sign; `None` means any.
    pub plugins: Option<Vec<String>>,
    /// The lowest version that it may sign; `None` means any.
    pub min_version: Option<String>,
}

impl TrustedKey {
    /// Whether it is trusted with less than everything.
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
        struct Limited {
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
                let limited = Limited::deserialize(MapAccessDeserializer::new(map))?;
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

/// The limits in the section `[plugins]`, where their defaults stand. Sizes are bytes.
#[derive(Clone, Debug, Deserialize)]
pub struct PluginSettings {
    /// Linear memory of one instance. A connector streams, so 512 MiB is far above what it needs; a guest that
    /// asks for more is ended.
    pub max_memory_bytes: u64,
    /// Linear memory of all instances together, so that many guests cannot exhaust the machine.
    pub max_total_memory_bytes: u64,
    /// Linear memory of the instances of one workspace, so that it leaves room for the others.
    pub max_workspace_memory_bytes: u64,
    /// Linear memory of the instances of one datasource or provider, so that it leaves room for the others.
    pub max_target_memory_bytes: u64,
    /// Instances that may exist at once, live connections included. Their address space is reserved at start.
    pub max_instances: u32,
    /// Of them, those of one workspace's datasources and providers.
    pub max_workspace_instances: u32,
    /// Of them, those that work for one key.
    pub max_key_instances: u32,
    /// Bytes that a cursor is asked for at a time. Large enough to hide the cost of a call, small enough that
    /// a slow reader holds little.
    pub batch_bytes: u32,
    /// What a cursor may really return at a time: one row may be larger than `batch_bytes`, and comes alone.
    pub max_batch_bytes: u32,
    /// A larger cell is refused.
    pub max_cell_bytes: u32,
    /// Columns of a result.
    pub max_columns: u32,
    /// Tables that one datasource may list.
    pub max_tables: u32,
    /// Text of one error message of a guest, in bytes; longer ones are cut.
    pub max_message_bytes: u32,
    /// Text that one completion of a model may produce, tool calls included.
    pub max_completion_bytes: u32,
    /// Lines that one instance may log in a second; what is above is counted and dropped.
    pub log_lines_per_second: u32,
    /// How long an ended call may take to wind up before its instance is dropped.
    #[serde(deserialize_with = "duration")]
    pub cancel_grace: Duration,
    /// How long `cancel` on a second connection may take.
    #[serde(deserialize_with = "duration")]
    pub cancel_timeout: Duration,
    /// How long a statement that was stopped keeps its connection's place while the engine has not confirmed its end.
    #[serde(deserialize_with = "duration")]
    pub cancel_confirm_timeout: Duration,
    /// An idle connection is closed after this long.
    #[serde(deserialize_with = "duration")]
    pub idle_timeout: Duration,
    /// Time for TCP and TLS of an HTTP request, before the request itself.
    #[serde(deserialize_with = "duration")]
    pub connect_timeout: Duration,
    /// Silence in an HTTP answer after which it counts as broken.
    #[serde(deserialize_with = "duration")]
    pub http_idle_timeout: Duration,
    /// What makes machine code of plugins.
    pub compiler: Compiler,
    /// Whether a start that finds no compiled code serves with code that is made quickly at first.
    pub quick_start: bool,
    /// How long a start waits for plugins whose code is being made.
    #[serde(deserialize_with = "duration")]
    pub compile_wait: Duration,
    /// How long calls on a version that was replaced may go on.
    #[serde(deserialize_with = "duration")]
    pub drain_timeout: Duration,
    /// Memory of one statement over a scanner.
    pub query_memory_bytes: u64,
    /// Memory of all statements over scanners together.
    pub max_total_query_memory_bytes: u64,
    /// Threads that run statements over scanners; 0 is one less than the machine has, and at least one.
    pub query_threads: u32,
    /// Size of a plugin file.
    pub max_package_bytes: u64,
    /// The longest call of a function, whatever its statement's own limit is.
    #[serde(deserialize_with = "duration")]
    pub max_call_time: Duration,
    /// How much is forgiven.
    pub faults: FaultSettings,
    /// Limits of single plugins, by their names.
    #[serde(rename = "limits")]
    pub by_plugin: BTreeMap<String, PluginLimits>,
}

impl PluginSettings {
    /// The settings as they are for one plugin.
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

    /// Linear memory that the largest instance of any plugin may have.
    pub fn largest_memory_bytes(&self) -> u64 {
        let own = self.by_plugin.values();
        let own = own.filter_map(|one| one.max_memory_bytes);
        own.fold(self.max_memory_bytes, u64::max)
    }
}

/// What one plugin may take where that differs: the section `[plugins.limits.<name>]`. What is not set is as for all.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PluginLimits {
    /// Linear memory of one instance.
    pub max_memory_bytes: Option<u64>,
    /// Linear memory of the plugin's instances together, over all its versions, datasources and workspaces.
    pub max_total_memory_bytes: Option<u64>,
    /// Linear memory of the instances of one datasource or provider.
    pub max_target_memory_bytes: Option<u64>,
    /// Connections of one datasource, whatever it has set itself.
    pub max_connections: Option<u32>,
    /// The longest call of a function.
    #[serde(deserialize_with = "optional_duration")]
    pub max_call_time: Option<Duration>,
    /// What a cursor is asked for at a time.
    pub batch_bytes: Option<u32>,
    /// What a cursor may return at a time.
    pub max_batch_bytes: Option<u32>,
    /// A larger cell is refused.
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

/// When a plugin that fails is no longer called: the section `[plugins.faults]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultSettings {
    /// Faults of one target, less its good uses, after which it is not called for a while.
    pub budget: u32,
    /// Faults that are older than this are forgotten.
    #[serde(deserialize_with = "duration")]
    pub window: Duration,
    /// The first such while; each one after it is twice as long …
    #[serde(deserialize_with = "duration")]
    pub backoff: Duration,
    /// … up to this.
    #[serde(deserialize_with = "duration")]
    pub max_backoff: Duration,
    /// A version that serves nobody is in quarantine after so many of them; 0 means never.
    pub quarantine_after: u32,
}
