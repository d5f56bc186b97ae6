//! Connections, sources and completions of a case: each error is searched for masked secrets, and what is dropped is
//! closed for good, so that no other case gets it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use mindhost_base::Result;
use mindhost_plugin_api::{
    Batch, Call, Column, MASK, Plugin, ServerInfo, TableInfo, TableRef, Target,
    intercept::{AsReply, Intercept, Interceptor, Invocation, Operation},
    scanner::{Filter, Pushdown, Scan, ScanId, Source},
};
use tokio_util::task::TaskTracker;

/// Statements that are kept of a case.
const KEPT: usize = 3;
/// Longest statement in a report, in characters.
const LONGEST: usize = 600;

/// What the calls of a case showed: the messages of errors in which the host masked something, and the last statements.
#[derive(Clone, Default)]
pub(crate) struct Masked {
    messages: Arc<Mutex<Vec<String>>>,
    statements: Arc<Mutex<VecDeque<String>>>,
}

impl Masked {
    /// Looks at what a call gave, and hands it on.
    pub fn check<T>(&self, result: Result<T>) -> Result<T> {
        result.inspect_err(|error| {
            if error.message().contains(MASK) {
                let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
                messages.push(error.message().to_owned());
            }
        })
    }

    /// The messages since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A statement, a scan or a call of the catalog begins.
    fn begins(&self, text: &str) {
        let mut kept: String = text.chars().take(LONGEST).collect();
        if kept.len() < text.len() {
            kept.push('…');
        }
        let mut all = self
            .statements
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.push_back(kept);
        while all.len() > KEPT {
            all.pop_front();
        }
    }

    /// The last of these since the last call, in order.
    pub fn take_statements(&self) -> Vec<String> {
        let mut all = self
            .statements
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *all).into()
    }
}

/// The catalog has no statements, so its calls are shown in their place.
fn describing(tables: &[TableRef]) -> String {
    let names: Vec<String> = tables.iter().map(TableRef::to_string).collect();
    format!("describe-tables {}", names.join(", "))
}

/// Closes the pool of a target once what was opened for it is dropped.
pub(crate) struct Farewell {
    forget: Option<BoxFuture<'static, ()>>,
    tasks: TaskTracker,
}

impl Farewell {
    /// Runs `forget` as one of the tasks.
    pub fn new(tasks: &TaskTracker, forget: impl Future<Output = ()> + Send + 'static) -> Self {
        Self {
            forget: Some(Box::pin(forget)),
            tasks: tasks.clone(),
        }
    }
}

impl Drop for Farewell {
    fn drop(&mut self) {
        if let Some(forget) = self.forget.take() {
            self.tasks.spawn(forget);
        }
    }
}

/// Notes what the calls of one connection or completion show: the statements, and errors with a masked secret.
pub(crate) struct Watch {
    masked: Masked,
    farewell: Mutex<Option<Farewell>>,
}

impl Watch {
    /// For one session. Completions have no farewell: models keep no pool.
    pub fn new(masked: &Masked, farewell: Option<Farewell>) -> Self {
        Self {
            masked: masked.clone(),
            farewell: Mutex::new(farewell),
        }
    }
}

impl Intercept for Watch {
    type Interceptor = Watcher;

    fn begin(&self, _plugin: &dyn Plugin, _target: &Target) -> Result<Watcher> {
        let mut farewell = self.farewell.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Watcher {
            masked: self.masked.clone(),
            _farewell: farewell.take(),
        })
    }
}

/// Dropped after the connection, which went back to its pool: the farewell then closes the pool.
pub(crate) struct Watcher {
    masked: Masked,
    _farewell: Option<Farewell>,
}

impl<P: Send> Interceptor<P> for Watcher {
    async fn intercept<T: AsReply>(
        &mut self,
        invocation: &dyn Invocation<P, T>,
        on: &mut P,
    ) -> Result<T> {
        match invocation.operation() {
            Operation::Query(statement) => self.masked.begins(&statement.text),
            Operation::Tables => self.masked.begins("tables"),
            Operation::DescribeTables(tables) => self.masked.begins(&describing(tables)),
            Operation::Statistics(table, _) => {
                self.masked.begins(&format!("statistics of {table}"))
            }
            _ => {}
        }
        self.masked.check(invocation.make(on).await)
    }
}

/// The same around a source of a scanner, which is no connection: the order of the fields counts for the farewell.
pub(crate) struct WatchedSource {
    inner: Box<dyn Source>,
    masked: Masked,
    _farewell: Farewell,
}

impl WatchedSource {
    /// Over a source that was opened.
    pub fn new(inner: Box<dyn Source>, masked: &Masked, farewell: Farewell) -> Box<Self> {
        Box::new(Self {
            inner,
            masked: masked.clone(),
            _farewell: farewell,
        })
    }
}

#[async_trait]
impl Source for WatchedSource {
    fn digest(&self) -> &str {
        self.inner.digest()
    }

    async fn check(&mut self, call: &Call) -> Result<ServerInfo> {
        self.masked.check(self.inner.check(call).await)
    }

    async fn tables(&mut self, call: &Call) -> Result<Vec<TableRef>> {
        self.masked.begins("tables");
        self.masked.check(self.inner.tables(call).await)
    }

    async fn describe_tables(
        &mut self,
        tables: &[TableRef],
        call: &Call,
    ) -> Result<Vec<TableInfo>> {
        self.masked.begins(&describing(tables));
        let described = self.inner.describe_tables(tables, call).await;
        self.masked.check(described)
    }

    async fn columns(&mut self, table: &TableRef, call: &Call) -> Result<Arc<[Column]>> {
        self.masked.begins(&format!("columns of {table}"));
        self.masked.check(self.inner.columns(table, call).await)
    }

    async fn filter_support(
        &mut self,
        table: &TableRef,
        filters: &[Filter],
        call: &Call,
    ) -> Result<Vec<Pushdown>> {
        let support = self.inner.filter_support(table, filters, call).await;
        self.masked.check(support)
    }

    async fn scan(&mut self, scan: &Scan, call: &Call) -> Result<ScanId> {
        let columns: Vec<&str> = scan.columns.iter().map(|one| one.name.as_str()).collect();
        self.masked.begins(&format!(
            "scan {} ({}), filters {:?}, limit {:?}",
            scan.table,
            columns.join(", "),
            scan.filters,
            scan.limit
        ));
        self.masked.check(self.inner.scan(scan, call).await)
    }

    async fn next(&mut self, scan: ScanId, max_rows: u32, call: &Call) -> Result<Option<Batch>> {
        self.masked
            .check(self.inner.next(scan, max_rows, call).await)
    }

    async fn close(&mut self, scan: ScanId, call: &Call) -> Result<()> {
        self.masked.check(self.inner.close(scan, call).await)
    }
}
