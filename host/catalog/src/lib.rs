//! The catalog: which tables a datasource has, their columns, keys and statistics, and the runs that load them.
//!
//! Reading never waits for an engine: it shows what is stored. Loading is the work of *runs*, which are stored,
//! survive a crash and are worked off in the background (`runs`). What a request comes to is decided in
//! `plan`, without any database; what a run does is in `load`.

mod load;
mod names;
mod plan;
mod runs;
mod sample;
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

use self::{names::Names, runs::Runner, store::CatalogStore};
use mindhost_base::{
    config,
    error::{Code, Error, Result},
};
use mindhost_core::datasources::{Datasource, Datasources};
use mindhost_plugin_api::{Connector, TableRef, Target};
use mindhost_sql::ScopeTable;
use mindhost_store::Store;

pub use runs::Statuses;
pub use search::{Described, Found, View, ViewSource};
pub use statistics::{Statistics, StoredStatistics};
pub use types::{
    Column, Description, DescriptionSource, ForeignKey, Mode, PrimaryKeyColumn, RunStatus, Status,
    Table, TableStatus,
};

/// Where the catalog finds the engine of a datasource.
#[async_trait]
pub trait Engines: Send + Sync {
    /// The connector that serves the datasource, and what to point it at.
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

/// A datasource, as far as the catalog needs to know it.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Workspace.
    pub workspace: &'a str,
    /// Id.
    pub id: &'a str,
    /// The tables that the one who asks may see and change; `None` means all. Others do not exist for him.
    pub seen: Option<&'a [TableRef]>,
}

impl<'a> Source<'a> {
    /// The same for someone who sees these tables alone.
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
        }
    }
}

/// Which tables of a catalog to show.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    /// Those of a Mind; `None` means all.
    pub selection: Option<&'a [TableRef]>,
    /// Those with this text in a name or description.
    pub search: Option<&'a str>,
}

/// A catalog to show.
#[derive(Clone, Debug)]
pub struct Shown {
    /// By schema and name.
    pub tables: Vec<Table>,
    /// Of the datasource.
    pub status: Status,
}

/// The catalogs of all datasources. Cheap to share; [`Catalog::start`] sets the runs going.
pub struct Catalog {
    store: CatalogStore,
    runner: Arc<Runner>,
}

impl Catalog {
    /// Over a store and the engines; nothing runs yet. Runs end early when `ending` is cancelled, and are resumed
    /// at the next start, here or elsewhere; `tasks` counts what is under way.
    pub fn new(
        store: Store,
        engines: Arc<dyn Engines>,
        settings: config::Catalog,
        ending: CancellationToken,
        tasks: TaskTracker,
    ) -> Self {
        let store = CatalogStore::new(store);
        let runner = Runner::new(store.clone(), engines, settings, ending, tasks);
        Self {
            store,
            runner: Arc::new(runner),
        }
    }

