//! A connection: the calls of its guest, and its return to the pool.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::time::Instant;
use wasmtime::{Store, component::ResourceAny};

use super::super::{
    bindings::{
        catalog_types, connector as guest,
        sql::{SqlConnector, SqlConnectorPre},
        types,
    },
    convert,
    instance::{GuestFuture, OnStop, blame_guest},
    pool::Reported,
    shared::{Fault, Held, gone},
    state::State,
};
use mindhost_base::error::{Error, Result};
use mindhost_plugin_api::{
    Batch, Call, Column, ColumnStatistics, Connection, ServerInfo, Statement, StatisticsOptions,
    TableInfo, TableRef,
};

/// Timeout of the end of a cursor.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection that was taken from its pool.
pub struct WasmConnection {
    held: Held<SqlConnectorPre<State>>,
    cursor: Option<Cursor>,
    /// Inside a snapshot, so the connection must not be reused.
    snapshot: bool,
}

#[derive(Clone)]
struct Cursor {
    handle: ResourceAny,
    key: Option<Vec<u8>>,
    schema: convert::Schema,
}

impl WasmConnection {
    /// A connection that holds one of the target's slots.
    pub(super) fn new(held: Held<SqlConnectorPre<State>>) -> Self {
        Self {
            held,
            cursor: None,
            snapshot: false,
        }
    }

    /// Calls the guest once and keeps the connection if it is usable.
    async fn once<R, F>(&mut self, call: &Call, f: F) -> Result<std::result::Result<R, Fault>>
    where
        R: Send + 'static,
        F: for<'a> FnOnce(
                &'a mut Store<State>,
                guest::GuestCursor<'a>,
            ) -> GuestFuture<'a, Reported<R>>
            + Send
            + 'static,
    {
        let key = self.cursor.as_ref().and_then(|cursor| cursor.key.as_ref());
        self.held
            .once(call, key, move |store, guest: &SqlConnector, _| {
                f(store, guest.mindhost_plugin_connector().cursor())
            })
            .await
    }

    /// Calls the guest, and again on a new connection if the pooled one is dead. For calls without a partial result.
    async fn call<R, F>(&mut self, call: &Call, f: F) -> Result<R>
    where
        R: Send + 'static,
        F: for<'a> Fn(
                &'a mut Store<State>,
                guest::GuestConnection<'a>,
                guest::GuestCursor<'a>,
                ResourceAny,
            ) -> GuestFuture<'a, Reported<R>>
            + Clone
            + Send
            + 'static,
    {
        if self.cursor.is_some() {
            return Err(Error::internal("a cursor is open on this connection"));
        }
        self.held
            .call(call, move |store, guest: &SqlConnector, handle| {
                let exports = guest.mindhost_plugin_connector();
                f(store, exports.connection(), exports.cursor(), handle)
            })
            .await
    }

    /// Drops the instance if the guest broke the contract.
    fn accept<R>(&mut self, checked: Result<R>) -> Result<R> {
        if checked.is_err() {
            self.held.live = None;
            self.cursor = None;
        }
        checked
    }
}

#[async_trait]
impl Connection for WasmConnection {
    fn digest(&self) -> &str {
        &self.held.shared.digest
    }

    async fn check(&mut self, call: &Call) -> Result<ServerInfo> {
        let info = self
            .call(call, |store, connection, _, handle| {
                Box::pin(async move { connection.call_check(store, handle).await })
            })
            .await?;
        Ok(convert::server_info(info, &self.held.grants()))
    }

    async fn tables(&mut self, call: &Call) -> Result<Vec<TableRef>> {
        let tables = self
            .call(call, |store, connection, _, handle| {
                Box::pin(async move { connection.call_tables(store, handle).await })
            })
            .await?;
        let checked = convert::table_refs(tables, &self.held.shared.quota.settings);
        self.accept(checked)
    }

