//! What the statements of one Mind may read.

use std::sync::Arc;

use super::table_policy::TablePolicy;
use mindhost_plugin_api::{ColumnStatistics, Dialect, Paging, TableRef};

/// The tables that a Mind's statements may read.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The datasources in the order of the Mind. A statement without a table goes to the first.
    pub datasources: Vec<ScopeDatasource>,
}

impl From<ScopeDatasource> for Scope {
    fn from(datasource: ScopeDatasource) -> Self {
        Self {
            datasources: vec![datasource],
        }
    }
}

/// A datasource that a statement of a Mind may read, and how.
#[derive(Clone, Debug)]
pub struct ScopeDatasource {
    /// UUID of the datasource.
    pub id: String,
    /// Its name, which may qualify a table.
    pub name: String,
    /// That of its engine, which parses the statement if it reads no other datasource.
    pub dialect: Dialect,
    /// Those tables of it that the Mind selects; a statement may read no others.
    pub tables: Vec<ScopeTable>,
    /// Schemas whose functions, operators and types a statement may name, as `schema.name`.
    pub function_schemas: Vec<String>,
    /// Whether the engine or the host cuts pages.
    pub paging: Paging,
}

impl ScopeDatasource {
    /// A datasource whose engine cuts pages, without functions of its own. Its name stands in for its id.
    pub fn new(name: impl Into<String>, dialect: Dialect, tables: Vec<ScopeTable>) -> Self {
        let name = name.into();
        Self {
            id: name.clone(),
            name,
            dialect,
            tables,
            function_schemas: Vec::new(),
            paging: Paging::Sql,
        }
    }
}

/// A table that a statement may read.
#[derive(Clone, Debug)]
pub struct ScopeTable {
    /// Its name as the engine spells it.
    pub table: TableRef,
    /// The names of its columns; empty if the catalog has not loaded it.
    pub columns: Vec<String>,
    /// The columns of its primary key, in order; empty if the catalog knows none. Keeps the order of rows from page to
    /// page.
    pub key: Vec<String>,
    /// Its rows, counted or estimated, if the catalog knows. Decides how a statement over several datasources is run.
    pub row_count: Option<u64>,
    /// What the values of its columns are like; empty if the catalog does not know, and in a scope of one datasource.
    /// Decides the same.
    pub statistics: Arc<[ColumnStatistics]>,
    /// What the caller may see of it; `None` means all.
    pub policy: Option<Arc<TablePolicy>>,
}

impl ScopeTable {
    /// A table that the caller may see all of, and of which only the columns are known.
    pub fn new(table: TableRef, columns: &[&str]) -> Self {
        Self {
            table,
            columns: columns.iter().map(ToString::to_string).collect(),
            key: Vec::new(),
            row_count: None,
            statistics: Arc::default(),
            policy: None,
        }
    }
}
