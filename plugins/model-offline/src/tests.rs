//! Questions to the small shop, asked as the host asks them: tool call by tool call, against real SQLite.

mod figures;
mod honesty;
mod host;
mod phrasing;
mod rows;
mod statements;