    /// Starts working on runs, beginning with those that a former process left.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn start(&self) -> Result<()> {
        self.runner.start().await
    }

    /// The catalog as it is stored.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn show(&self, source: Source<'_>, filter: Filter<'_>) -> Result<Shown> {
        // First the status: a run that is over by then has left nothing for the tables to come.
        let status = self.status(source.id).await?;
        let status = match source.seen {
            None => status,
            Some(_) => status.without_names(),
        };
        let mut tables = self.tables(source).await?;
        if let Some(selection) = filter.selection {
            let selection: HashSet<&TableRef> = selection.iter().collect();
            tables.retain(|table| selection.contains(&table.table));
        }
        let search = filter.search.map(str::trim).filter(|text| !text.is_empty());
        self.fill(source, &mut tables).await?;
        if let Some(search) = search {
            let search = search.to_lowercase();
            let words: Vec<&str> = search.split_whitespace().collect();
            tables.retain(|table| search::mentions(table, &words));
        }
        Ok(Shown { tables, status })
    }

    /// How far the catalog of one datasource has got.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn status(&self, datasource_id: &str) -> Result<Status> {
        let ids = [datasource_id.to_owned()];
        Ok(self.statuses(&ids).await?.of([datasource_id]))
    }

    /// How far the catalogs of several datasources have got.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn statuses(&self, datasource_ids: &[String]) -> Result<Statuses> {
        let runs = self.store.newest_runs(datasource_ids).await?;
        Ok(Statuses::new(runs))
    }

    /// Stores which tables a datasource has. Called when it is made or pointed elsewhere.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn table_list_stored(&self, source: Source<'_>, tables: &[TableRef]) -> Result<()> {
        self.store
            .store_list(source.workspace, source.id, tables)
            .await
    }

    /// The tables that names in a request mean. A name that the stored list does not have may be that of a new
    /// table, so the engine is asked for its list then, and only then.
    ///
    /// # Errors
    /// `unknown_table`, `ambiguous_table`; or when the store fails.
    pub async fn resolve(&self, source: Source<'_>, names: &[String]) -> Result<Vec<TableRef>> {
        let found = self.resolve_entries(source, names).await?;
        Ok(found.into_iter().map(|table| table.table).collect())
    }

    /// Starts a run, or joins those that do the same already. Gives what to wait for.
    ///
    /// # Errors
    /// `unknown_table`, `ambiguous_table`, `mind_datasource_relationship_required`, `run_active`; `forbidden` without
    /// names for someone who does not see all tables; or when the store fails.
    pub async fn refresh(
        &self,
        source: Source<'_>,
        mode: Mode,
        names: Option<&[String]>,
    ) -> Result<Started> {
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

    /// Loads tables by name, whether they were loaded before or not.
    ///
    /// # Errors
    /// As [`Self::refresh`].
    pub async fn load_tables(&self, source: Source<'_>, names: &[String]) -> Result<Started> {
        self.require_mind(source).await?;
        let asked = self.ids_of(source, names).await?;
        self.request(source, Mode::All, Some(&asked)).await
    }

    /// Starts loading what was never loaded of a Mind's tables; `selection` as the Mind has it, `None` for all.
    /// Called when a Mind is made or gets another datasource.
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
            // The datasource was made without a look at it: list it now.
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

    /// Waits until the runs are over, at most `patience`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn wait(&self, started: &Started, patience: Duration) -> Result<()> {
        self.runner
            .wait(&started.runs, Instant::now() + patience)
            .await
    }

    /// Stops every run of a datasource, down to the engine. Without one nothing happens.
    ///
    /// # Errors
    /// `forbidden` for someone who does not see all tables; or when the store fails.
    pub async fn cancel(&self, source: Source<'_>) -> Result<Started> {
        source.require_all()?;
        let runs = self.store.request_cancel(source.id).await?;
        self.runner.cancel(&runs);
        Ok(Started { runs })
    }

    /// The entry that a name in a path means, with columns and keys.
    ///
    /// # Errors
    /// `table_not_found`, `ambiguous_table`; or when the store fails.
    pub async fn table(&self, source: Source<'_>, name: &str) -> Result<Table> {
        let mut table = [self.entry(source, name).await?];
        self.fill(source, &mut table).await?;
        let [table] = table;
        Ok(table)
    }

    /// Sets the description of a table; `None` clears it, and it stays cleared. Gives the table.
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

    /// Sets the description of a column; `None` clears it, and it stays cleared. Gives the column.
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

    /// Deletes all that is stored of a table. The source has it still, so it can be loaded again.
    ///
    /// # Errors
    /// As [`Self::table`].
    pub async fn delete_table(&self, source: Source<'_>, name: &str) -> Result<()> {
        let entry = self.entry(source, name).await?;
        self.store.delete_tables(&[entry.id]).await
    }

    /// Deletes all that is stored of a datasource's tables, and its runs: it was never loaded then.
    ///
    /// # Errors
    /// `forbidden` for someone who does not see all tables; or when the store fails.
    pub async fn delete_all(&self, source: Source<'_>) -> Result<()> {
        source.require_all()?;
        let runs = self.store.request_cancel(source.id).await?;
        self.runner.cancel(&runs);
        self.store.delete_all(source.id).await
    }

    /// The tables of a datasource that a statement may name; `selection` as the Mind has it, `None` for all.
    /// Tables that vanished from the source are left out.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn scope_tables(
        &self,
        datasource_id: &str,
        selection: Option<&[TableRef]>,
    ) -> Result<Vec<ScopeTable>> {
        let mut tables = self.store.tables(datasource_id).await?;
        let selection: Option<HashSet<&TableRef>> = selection.map(|tables| tables.iter().collect());
        tables.retain(|table| {
            !table.missing
                && selection
                    .as_ref()
                    .is_none_or(|selection| selection.contains(&table.table))
        });
        let mut columns: HashMap<String, Vec<String>> = self.store.column_names(&tables).await?;
        let in_scope = |table: Table| ScopeTable {
            columns: columns.remove(&table.id).unwrap_or_default(),
            table: table.table,
        };
        Ok(tables.into_iter().map(in_scope).collect())
    }

    async fn request(
        &self,
        source: Source<'_>,
        mode: Mode,
        asked: Option<&HashSet<String>>,
    ) -> Result<Started> {
        let runs = self
            .store
            .request_run(source.workspace, source.id, mode, asked)
            .await?;
        self.runner.wake();
        Ok(Started { runs })
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

    /// The tables that the one who asks may see.
    async fn tables(&self, source: Source<'_>) -> Result<Vec<Table>> {
        let mut tables = self.store.tables(source.id).await?;
        if let Some(seen) = source.seen {
            let seen: HashSet<&TableRef> = seen.iter().collect();
            tables.retain(|table| seen.contains(&table.table));
        }
        Ok(tables)
    }

    /// Reads columns and keys. A foreign key to a table that the one who asks does not see is left out.
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
            // A new table is none of those that a limited key sees.
            Err(error) if error.code() == Code::UnknownTable && source.seen.is_none() => {}
            decided => return decided,
        }
        match self.runner.list(source).await {
            Ok(listed) => {
                self.store
                    .store_list(source.workspace, source.id, &listed)
                    .await?
            }
            // The stored list is all there is to go by then.
            Err(error) => {
                tracing::debug!(%error, datasource = source.id, "the table list could not be renewed")
            }
        }
        pick(self.store.tables(source.id).await?, wanted)
    }
}

/// Runs that a request started or joined.
#[derive(Clone, Debug, Default)]
pub struct Started {
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
