//! Converts and checks values of a guest.

mod arrow;
mod catalog;
mod filters;
mod rows;

pub use catalog::{statistics, table_refs, tables, to_table_ref};
pub use filters::{pushdown, to_filter};
pub use rows::Schema;

use super::{bindings::types, errors, grants::Grants, host_errors::violation, text::truncated};
use mindhost_base::{config::PluginSettings, error::Result};
use mindhost_plugin_api::{Batch, ServerInfo};

/// Longest name of a table, column or constraint, and of a native type.
const MAX_NAME: usize = 4_096;
/// Longest cancel key, in bytes.
const MAX_KEY: usize = 4_096;
/// Longest comment or default value; the rest is dropped.
const MAX_TEXT: usize = 64 << 10;

/// Checks a cancel key. It has a limit, because it lives as long as the connection and is copied for each call.
pub fn cancel_key(key: Option<Vec<u8>>) -> Result<Option<Vec<u8>>> {
    match key.as_ref().is_none_or(|key| key.len() <= MAX_KEY) {
        true => Ok(key),
        false => Err(violation("a cancel key that is too long")),
    }
}

fn name(name: String) -> Result<String> {
    match name.len() <= MAX_NAME && !name.contains('\0') {
        true => Ok(name),
        false => Err(violation("a name that is too long or has a NUL")),
    }
}

/// Truncates a comment.
fn shortened(text: Option<String>) -> Option<String> {
    text.map(|text| truncated(&text, MAX_TEXT).to_owned())
}

/// The engine behind a connection.
pub fn server_info(info: types::ServerInfo, grants: &Grants) -> ServerInfo {
    ServerInfo {
        product: errors::line(&info.product, grants, 200),
        version: errors::line(&info.version, grants, 200),
    }
}

/// Converts a batch of at most `max_rows` rows.
pub fn batch(
    batch: types::Batch,
    schema: &Schema,
    max_rows: u32,
    settings: &PluginSettings,
) -> Result<Batch> {
    match batch {
        types::Batch::Rows(rows) => {
            rows::rows_batch(rows, schema, max_rows, settings).map(Batch::Rows)
        }
        types::Batch::Arrow(bytes) => {
            let batch = arrow::decode(bytes, &schema.columns, settings)?;
            match batch.num_rows() <= max_rows as usize {
                true => Ok(Batch::Arrow(batch)),
                false => Err(rows::too_many(batch.num_rows(), max_rows)),
            }
        }
    }
}

fn each<A, B>(items: Vec<A>, f: impl FnMut(A) -> Result<B>) -> Result<Vec<B>> {
    items.into_iter().map(f).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancel_key_is_short() {
        assert_eq!(cancel_key(None).unwrap(), None);
        assert!(cancel_key(Some(vec![0; MAX_KEY])).is_ok());
        assert!(cancel_key(Some(vec![0; MAX_KEY + 1])).is_err());
    }
}
