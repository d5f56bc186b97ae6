//! The catalog of a datasource (tables, columns, keys and statistics), and the runs that load it. A read never waits
//! for an engine and never starts a query per table.
//!
//! Reads return what is stored. *Runs* load the catalog: they are stored, survive a crash and execute in the background
//! (`runs`). `plan` decides without a database which runs a request starts or joins; `load` is the work of a run.

mod indexes;
mod load;
mod magnitude;
mod names;
mod plan;
pub mod restrictions;
mod runs;
mod sample;
mod scopes;
mod search;
mod statistics;
mod store;
#[cfg(test)]
mod tests;
mod types;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{indexes::Indexes, names::Names, runs::Runner, scopes::Scopes, store::CatalogStore};
use mindhost_base::{
    config,
    error::{Code, Error, Result},
};
use mindhost_core::datasources::{Datasource, Datasources};
use mindhost_plugin_api::{Connector, TableRef, Target};
use mindhost_store::Store;

pub use restrictions::Restrictions;
pub use runs::Statuses;
pub use scopes::{ScopeStatistics, ScopeTables};
pub use search::{ColumnDetail, DescribedKey, SearchResult, TableDetail, View, ViewSource};
pub use statistics::{Statistics, StoredStatistics};
pub use types::{
    Column, Description, DescriptionSource, ForeignKey, Mode, PrimaryKeyColumn, RunStatus, Status,
    Table, TableStatus,
};

/// Finds the engine of a datasource.
#[async_trait]
pub trait Engines: Send + Sync {
    /// The connector of the datasource, and its target.
    async fn engine(
        &self,
        workspace: &str,
        datasource_id: &str,
    ) -> Result<(Arc<dyn Connector>, Target)>;
}

#[async_trait]
impl Engines for Datasources {
    async fn engine(
        &self,
        workspace: &str,
        datasource_id: &str,
    ) -> Result<(Arc<dyn Connector>, Target)> {
        self.connector_and_target(workspace, datasource_id).await
    }
}

/// A datasource, for the catalog.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Id of the workspace, a part of every key.
    pub workspace: &'a str,
    /// Id of the datasource, which stays when it is renamed.
    pub id: &'a str,
    /// The tables that the caller may see and change; `None` means all. Other tables are hidden.
    pub seen: Option<&'a [TableRef]>,
    /// Id of the request that asks, which a run keeps that it begins; `None` outside of requests.
    pub request_id: Option<&'a str>,
}

impl<'a> Source<'a> {
    /// The same, for a caller who sees only these tables.
    #[must_use]
    pub fn limited_to(self, seen: Option<&'a [TableRef]>) -> Self {
        Self { seen, ..self }
    }

    fn require_all(self) -> Result<()> {
        if self.seen.is_none() {
            return Ok(());
        }
        Err(Error::new(
            Code::Forbidden,
            "your key sees some tables of this datasource only; name tables that it sees, or use a key that sees all",
        ))
    }
}

impl<'a> From<&'a Datasource> for Source<'a> {
    fn from(datasource: &'a Datasource) -> Self {
        Self {
            workspace: &datasource.workspace_id,
            id: &datasource.id,
            seen: None,
            request_id: None,
        }
    }
}

/// Which tables of a catalog to return.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    /// The tables of a Mind; `None` means all.
    pub selection: Option<&'a [TableRef]>,
    /// A text that must be in a name or description.
    pub search: Option<&'a str>,
    /// What the caller may know of the tables; `None` means all.
    pub restrictions: Option<&'a Restrictions>,
}

/// Tables of a catalog and its status.
#[derive(Clone, Debug)]
pub struct CatalogPage {
    /// Sorted by schema and name.
    pub tables: Vec<Table>,
    /// That of the datasource, whichever tables are on the page.
    pub status: Status,
}

/// The catalogs of all datasources. [`Catalog::start`] starts the runs.
pub struct Catalog {
    store: CatalogStore,
    runner: Arc<Runner>,
    indexes: Indexes,
    scopes: Scopes,
}

