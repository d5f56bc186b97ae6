//! The names of a session over several datasources: each is a catalog.

use std::{
    collections::HashMap,
    convert::Infallible,
    fmt,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use datafusion::{
    arrow::datatypes::SchemaRef,
    catalog::{
        CatalogProvider, CatalogProviderList, SchemaProvider, Session, TableProvider,
        default_table_source::source_as_provider,
    },
    common::{DFSchema, Result, TableReference},
    logical_expr::{Expr, TableProviderFilterPushDown, TableScan, TableType},
    physical_plan::ExecutionPlan,
};
use tokio::{runtime::Handle, sync::oneshot};
use uuid::Uuid;

use super::{
    Budget, Recorder, SqlSource,
    dialects::rules,
    estimates::ColumnFacts,
    expressions::{Scope, Value},
    kinds::Kind,
    select::{Names, Select},
};
use crate::{decode, errors::external, names::NO_SCHEMA};
use mindhost_base::{
    error::{Code, Error, Result as HostResult},
    locks::lock,
};
use mindhost_plugin_api::{Call, Column, Statement, TableRef};
use tokio_util::task::TaskTracker;

/// How long the types of a table's columns are believed. Rows of other types are an error.
const FRESH: Duration = Duration::from_secs(60);
/// Tables whose types are kept.
const MAX_KEPT: usize = 4_096;

/// The columns of a table, and when they were asked for.
type CachedColumns = (Instant, Arc<[Column]>);

/// Datasource, table, and the fingerprint of what the caller sees of it.
type Key = (String, TableRef, u64);

/// The types of the columns of tables.
#[derive(Debug, Default)]
pub struct ColumnTypes(Mutex<HashMap<Key, CachedColumns>>);

impl ColumnTypes {
    fn get(&self, key: &Key) -> Option<Arc<[Column]>> {
        let known = lock(&self.0);
        let (since, columns) = known.get(key)?;
        (since.elapsed() < FRESH).then(|| Arc::clone(columns))
    }

    fn put(&self, key: Key, columns: &Arc<[Column]>) {
        let mut known = lock(&self.0);
        if known.len() >= MAX_KEPT {
            known.retain(|_, (since, _)| since.elapsed() < FRESH);
        }
        if known.len() < MAX_KEPT {
            known.insert(key, (Instant::now(), Arc::clone(columns)));
        }
    }

    /// Forgets the tables of a datasource whose rows had other types.
    pub fn forget(&self, datasource: &str) {
        lock(&self.0).retain(|(id, ..), _| id != datasource);
    }
}

/// The datasources of one statement.
pub struct Sources {
    pub(super) all: Vec<Arc<dyn SqlSource>>,
    /// Where connections live.
    pub(super) main: Handle,
    pub(super) tasks: TaskTracker,
    /// The limits of the statement.
    pub(super) call: Call,
    pub(super) recorder: Arc<Recorder>,
    pub(super) keys: Keys,
    pub(super) budget: Arc<Budget>,
    pub(super) column_types: Arc<ColumnTypes>,
    /// Names of tables in what is sent.
    pub(super) names: Mutex<Names>,
    /// Ends when the part that began last has its connection.
    opened: Mutex<Option<oneshot::Receiver<Infallible>>>,
}

/// The place of a part in the order in which the parts of a statement get their connections.
pub(super) struct Turn {
    before: Option<oneshot::Receiver<Infallible>>,
    /// Ends the wait of the next part when it is dropped.
    opened: oneshot::Sender<Infallible>,
}

impl Turn {
    /// What `open` gives, after the part before has its connection, or failed, or needs none. A part that is `read`
    /// already waits no longer: the one before it may never be.
    pub async fn take<T>(
        self,
        read: oneshot::Receiver<Infallible>,
        open: impl Future<Output = T>,
    ) -> T {
        if let Some(before) = self.before {
            // Both end without a message.
            tokio::select! {
                _ = before => {}
                _ = read => {}
            }
        }
        let opened = open.await;
        drop(self.opened);
        opened
    }
}

/// Whether the keys that a join found in one datasource become conditions for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// They do, so that fewer rows move.
    Shared,
    /// They stay in the host.
    Private,
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sources")
    }
}

impl Sources {
    /// The next place in the order of connections, which is the order of reading. A part could otherwise take the last
    /// connection of a datasource, and keep it while one that is read before it waits for it.
    pub(super) fn turn(&self) -> Turn {
        let (opened, next) = oneshot::channel();
        let before = lock(&self.opened).replace(next);
        Turn { before, opened }
    }

