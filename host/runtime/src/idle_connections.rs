//! The eviction of idle connections, whatever the world of their plugin is.

use std::time::Duration;

use tokio::time::Instant;

use super::limits::Scope;

/// The idle connections of one plugin of any world, for eviction.
pub trait IdleConnections: Send + Sync {
    /// When the oldest idle connection of a scope was returned.
    fn oldest(&self, scope: &Scope) -> Option<Instant>;
    /// Closes the oldest idle connection of a scope in the background; false when there is none.
    fn retire_oldest(&self, scope: &Scope) -> bool;
    /// Drops the oldest idle connection of a scope at once; false when there is none.
    fn drop_oldest(&self, scope: &Scope) -> bool;
    /// Closes connections that have been idle for `max_age`, and removes unused pools.
    fn sweep(&self, max_age: Duration);
}
