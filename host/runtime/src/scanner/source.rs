//! A source: the calls of its guest, and its return to the pool.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use wasmtime::{Store, component::ResourceAny};

use super::super::{
    bindings::{
        scan::{ScannerConnector, ScannerConnectorPre},
        scanner as guest, types,
    },
    convert,
    instance::{GuestFuture, OnStop, violation},
    pool::Reported,
    shared::{Held, Shared, gone},
    state::State,
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::{
    Batch, Call, Column, ServerInfo, TableInfo, TableRef,
    scanner::{Filter, Pushdown, Scan, ScanId, Source},
};

/// Timeout of the end of a scan.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Open scans per statement.
const MAX_SCANS: usize = 256;

/// A source that was taken from its pool.
pub struct WasmSource {
    held: Held<ScannerConnectorPre<State>>,
    scans: BTreeMap<ScanId, Open>,
    next_id: u64,
    /// A scan reported at its end that the source is unusable.
    spent: bool,
}

#[derive(Clone)]
struct Open {
    handle: ResourceAny,
    schema: convert::Schema,
}

impl WasmSource {
    /// A source that holds one of the target's slots.
    pub(super) fn new(held: Held<ScannerConnectorPre<State>>) -> Self {
        Self {
            held,
            scans: BTreeMap::new(),
            next_id: 0,
            spent: false,
        }
    }

    /// Calls the guest, and again on a new source if the pooled one is dead, which only its first call can find. No
    /// scan is open then.
    async fn call<R, F>(&mut self, call: &Call, f: F) -> Result<R>
    where
        R: Send + 'static,
        F: for<'a> Fn(
                &'a mut Store<State>,
                guest::GuestSource<'a>,
                guest::GuestCursor<'a>,
                ResourceAny,
            ) -> GuestFuture<'a, Reported<R>>
            + Clone
            + Send
            + 'static,
    {
        self.held
            .call(call, move |store, guest: &ScannerConnector, handle| {
                let exports = guest.mindhost_plugin_scanner();
                f(store, exports.source(), exports.cursor(), handle)
            })
            .await
    }

    /// Drops the instance if the guest broke the contract.
    fn accept<R>(&mut self, checked: Result<R>) -> Result<R> {
        if checked.is_err() {
            self.held.live = None;
            self.scans.clear();
        }
        checked
    }

    /// The plugin, whose settings outlive a call on the source.
    fn shared(&self) -> Arc<Shared<ScannerConnectorPre<State>>> {
        Arc::clone(&self.held.shared)
    }

    fn opened(&mut self, handle: ResourceAny, schema: convert::Schema) -> ScanId {
        let id = ScanId(self.next_id);
        self.next_id += 1;
        self.scans.insert(id, Open { handle, schema });
        id
    }
}

#[async_trait]
impl Source for WasmSource {
    fn digest(&self) -> &str {
        &self.held.shared.digest
    }

    async fn check(&mut self, call: &Call) -> Result<ServerInfo> {
        let info = self
            .call(call, |store, source, _, handle| {
                Box::pin(async move { source.call_check(store, handle).await })
            })
            .await?;
        Ok(convert::server_info(info, &self.held.grants()))
    }

    async fn tables(&mut self, call: &Call) -> Result<Vec<TableRef>> {
        let tables = self
            .call(call, |store, source, _, handle| {
                Box::pin(async move { source.call_tables(store, handle).await })
            })
            .await?;
        let checked = convert::table_refs(tables, &self.shared().quota.settings);
        self.accept(checked)
    }

    async fn describe_tables(
        &mut self,
        tables: &[TableRef],
        call: &Call,
    ) -> Result<Vec<TableInfo>> {
        let asked: Vec<_> = tables.iter().map(convert::to_table_ref).collect();
        let infos = self
            .call(call, move |store, source, _, handle| {
                let asked = asked.clone();
                Box::pin(async move { source.call_describe_tables(store, handle, &asked).await })
            })
            .await?;
        let checked = convert::tables(infos, tables, &self.shared().quota.settings);
        self.accept(checked)
    }

    async fn columns(&mut self, table: &TableRef, call: &Call) -> Result<Arc<[Column]>> {
        let asked = convert::to_table_ref(table);
        let columns = self
            .call(call, move |store, source, _, handle| {
                let asked = asked.clone();
                Box::pin(async move { source.call_columns(store, handle, &asked).await })
            })
            .await?;
        let checked = convert::Schema::of_table(columns, &self.shared().quota.settings);
        Ok(self.accept(checked)?.columns)
    }

    async fn filter_support(
        &mut self,
        table: &TableRef,
        filters: &[Filter],
        call: &Call,
    ) -> Result<Vec<Pushdown>> {
        let (table, count) = (convert::to_table_ref(table), filters.len());
        let filters: Vec<_> = filters.iter().map(convert::to_filter).collect();
        let answers = self
            .call(call, move |store, source, _, handle| {
                let (table, filters) = (table.clone(), filters.clone());
                Box::pin(async move {
                    source
                        .call_filter_support(store, handle, &table, &filters)
                        .await
                })
            })
            .await?;
        let checked = match answers.len() == count {
            true => Ok(answers.into_iter().map(convert::pushdown).collect()),
            false => Err(violation(format_args!(
                "{} answers about {count} filters",
                answers.len()
            ))),
        };
        self.accept(checked)
    }