    /// The datasources of a statement that begins now. Their connections live in the runtime that calls this.
    pub(crate) fn new(
        all: Vec<Arc<dyn SqlSource>>,
        call: &Call,
        recorder: Arc<Recorder>,
        keys: Keys,
        budget: Arc<Budget>,
        column_types: Arc<ColumnTypes>,
        tasks: TaskTracker,
    ) -> Arc<Self> {
        Arc::new(Self {
            all,
            main: Handle::current(),
            tasks,
            call: call.clone(),
            recorder,
            keys,
            budget,
            column_types,
            names: Mutex::default(),
            opened: Mutex::default(),
        })
    }

    /// Whether joins tell other datasources their keys.
    pub fn share_keys(&self) -> bool {
        self.keys == Keys::Shared
    }

    fn source(&self, index: usize) -> Result<&Arc<dyn SqlSource>> {
        let source = self.all.get(index);
        source.ok_or_else(|| external(Error::internal("a part of a plan without its datasource")))
    }

    /// The columns of a table with their types, which only a result has.
    async fn columns(
        self: &Arc<Self>,
        index: usize,
        table: &TableRef,
    ) -> HostResult<Arc<[Column]>> {
        let Some(source) = self.all.get(index).cloned() else {
            return Err(Error::internal("a table without its datasource"));
        };
        let fingerprint = source.fingerprint(table);
        let key = (source.id().to_owned(), table.clone(), fingerprint);
        if let Some(known) = self.column_types.get(&key) {
            return Ok(known);
        }
        let call = self.call.clone();
        let sql = no_rows(source.as_ref(), table);
        let ask = self.main.spawn(async move {
            let statement = Statement {
                text: source.guard(&sql)?,
                id: statement_id(),
                timeout: call.remaining(),
            };
            let mut connection = source.open(&call).await?;
            let columns = connection.query(&statement, &call).await?;
            connection.close(&call).await?;
            Ok::<_, Error>(columns)
        });
        let columns = ask.await.map_err(Error::internal)??;
        self.column_types.put(key, &columns);
        Ok(columns)
    }
}

/// An id for a statement that is sent. Two that run at the same time may not have one: engines refuse that, and cancel by
/// it.
pub fn statement_id() -> String {
    Uuid::now_v7().to_string()
}

/// A statement that has the columns of a table and no rows. A column whose name no statement can have is not there: it
/// would be in the way of all others.
fn no_rows(source: &dyn SqlSource, table: &TableRef) -> String {
    let rules = rules(source.dialect());
    let mut columns = source.columns(table);
    columns.retain(|name| rules.can_quote(name));
    let columns = match columns.is_empty() {
        true => String::from("*"),
        false => {
            let quoted: Vec<_> = columns.iter().map(|name| rules.quoted(name)).collect();
            quoted.join(", ")
        }
    };
    let (schema, name) = (rules.quoted(&table.schema), rules.quoted(&table.name));
    format!("SELECT {columns} FROM {schema}.{name} WHERE 1 = 0")
}

/// The catalogs of a statement.
#[derive(Debug)]
pub struct Catalogs(pub Arc<Sources>);

impl CatalogProviderList for Catalogs {
    fn register_catalog(
        &self,
        _: String,
        _: Arc<dyn CatalogProvider>,
    ) -> Option<Arc<dyn CatalogProvider>> {
        None
    }

    fn catalog_names(&self) -> Vec<String> {
        self.0
            .all
            .iter()
            .map(|source| source.name().to_owned())
            .collect()
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        let index = self.0.all.iter().position(|source| source.name() == name)?;
        Some(Arc::new(Datasource {
            sources: Arc::clone(&self.0),
            index,
        }))
    }
}

#[derive(Debug)]
struct Datasource {
    sources: Arc<Sources>,
    index: usize,
}

impl CatalogProvider for Datasource {
    fn schema_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        (name != NO_SCHEMA).then(|| {
            Arc::new(Schema {
                sources: Arc::clone(&self.sources),
                index: self.index,
                name: name.to_owned(),
            }) as _
        })
    }
}

#[derive(Debug)]
struct Schema {
    sources: Arc<Sources>,
    index: usize,
    name: String,
}

#[async_trait]
impl SchemaProvider for Schema {
    fn table_names(&self) -> Vec<String> {
        Vec::new()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let table = TableRef::new(self.name.clone(), name);
        let columns = self
            .sources
            .columns(self.index, &table)
            .await
            .map_err(external)?;
        Ok(Some(Arc::new(RemoteTable {
            sources: Arc::clone(&self.sources),
            index: self.index,
            schema: decode::schema(&columns),
            table,
            columns,
        })))
    }

