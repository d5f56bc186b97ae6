//! What a datasource holds, as its engine describes it.

use crate::bindings::connector::mindhost::plugin::{catalog_types, types};

pub use catalog_types::{
    ColumnStatistics, ForeignKeyColumn, KeyColumn, StatisticsOptions, Table, TableColumn,
};
pub use types::TableRef;

impl TableRef {
    /// A table by schema and name. An engine without schemas uses one fixed name, as SQLite does with `main`.
    pub fn new(schema: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            schema: schema.into(),
            name: name.into(),
        }
    }
}

impl Table {
    /// A table without columns yet. `kind` is `TABLE`, `VIEW`, `MATERIALIZED VIEW`, `PARTITIONED TABLE`,
    /// `FOREIGN TABLE`, or the engine's own word.
    pub fn new(table: TableRef, kind: impl Into<String>) -> Self {
        Self {
            table,
            kind: kind.into(),
            comment: None,
            row_count: None,
            columns: Vec::new(),
            primary_key: Vec::new(),
            foreign_keys: Vec::new(),
            extra: Vec::new(),
        }
    }
}

impl TableColumn {
    /// A nullable column; `ordinal` counts from 1.
    pub fn new(name: impl Into<String>, ordinal: u32, native_type: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ordinal,
            native_type: native_type.into(),
            nullable: true,
            default_value: None,
            comment: None,
            extra: Vec::new(),
        }
    }
}

impl ColumnStatistics {
    /// Statistics of a column of which nothing is known yet.
    pub fn new(column: impl Into<String>) -> Self {
        Self {
            column: column.into(),
            null_fraction: None,
            distinct_count: None,
            common_values: Vec::new(),
            min_value: None,
            max_value: None,
            estimated: false,
            sampled_rows: None,
            extra: Vec::new(),
        }
    }
}
