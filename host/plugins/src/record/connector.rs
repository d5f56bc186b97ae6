//! A connector whose calls are noted.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use serde_json::{Value as Json, json};

use super::{
    tape::{Tape, Track, shown},
    written::{Sum, values, written},
};
use mindhost_base::error::Result;
use mindhost_plugin_api::{
    Batch, Call, Column, ColumnStatistics, Connection, Connector, Life, Manifest, Plugin,
    ServerInfo, Statement, StatisticsOptions, TableInfo, TableRef, Target,
};

/// Hands every call on, and notes it.
pub struct RecordedConnector {
    inner: Arc<dyn Connector>,
    tape: Arc<Tape>,
}

impl RecordedConnector {
    /// Over a connector.
    pub fn new(inner: Arc<dyn Connector>, tape: Arc<Tape>) -> Self {
        Self { inner, tape }
    }
}

impl Plugin for RecordedConnector {
    fn manifest(&self) -> &Manifest {
        self.inner.manifest()
    }

    fn digest(&self) -> &str {
        self.inner.digest()
    }

    fn retire(&self) -> Option<Life> {
        self.inner.retire()
    }
}

#[async_trait]
impl Connector for RecordedConnector {
    async fn connect(&self, target: &Target, call: &Call) -> Result<Box<dyn Connection>> {
        let track = Track::new(&self.tape, self.manifest(), target);
        let arguments = shown(self.manifest(), &target.connection_data);
        let start = Instant::now();
        let opened = self.inner.connect(target, call).await;
        track.note(&self.tape, "open", arguments, start, &opened, |_| {
            Json::Null
        });
        Ok(Box::new(RecordedConnection {
            inner: opened?,
            tape: Arc::clone(&self.tape),
            track,
            columns: Arc::default(),
            sum: Sum::default(),
        }))
    }

    async fn forget(&self, target_id: &str) {
        self.inner.forget(target_id).await;
    }
}

struct RecordedConnection {
    inner: Box<dyn Connection>,
    tape: Arc<Tape>,
    track: Track,
    columns: Arc<[Column]>,
    /// Over the rows of the cursor that is open.
    sum: Sum,
}

impl RecordedConnection {
    fn note<T>(
        &self,
        name: &str,
        arguments: Json,
        start: Instant,
        result: Result<T>,
        show: impl FnOnce(&T) -> Json,
    ) -> Result<T> {
        self.track
            .note(&self.tape, name, arguments, start, &result, show);
        result
    }
}

#[async_trait]
impl Connection for RecordedConnection {
    fn digest(&self) -> &str {
        self.inner.digest()
    }

    async fn check(&mut self, call: &Call) -> Result<ServerInfo> {
        let start = Instant::now();
        let info = self.inner.check(call).await;
        self.note("check", Json::Null, start, info, |info| json!(info))
    }

    async fn tables(&mut self, call: &Call) -> Result<Vec<TableRef>> {
        let start = Instant::now();
        let tables = self.inner.tables(call).await;
        self.note("tables", Json::Null, start, tables, |tables| json!(tables))
    }

    async fn describe_tables(
        &mut self,
        tables: &[TableRef],
        call: &Call,
    ) -> Result<Vec<TableInfo>> {
        let start = Instant::now();
        let described = self.inner.describe_tables(tables, call).await;
        self.note(
            "describe-tables",
            json!(tables),
            start,
            described,
            |infos| infos.iter().map(table).collect(),
        )
    }

    async fn statistics(
        &mut self,
        table: &TableRef,
        options: &StatisticsOptions,
        call: &Call,
    ) -> Result<Option<Vec<ColumnStatistics>>> {
        let arguments = json!({
            "table": table,
            "columns": options.columns,
            "max_rows": options.max_rows,
            "max_ms": u64::try_from(options.max_time.as_millis()).unwrap_or(u64::MAX),
        });
        let start = Instant::now();
        let found = self.inner.statistics(table, options, call).await;
        self.note("statistics", arguments, start, found, |found| match found {
            None => Json::Null,
            Some(columns) => columns.iter().map(statistics).collect(),
        })
    }