    fn table_exist(&self, _: &str) -> bool {
        false
    }
}

/// A table of one of the datasources.
#[derive(Debug)]
pub struct RemoteTable {
    sources: Arc<Sources>,
    /// Which datasource.
    pub index: usize,
    table: TableRef,
    columns: Arc<[Column]>,
    schema: SchemaRef,
}

impl RemoteTable {
    /// Rows, if the catalog knows.
    pub fn row_count(&self) -> Option<u64> {
        self.sources.all.get(self.index)?.row_count(&self.table)
    }

    /// What the catalog knows of a column.
    pub fn facts(&self, column: &str) -> Option<ColumnFacts> {
        let source = self.sources.all.get(self.index)?;
        let known = source.statistics(&self.table).iter();
        let known = known.into_iter().find(|known| known.column == column)?;
        let field = self.schema.field_with_name(column).ok()?;
        Some(ColumnFacts::new(known, field.data_type(), self.row_count()))
    }

    /// Whether groups go to its datasource.
    pub fn takes_groups(&self) -> bool {
        let source = self.sources.all.get(self.index);
        source.is_some_and(|source| rules(source.dialect()).groups)
    }

    /// Whether groups go to its datasource with a look at the cells that they read.
    pub fn takes_checked_groups(&self) -> bool {
        let source = self.sources.all.get(self.index);
        source.is_some_and(|source| rules(source.dialect()).checked_groups)
    }

    /// Whether joins go to its datasource, and groups.
    pub fn takes_joins(&self) -> bool {
        let source = self.sources.all.get(self.index);
        source.is_some_and(|source| rules(source.dialect()).joins)
    }

    /// The statement for some of its columns; all of them without a projection.
    pub fn select(&self, projection: Option<&[usize]>, names: &mut Names) -> Result<Select> {
        let source = self.sources.source(self.index)?;
        let columns: Vec<&Column> = match projection {
            Some(wanted) => wanted
                .iter()
                .filter_map(|index| self.columns.get(*index))
                .collect(),
            None => self.columns.iter().collect(),
        };
        let of = (self.index, source.dialect());
        Ok(Select::table(
            of,
            &self.table,
            &columns,
            self.row_count(),
            names,
        ))
    }
}

#[async_trait]
impl TableProvider for RemoteTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let dialect = self.sources.source(self.index)?.dialect();
        let rules = rules(dialect);
        // The names here only show whether there is a form.
        let value = |column: &Column| Value {
            sql: rules.quoted(&column.name),
            kind: Kind::of(column, dialect),
        };
        let values: Vec<Value> = self.columns.iter().map(value).collect();
        let schema = DFSchema::try_from(Arc::clone(&self.schema))?;
        let inputs = [(&schema, values.as_slice())];
        let exact = Scope::exact(dialect, &inputs);
        let widening = Scope::widening(dialect, &inputs);
        let support = |filter: &&Expr| {
            let filter = unqualified(filter);
            if rules.exact && exact.condition(&filter).is_some() {
                TableProviderFilterPushDown::Exact
            } else if rules.filters && widening.condition(&filter).is_some() {
                TableProviderFilterPushDown::Inexact
            } else {
                TableProviderFilterPushDown::Unsupported
            }
        };
        Ok(filters.iter().map(support).collect())
    }

    /// Never called: every scan is cut out of the plan before.
    async fn scan(
        &self,
        _: &dyn Session,
        _: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let name = TableReference::bare(self.table.name.clone());
        Err(external(Error::new(
            Code::Internal,
            format!("the table {name} was left in a plan over several datasources"),
        )))
    }
}

/// What `read` finds in the table that a scan reads; `None` if it is no table of a datasource.
pub fn with_table<T>(scan: &TableScan, read: impl FnOnce(&RemoteTable) -> T) -> Option<T> {
    let provider = source_as_provider(&scan.source).ok()?;
    provider.downcast_ref::<RemoteTable>().map(read)
}

/// A filter of one table without the name of the table.
pub fn unqualified(filter: &Expr) -> Expr {
    use datafusion::common::tree_node::{Transformed, TreeNode as _};
    let bare = filter.clone().transform(|part| {
        Ok(match part {
            Expr::Column(column) => Transformed::yes(Expr::Column(
                datafusion::common::Column::new_unqualified(column.name),
            )),
            other => Transformed::no(other),
        })
    });
    bare.map_or_else(|_| filter.clone(), |bare| bare.data)
}
