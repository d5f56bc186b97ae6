//! Results of statements: pages and exports.
//!
//! Only the SQL of a result is stored. Each page and each export passes it through the guard with the current rights of
//! the Mind, and runs it again.

pub mod access;
pub mod chart;
mod comparison;
mod complete_pages;
mod dry_run;
mod export;
mod export_slots;
mod federated;
mod guard_cache;
mod page;
mod plan_cost;
pub mod policies;
mod policy_trial;
pub mod sample;
pub mod stored;
mod time_limit;

use std::{sync::Arc, time::Duration};

use tokio_util::task::TaskTracker;

pub use access::Access;
pub use export::Export;
pub use page::Page;
pub use plan_cost::RefusedInPlan;

use self::{
    complete_pages::CompletePages, export_slots::ExportSlots, guard_cache::GuardCache,
    plan_cost::CostLimit,
};
use crate::conversations::SqlOrigin;
use mindhost_base::{
    config::{self, Formulas},
    error::{Error, Result},
    policy::Attributes,
};
use mindhost_catalog::Catalog;
use mindhost_core::{datasources::Datasources, minds::Mind, usage::Tally};
use mindhost_plugin_api::{Call, Connection, Dialect, intercept::Intercepted};
use mindhost_plugins::{registry::Registry, serving_versions};
use mindhost_sql::guard::GuardedStatement;
use mindhost_store::{ReadCache, Store};

/// Runs statements over the datasources of Minds.
#[derive(Clone)]
pub struct Results {
    registry: Arc<Registry>,
    datasources: Arc<Datasources>,
    catalog: Arc<Catalog>,
    settings: config::Sql,
    export_slots: ExportSlots,
    tasks: TaskTracker,
    /// By Mind, policies of the key and attributes, with the version of the Mind that it was loaded for.
    access_cache: Arc<ReadCache<(Arc<Mind>, Arc<Access>)>>,
    guard_cache: Arc<GuardCache>,
    complete_pages: Arc<CompletePages>,
}

/// A statement that passed the guard, with the access that it passed with.
pub struct AcceptedStatement {
    access: Arc<Access>,
    guarded: Arc<GuardedStatement>,
    /// Who wrote it.
    origin: SqlOrigin,
    /// The most that it may cost, by the estimates of the engines; 0 means no limit.
    max_cost: f64,
}

impl AcceptedStatement {
    /// The same, refused by [`Results::check_cost`] if an engine estimates a higher cost; 0 means no limit. Over several
    /// datasources, it is refused when it runs, if what goes to one of them costs more.
    #[must_use]
    pub fn with_max_cost(self, max_cost: f64) -> Self {
        Self { max_cost, ..self }
    }

    /// The names of the datasources that the statement reads.
    pub fn datasources(&self) -> Vec<&str> {
        let indices = self.guarded.reads().datasources().iter();
        let datasources = indices.filter_map(|index| self.access.scope.datasources.get(*index));
        datasources
            .map(|datasource| datasource.name.as_str())
            .collect()
    }

    /// Their ids, in the same order.
    pub fn datasource_ids(&self) -> Vec<String> {
        let sources = self.access.sources(&self.guarded);
        sources.map(|source| source.target.id.clone()).collect()
    }

    /// The statement for the engine.
    pub fn executed(&self) -> &str {
        self.guarded.text()
    }

    /// The dialect that it was read in: of its datasource, or of the host where it reads several.
    pub fn dialect(&self) -> Dialect {
        self.guarded.dialect()
    }

    /// The tables that it reads, as `datasource.schema.table`.
    pub fn tables(&self) -> Vec<String> {
        let datasources = &self.access.scope.datasources;
        let tables = self.guarded.tables().iter().filter_map(|read| {
            let datasource = datasources.get(read.datasource)?;
            Some(format!("{}.{}", datasource.name, read.table))
        });
        tables.collect()
    }

    /// Its text and number literals.
    pub fn literals(&self) -> Vec<String> {
        self.guarded.literals(&self.access.scope)
    }

