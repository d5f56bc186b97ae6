//! The settings of a datasource, and the limits for them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use mindhost_base::{
    config,
    error::{Error, Result},
};

const MAX_DESCRIPTION: usize = 10_000;

/// Limits of a datasource, and which of its values a model may see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Open connections; `None` means the default of the server.
    pub max_connections: Option<u32>,
    /// For one statement, in milliseconds; `None` means the default of the server.
    pub statement_timeout_ms: Option<u64>,
    /// Whether values from the statistics may go to a model vendor.
    pub send_values: bool,
    /// Whether rows of results may go to a model vendor.
    pub send_rows: bool,
    /// Schemas whose functions a statement may call.
    pub function_schemas: Vec<String>,
    /// Digest of the plugin version that it is pinned to; `None` means the active version.
    pub plugin_digest: Option<String>,
    /// Whether statements also run on the candidate version of a trial, to compare the results.
    pub shadow: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_connections: None,
            statement_timeout_ms: None,
            send_values: true,
            send_rows: true,
            function_schemas: Vec::new(),
            plugin_digest: None,
            shadow: false,
        }
    }
}

impl Settings {
    /// The datasource's own limit for one statement.
    pub fn statement_timeout(&self) -> Option<Duration> {
        self.statement_timeout_ms.map(Duration::from_millis)
    }

    /// Refuses values that are out of range or above the operator's ceiling. Unchanged values of `old` above the
    /// ceiling are kept and act as the ceiling.
    pub(super) fn check(&self, old: &Self, ceiling: Ceiling) -> Result<()> {
        let most = ceiling.max_connections.min(1000);
        if self.max_connections != old.max_connections
            && let Some(asked) = self.max_connections
            && !(1..=most).contains(&asked)
        {
            return Err(Error::invalid(
                "max_connections",
                format!(
                    "`max_connections` must be between 1 and {most} (sql.max_connections_ceiling), got {asked}"
                ),
            ));
        }
        let longest = ceiling.statement_timeout.min(Duration::from_secs(86_400));
        if self.statement_timeout_ms != old.statement_timeout_ms
            && let Some(asked) = self.statement_timeout()
            && !(Duration::from_millis(1)..=longest).contains(&asked)
        {
            return Err(Error::invalid(
                "statement_timeout",
                format!(
                    "`statement_timeout` must be between \"1ms\" and \"{}\" (sql.statement_timeout_ceiling), got \"{}\"",
                    written(longest),
                    written(asked)
                ),
            ));
        }
        let named = |schema: &String| (1..=128).contains(&schema.chars().count());
        if self.function_schemas.len() > 100 || !self.function_schemas.iter().all(named) {
            return Err(Error::invalid(
                "function_schemas",
                "`function_schemas` must be at most 100 names of schemas",
            ));
        }
        Ok(())
    }
}

/// The operator's limits for the settings of a datasource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ceiling {
    pub max_connections: u32,
    pub statement_timeout: Duration,
}

impl Ceiling {
    pub fn of(settings: &config::Sql) -> Self {
        Self {
            max_connections: settings.max_connections_ceiling,
            statement_timeout: settings.statement_timeout_ceiling,
        }
    }
}

/// A duration in the form of the API: `90s`, `1500ms`.
fn written(time: Duration) -> String {
    let (millis, seconds) = (time.as_millis(), time.as_secs());
    match (millis % 1000, seconds % 3600) {
        (0, 0) if seconds > 0 => format!("{}h", seconds / 3600),
        (0, _) if seconds > 0 => format!("{seconds}s"),
        _ => format!("{millis}ms"),
    }
}

/// A change of settings. The outer `None` keeps a value, the inner one resets it to the default of the server.
#[derive(Clone, Debug, Default)]
pub struct SettingsChange {
    /// See [`Settings`].
    pub max_connections: Option<Option<u32>>,
    /// See [`Settings`].
    pub statement_timeout: Option<Option<Duration>>,
    /// See [`Settings`].
    pub send_values: Option<bool>,
    /// See [`Settings`].
    pub send_rows: Option<bool>,
    /// See [`Settings`].
    pub function_schemas: Option<Vec<String>>,
    /// See [`Settings`].
    pub plugin_digest: Option<Option<String>>,
    /// See [`Settings`].
    pub shadow: Option<bool>,
}

impl SettingsChange {
    /// The settings with the changes.
    pub fn apply(self, old: &Settings) -> Settings {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Settings {
            max_connections: self.max_connections.unwrap_or(old.max_connections),
            statement_timeout_ms: match self.statement_timeout {
                Some(time) => time.map(milliseconds),
                None => old.statement_timeout_ms,
            },
            send_values: self.send_values.unwrap_or(old.send_values),
            send_rows: self.send_rows.unwrap_or(old.send_rows),
            function_schemas: self
                .function_schemas
                .unwrap_or_else(|| old.function_schemas.clone()),
            plugin_digest: self
                .plugin_digest
                .unwrap_or_else(|| old.plugin_digest.clone()),
            shadow: self.shadow.unwrap_or(old.shadow),
        }
    }
}

pub(super) fn check_description(text: &str) -> Result<()> {
    match text.chars().count() <= MAX_DESCRIPTION {
        true => Ok(()),
        false => Err(Error::invalid(
            "description",
            "`description` may have at most 10,000 characters",
        )),
    }
}
