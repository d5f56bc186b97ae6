//! Results of statements: pages and exports.
//!
//! Nothing is kept of a result but its SQL. Each page and each export guards the stored text against the Mind as it is
//! now, and runs it again.

pub mod access;
mod export;
mod exports;
mod page;
pub mod sample;
mod shadow;
pub mod stored;
mod verdicts;
mod whole;

use std::{sync::Arc, time::Duration};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use access::Access;
pub use export::Export;
pub use page::Page;

use mindhost_base::{
    config::{self, Formulas},
    error::{Error, Result},
};
use mindhost_catalog::Catalog;
use mindhost_core::{datasources::Datasources, minds::Mind, usage::Tally};
use mindhost_plugin_api::{Call, Connection};
use mindhost_plugins::{registry::Registry, served};
use mindhost_sql::guard::Guarded;
use mindhost_store::{ReadCache, Store};

/// Runs statements over the datasources of Minds.
#[derive(Clone)]
pub struct Results {
    registry: Arc<Registry>,
    datasources: Arc<Datasources>,
    catalog: Arc<Catalog>,
    settings: config::Sql,
    exports: exports::Exports,
    tasks: TaskTracker,
    /// By id of the Mind, with the Mind that it was loaded for.
    remembered: Arc<ReadCache<(Arc<Mind>, Arc<Access>)>>,
    verdicts: Arc<verdicts::Verdicts>,
    whole: Arc<whole::Whole>,
}

/// A statement that passed the guard, with what it may see.
pub struct Accepted {
    access: Arc<Access>,
    guarded: Arc<Guarded>,
}

impl Accepted {
    /// Name of the datasource that it goes to.
    pub fn datasource(&self) -> &str {
        let datasource = self.access.scope.datasources.get(self.guarded.datasource);
        datasource.map_or("", |datasource| datasource.name.as_str())
    }

    /// The texts and numbers that it holds.
    pub fn literals(&self) -> Vec<String> {
        self.guarded.literals(&self.access.scope)
    }

    /// Why a Mind does not allow any more what it allowed when this was accepted; see [`Access::withdrawn`].
    pub fn withdrawn(&self, now: &Access) -> Option<&'static str> {
        self.access.withdrawn(&self.guarded, now)
    }
}

impl Results {
    /// Over the parts that it needs; exports run in `tasks`.
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
            exports: exports::Exports::new(exports_per_key),
            tasks,
            remembered: Arc::new(ReadCache::new(store)),
            verdicts: Arc::default(),
            whole: Arc::default(),
        }
    }

    /// What a Mind lets a statement see, as of now.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn access(&self, mind: &Arc<Mind>) -> Result<Arc<Access>> {
        // What was loaded for the Mind as it was before it changed is of no use, however late it was loaded.
        if let Some((of, access)) = self.remembered.get(&mind.id)
            && Arc::ptr_eq(&of, mind)
        {
            return Ok(access);
        }
        let load = async {
            let (datasources, catalog) = (&self.datasources, &self.catalog);
            let access = access::load(mind, datasources, catalog, &self.registry).await?;
            Ok((Arc::clone(mind), Arc::new(access)))
        };
        let (_, access) = self.remembered.read(&mind.id, load).await?;
        Ok(access)
    }

    /// Lets a statement through the guard, or refuses it. Runs nothing.
    ///
    /// # Errors
    /// A `sql_*` code.
    pub async fn accept(&self, access: &Arc<Access>, sql: &str) -> Result<Accepted> {
        Ok(Accepted {
            guarded: self.verdicts.of(access, sql).await?,
            access: Arc::clone(access),
        })
    }

    /// One page of a statement's result with the exact total.
    ///
    /// # Errors
    /// What the engine says, `result_too_large`.
    pub async fn page(
        &self,
        accepted: &Accepted,
        limit: u64,
        offset: u64,
        call: &Call,
    ) -> Result<Page> {
        let Accepted { access, guarded } = accepted;
        let source = access.source(guarded);
        let call = call.within(self.statement_timeout(source));
        let mut connection = self.connect(source, &call).await?;
        let page = page::read(
            &mut *connection,
            guarded,
            page::Window {
                limit,
                offset,
                max_bytes: self.settings.page_bytes,
            },
            |statement| self.whole.page(&source.target.id, statement),
            &call,
        )
        .await;
        // Of a failure one wants to know which version it was, more than of anything else.
        served::note(&source.engine, connection.digest());
        page.inspect(|_| shadow::begin(&self.registry, source, guarded, &self.tasks))
    }

    /// The whole result as CSV for a key; what becomes of formulas is a setting unless `formulas` says it. `ended` resolves
    /// with the reason when the export has to stop early.
    ///
    /// # Errors
    /// As for a page, and `rate_limit_exceeded`; once the stream has begun a failure breaks it off.
    pub async fn export(
        &self,
        accepted: &Accepted,
        formulas: Option<Formulas>,
        key: &Arc<str>,
        cancel: CancellationToken,
        tally: Option<Arc<Tally>>,
        ended: impl Future<Output = Error> + Send + 'static,
    ) -> Result<Export> {
        let Accepted { access, guarded } = accepted;
        let place = self.exports.take(key)?;
        let source = access.source(guarded);
        let first = Call::new(self.statement_timeout(source), cancel);
        let first = first.for_key(key.clone()).for_export();
        let connection = self.connect(source, &first).await?;
        served::note(&source.engine, connection.digest());
        export::start(
            connection,
            guarded.text(),
            &self.settings,
            formulas.unwrap_or(self.settings.csv_formulas),
            first,
            &self.tasks,
            export::Terms {
                tally,
                place,
                ended: Box::pin(ended),
            },
        )
        .await
    }

    async fn connect(&self, source: &access::Source, call: &Call) -> Result<Box<dyn Connection>> {
        let pin = source.plugin_digest.as_deref();
        let connector = self.registry.serving(&source.engine, pin).await?;
        let opened = connector.connect(&source.target, call).await;
        opened.inspect_err(|_| served::note(&source.engine, connector.digest()))
    }

    /// Longer than any statement may run; the bound of waits that have a shorter one inside.
    pub fn longest(&self) -> Duration {
        self.settings.export_timeout
    }

    fn statement_timeout(&self, source: &access::Source) -> Duration {
        source
            .statement_timeout
            .unwrap_or(self.settings.statement_timeout)
    }
}
