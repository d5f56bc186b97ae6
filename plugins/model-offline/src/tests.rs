//! Questions asked as the host asks them: tool call by tool call, against real SQLite.

mod answers;
pub mod host;
mod questions;
mod taught;
