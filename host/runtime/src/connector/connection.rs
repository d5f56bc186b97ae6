//! A connection: the calls of its guest, and its return to the pool.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use wasmtime::{Store, component::ResourceAny};

use super::super::{
    bindings::{
        catalog_types, connector as guest,
        sql::{SqlConnector, SqlConnectorPre},
        types,
    },
    connection_exports::GuestResult,
    convert,
    instance::OnStop,
    plugin_connections::{Cursor, FoundKey, PooledConnection, Replaced, gone, schema_or_close},
    state::State,
    world::GuestFuture,
};
use super::first_rows::{self, FIRST_ROWS, FirstRows};
use mindhost_base::{
    error::{Error, Result},
    locks::lock,
};
use mindhost_plugin_api::{
    Batch, Call, Column, ColumnStatistics, Connection, ServerInfo, Statement, StatisticsOptions,
    TableInfo, TableRef,
};

/// A connection that was taken from its pool.
pub struct WasmConnection {
    pooled: PooledConnection<SqlConnectorPre<State>>,
    cursor: Option<Cursor>,
    /// Rows that were read before the caller asked for them.
    ahead: VecDeque<Batch>,
    /// The guest has given all rows and closed its cursor; the caller has not.
    is_ended: bool,
    /// Inside a snapshot, so the connection must not be reused.
    snapshot: bool,
    /// The timeout in milliseconds of the snapshot, if no call has followed its beginning, for which a plugin may have
    /// sent nothing, and the connection comes from the pool. Then a new one can take its place in a new snapshot.
    unread_snapshot: Option<u64>,
}

impl WasmConnection {
    /// A connection that holds one of the target's connections.
    pub(super) fn new(pooled: PooledConnection<SqlConnectorPre<State>>) -> Self {
        Self {
            pooled,
            cursor: None,
            ahead: VecDeque::new(),
            is_ended: false,
            snapshot: false,
            unread_snapshot: None,
        }
    }

