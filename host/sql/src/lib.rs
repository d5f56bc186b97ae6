//! SQL: text in, guarded statement out; batches in, JSON or CSV out.
//!
//! [`guard`](guard::guard) is the only door through which a caller's or a model's SQL reaches an engine.

mod cells;
pub mod csv;
mod dialect;
pub mod guard;
pub mod json;
mod lexical;
mod names;
mod paging;
pub mod repeatable;
mod rules;
pub mod schema;
mod sqlite;
pub mod text;
mod walk;

#[cfg(test)]
mod encoder_tests;
#[cfg(test)]
mod guard_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod weight_tests;

pub use guard::{Guarded, Paged, Scope, ScopeDatasource, ScopeTable, guard};