    async fn describe_tables(
        &mut self,
        tables: &[TableRef],
        call: &Call,
    ) -> Result<Vec<TableInfo>> {
        let asked: Vec<_> = tables.iter().map(convert::to_table_ref).collect();
        let infos = self
            .call(call, move |store, connection, _, handle| {
                let asked = asked.clone();
                Box::pin(
                    async move { connection.call_describe_tables(store, handle, &asked).await },
                )
            })
            .await?;
        let checked = convert::tables(infos, tables, &self.held.shared.quota.settings);
        self.accept(checked)
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
            .call(call, move |store, connection, _, handle| {
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
        self.accept(checked)
    }

    async fn begin_snapshot(&mut self, timeout: Duration, call: &Call) -> Result<bool> {
        let timeout = millis(timeout);
        // Set before the call, because a failed call may leave a snapshot open.
        self.snapshot = true;
        self.snapshot = self
            .call(call, move |store, connection, _, handle| {
                Box::pin(
                    async move { connection.call_begin_snapshot(store, handle, timeout).await },
                )
            })
            .await?;
        Ok(self.snapshot)
    }

    async fn end_snapshot(&mut self, call: &Call) -> Result<()> {
        self.call(call, |store, connection, _, handle| {
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
            max_cell_bytes: u64::from(self.held.shared.quota.settings.max_cell_bytes),
            extra: Vec::new(),
        };
        let (handle, key, columns) = self
            .call(call, move |store, connection, cursor, handle| {
                let statement = statement.clone();
                Box::pin(start(store, connection, cursor, handle, statement))
            })
            .await?;
        let settings = &self.held.shared.quota.settings;
        let checked = convert::cancel_key(key)
            .and_then(|key| Ok((key, convert::Schema::new(columns, settings)?)));
        let (key, schema) = self.accept(checked)?;
        let columns = Arc::clone(&schema.columns);
        self.cursor = Some(Cursor {
            handle,
            key,
            schema,
        });
        Ok(columns)
    }

    async fn next(&mut self, max_rows: u32, call: &Call) -> Result<Option<Batch>> {
        let cursor = self.cursor.clone().ok_or_else(gone)?;
        let shared = Arc::clone(&self.held.shared);
        let settings = &shared.quota.settings;
        let (handle, max_bytes) = (cursor.handle, settings.batch_bytes);
        let mut is_again = false;
        loop {
            let reported = self
                .once(call, move |store, cursor| {
                    Box::pin(
                        async move { cursor.call_next(store, handle, max_rows, max_bytes).await },
                    )
                })
                .await;
            let reported =
                reported.map_err(|error| if is_again { blame_guest(error) } else { error });
            is_again = true;
            let batch = match reported? {
                Ok(Some(batch)) => batch,
                Ok(None) => return Ok(None),
                Err(fault) => {
                    let error = self.held.fault(fault);
                    self.close(call).await?;
                    return Err(error);
                }
            };
            let checked = convert::batch(batch, &cursor.schema, max_rows, settings);
            let batch = self.accept(checked)?;
            // An empty batch means that there are no rows yet. The deadline of the call limits the repetitions.
            if batch.rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }

    async fn close(&mut self, call: &Call) -> Result<()> {
        let Some(cursor) = self.cursor.take() else {
            return Ok(());
        };
        if self.held.live.is_none() {
            return Ok(());
        }
        let soon = Call {
            deadline: call.deadline.min(Instant::now() + CLOSE_TIMEOUT),
            ..call.clone()
        };
        let handle = cursor.handle;
        let closed = self
            .once(&soon, move |store, cursor| {
                Box::pin(async move {
                    let closed = cursor.call_close(&mut *store, handle).await?;
                    handle.resource_drop_async(store).await?;
                    Ok(closed)
                })
            })
            .await;
        // The rows are complete, so a failed close drops the connection but not the result.
        if !matches!(closed, Ok(Ok(true))) {
            self.held.live = None;
        }
        Ok(())
    }
}

/// Starts a statement and reads its schema. Closes a cursor without a schema.
async fn start(
    store: &mut Store<State>,
    connection: guest::GuestConnection<'_>,
    cursor: guest::GuestCursor<'_>,
    handle: ResourceAny,
    statement: guest::Statement,
) -> wasmtime::Result<Reported<(ResourceAny, Option<Vec<u8>>, Vec<types::Column>)>> {
    let opened = match connection
        .call_query(&mut *store, handle, &statement)
        .await?
    {
        Ok(opened) => opened,
        Err(error) => return Ok(Err(error)),
    };
    let key = cursor.call_cancel_key(&mut *store, opened).await?;
    match cursor.call_schema(&mut *store, opened).await? {
        Ok(columns) => Ok(Ok((opened, key, columns))),
        Err(mut error) => {
            let closed = cursor.call_close(&mut *store, opened).await?;
            opened.resource_drop_async(store).await?;
            error.connection_usable &= matches!(closed, Ok(true));
            Ok(Err(error))
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Drop for WasmConnection {
    fn drop(&mut self) {
        match self.cursor.take() {
            None if self.snapshot => {
                if let Some(live) = self.held.live.take() {
                    live.retire();
                }
            }
            None => self.held.give_back(),
            // Dropped in the middle of a result: cancel the statement, then let the guest close. The connection is not
            // reused, because the cancellation could hit its next statement.
            Some(cursor) => {
                let Some(live) = self.held.live.take() else {
                    return;
                };
                let key = cursor.key.as_ref().or(live.key.as_ref());
                let slot = &self.held.slot;
                let stop = self.held.shared.canceller(key, &live.grants, slot);
                let on_stop = OnStop {
                    cancel_engine: None,
                    slot: Arc::clone(slot),
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
