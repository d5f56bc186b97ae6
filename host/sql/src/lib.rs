//! SQL text in, guarded statement out; batches in, JSON or CSV out. This crate never runs a statement and knows no
//! connection.
//!
//! Every statement of a caller or a model passes [`guard`](guard::guard) before it reaches an engine.

mod cells;
mod clickhouse;
mod column_names;
pub mod csv;
mod datafusion;
mod datasource_references;
pub mod deterministic;
mod dialect;
pub mod guard;
mod headings;
pub mod json;
mod lexical;
pub mod metric;
mod mssql;
mod mysql;
mod names;
pub mod outline;
mod paging;
pub mod policy;
mod postgres;
mod rules;
pub mod schema;
mod scope;
mod sqlite;
mod table_policy;
pub mod text;
mod trino;
mod unsupported;
mod walk;

#[cfg(test)]
mod dialect_tests;
#[cfg(test)]
mod encoder_tests;
#[cfg(test)]
mod guard_tests;
#[cfg(test)]
mod several_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod weight_tests;

pub use guard::{GuardedStatement, PageStatement, ReadTable, Reads, guard};
pub use scope::{Scope, ScopeDatasource, ScopeTable};
