//! The guard: one read-only statement over the tables of a Mind, or a refusal that says why.

use crate::{
    error::{Code, Error, Result},
    plugins::{Dialect, Paging, TableRef},
};

/// What a Mind lets a statement see.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// In the order of the Mind; a statement that names no table goes to the first.
    pub datasources: Vec<ScopeDatasource>,
}

/// One datasource of a Mind.
#[derive(Clone, Debug)]
pub struct ScopeDatasource {
    /// Id of the datasource.
    pub id: String,
    /// Its name, which may qualify a table.
    pub name: String,
    /// The dialect of its engine.
    pub dialect: Dialect,
    /// The tables that the Mind has of it.
    pub tables: Vec<ScopeTable>,
    /// Schemas whose functions, operators and types a statement may name, as `schema.name`.
    pub function_schemas: Vec<String>,
    /// Who cuts the pages.
    pub paging: Paging,
}

/// One table of a Mind.
#[derive(Clone, Debug)]
pub struct ScopeTable {
    /// As the engine spells it.
    pub table: TableRef,
    /// Names of its columns; empty when the table was not catalogued yet.
    pub columns: Vec<String>,
}

/// A statement that passed: what goes to the engine, and how to page and count it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarded {
    /// Index into [`Scope::datasources`].
    pub datasource: usize,
    text: String,
    tables: Vec<TableRef>,
    ordered: bool,
    paging: Paging,
    count: Option<String>,
}

/// How one page of a statement is had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paged {
    /// The engine cuts the page; this is the statement to send.
    Engine(String),
    /// The host sends this statement, skips `offset` rows, keeps `limit` and counts the rest.
    Skip {
        /// The statement to send.
        text: String,
    },
}

impl Guarded {
    /// What goes to the engine, without paging: `executed_query`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The tables that it reads, each once, in the order of their first mention.
    pub fn tables(&self) -> &[TableRef] {
        &self.tables
    }

    /// Whether the statement orders its rows at the top, so that pages are stable.
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// The statement for rows `offset` to `offset + limit`.
    pub fn page(&self, limit: u64, offset: u64) -> Paged {
        match self.paging {
            Paging::Sql => Paged::Engine(format!("{} LIMIT {limit} OFFSET {offset}", self.text)),
            Paging::InMemory => Paged::Skip {
                text: self.text.clone(),
            },
        }
    }

    /// A statement that counts the rows, `None` where only reading them tells.
    pub fn count(&self) -> Option<String> {
        self.count.clone()
    }
}

/// Checks and rewrites one statement.
///
/// # Errors
/// A `sql_*` code; the message says what is wrong and what to write instead, with the position where known.
pub fn guard(_sql: &str, _scope: &Scope) -> Result<Guarded> {
    Err(Error::new(
        Code::SqlNotSupported,
        "no statement is supported yet",
    ))
}
