//! What the kit asks of a host beside the traits of `mindhost-plugin-api`: the plugin under other limits, and what the
//! host noticed of it.

use std::sync::Arc;

use async_trait::async_trait;
use mindhost_base::Result;
use mindhost_plugin_api::{Connector, Manifest, Model, TableRef, scanner::Scanner};

/// What a plugin is held to. Most cases run under [`Limits::USUAL`]; those about limits ask for smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// `max-bytes` of `next`.
    pub batch_bytes: u32,
    /// `max-cell-bytes` of a statement.
    pub cell_bytes: u32,
    /// Linear memory of an instance, in bytes.
    pub memory_bytes: u64,
}

impl Limits {
    /// Those that a host has by default.
    pub const USUAL: Self = Self {
        batch_bytes: 1 << 20,
        cell_bytes: 16 << 20,
        memory_bytes: 512 << 20,
    };
    /// Small batches and cells, so that small statements reach the limits.
    pub const NARROW: Self = Self {
        batch_bytes: 16 << 10,
        cell_bytes: 64 << 10,
        ..Self::USUAL
    };
    /// Less memory than a huge result has.
    pub const LEAN: Self = Self {
        memory_bytes: 128 << 20,
        ..Self::USUAL
    };
}

/// A plugin that was loaded.
#[derive(Clone)]
pub enum LoadedPlugin {
    /// A connector that speaks SQL.
    Connector(Arc<dyn Connector>),
    /// A scanner, and the host's SQL over it.
    Scanner(Arc<dyn Scanner>, Arc<dyn Connector>),
    /// A model provider.
    Model(Arc<dyn Model>),
}

/// What the host noticed beside the results.
#[derive(Clone, Debug, Default)]
pub struct Noticed {
    /// Log lines of the plugin, cleaned of secrets.
    pub lines: Vec<String>,
    /// Why the sandbox refused something that the plugin tried.
    pub refusals: Vec<String>,
    /// Texts of the plugin in which the host masked a secret.
    pub leaks: Vec<String>,
    /// Log lines above the limit, which were dropped.
    pub dropped_lines: u64,
    /// Most of them in one second of one instance.
    pub most_dropped: u64,
}

/// The plugin under test in the sandbox of a host.
#[async_trait]
pub trait Sandbox: Send + Sync {
    /// What the plugin says of itself.
    fn manifest(&self) -> &Manifest;
    /// The plugin under some limits. Called for each connection that a case opens.
    async fn load(&self, limits: Limits) -> Result<LoadedPlugin>;
    /// A statement over these tables of a scanner as a server sends it to the host's SQL: with the schema of each table.
    ///
    /// # Errors
    /// When a server refuses the statement.
    fn qualified(&self, sql: &str, tables: Vec<TableRef>) -> Result<String>;
    /// What was noticed since the last call.
    fn noticed(&self) -> Noticed;
    /// Waits until every instance that is no longer used has ended and has logged its last line.
    async fn settle(&self);
}