    /// Why the Mind no longer allows this statement, if it does not; see [`Access::withdrawn`].
    pub fn withdrawn(&self, now: &Access) -> Option<&'static str> {
        self.access.withdrawn(&self.guarded, now)
    }
}

impl Results {
    /// Exports and comparisons run in `tasks`. `exports_per_key` is a limit; 0 means none.
    pub fn new(
        store: &Store,
        registry: Arc<Registry>,
        datasources: Arc<Datasources>,
        catalog: Arc<Catalog>,
        settings: config::Sql,
        exports_per_key: u32,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            registry,
            datasources,
            catalog,
            settings,
            export_slots: ExportSlots::new(exports_per_key),
            tasks,
            access_cache: Arc::new(ReadCache::new(store)),
            guard_cache: Arc::default(),
            complete_pages: Arc::default(),
        }
    }

    /// What the statements of a Mind may read now, by a caller with these attributes. The Mind has the policies of the
    /// caller's key, because it was looked up for that caller.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn access(&self, mind: &Arc<Mind>, attributes: &Attributes) -> Result<Arc<Access>> {
        let key = policies::cache_key(mind, attributes)?;
        // An access that was loaded for an older version of the Mind is stale, however late it was loaded.
        if let Some((of, access)) = self.access_cache.get(&key)
            && Arc::ptr_eq(&of, mind)
        {
            return Ok(access);
        }
        let load = async {
            let (datasources, catalog) = (&self.datasources, &self.catalog);
            let access =
                access::load(mind, attributes, datasources, catalog, &self.registry).await?;
            Ok((Arc::clone(mind), Arc::new(access)))
        };
        let (_, access) = self.access_cache.read(&key, load).await?;
        Ok(access)
    }

    /// As [`Self::access`], for a Mind that was read just now, past the cache, and for a caller without attributes: a
    /// filter that needs one leaves no rows.
    ///
    /// # Errors
    /// As [`Self::access`].
    pub async fn current_access(&self, mind: &Mind) -> Result<Arc<Access>> {
        self.unsaved_access(mind, &Attributes::default()).await
    }

    /// As [`Self::access`], past the cache: for a Mind with changes that are not saved.
    ///
    /// # Errors
    /// As [`Self::access`].
    pub async fn unsaved_access(
        &self,
        mind: &Mind,
        attributes: &Attributes,
    ) -> Result<Arc<Access>> {
        let (datasources, catalog) = (&self.datasources, &self.catalog);
        let access = access::load(mind, attributes, datasources, catalog, &self.registry).await?;
        Ok(Arc::new(access))
    }

    /// Passes a statement through the guard. Does not run it.
    ///
    /// # Errors
    /// A `sql_*` code.
    pub async fn accept(
        &self,
        access: &Arc<Access>,
        sql: &str,
        origin: SqlOrigin,
    ) -> Result<AcceptedStatement> {
        Ok(AcceptedStatement {
            guarded: self.guard_cache.guarded(access, sql).await?,
            access: Arc::clone(access),
            origin,
            max_cost: 0.0,
        })
    }

    /// One page of a statement's result with the exact total.
    ///
    /// # Errors
    /// The error of the engine, `result_too_large`.
    pub async fn page(
        &self,
        accepted: &AcceptedStatement,
        limit: u64,
        offset: u64,
        call: &Call,
    ) -> Result<Page> {
        let time = self.time_limit(accepted, call);
        let page = self.read_page(accepted, limit, offset, &time.call).await;
        page.map_err(|error| time.explain(policies::withheld(error, &accepted.guarded)))
    }

    async fn read_page(
        &self,
        accepted: &AcceptedStatement,
        limit: u64,
        offset: u64,
        call: &Call,
    ) -> Result<Page> {
        let AcceptedStatement {
            access, guarded, ..
        } = accepted;
        let window = page::Window {
            limit,
            offset,
            max_bytes: self.settings.page_bytes,
        };
        let Some(source) = guarded.reads().one().and_then(|index| access.source(index)) else {
            return self.page_of_several(accepted, window, call).await;
        };
        let mut connection = self.connect(source, call).await?;
        let page = page::read(
            &mut *connection,
            guarded,
            window,
            |statement| self.complete_pages.page(&source.target.id, statement),
            call,
        )
        .await;
        // Also after a failure, where the version matters most.
        serving_versions::note(&source.engine, connection.digest());
        let page =
            page.inspect(|_| comparison::start(&self.registry, source, guarded, &self.tasks))?;
        let name = accepted.datasources().concat();
        let report = page::report_of_one(&page, &name, guarded, connection.plan());
        Ok(Page { report, ..page })
    }

    /// The page of a statement over several datasources.
    async fn page_of_several(
        &self,
        accepted: &AcceptedStatement,
        window: page::Window,
        call: &Call,
    ) -> Result<Page> {
        let mut federated = self.federated(accepted)?;
        let hint = |statement: &str| self.complete_pages.page("", statement);
        let read = page::read(
            &mut *federated.connection,
            &accepted.guarded,
            window,
            hint,
            call,
        );
        let page = read.await?;
        Ok(Page {
            digest: federated::listed(&federated.digests),
            report: federated.recorder.report(),
            is_per_source: true,
            ..page
        })
    }

    /// The whole result as CSV. `formulas` overrides the setting for cells that look like formulas. `withdrawn`
    /// resolves with the reason when the export must stop early.
    ///
    /// # Errors
    /// As for a page, and `rate_limit_exceeded`; after the stream has started a failure aborts it.
    pub async fn export(
        &self,
        accepted: &AcceptedStatement,
        formulas: Option<Formulas>,
        call: Call,
        tally: Option<Arc<Tally>>,
        withdrawn: impl Future<Output = Error> + Send + 'static,
    ) -> Result<Export> {
        let AcceptedStatement {
            access, guarded, ..
        } = accepted;
        let slot = match &call.key {
            Some(key) => Some(self.export_slots.take(key)?),
            None => None,
        };
        let time = self.time_limit(accepted, &call);
        let first = time.call.clone().for_export();
        let (connection, digests) =
            match guarded.reads().one().and_then(|index| access.source(index)) {
                Some(source) => {
                    let connection = self.connect(source, &first).await;
                    let connection = connection.map_err(|error| time.explain(error))?;
                    serving_versions::note(&source.engine, connection.digest());
                    (connection, None)
                }
                None => {
                    let federated = self.federated(accepted)?;
                    (federated.connection, Some(federated.digests))
                }
            };
        let mut export = export::start(
            connection,
            guarded,
            &self.settings,
            formulas.unwrap_or(self.settings.csv_formulas),
            first,
            &self.tasks,
            export::Terms {
                tally,
                slot,
                withdrawn: Box::pin(withdrawn),
            },
        )
        .await
        .map_err(|error| time.explain(policies::withheld(error, guarded)))?;
        if let Some(digests) = digests {
            export.digest = federated::listed(&digests);
        }
        Ok(export)
    }

    async fn connect(&self, source: &access::Source, call: &Call) -> Result<Box<dyn Connection>> {
        self.connect_within(source, None, call).await
    }

    /// As [`Self::connect`]; `limit` is checked for each statement of the connection.
    async fn connect_within(
        &self,
        source: &access::Source,
        limit: Option<CostLimit>,
        call: &Call,
    ) -> Result<Box<dyn Connection>> {
        let pin = source.plugin_digest.as_deref();
        let mut connector = self.registry.serving(&source.engine, pin).await?;
        if let Some(limit) = limit {
            connector = Intercepted::new(connector, limit);
        }
        let opened = connector.connect(&source.target, call).await;
        opened.inspect_err(|_| serving_versions::note(&source.engine, connector.digest()))
    }

    /// Longer than any statement may run; for waits that have a shorter timeout inside.
    pub fn longest(&self) -> Duration {
        self.settings.export_timeout
    }
}
