//! Names as DataFusion needs and compares them.

use sqlparser::ast::Ident;

/// The only catalog. Statements do not name it, and messages leave it out.
pub const CATALOG: &str = "mindhost_source_of_rows";
/// The schema of unqualified names. It contains NUL, so it has no table: the guard writes every schema.
pub const NO_SCHEMA: &str = "\0";

/// A name as DataFusion compares it.
pub fn folded(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    }
}
