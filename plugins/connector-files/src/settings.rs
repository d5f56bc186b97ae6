//! What a datasource is configured with.

use std::collections::BTreeMap;

use mindhost_sdk::{Error, Result};
use serde::Deserialize;

use crate::format::Format;
use crate::text::types::TypeName;

/// `connection_data`. An old configuration of the engine `csv` is one too.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The directory, as the sandbox shows it.
    pub path: String,
    /// What stands between two fields of a CSV file; if absent, what the file shows.
    pub delimiter: Option<char>,
    /// `table.column` to a type, for files of text.
    #[serde(default)]
    pub types: BTreeMap<String, TypeName>,
    /// How many rows of a table decide the types of its columns.
    #[serde(default = "a_thousand")]
    pub types_from_rows: u32,
    /// Tables of several files.
    #[serde(default)]
    pub tables: BTreeMap<String, TableSettings>,
}

/// One entry of `tables`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSettings {
    /// Which files belong to the table: `sales/**/*.csv.gz`, relative to the directory.
    pub glob: String,
    /// The format of all of them, whatever their names end in.
    pub format: Option<Format>,
    /// In place of the one of all tables.
    pub delimiter: Option<char>,
}

fn a_thousand() -> u32 {
    1_000
}

/// A delimiter as the reader wants it.
///
/// # Errors
/// `InvalidConfig` when it is not one ASCII character, or is the quote.
pub fn delimiter(given: char) -> Result<u8> {
    match u8::try_from(given) {
        Ok(delimiter @ (b'\t' | b' '..=b'~')) if delimiter != b'"' => Ok(delimiter),
        _ => Err(Error::invalid_config(
            "`delimiter` must be one ASCII character, and not the quote",
        )),
    }
}
