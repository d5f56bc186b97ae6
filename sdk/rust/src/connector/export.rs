//! From the exported functions of the component to the [`Connector`] of its author.

use std::marker::PhantomData;
use std::time::Duration;

use super::session::{Connection, Cursor};
use super::{Connector, ServerInfo};
use crate::batch::BatchLimits;
use crate::bindings::connector::exports::mindhost::plugin::connector as wire;
use crate::bindings::connector::mindhost::plugin::types;
use crate::catalog::{ColumnStatistics, StatisticsOptions, Table, TableRef};
use crate::values::{Batch, Column};

type Result<T> = std::result::Result<T, types::Error>;

/// What [`crate::export_connector!`] exports for a connector.
pub struct ExportedConnector<T>(PhantomData<T>);

impl<T: Connector> wire::Guest for ExportedConnector<T> {
    type Connection = Connection<T>;
    type Cursor = Cursor<T>;

    fn cancel(config: types::Config, key: Vec<u8>) -> Result<()> {
        Ok(T::cancel(&config.into(), &key)?)
    }

    fn describe() -> String {
        T::MANIFEST.to_owned()
    }
}

impl<T: Connector> wire::GuestConnection for Connection<T> {
    fn open(config: types::Config) -> Result<wire::Connection> {
        Ok(wire::Connection::new(Self::open(&config.into())?))
    }

    fn cancel_key(&self) -> Option<Vec<u8>> {
        self.cancel_key()
    }

    fn check(&self) -> Result<ServerInfo> {
        Ok(self.check()?)
    }

    fn tables(&self) -> Result<Vec<TableRef>> {
        Ok(self.tables()?)
    }

    fn describe_tables(&self, tables: Vec<TableRef>) -> Result<Vec<Table>> {
        Ok(self.describe_tables(&tables)?)
    }

    fn statistics(
        &self,
        table: TableRef,
        options: StatisticsOptions,
    ) -> Result<Option<Vec<ColumnStatistics>>> {
        Ok(self.statistics(&table, &options)?)
    }

    fn begin_snapshot(&self, timeout_ms: u64) -> Result<bool> {
        Ok(self.begin_snapshot(Duration::from_millis(timeout_ms))?)
    }

    fn end_snapshot(&self) -> Result<()> {
        Ok(self.end_snapshot()?)
    }

    fn query(&self, statement: wire::Statement) -> Result<wire::Cursor> {
        Ok(wire::Cursor::new(self.query(&statement.into())?))
    }
}

impl<T: Connector> wire::GuestCursor for Cursor<T> {
    fn schema(&self) -> Result<Vec<Column>> {
        Ok(self.schema()?)
    }

    fn cancel_key(&self) -> Option<Vec<u8>> {
        self.cancel_key()
    }

    fn next(&self, max_rows: u32, max_bytes: u32) -> Result<Option<Batch>> {
        Ok(self.next(BatchLimits {
            max_rows,
            max_bytes,
        })?)
    }

    fn close(&self) -> Result<bool> {
        Ok(self.close()?)
    }
}
