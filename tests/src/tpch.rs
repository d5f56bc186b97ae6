//! TPC-H: its tables in datasources of each kind, its 22 queries, and DuckDB's answers.

pub mod adapted;
pub mod load;
mod made;
mod split;

pub use made::{MADE, Made, Query, scale};
pub use split::{Source, Split};
