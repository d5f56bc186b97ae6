//! Names that DataFusion needs and no statement has.

/// The only catalog. Statements do not name it, and messages leave it out.
pub const CATALOG: &str = "mindhost_source_of_rows";
/// The schema of unqualified names. It contains NUL, so it has no table: the guard writes every schema.
pub const NO_SCHEMA: &str = "\0";
