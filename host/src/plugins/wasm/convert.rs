//! From a guest's values to the host's, each checked on the way.

mod arrow;
mod catalog;
mod filters;
mod rows;

pub use catalog::{statistics, table_refs, tables, to_table_ref};
pub use filters::{pushdown, to_filter};
pub use rows::{Schema, batch};

use super::{bindings::types, errors, grants::Grants, instance::violation, state::cut};
use crate::{error::Result, plugins::ServerInfo};

/// Longest name of a table, column or constraint, and of a native type.
const MAX_NAME: usize = 4_096;
/// Longest comment or default value that is kept.
const MAX_TEXT: usize = 64 << 10;

fn name(name: String) -> Result<String> {
    match name.len() <= MAX_NAME && !name.contains('\0') {
        true => Ok(name),
        false => Err(violation("a name that is too long or has a NUL")),
    }
}

/// A text of any length, kept up to a bound: comments are for people.
fn shortened(text: Option<String>) -> Option<String> {
    text.map(|text| cut(&text, MAX_TEXT).to_owned())
}

/// The engine behind a connection.
pub fn server_info(info: types::ServerInfo, grants: &Grants) -> ServerInfo {
    ServerInfo {
        product: errors::text(&info.product, grants, 200),
        version: errors::text(&info.version, grants, 200),
    }
}

fn each<A, B>(items: Vec<A>, f: impl FnMut(A) -> Result<B>) -> Result<Vec<B>> {
    items.into_iter().map(f).collect()
}