impl Catalog {
    /// A catalog over a store and the engines, without running tasks. `shutdown` interrupts the runs, which resume at
    /// the next start of this or another host; `tasks` tracks them.
    pub fn new(
        store: Store,
        engines: Arc<dyn Engines>,
        settings: config::Catalog,
        shutdown: CancellationToken,
        tasks: TaskTracker,
    ) -> Self {
        let indexes = Indexes::new(&store);
        let store = CatalogStore::new(store);
        let runner = Runner::new(store.clone(), engines, settings, shutdown, tasks);
        Self {
            store,
            runner: Arc::new(runner),
            indexes,
            scopes: Scopes::default(),
        }
    }

    /// Starts to execute runs, first those of an earlier process.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn start(&self) -> Result<()> {
        self.runner.start().await
    }

    /// The stored catalog.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn show(&self, source: Source<'_>, filter: Filter<'_>) -> Result<CatalogPage> {
        // Status first: if the run has ended by then, the tables are complete.
        let status = self.status(source.id).await?;
        // An error of the engine may name tables, columns and values.
        let is_bound = filter.restrictions.is_some_and(|one| !one.is_empty());
        let status = match source.seen.is_some() || is_bound {
            true => status.without_names(),
            false => status,
        };
        let mut tables = self.tables(source).await?;
        if let Some(selection) = filter.selection {
            let selection: HashSet<&TableRef> = selection.iter().collect();
            tables.retain(|table| selection.contains(&table.table));
        }
        let search = filter.search.map(str::trim).filter(|text| !text.is_empty());
        self.fill(source, &mut tables).await?;
        // Before the search, which would tell of hidden columns.
        if let Some(restrictions) = filter.restrictions {
            restrictions.apply(&mut tables)?;
        }
        if let Some(search) = search {
            let search = search.to_lowercase();
            let words: Vec<&str> = search.split_whitespace().collect();
            tables.retain(|table| search::mentions(table, &words));
        }
        Ok(CatalogPage { tables, status })
    }

    /// The status of one datasource's catalog.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn status(&self, datasource_id: &str) -> Result<Status> {
        let ids = [datasource_id.to_owned()];
        Ok(self.statuses(&ids).await?.of([datasource_id]))
    }

    /// The status of several datasources' catalogs.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn statuses(&self, datasource_ids: &[String]) -> Result<Statuses> {
        let runs = self.store.newest_runs(datasource_ids).await?;
        Ok(Statuses::new(runs))
    }

    /// A text for each datasource that is another one after its catalog changed. While a run is active there is none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn stamps(&self, datasource_ids: &[String]) -> Result<HashMap<String, String>> {
        // Status first: a run that ends later leaves its stamp for the next call.
        let statuses = self.statuses(datasource_ids).await?;
        let mut stamps = self.store.stamps(datasource_ids).await?;
        for id in datasource_ids {
            let stamp = stamps.remove(id).unwrap_or_default();
            if statuses.of([id.as_str()]).active_flow_runs == 0 {
                stamps.insert(id.clone(), stamp);
            }
        }
        Ok(stamps)
    }

    /// Stores the list of a datasource's tables. Called when a datasource is created or its connection changes.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn table_list_stored(&self, source: Source<'_>, tables: &[TableRef]) -> Result<()> {
        self.store
            .store_list(source.workspace, source.id, tables)
            .await
    }

    /// Resolves table names of a request. Asks the engine for its list only if a name is not in the stored one, because
    /// it may be a new table.
    ///
    /// # Errors
    /// `unknown_table`, `ambiguous_table`; what the engine says when it cannot be asked; or when the store fails.
    pub async fn resolve(&self, source: Source<'_>, names: &[String]) -> Result<Vec<TableRef>> {
        let found = self.resolve_entries(source, names).await?;
        Ok(found.into_iter().map(|table| table.table).collect())
    }

    /// Starts a run, or joins running ones that do the same. Returns the runs to wait for.
    ///
    /// # Errors
    /// `unknown_table`, `ambiguous_table`, `mind_datasource_relationship_required`, `run_active`; `forbidden` without
    /// names for a caller who does not see all tables; as [`Catalog::resolve`]; or when the store fails.
    pub async fn refresh(
        &self,
        source: Source<'_>,
        mode: Mode,
        names: Option<&[String]>,
    ) -> Result<StartedRuns> {
        if mode == Mode::Force {
            self.require_mind(source).await?;
        }
        let asked = match names {
            None => {
                source
                    .require_all()
                    .map_err(|error| error.param("table_names"))?;
                None
            }
            Some(names) => Some(self.ids_of(source, names).await?),
        };
        self.request(source, mode, asked.as_ref()).await
    }

    /// Loads tables by name, even if they are loaded.
    ///
    /// # Errors
    /// As [`Self::refresh`].
    pub async fn load_tables(&self, source: Source<'_>, names: &[String]) -> Result<StartedRuns> {
        self.require_mind(source).await?;
        let asked = self.ids_of(source, names).await?;
        self.request(source, Mode::All, Some(&asked)).await
    }

    /// Starts to load the tables of a Mind that were never loaded; `selection` as in the Mind, `None` for all.
    /// Called when a Mind is created or gets another datasource.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn start_missing(
        &self,
        source: Source<'_>,
        selection: Option<&[TableRef]>,
    ) -> Result<()> {
        let tables = self.store.tables(source.id).await?;
        let selection: Option<HashSet<&TableRef>> = selection.map(|tables| tables.iter().collect());
        if tables.is_empty() && selection.is_none() {
            // The datasource was created without a list of its tables.
            self.request(source, Mode::MissingOnly, None).await?;
            return Ok(());
        }
        let chosen = tables.into_iter().filter(|table| {
            selection
                .as_ref()
                .is_none_or(|selection| selection.contains(&table.table))
        });
        let asked: HashSet<String> = chosen.map(|table| table.id).collect();
        self.request(source, Mode::MissingOnly, Some(&asked))
            .await?;
        Ok(())
    }

    /// Waits until the runs end, at most `timeout`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn wait(&self, started: &StartedRuns, timeout: Duration) -> Result<()> {
        self.runner
            .wait(&started.runs, Instant::now() + timeout)
            .await
    }

    /// Cancels every run of a datasource, and its statement in the engine. Succeeds if there is none.
    ///
    /// # Errors
    /// `forbidden` for a caller who does not see all tables; or when the store fails.
    pub async fn cancel(&self, source: Source<'_>) -> Result<StartedRuns> {
        source.require_all()?;
        let runs = self.store.request_cancel(source.id).await?;
        self.runner.cancel(&runs);
        Ok(StartedRuns { runs })
    }

    /// The table of a name in a path, with columns and keys.
    ///
    /// # Errors
    /// `table_not_found`, `ambiguous_table`; or when the store fails.
    pub async fn table(&self, source: Source<'_>, name: &str) -> Result<Table> {
        let mut table = [self.entry(source, name).await?];
        self.fill(source, &mut table).await?;
        let [table] = table;
        Ok(table)
    }

    /// Sets the description of a table; `None` clears it for good. Returns the table.
    ///
    /// # Errors
    /// As [`Self::table`].
    pub async fn describe_table(
        &self,
        source: Source<'_>,
        name: &str,
        text: Option<&str>,
    ) -> Result<Table> {
        let entry = self.entry(source, name).await?;
        if !self.store.describe_table(&entry.id, text).await? {
            return Err(names::not_found(name));
        }
        self.table(source, &entry.table.to_string()).await
    }

    /// Sets the description of a column; `None` clears it for good. Returns the column.
    ///
    /// # Errors
    /// `column_not_found`, and as [`Self::table`].
    pub async fn describe_column(
        &self,
        source: Source<'_>,
        name: &str,
        column: &str,
        text: Option<&str>,
    ) -> Result<Column> {
        let entry = self.entry(source, name).await?;
        let missing = || {
            Error::new(
                Code::ColumnNotFound,
                format!("the catalog has no column '{column}' in {}", entry.table),
            )
            .param("column_name")
        };
        if !self.store.describe_column(&entry.id, column, text).await? {
            return Err(missing());
        }
        let table = self.table(source, &entry.table.to_string()).await?;
        let found = table.columns.into_iter().find(|one| one.name == column);
        found.ok_or_else(missing)
    }

    /// Deletes the stored columns and keys of a table. It stays listed, so it can be loaded again.
    ///
    /// # Errors
    /// As [`Self::table`].
    pub async fn delete_table(&self, source: Source<'_>, name: &str) -> Result<()> {
        let entry = self.entry(source, name).await?;
        self.store.delete_tables(&[entry.id]).await
    }

    /// Deletes a datasource's stored tables and runs, as if it was never loaded.
    ///
    /// # Errors
    /// `forbidden` for a caller who does not see all tables; or when the store fails.
    pub async fn delete_all(&self, source: Source<'_>) -> Result<()> {
        source.require_all()?;
        let runs = self.store.request_cancel(source.id).await?;
        self.runner.cancel(&runs);
        self.store.delete_all(source.id).await
    }

    async fn request(
        &self,
        source: Source<'_>,
        mode: Mode,
        asked: Option<&HashSet<String>>,
    ) -> Result<StartedRuns> {
        let runs = self.store.request_run(source, mode, asked).await?;
        self.runner.wake();
        Ok(StartedRuns { runs })
    }

    async fn require_mind(&self, source: Source<'_>) -> Result<()> {
        if self.store.has_mind(source.id).await? {
            return Ok(());
        }
        Err(Error::new(
            Code::MindDatasourceRelationshipRequired,
            "no Mind has this datasource; make one with it (POST /minds), or refresh with mode all or missing_only",
        ))
    }

    /// The tables that the caller may see.
    async fn tables(&self, source: Source<'_>) -> Result<Vec<Table>> {
        let mut tables = self.store.tables(source.id).await?;
        if let Some(seen) = source.seen {
            let seen: HashSet<&TableRef> = seen.iter().collect();
            tables.retain(|table| seen.contains(&table.table));
        }
        Ok(tables)
    }

    /// Reads columns and keys, without foreign keys to tables that the caller does not see.
    async fn fill(&self, source: Source<'_>, tables: &mut [Table]) -> Result<()> {
        self.store.fill(tables).await?;
        if let Some(seen) = source.seen {
            let seen = |key: &ForeignKey| {
                seen.iter().any(|table| {
                    table.schema == key.referenced_schema && table.name == key.referenced_table
                })
            };
            for table in tables {
                table.foreign_keys.retain(seen);
            }
        }
        Ok(())
    }

    async fn entry(&self, source: Source<'_>, name: &str) -> Result<Table> {
        let mut tables = self.tables(source).await?;
        let refs: Vec<TableRef> = tables.iter().map(|table| table.table.clone()).collect();
        match Names::new(&refs).find(name)? {
            Some(index) => Ok(tables.swap_remove(index)),
            None => Err(names::not_found(name)),
        }
    }

    async fn ids_of(&self, source: Source<'_>, names: &[String]) -> Result<HashSet<String>> {
        let found = self.resolve_entries(source, names).await?;
        Ok(found.into_iter().map(|table| table.id).collect())
    }

    async fn resolve_entries(&self, source: Source<'_>, wanted: &[String]) -> Result<Vec<Table>> {
        match pick(self.tables(source).await?, wanted) {
            // A caller with limited tables does not see new ones.
            Err(error) if error.code() == Code::UnknownTable && source.seen.is_none() => {}
            decided => return decided,
        }
        // Only the engine knows now whether the datasource has the table.
        let listed = self.runner.list(source).await?;
        self.store
            .store_list(source.workspace, source.id, &listed)
            .await?;
        pick(self.store.tables(source.id).await?, wanted)
    }
}

/// Runs that a request started or joined.
#[derive(Clone, Debug, Default)]
pub struct StartedRuns {
    runs: Vec<String>,
}

fn pick(tables: Vec<Table>, wanted: &[String]) -> Result<Vec<Table>> {
    let refs: Vec<TableRef> = tables.iter().map(|table| table.table.clone()).collect();
    let names = Names::new(&refs);
    let mut found = Vec::with_capacity(wanted.len());
    let mut unknown = Vec::new();
    for name in wanted {
        match names.find(name)? {
            Some(index) => found.push(tables[index].clone()),
            None => unknown.push(name.as_str()),
        }
    }
    if unknown.is_empty() {
        Ok(found)
    } else {
        Err(names::unknown(&unknown))
    }
}
