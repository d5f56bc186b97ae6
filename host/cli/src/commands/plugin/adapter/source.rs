//! Scanners, as the kit calls them below the host's SQL.

use std::sync::Arc;

use async_trait::async_trait;
use mindhost_base::error::Result as Hosts;
use mindhost_conformance::subject::{
    Call, Cause, Data, Failure, Limits, Result, Rows, Scan, Source,
};
use mindhost_plugin_api::{
    Column,
    scanner::{self, FilterOp, ScanId, Scanner},
};
use mindhost_sdk::{self as sdk, scanner as wire};
use tokio_util::task::TaskTracker;

use super::{super::configured::target, Adapter, Notes, call, convert, refused};

impl Adapter {
    pub(super) async fn source(
        &self,
        data: &Data,
        limits: Limits,
        bounds: &Call,
    ) -> Result<Box<dyn Source>> {
        let alone = self
            .with(limits)
            .await
            .map_err(|refusal| refused(&refusal))?;
        let Some(scanner) = &alone.scanner else {
            return Err(Failure {
                cause: Cause::Host,
                message: "this is no scanner".into(),
                code: String::new(),
                position: None,
            });
        };
        let target = target(data.clone());
        let opened = scanner.open(&target, &call(bounds)).await;
        let inner = opened.map_err(|error| self.noticed.failure(&error))?;
        Ok(Box::new(Opened {
            inner: Some(inner),
            scanner: Arc::clone(scanner),
            target: target.id,
            scans: Vec::new(),
            notes: Arc::clone(&self.noticed),
            farewells: self.farewells.clone(),
        }))
    }
}

/// A source that is closed when it is dropped, and never given to anybody else.
struct Opened {
    inner: Option<Box<dyn scanner::Source>>,
    scanner: Arc<dyn Scanner>,
    target: String,
    /// The columns of each scan, by its number.
    scans: Vec<(ScanId, Arc<[Column]>)>,
    notes: Arc<Notes>,
    farewells: TaskTracker,
}

impl Opened {
    fn inner(&mut self) -> Result<&mut dyn scanner::Source> {
        match &mut self.inner {
            Some(inner) => Ok(&mut **inner),
            None => Err(gone("the source was dropped")),
        }
    }

    fn found(&self, scan: u64) -> Result<(ScanId, Arc<[Column]>)> {
        let found = usize::try_from(scan)
            .ok()
            .and_then(|index| self.scans.get(index));
        found.cloned().ok_or_else(|| gone("there is no such scan"))
    }

    fn told<T>(&self, result: Hosts<T>) -> Result<T> {
        result.map_err(|error| self.notes.failure(&error))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.inner = None;
        let (scanner, target) = (Arc::clone(&self.scanner), std::mem::take(&mut self.target));
        self.farewells
            .spawn(async move { scanner.forget(&target).await });
    }
}

fn gone(message: &str) -> Failure {
    Failure {
        cause: Cause::Gone,
        message: message.to_owned(),
        code: String::new(),
        position: None,
    }
}

#[async_trait]
impl Source for Opened {
    async fn tables(&mut self, bounds: &Call) -> Result<Vec<sdk::TableRef>> {
        let tables = self.inner()?.tables(&call(bounds)).await;
        let tables = self.told(tables)?.into_iter();
        Ok(tables.map(convert::table_ref).collect())
    }

    async fn columns(&mut self, table: &sdk::TableRef, bounds: &Call) -> Result<Vec<sdk::Column>> {
        let table = convert::to_table_ref(table);
        let columns = self.inner()?.columns(&table, &call(bounds)).await;
        Ok(self.told(columns)?.iter().map(convert::column).collect())
    }

    async fn filter_support(
        &mut self,
        table: &sdk::TableRef,
        filters: &[wire::Filter],
        bounds: &Call,
    ) -> Result<Vec<wire::Pushdown>> {
        let table = convert::to_table_ref(table);
        let filters: Vec<_> = filters.iter().map(filter).collect();
        let answers = self
            .inner()?
            .filter_support(&table, &filters, &call(bounds))
            .await;
        let answers = self.told(answers)?.into_iter().map(|answer| match answer {
            scanner::Pushdown::No => wire::Pushdown::No,
            scanner::Pushdown::Inexact => wire::Pushdown::Inexact,
            scanner::Pushdown::Exact => wire::Pushdown::Exact,
        });
        Ok(answers.collect())
    }

    async fn scan(&mut self, scan: &Scan, bounds: &Call) -> Result<u64> {
        let columns: Arc<[Column]> = scan.columns.iter().map(convert::to_column).collect();
        let asked = scanner::Scan {
            table: convert::to_table_ref(&scan.table),
            columns: Arc::clone(&columns),
            filters: scan.filters.iter().map(filter).collect(),
            limit: scan.limit,
            id: uuid::Uuid::new_v4().to_string(),
        };
        let begun = self.inner()?.scan(&asked, &call(bounds)).await;
        let id = self.told(begun)?;
        self.scans.push((id, columns));
        Ok(self.scans.len() as u64 - 1)
    }

    async fn next(&mut self, scan: u64, max_rows: u32, bounds: &Call) -> Result<Option<Rows>> {
        let (id, columns) = self.found(scan)?;
        let batch = self.inner()?.next(id, max_rows, &call(bounds)).await;
        Ok(self.told(batch)?.map(|batch| Rows {
            bytes: batch.bytes(),
            values: convert::rows(&batch, &columns),
        }))
    }

    async fn close(&mut self, scan: u64, bounds: &Call) -> Result<()> {
        let (id, _) = self.found(scan)?;
        let closed = self.inner()?.close(id, &call(bounds)).await;
        self.told(closed)
    }
}

fn filter(filter: &wire::Filter) -> scanner::Filter {
    scanner::Filter {
        column: filter.column.clone(),
        op: match filter.op {
            wire::FilterOp::Eq => FilterOp::Eq,
            wire::FilterOp::NotEq => FilterOp::NotEq,
            wire::FilterOp::Lt => FilterOp::Lt,
            wire::FilterOp::LtEq => FilterOp::LtEq,
            wire::FilterOp::Gt => FilterOp::Gt,
            wire::FilterOp::GtEq => FilterOp::GtEq,
            wire::FilterOp::InList => FilterOp::InList,
            wire::FilterOp::IsNull => FilterOp::IsNull,
            wire::FilterOp::IsNotNull => FilterOp::IsNotNull,
            wire::FilterOp::Like => FilterOp::Like,
        },
        values: filter
            .values
            .iter()
            .cloned()
            .map(convert::to_value)
            .collect(),
    }
}
