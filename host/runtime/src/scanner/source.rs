//! A source: the calls of its guest, and its return to the pool.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use wasmtime::{Store, component::ResourceAny};

use super::super::{
    bindings::{
        scan::{ScannerConnector, ScannerConnectorPre},
        scanner as guest, types,
    },
    connection_exports::GuestResult,
    convert,
    host_errors::violation,
    instance::OnStop,
    plugin_connections::{Cursor, PluginConnections, PooledConnection, gone, schema_or_close},
    rate_limits::Retries,
    state::State,
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::{
    Batch, Call, Column, ServerInfo, TableInfo, TableRef,
    scanner::{Filter, Pushdown, Scan, ScanId, Source},
};

/// Open scans per statement.
const MAX_SCANS: usize = 256;

/// A source that was taken from its pool.
pub struct WasmSource {
    pooled: PooledConnection<ScannerConnectorPre<State>>,
    scans: BTreeMap<ScanId, Cursor>,
    /// The scans that have not yielded rows yet, so that they can begin again.
    fresh: BTreeMap<ScanId, (Scan, Retries)>,
    next_id: u64,
    /// A scan reported at its end that the source is unusable.
    spent: bool,
}

impl WasmSource {
    /// A source that holds one of the target's connections.
    pub(super) fn new(pooled: PooledConnection<ScannerConnectorPre<State>>) -> Self {
        Self {
            pooled,
            scans: BTreeMap::new(),
            fresh: BTreeMap::new(),
            next_id: 0,
            spent: false,
        }
    }

    /// The plugin, whose settings outlive a call on the source.
    fn plugin(&self) -> Arc<PluginConnections<ScannerConnectorPre<State>>> {
        Arc::clone(&self.pooled.plugin)
    }

    /// Opens the cursor of a scan and compares its columns.
    async fn begin(&mut self, scan: &Scan, call: &Call) -> Result<Cursor> {
        let plugin = self.plugin();
        let settings = &plugin.quota.settings;
        let request = guest::ScanRequest {
            table: convert::to_table_ref(&scan.table),
            projection: scan.columns.iter().map(|c| c.name.clone()).collect(),
            filters: scan.filters.iter().map(convert::to_filter).collect(),
            limit: scan.limit,
            id: scan.id.clone(),
            max_cell_bytes: u64::from(settings.max_cell_bytes),
            extra: match scan.is_count {
                true => vec![("count".to_owned(), "true".to_owned())],
                false => Vec::new(),
            },
        };
        let (handle, columns) = self
            .pooled
            .call(call, move |store, guest: &ScannerConnector, handle| {
                Box::pin(start(store, guest, handle, request.clone()))
            })
            .await?;
        let checked = convert::Schema::of_table(columns, settings);
        let schema = self.pooled.accept(checked)?;
        let same = schema.columns.len() == scan.columns.len()
            && schema
                .columns
                .iter()
                .zip(scan.columns.iter())
                .all(|(found, asked)| {
                    found.name == asked.name && found.data_type == asked.data_type
                });
        let cursor = Cursor {
            handle,
            key: None,
            schema,
        };
        if same {
            return Ok(cursor);
        }
        self.spent |= !self.pooled.close(&cursor, call).await;
        let table = &scan.table.name;
        Err(Error::new(
            Code::UpstreamError,
            format!(
                "the columns of `{table}` are not those that the plugin named before: the table changed, or the plugin is wrong; ask again"
            ),
        ))
    }

    /// Begins a scan again that was limited before its first rows. Gives the error back if that is no way out.
    async fn again(&mut self, id: ScanId, error: Error, call: &Call) -> Result<Cursor> {
        self.close_cursor(id, call).await;
        let fresh = self
            .fresh
            .remove(&id)
            .filter(|_| !self.spent && self.pooled.live.is_some());
        let Some((scan, mut repeats)) = fresh else {
            return Err(error);
        };
        repeats.pause(error, call).await?;
        let cursor = self.begin(&scan, call).await?;
        self.scans.insert(id, cursor.clone());
        self.fresh.insert(id, (scan, repeats));
        Ok(cursor)
    }

    async fn close_cursor(&mut self, id: ScanId, call: &Call) {
        // Other scans continue; the source is not returned to the pool.
        if let Some(cursor) = self.scans.remove(&id) {
            self.spent |= !self.pooled.close(&cursor, call).await;
        }
    }
}

#[async_trait]
impl Source for WasmSource {
    fn digest(&self) -> &str {
        &self.pooled.plugin.digest
    }

    async fn check(&mut self, call: &Call) -> Result<ServerInfo> {
        self.pooled.check(call).await
    }

    async fn tables(&mut self, call: &Call) -> Result<Vec<TableRef>> {
        self.pooled.tables(call).await
    }

    async fn describe_tables(
        &mut self,
        tables: &[TableRef],
        call: &Call,
    ) -> Result<Vec<TableInfo>> {
        self.pooled.describe_tables(tables, call).await
    }

    async fn columns(&mut self, table: &TableRef, call: &Call) -> Result<Arc<[Column]>> {
        let asked = convert::to_table_ref(table);
        let columns = self
            .pooled
            .call(call, move |store, guest: &ScannerConnector, handle| {
                let asked = asked.clone();
                let source = guest.mindhost_plugin_scanner().source();
                Box::pin(async move { source.call_columns(store, handle, &asked).await })
            })
            .await?;
        let checked = convert::Schema::of_table(columns, &self.plugin().quota.settings);
        Ok(self.pooled.accept(checked)?.columns)
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
            .pooled
            .call(call, move |store, guest: &ScannerConnector, handle| {
                let (table, filters) = (table.clone(), filters.clone());
                let source = guest.mindhost_plugin_scanner().source();
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
        self.pooled.accept(checked)
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
        let cursor = self.begin(scan, call).await?;
        let id = ScanId(self.next_id);
        self.next_id += 1;
        self.scans.insert(id, cursor);
        self.fresh.insert(id, (scan.clone(), Retries::of_source()));
        Ok(id)
    }

    async fn next(&mut self, scan: ScanId, max_rows: u32, call: &Call) -> Result<Option<Batch>> {
        let mut cursor = self.scans.get(&scan).cloned().ok_or_else(gone)?;
        loop {
            match self.pooled.next(&cursor, max_rows, call).await? {
                Ok(batch) => {
                    self.fresh.remove(&scan);
                    return Ok(batch);
                }
                Err(error) => cursor = self.again(scan, error, call).await?,
            }
        }
    }

    async fn close(&mut self, scan: ScanId, call: &Call) -> Result<()> {
        self.fresh.remove(&scan);
        self.close_cursor(scan, call).await;
        Ok(())
    }
}

/// Starts a scan and reads its schema.
async fn start(
    store: &mut Store<State>,
    guest: &ScannerConnector,
    source: ResourceAny,
    request: guest::ScanRequest,
) -> wasmtime::Result<GuestResult<(ResourceAny, Vec<types::Column>)>> {
    let exports = guest.mindhost_plugin_scanner().source();
    let cursor = match exports.call_scan(&mut *store, source, &request).await? {
        Ok(cursor) => cursor,
        Err(error) => return Ok(Err(error)),
    };
    let columns = schema_or_close(store, guest, cursor).await?;
    Ok(columns.map(|columns| (cursor, columns)))
}

impl Drop for WasmSource {
    fn drop(&mut self) {
        let open: Vec<_> = std::mem::take(&mut self.scans).into_values().collect();
        if open.is_empty() && !self.spent {
            return self.pooled.give_back();
        }
        if let Some(live) = self.pooled.live.take() {
            let on_stop = OnStop {
                cancel_engine: None,
                permit: Arc::clone(&self.pooled.permit),
                waits: false,
            };
            let open = open.into_iter().map(|open| open.handle);
            live.close_in_background(open.collect(), Some(on_stop));
        }
    }
}
