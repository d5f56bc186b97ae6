//! The columns of a result in responses.

use serde::Serialize;

use mindhost_plugin_api::{Column, DataType};

/// One element of `column_types`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ColumnType {
    /// As the engine names it for the caller's text; names may repeat.
    pub name: String,
    /// The host's type: `int64`, `timestamp-utc`, …
    #[serde(rename = "type")]
    pub data_type: DataType,
    /// The engine's own type: `numeric(12,2)`.
    pub native_type: String,
}

/// Name and type of each column, in order: `column_types` in the API.
pub fn column_types(columns: &[Column]) -> Vec<ColumnType> {
    columns
        .iter()
        .map(|column| ColumnType {
            name: column.name.clone(),
            data_type: column.data_type,
            native_type: column.native_type.clone(),
        })
        .collect()
}

/// The name of each column, in order: `column_names` in the API.
pub fn column_names(columns: &[Column]) -> Vec<String> {
    columns.iter().map(|column| column.name.clone()).collect()
}
