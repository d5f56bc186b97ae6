//! Limits of the plugin runtime, each with the reason for its default.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The limits in the `[plugins]` section of the configuration. Sizes are bytes, times are milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PluginSettings {
    /// Linear memory of one instance. A connector streams, so 512 MiB is far above what it needs; a guest that
    /// asks for more is ended.
    pub max_memory_bytes: u64,
    /// Linear memory of all instances together, so that many guests cannot exhaust the machine.
    pub max_total_memory_bytes: u64,
    /// Instances that may exist at once, live connections included. Their address space is reserved at start.
    pub max_instances: u32,
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
    pub cancel_grace_ms: u64,
    /// How long `cancel` on a second connection may take.
    pub cancel_timeout_ms: u64,
    /// An idle connection is closed after this long.
    pub idle_timeout_ms: u64,
    /// Time for TCP and TLS of an HTTP request, before the request itself.
    pub connect_timeout_ms: u64,
    /// Silence in an HTTP answer after which it counts as broken.
    pub http_idle_timeout_ms: u64,
    /// Size of a plugin file.
    pub max_package_bytes: u64,
}

impl Default for PluginSettings {
    fn default() -> Self {
        Self {
            max_memory_bytes: 512 << 20,
            max_total_memory_bytes: 4 << 30,
            max_instances: 1_200,
            batch_bytes: 1 << 20,
            max_batch_bytes: 32 << 20,
            max_cell_bytes: 16 << 20,
            max_columns: 4_096,
            max_tables: 100_000,
            max_message_bytes: 4_096,
            max_completion_bytes: 8 << 20,
            log_lines_per_second: 50,
            cancel_grace_ms: 500,
            cancel_timeout_ms: 5_000,
            idle_timeout_ms: 60_000,
            connect_timeout_ms: 10_000,
            http_idle_timeout_ms: 120_000,
            max_package_bytes: 256 << 20,
        }
    }
}

impl PluginSettings {
    /// How long an ended call may take to wind up.
    pub fn cancel_grace(&self) -> Duration {
        Duration::from_millis(self.cancel_grace_ms)
    }

    /// How long `cancel` may take.
    pub fn cancel_timeout(&self) -> Duration {
        Duration::from_millis(self.cancel_timeout_ms)
    }

    /// Age at which an idle connection is closed.
    pub fn idle_timeout(&self) -> Duration {
        Duration::from_millis(self.idle_timeout_ms)
    }
}
