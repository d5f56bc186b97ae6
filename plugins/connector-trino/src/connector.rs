//! What the host calls.

use mindhost_sdk::{
    Batch, BatchLimits, Column, ColumnStatistics, Config, Connector, Error, Result, ServerInfo,
    Statement, StatisticsOptions, Table, TableRef,
};

use crate::catalog;
use crate::client::{self, rows};
use crate::config::ConnectionData;
use crate::cursor::Cursor;
use crate::error::malformed;

/// What the server's name and version may have, in bytes.
const MAX_ANSWER: usize = 64 << 10;

/// A user of one catalog. The protocol has no sessions: each statement is a series of requests.
pub struct Trino {
    data: ConnectionData,
}

impl Trino {
    /// Proves that server and catalog are there; gives the version.
    fn meet(&self) -> Result<String> {
        let catalogs = rows(
            &self.data,
            "SELECT version(), (SELECT count(*) FROM system.metadata.catalogs WHERE catalog_name = lower(current_catalog))",
            MAX_ANSWER,
        )?;
        match catalogs.first().map(Vec::as_slice) {
            Some([_, Some(count)]) if count == "0" => Err(Error::not_found(format!(
                "the server has no catalog `{}`, or the user may not see it",
                self.data.catalog
            ))),
            Some([Some(version), _]) => Ok(version.clone()),
            _ => Err(malformed("an answer that is not Trino's")),
        }
    }
}

impl Connector for Trino {
    const MANIFEST: &'static str = include_str!("../manifest.json");

    type Cursor = Cursor;

    fn open(config: &Config) -> Result<Self> {
        let trino = Self {
            data: ConnectionData::parse(config)?,
        };
        trino.meet()?;
        Ok(trino)
    }

    fn check(&mut self) -> Result<ServerInfo> {
        Ok(ServerInfo::new("Trino", self.meet()?))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        catalog::tables(&self.data)
    }

    fn describe_tables(&mut self, tables: &[TableRef]) -> Result<Vec<Table>> {
        catalog::describe(&self.data, tables)
    }

    fn statistics(
        &mut self,
        table: &TableRef,
        options: &StatisticsOptions,
    ) -> Result<Option<Vec<ColumnStatistics>>> {
        catalog::statistics(&self.data, table, options)
    }

    fn query(&mut self, statement: &Statement) -> Result<Cursor> {
        Cursor::open(&self.data, statement)
    }

    fn schema(&mut self, cursor: &mut Cursor) -> Result<Vec<Column>> {
        cursor.columns()
    }

    fn cursor_cancel_key(&self, cursor: &Cursor) -> Option<Vec<u8>> {
        Some(cursor.id().as_bytes().to_vec())
    }

    fn next(&mut self, cursor: &mut Cursor, limits: BatchLimits) -> Result<Option<Batch>> {
        cursor.next(&self.data, limits)
    }

    fn close(&mut self, cursor: Cursor) -> Result<bool> {
        let had_ended = cursor.has_ended();
        match cursor.close(&self.data) {
            // The server ends an idle transaction by itself.
            Err(_) if had_ended => Ok(true),
            other => other.map(|()| true),
        }
    }

    fn cancel(config: &Config, key: &[u8]) -> Result<()> {
        let data = ConnectionData::parse(config)?;
        let id = std::str::from_utf8(key)
            .map_err(|_| Error::internal("the cancel key is not one of this plugin's"))?;
        client::kill(&data, id)
    }
}