    async fn begin_snapshot(&mut self, timeout: Duration, call: &Call) -> Result<bool> {
        let arguments =
            json!({"timeout_ms": u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)});
        let start = Instant::now();
        let begun = self.inner.begin_snapshot(timeout, call).await;
        self.note("begin-snapshot", arguments, start, begun, |begun| {
            json!(begun)
        })
    }

    async fn end_snapshot(&mut self, call: &Call) -> Result<()> {
        let start = Instant::now();
        let ended = self.inner.end_snapshot(call).await;
        self.note("end-snapshot", Json::Null, start, ended, |()| Json::Null)
    }

    async fn query(&mut self, statement: &Statement, call: &Call) -> Result<Arc<[Column]>> {
        let arguments = json!({
            "text": statement.text,
            "timeout_ms": u64::try_from(statement.timeout.as_millis()).unwrap_or(u64::MAX),
        });
        let start = Instant::now();
        let columns = self.inner.query(statement, call).await;
        self.sum = Sum::default();
        if let Ok(columns) = &columns {
            self.columns = Arc::clone(columns);
        }
        self.note("query", arguments, start, columns, |columns| {
            columns.iter().map(column).collect()
        })
    }

    async fn next(&mut self, max_rows: u32, call: &Call) -> Result<Option<Batch>> {
        let start = Instant::now();
        let batch = self.inner.next(max_rows, call).await;
        let took_until = start;
        let rows = match &batch {
            Ok(Some(batch)) => Some(values(batch, &self.columns)),
            _ => None,
        };
        self.sum.add(rows.as_deref().unwrap_or_default());
        let (sum, is_full) = (self.sum.shown(), self.tape.is_full());
        let arguments = json!({"max_rows": max_rows});
        self.note("next", arguments, took_until, batch, |batch| {
            let Some(batch) = batch else {
                return json!({"end": sum});
            };
            let form = match batch {
                Batch::Arrow(_) => "arrow",
                Batch::Rows(_) => "rows",
            };
            let mut shown =
                json!({"rows": batch.rows(), "bytes": batch.bytes(), "form": form, "sum": sum});
            if is_full {
                let rows = rows.unwrap_or_default();
                let rows = rows
                    .iter()
                    .map(|row| row.iter().map(written).collect::<Json>());
                shown["values"] = rows.collect();
            }
            shown
        })
    }

    async fn close(&mut self, call: &Call) -> Result<()> {
        let start = Instant::now();
        let closed = self.inner.close(call).await;
        self.note("close", Json::Null, start, closed, |()| Json::Null)
    }
}

fn column(column: &Column) -> Json {
    json!({
        "name": column.name,
        "type": column.data_type,
        "native_type": column.native_type,
        "nullable": column.nullable,
    })
}

fn table(info: &TableInfo) -> Json {
    let columns = info.columns.iter().map(|column| {
        json!({
            "name": column.name,
            "native_type": column.native_type,
            "nullable": column.nullable,
            "default_value": column.default_value,
            "comment": column.comment,
        })
    });
    let primary = info.primary_key.iter().map(|key| json!(key.column));
    let foreign = info
        .foreign_keys
        .iter()
        .map(|key| json!([key.column, key.referenced, key.referenced_column]));
    json!({
        "table": info.table,
        "kind": info.kind,
        "comment": info.comment,
        "row_count": info.row_count,
        "columns": columns.collect::<Json>(),
        "primary_key": primary.collect::<Json>(),
        "foreign_keys": foreign.collect::<Json>(),
    })
}

fn statistics(found: &ColumnStatistics) -> Json {
    json!({
        "column": found.column,
        "null_fraction": found.null_fraction,
        "distinct_count": found.distinct_count,
        "common_values": found.common_values,
        "min_value": found.min_value,
        "max_value": found.max_value,
        "estimated": found.estimated,
        "sampled_rows": found.sampled_rows,
    })
}
