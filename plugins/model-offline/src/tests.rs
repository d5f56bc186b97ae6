//! Questions to the small shop and to schemas that are nothing like it, asked as the host asks them: tool call by tool
//! call, against real SQLite.

mod doubt;
mod figures;
mod foreign;
mod honesty;
mod host;
mod names;
mod phrasing;
mod rows;
mod statements;
mod wording;
