//! Limits of the plugin runtime.

use std::time::Duration;

use serde::Deserialize;

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
    /// How long calls on a version that was replaced may go on.
    #[serde(deserialize_with = "duration")]
    pub drain_timeout: Duration,
    /// Size of a plugin file.
    pub max_package_bytes: u64,
}
