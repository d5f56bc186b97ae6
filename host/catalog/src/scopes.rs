//! The tables of datasources as statements see them: read when they are first needed, and kept until the catalog
//! changes. To read thousands of tables takes a second, and each statement needs them.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex},
};

use super::{Catalog, Table, store::TablesVersion};
use mindhost_base::{error::Result, locks::lock};
use mindhost_plugin_api::TableRef;
use mindhost_sql::ScopeTable;

/// Scopes that are kept.
const MAX_SCOPES: usize = 64;
/// Tables in all of them; some KiB each. The newest scope is kept whatever its size.
const MAX_TABLES: usize = 40_000;

/// What [`Catalog::scope_tables`] reads besides names and counts of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeStatistics {
    /// Nothing: statements go to one datasource as they are.
    None,
    /// Statistics of all columns, by which statements over several datasources are planned.
    Columns,
}

/// The tables of a datasource, as [`Catalog::scope_tables`] reads them at one time.
#[derive(Clone, Debug, Default)]
pub struct ScopeTables {
    /// Those of the selection.
    pub tables: Vec<ScopeTable>,
    /// The names of all others that are in the source.
    pub others: Vec<TableRef>,
}

/// Scopes by datasource, selection and statistics. The least recently used come first.
#[derive(Debug, Default)]
pub struct Scopes(Mutex<VecDeque<CachedScope>>);

#[derive(Debug)]
struct CachedScope {
    datasource_id: String,
    selection: Option<Vec<TableRef>>,
    with: ScopeStatistics,
    /// Read before the tables, so a change while they were read makes it stale.
    version: TablesVersion,
    tables: Arc<ScopeTables>,
}

impl CachedScope {
    fn is_of(
        &self,
        datasource_id: &str,
        selection: Option<&[TableRef]>,
        with: ScopeStatistics,
    ) -> bool {
        self.with == with
            && self.datasource_id == datasource_id
            && self.selection.as_deref() == selection
    }
}

impl Scopes {
    /// The scope that is kept for this version of the catalog. One for another version is dropped.
    fn get(
        &self,
        datasource_id: &str,
        selection: Option<&[TableRef]>,
        with: ScopeStatistics,
        version: TablesVersion,
    ) -> Option<Arc<ScopeTables>> {
        let mut kept = lock(&self.0);
        let mut scopes = kept.iter();
        let at = scopes.position(|one| one.is_of(datasource_id, selection, with))?;
        let found = kept.remove(at).filter(|one| one.version == version)?;
        let tables = Arc::clone(&found.tables);
        kept.push_back(found);
        Some(tables)
    }

    fn keep(&self, scope: CachedScope) {
        let mut kept = lock(&self.0);
        let selection = scope.selection.as_deref();
        kept.retain(|one| !one.is_of(&scope.datasource_id, selection, scope.with));
        kept.push_back(scope);
        let tables = |one: &CachedScope| one.tables.tables.len() + one.tables.others.len();
        while kept.len() > 1
            && (kept.len() > MAX_SCOPES || kept.iter().map(tables).sum::<usize>() > MAX_TABLES)
        {
            kept.pop_front();
        }
    }
}

impl Catalog {
    /// The tables of a datasource that a statement may name, and the names of the others; `selection` as in the Mind,
    /// `None` for all. Without tables that are missing in the source. Statistics of columns are read if `with` asks for
    /// them. The tables are read again only after the catalog of the datasource has changed.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn scope_tables(
        &self,
        datasource_id: &str,
        selection: Option<&[TableRef]>,
        with: ScopeStatistics,
    ) -> Result<ScopeTables> {
        let version = self.store.tables_version(datasource_id).await?;
        if let Some(known) = self.scopes.get(datasource_id, selection, with, version) {
            return Ok(ScopeTables::clone(&known));
        }
        let read = self.read_scope(datasource_id, selection, with).await?;
        self.scopes.keep(CachedScope {
            datasource_id: datasource_id.to_owned(),
            selection: selection.map(<[TableRef]>::to_vec),
            with,
            version,
            tables: Arc::new(read.clone()),
        });
        Ok(read)
    }

    async fn read_scope(
        &self,
        datasource_id: &str,
        selection: Option<&[TableRef]>,
        with: ScopeStatistics,
    ) -> Result<ScopeTables> {
        let mut tables = self.store.tables(datasource_id).await?;
        tables.retain(|table| !table.missing);
        let selection: Option<HashSet<&TableRef>> = selection.map(|tables| tables.iter().collect());
        let is_selected = |table: &Table| {
            let selection = selection.as_ref();
            selection.is_none_or(|selection| selection.contains(&table.table))
        };
        let (tables, others): (Vec<Table>, Vec<Table>) = tables.into_iter().partition(is_selected);
        let mut columns: HashMap<String, Vec<String>> = self.store.column_names(&tables).await?;
        let mut keys = self.store.primary_keys(&tables).await?;
        let mut statistics = match with {
            ScopeStatistics::Columns => self.store.column_statistics(&tables).await?,
            ScopeStatistics::None => HashMap::new(),
        };
        let in_scope = |table: Table| ScopeTable {
            columns: columns.remove(&table.id).unwrap_or_default(),
            key: keys.remove(&table.id).unwrap_or_default(),
            statistics: statistics.remove(&table.id).unwrap_or_default().into(),
            row_count: table.row_count,
            table: table.table,
            policy: None,
        };
        Ok(ScopeTables {
            tables: tables.into_iter().map(in_scope).collect(),
            others: others.into_iter().map(|table| table.table).collect(),
        })
    }
}