    async fn scan(&mut self, scan: &Scan, call: &Call) -> Result<ScanId> {
        if self.scans.len() >= MAX_SCANS {
            return Err(Error::new(
                Code::SqlNotSupported,
                format!(
                    "the statement reads more than {MAX_SCANS} tables at once; split it into several"
                ),
            ));
        }
        let shared = self.shared();
        let settings = &shared.quota.settings;
        let request = guest::ScanRequest {
            table: convert::to_table_ref(&scan.table),
            projection: scan.columns.iter().map(|c| c.name.clone()).collect(),
            filters: scan.filters.iter().map(convert::to_filter).collect(),
            limit: scan.limit,
            id: scan.id.clone(),
            max_cell_bytes: u64::from(settings.max_cell_bytes),
            extra: Vec::new(),
        };
        let (handle, columns) = self
            .call(call, move |store, source, cursor, handle| {
                Box::pin(start(store, source, cursor, handle, request.clone()))
            })
            .await?;
        let checked = convert::Schema::of_table(columns, settings);
        let schema = self.accept(checked)?;
        let same = schema.columns.len() == scan.columns.len()
            && schema
                .columns
                .iter()
                .zip(scan.columns.iter())
                .all(|(found, asked)| {
                    found.name == asked.name && found.data_type == asked.data_type
                });
        let id = self.opened(handle, schema);
        if same {
            return Ok(id);
        }
        self.close(id, call).await?;
        let table = &scan.table.name;
        Err(Error::new(
            Code::UpstreamError,
            format!(
                "the columns of `{table}` are not those that the plugin named before: the table changed, or the plugin is wrong; ask again"
            ),
        ))
    }

    async fn next(&mut self, scan: ScanId, max_rows: u32, call: &Call) -> Result<Option<Batch>> {
        let open = self.scans.get(&scan).cloned().ok_or_else(gone)?;
        let shared = self.shared();
        let settings = &shared.quota.settings;
        let (handle, max_bytes) = (open.handle, settings.batch_bytes);
        loop {
            let reported = self
                .held
                .once(call, None, move |store, guest: &ScannerConnector, _| {
                    let cursor = guest.mindhost_plugin_scanner().cursor();
                    Box::pin(
                        async move { cursor.call_next(store, handle, max_rows, max_bytes).await },
                    )
                })
                .await;
            let batch = match reported? {
                Ok(Some(batch)) => batch,
                Ok(None) => return Ok(None),
                Err(fault) => {
                    let error = self.held.fault(fault);
                    self.close(scan, call).await?;
                    return Err(error);
                }
            };
            let checked = convert::batch(batch, &open.schema, max_rows, settings);
            let batch = self.accept(checked)?;
            // An empty batch means that there are no rows yet. The deadline of the call limits the repetitions.
            if batch.rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }

    async fn close(&mut self, scan: ScanId, call: &Call) -> Result<()> {
        let Some(open) = self.scans.remove(&scan) else {
            return Ok(());
        };
        if self.held.live.is_none() {
            return Ok(());
        }
        let soon = call.within(CLOSE_TIMEOUT);
        let handle = open.handle;
        let closed = self
            .held
            .once(&soon, None, move |store, guest: &ScannerConnector, _| {
                let cursor = guest.mindhost_plugin_scanner().cursor();
                Box::pin(async move {
                    let closed = cursor.call_close(&mut *store, handle).await?;
                    handle.resource_drop_async(store).await?;
                    Ok(closed)
                })
            })
            .await;
        // Other scans continue; the source is not returned to the pool.
        self.spent |= !matches!(closed, Ok(Ok(true)));
        Ok(())
    }
}

/// Starts a scan and reads its schema. Closes a cursor without a schema.
async fn start(
    store: &mut Store<State>,
    source: guest::GuestSource<'_>,
    cursor: guest::GuestCursor<'_>,
    handle: ResourceAny,
    request: guest::ScanRequest,
) -> wasmtime::Result<Reported<(ResourceAny, Vec<types::Column>)>> {
    let opened = match source.call_scan(&mut *store, handle, &request).await? {
        Ok(opened) => opened,
        Err(error) => return Ok(Err(error)),
    };
    match cursor.call_schema(&mut *store, opened).await? {
        Ok(columns) => Ok(Ok((opened, columns))),
        Err(mut error) => {
            let closed = cursor.call_close(&mut *store, opened).await?;
            opened.resource_drop_async(store).await?;
            error.connection_usable &= matches!(closed, Ok(true));
            Ok(Err(error))
        }
    }
}

impl Drop for WasmSource {
    fn drop(&mut self) {
        let open: Vec<_> = std::mem::take(&mut self.scans).into_values().collect();
        if open.is_empty() && !self.spent {
            return self.held.give_back();
        }
        if let Some(live) = self.held.live.take() {
            let on_stop = OnStop {
                cancel_engine: None,
                slot: Arc::clone(&self.held.slot),
                waits: false,
            };
            let open = open.into_iter().map(|open| open.handle);
            live.close_in_background(open.collect(), Some(on_stop));
        }
    }
}
