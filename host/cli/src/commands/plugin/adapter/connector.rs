//! Connectors, as the kit calls them.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use mindhost_base::error::Result as Hosts;
use mindhost_conformance::subject::{
    Call, Cause, Connection, Connector, Data, Failure, Limits, Result, Rows, Source,
};
use mindhost_plugin_api as plugins;
use mindhost_plugin_api::{Column, StatisticsOptions};
use mindhost_runtime::standalone::Loaded;
use mindhost_sdk as sdk;
use tokio_util::task::TaskTracker;

use super::{super::configured::target, Adapter, Notes, call, convert, millis, refused};

#[async_trait]
impl Connector for Adapter {
    async fn open(
        &self,
        data: &Data,
        limits: Limits,
        bounds: &Call,
    ) -> Result<Box<dyn Connection>> {
        let alone = self
            .with(limits)
            .await
            .map_err(|refusal| refused(&refusal))?;
        let Loaded::Connector(connector) = &alone.loaded else {
            return Err(Failure {
                cause: Cause::Host,
                message: "this is no connector".into(),
                code: String::new(),
                position: None,
            });
        };
        let target = target(data.clone());
        let opened = connector.connect(&target, &call(bounds)).await;
        let inner = opened.map_err(|error| self.noticed.failure(&error))?;
        Ok(Box::new(Opened {
            inner: Some(inner),
            connector: Arc::clone(connector),
            target: target.id,
            columns: Arc::default(),
            notes: Arc::clone(&self.noticed),
            farewells: self.farewells.clone(),
        }))
    }

    async fn open_source(
        &self,
        data: &Data,
        limits: Limits,
        bounds: &Call,
    ) -> Result<Box<dyn Source>> {
        self.source(data, limits, bounds).await
    }
}

/// A connection that is closed when it is dropped, and never given to anybody else.
struct Opened {
    inner: Option<Box<dyn plugins::Connection>>,
    connector: Arc<dyn plugins::Connector>,
    target: String,
    columns: Arc<[Column]>,
    notes: Arc<Notes>,
    farewells: TaskTracker,
}

impl Opened {
    fn inner(&mut self) -> Result<&mut dyn plugins::Connection> {
        match &mut self.inner {
            Some(inner) => Ok(&mut **inner),
            None => Err(Failure {
                cause: Cause::Gone,
                message: "the connection was dropped".into(),
                code: String::new(),
                position: None,
            }),
        }
    }

    fn told<T>(&self, result: Hosts<T>) -> Result<T> {
        result.map_err(|error| self.notes.failure(&error))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // It goes back to a pool of its own first, which then closes it.
        self.inner = None;
        let (connector, target) = (
            Arc::clone(&self.connector),
            std::mem::take(&mut self.target),
        );
        self.farewells
            .spawn(async move { connector.forget(&target).await });
    }
}

#[async_trait]
impl Connection for Opened {
    async fn check(&mut self, bounds: &Call) -> Result<sdk::ServerInfo> {
        let info = self.inner()?.check(&call(bounds)).await;
        let info = self.told(info)?;
        Ok(sdk::ServerInfo::new(info.product, info.version))
    }

    async fn tables(&mut self, bounds: &Call) -> Result<Vec<sdk::TableRef>> {
        let tables = self.inner()?.tables(&call(bounds)).await;
        Ok(self
            .told(tables)?
            .into_iter()
            .map(convert::table_ref)
            .collect())
    }

    async fn describe_tables(
        &mut self,
        tables: &[sdk::TableRef],
        bounds: &Call,
    ) -> Result<Vec<sdk::Table>> {
        let tables: Vec<_> = tables.iter().map(convert::to_table_ref).collect();
        let described = self.inner()?.describe_tables(&tables, &call(bounds)).await;
        Ok(self
            .told(described)?
            .into_iter()
            .map(convert::table)
            .collect())
    }

    async fn statistics(
        &mut self,
        table: &sdk::TableRef,
        options: &sdk::StatisticsOptions,
        bounds: &Call,
    ) -> Result<Option<Vec<sdk::ColumnStatistics>>> {
        let options = StatisticsOptions {
            columns: options.columns.clone(),
            max_rows: options.max_rows,
            max_time: millis(options.max_ms),
        };
        let table = convert::to_table_ref(table);
        let found = self
            .inner()?
            .statistics(&table, &options, &call(bounds))
            .await;
        let found = self.told(found)?;
        Ok(found.map(|columns| columns.into_iter().map(convert::statistics).collect()))
    }

    async fn begin_snapshot(&mut self, timeout: Duration, bounds: &Call) -> Result<bool> {
        let begun = self.inner()?.begin_snapshot(timeout, &call(bounds)).await;
        self.told(begun)
    }

    async fn end_snapshot(&mut self, bounds: &Call) -> Result<()> {
        let ended = self.inner()?.end_snapshot(&call(bounds)).await;
        self.told(ended)
    }

    async fn query(
        &mut self,
        text: &str,
        timeout: Duration,
        bounds: &Call,
    ) -> Result<Vec<sdk::Column>> {
        let statement = plugins::Statement {
            text: text.to_owned(),
            id: uuid::Uuid::new_v4().to_string(),
            timeout,
        };
        let columns = self.inner()?.query(&statement, &call(bounds)).await;
        self.columns = self.told(columns)?;
        Ok(self.columns.iter().map(convert::column).collect())
    }

    async fn next(&mut self, max_rows: u32, bounds: &Call) -> Result<Option<Rows>> {
        let batch = self.inner()?.next(max_rows, &call(bounds)).await;
        let batch = self.told(batch)?;
        Ok(batch.map(|batch| Rows {
            bytes: batch.bytes(),
            values: convert::rows(&batch, &self.columns),
        }))
    }

    async fn close(&mut self, bounds: &Call) -> Result<()> {
        let closed = self.inner()?.close(&call(bounds)).await;
        self.told(closed)
    }
}
