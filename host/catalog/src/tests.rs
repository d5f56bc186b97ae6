//! The rules of catalogs, each on both kinds of store, with an engine that does what the test says.

mod row_counts;
mod rules;
mod scripted;

use std::{sync::Arc, time::Duration};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::scripted::{Engine, Only, Scripted};
use super::{
    Catalog, CatalogPage, Filter, Mode, RunStatus, ScopeStatistics, Source, StartedRuns, Table,
    TableStatus, View, ViewSource, store::fixture,
};
use mindhost_base::config::Config;
use mindhost_plugin_api::TableRef;
use mindhost_store::Store;

const LONG: Duration = Duration::from_secs(60);

/// A store, an engine, and a catalog that works on its runs.
struct Setup {
    store: Store,
    engine: Arc<Engine>,
    catalog: Catalog,
    ending: CancellationToken,
    tasks: TaskTracker,
    workspace: String,
    datasource: String,
    // Last, so that the directory goes when nobody uses it any more.
    _dir: tempfile::TempDir,
}

impl Setup {
    /// With these tables, listed but not loaded; runs are worked on.
    async fn new(postgres: bool, tables: &[&str]) -> Self {
        let setup = Self::idle(postgres, tables).await;
        setup.catalog.start().await.unwrap();
        setup
    }

    /// As [`Self::new`], but nobody works on runs.
    async fn idle(postgres: bool, tables: &[&str]) -> Self {
        let (dir, store, workspace) = open(postgres).await;
        let datasource = fixture::datasource(&store, &workspace).await;
        let engine = Engine::new();
        for name in tables {
            engine.put(
                name,
                Scripted {
                    rows: vec![(1, Some("a")), (2, None)],
                    ..Scripted::default()
                },
            );
        }
        let (ending, tasks) = (CancellationToken::new(), TaskTracker::new());
        let catalog = catalog(&store, &engine, &ending, &tasks);
        let setup = Self {
            store,
            engine,
            catalog,
            ending,
            tasks,
            workspace,
            datasource,
            _dir: dir,
        };
        setup
            .catalog
            .table_list_stored(setup.source(), &setup.engine.list())
            .await
            .unwrap();
        setup
    }

    /// Ends the work as a server that shuts down does, and gives a new catalog that works on.
    async fn restart(&mut self) {
        self.ending.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        (self.ending, self.tasks) = (CancellationToken::new(), TaskTracker::new());
        self.catalog = catalog(&self.store, &self.engine, &self.ending, &self.tasks);
        self.catalog.start().await.unwrap();
    }

    fn source(&self) -> Source<'_> {
        Source {
            workspace: &self.workspace,
            id: &self.datasource,
            seen: None,
            request_id: Some("of-the-test"),
        }
    }

    /// All of it, as a Mind sees it.
    fn view(&self, send_values: bool) -> View {
        let source = ViewSource {
            id: self.datasource.clone(),
            name: "shop".into(),
            tables: None,
            send_values,
            send_rows: true,
            restrictions: Default::default(),
        };
        View {
            sources: vec![source],
        }
    }

    async fn refresh(&self, mode: Mode, names: Option<&[&str]>) -> StartedRuns {
        let names: Option<Vec<String>> =
            names.map(|names| names.iter().map(ToString::to_string).collect());
        self.catalog
            .refresh(self.source(), mode, names.as_deref())
            .await
            .unwrap()
    }

    /// Refreshes and waits for the end.
    async fn refreshed(&self, mode: Mode, names: Option<&[&str]>) -> CatalogPage {
        let started = self.refresh(mode, names).await;
        self.catalog.wait(&started, LONG).await.unwrap();
        self.shown().await
    }

    async fn shown(&self) -> CatalogPage {
        self.catalog
            .show(self.source(), Filter::default())
            .await
            .unwrap()
    }

    async fn table(&self, name: &str) -> Table {
        self.catalog.table(self.source(), name).await.unwrap()
    }

    /// Waits until the catalog is as the test expects.
    async fn until(&self, expected: impl Fn(&CatalogPage) -> bool) -> CatalogPage {
        let seen = tokio::time::timeout(LONG, async {
            loop {
                let shown = self.shown().await;
                if expected(&shown) {
                    return shown;
                }
                tokio::task::yield_now().await;
            }
        });
        seen.await.unwrap()
    }
}

fn catalog(
    store: &Store,
    engine: &Arc<Engine>,
    ending: &CancellationToken,
    tasks: &TaskTracker,
) -> Catalog {
    let settings = Config::from_env([]).unwrap().catalog;
    Catalog::new(
        store.clone(),
        Arc::new(Only(engine.clone())),
        settings,
        ending.clone(),
        tasks.clone(),
    )
}

async fn open(postgres: bool) -> (tempfile::TempDir, Store, String) {
    if !postgres {
        return mindhost_store::testing::temporary().await;
    }
    let database = mindhost_tests::Postgres::shared().database("").await;
    let url = format!(
        "postgres://{}:{}@127.0.0.1:{}/{}",
        database.name,
        database.password.replace(' ', "%20"),
        database.port,
        database.name
    );
    let config = Config::from_env([("MINDHOST_DATABASE_URL".to_owned(), url)]).unwrap();
    let store = Store::open(&config).await.unwrap();
    store.migrate().await.unwrap();
    let workspace = store
        .ensure_workspace(mindhost_store::DEFAULT_WORKSPACE)
        .await
        .unwrap();
    (tempfile::tempdir().unwrap(), store, workspace)
}

fn status_of(shown: &CatalogPage, name: &str) -> TableStatus {
    shown
        .tables
        .iter()
        .find(|table| table.table.name == name)
        .unwrap()
        .status
}