    /// Calls the guest, and again on a new connection if the pooled one is dead. For calls without a partial result.
    async fn call<R, F>(&mut self, call: &Call, f: F) -> Result<R>
    where
        R: Send + 'static,
        F: for<'a> Fn(
                &'a mut Store<State>,
                guest::GuestConnection<'a>,
                ResourceAny,
            ) -> GuestFuture<'a, GuestResult<R>>
            + Clone
            + Send
            + 'static,
    {
        self.begin_call()?;
        self.pooled
            .call(call, move |store, guest: &SqlConnector, handle| {
                f(
                    store,
                    guest.mindhost_plugin_connector().connection(),
                    handle,
                )
            })
            .await
    }

    /// The guest takes no other call while a cursor is open.
    fn begin_call(&mut self) -> Result<()> {
        self.unread_snapshot = None;
        match self.cursor.is_some() || self.is_ended {
            true => Err(Error::internal("a cursor is open on this connection")),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl Connection for WasmConnection {
    fn digest(&self) -> &str {
        &self.pooled.plugin.digest
    }

    async fn check(&mut self, call: &Call) -> Result<ServerInfo> {
        self.begin_call()?;
        self.pooled.check(call).await
    }

    async fn tables(&mut self, call: &Call) -> Result<Vec<TableRef>> {
        self.begin_call()?;
        self.pooled.tables(call).await
    }

    async fn describe_tables(
        &mut self,
        tables: &[TableRef],
        call: &Call,
    ) -> Result<Vec<TableInfo>> {
        self.begin_call()?;
        self.pooled.describe_tables(tables, call).await
    }

    async fn statistics(
        &mut self,
        table: &TableRef,
        options: &StatisticsOptions,
        call: &Call,
    ) -> Result<Option<Vec<ColumnStatistics>>> {
        let table = convert::to_table_ref(table);
        let asked = catalog_types::StatisticsOptions {
            columns: options.columns.clone(),
            max_rows: options.max_rows,
            max_ms: millis(options.max_time),
            extra: Vec::new(),
        };
        let statistics = self
            .call(call, move |store, connection, handle| {
                let (table, asked) = (table.clone(), asked.clone());
                Box::pin(async move {
                    connection
                        .call_statistics(store, handle, &table, &asked)
                        .await
                })
            })
            .await?;
        let checked = statistics
            .map(|statistics| convert::statistics(statistics, &options.columns))
            .transpose();
        self.pooled.accept(checked)
    }

    async fn begin_snapshot(&mut self, timeout: Duration, call: &Call) -> Result<bool> {
        let timeout = millis(timeout);
        let reused = self.pooled.reused;
        // Set before the call, because a failed call may leave a snapshot open.
        self.snapshot = true;
        self.snapshot = self
            .call(call, move |store, connection, handle| {
                Box::pin(
                    async move { connection.call_begin_snapshot(store, handle, timeout).await },
                )
            })
            .await?;
        // A plugin without snapshots says so without a word to its engine, so a pooled connection may still be dead.
        self.pooled.reused = reused && !self.snapshot;
        self.unread_snapshot = (reused && self.snapshot).then_some(timeout);
        Ok(self.snapshot)
    }

    async fn end_snapshot(&mut self, call: &Call) -> Result<()> {
        self.call(call, |store, connection, handle| {
            Box::pin(async move { connection.call_end_snapshot(store, handle).await })
        })
        .await?;
        self.snapshot = false;
        Ok(())
    }

    async fn query(&mut self, statement: &Statement, call: &Call) -> Result<Arc<[Column]>> {
        let statement = guest::Statement {
            text: statement.text.clone(),
            id: statement.id.clone(),
            timeout_ms: millis(statement.timeout),
            max_cell_bytes: u64::from(self.pooled.plugin.quota.settings.max_cell_bytes),
            extra: Vec::new(),
        };
        let unread_snapshot = self.unread_snapshot.take();
        self.begin_call()?;
        self.pooled.reused |= unread_snapshot.is_some();
        let batch_bytes = self.pooled.plugin.quota.settings.batch_bytes;
        let ahead = self.pooled.grants().uses_files().then_some(batch_bytes);
        // An engine may take long to say the columns; until then the statement can be cancelled too.
        let found = FoundKey::default();
        let told = Arc::clone(&found);
        let replaced = Replaced::default();
        let is_new = Arc::clone(&replaced);
        let (handle, key, columns, first) = self
            .pooled
            .call_with_key(
                call,
                Some(&found),
                &replaced,
                move |store, guest: &SqlConnector, handle| {
                    let (statement, found) = (statement.clone(), Arc::clone(&told));
                    let snapshot =
                        unread_snapshot.filter(|_| is_new.swap(false, Ordering::Relaxed));
                    Box::pin(async move {
                        if let Some(timeout) = snapshot
                            && let Err(error) = renew(store, guest, handle, timeout).await?
                        {
                            return Ok(Err(error));
                        }
                        start(store, guest, handle, statement, found, ahead).await
                    })
                },
            )
            .await?;
        let settings = &self.pooled.plugin.quota.settings;
        let checked = convert::cancel_key(key).and_then(|key| {
            let schema = convert::Schema::new(columns, settings)?;
            let batches = first.batches.into_iter();
            let batches = batches.map(|batch| convert::batch(batch, &schema, FIRST_ROWS, settings));
            let batches: VecDeque<_> = batches.collect::<Result<_>>()?;
            Ok((key, schema, batches))
        });
        let (key, schema, mut ahead) = self.pooled.accept(checked)?;
        ahead.retain(|batch| batch.rows() > 0);
        self.ahead = ahead;
        let columns = Arc::clone(&schema.columns);
        match first.closed {
            Some(is_usable) => {
                self.is_ended = true;
                if !is_usable {
                    self.pooled.live = None;
                }
            }
            None => {
                self.cursor = Some(Cursor {
                    handle,
                    key,
                    schema,
                });
            }
        }
        Ok(columns)
    }

    async fn next(&mut self, max_rows: u32, call: &Call) -> Result<Option<Batch>> {
        if let Some(batch) = self.ahead.pop_front() {
            let (batch, rest) = batch.split(max_rows as usize);
            if let Some(rest) = rest {
                self.ahead.push_front(rest);
            }
            return Ok(Some(batch));
        }
        if self.is_ended {
            return Ok(None);
        }
        let cursor = self.cursor.clone().ok_or_else(gone)?;
        let next = self.pooled.next(&cursor, max_rows, call).await?;
        if next.is_err() {
            self.close(call).await?;
        }
        next
    }

    async fn close(&mut self, call: &Call) -> Result<()> {
        self.ahead.clear();
        self.is_ended = false;
        // The rows are complete, so a failed close drops the connection but not the result.
        if let Some(cursor) = self.cursor.take()
            && !self.pooled.close(&cursor, call).await
        {
            self.pooled.live = None;
        }
        Ok(())
    }
}

type Started = (ResourceAny, Option<Vec<u8>>, Vec<types::Column>, FirstRows);

/// Begins a snapshot on a connection that takes the place of one that had begun one.
async fn renew(
    store: &mut Store<State>,
    guest: &SqlConnector,
    connection: ResourceAny,
    timeout: u64,
) -> wasmtime::Result<GuestResult<()>> {
    let connections = guest.mindhost_plugin_connector().connection();
    let begun = connections
        .call_begin_snapshot(store, connection, timeout)
        .await?;
    match begun {
        Ok(true) => Ok(Ok(())),
        Ok(false) => Err(wasmtime::Error::msg(
            "begin-snapshot was true on one connection and is false on the next",
        )),
        Err(error) => Ok(Err(error)),
    }
}

/// Starts a statement and reads its schema; and its first rows, if `ahead` says how many bytes of a batch.
async fn start(
    store: &mut Store<State>,
    guest: &SqlConnector,
    connection: ResourceAny,
    statement: guest::Statement,
    found: FoundKey,
    ahead: Option<u32>,
) -> wasmtime::Result<GuestResult<Started>> {
    let exports = guest.mindhost_plugin_connector();
    let started = exports.connection();
    let cursor = match started
        .call_query(&mut *store, connection, &statement)
        .await?
    {
        Ok(cursor) => cursor,
        Err(error) => return Ok(Err(error)),
    };
    let key = exports
        .cursor()
        .call_cancel_key(&mut *store, cursor)
        .await?;
    if let Ok(key) = convert::cancel_key(key.clone()) {
        *lock(&found) = key;
    }
    let columns = match schema_or_close(store, guest, cursor).await? {
        Ok(columns) => columns,
        Err(error) => return Ok(Err(error)),
    };
    let first = match ahead {
        Some(max_bytes) => first_rows::read(store, guest, cursor, max_bytes).await?,
        None => Ok(FirstRows::default()),
    };
    Ok(first.map(|first| (cursor, key, columns, first)))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Drop for WasmConnection {
    fn drop(&mut self) {
        match self.cursor.take() {
            None if self.snapshot => {
                if let Some(live) = self.pooled.live.take() {
                    live.retire();
                }
            }
            None => self.pooled.give_back(),
            // Dropped in the middle of a result: cancel the statement, then let the guest close. The connection is not
            // reused, because the cancellation could hit its next statement.
            Some(cursor) => {
                let Some(live) = self.pooled.live.take() else {
                    return;
                };
                let key = cursor.key.as_ref().or(live.key.as_ref());
                let permit = &self.pooled.permit;
                let stop = self
                    .pooled
                    .plugin
                    .canceller(key, None, &live.grants, permit);
                let on_stop = OnStop {
                    cancel_engine: None,
                    permit: Arc::clone(permit),
                    waits: stop.is_some(),
                };
                if let Some(stop) = stop
                    && tokio::runtime::Handle::try_current().is_ok()
                {
                    stop();
                }
                live.close_in_background(vec![cursor.handle], Some(on_stop));
            }
        }
    }
}
