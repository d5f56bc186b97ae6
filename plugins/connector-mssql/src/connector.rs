//! What the host calls.

use std::time::Duration;

use mindhost_sdk::{
    Batch, BatchLimits, Column, Config, Connector, Result, ServerInfo, Statement, Table, TableRef,
    control,
};

use crate::catalog;
use crate::config::ConnectionData;
use crate::cursor::Cursor;
use crate::session::Session;

/// A connection to one database of SQL Server.
///
/// There is no cancel key: a statement is stopped by an attention on its own connection, when [`mindhost_sdk::control`]
/// says so. From another connection only `KILL` would do, which needs the right `ALTER ANY CONNECTION`.
pub struct Mssql {
    data: ConnectionData,
    session: Session,
}

impl Connector for Mssql {
    const MANIFEST: &'static str = include_str!("../manifest.json");

    type Cursor = Cursor;

    fn open(config: &Config) -> Result<Self> {
        let data = ConnectionData::parse(config)?;
        let session = Session::open(&data)?;
        Ok(Self { data, session })
    }

    fn check(&mut self) -> Result<ServerInfo> {
        self.session.ping(control::remaining())?;
        catalog::check_schemas(&mut self.session, &self.data.schemas())?;
        let (product, version) = (&self.session.product, &self.session.version);
        Ok(ServerInfo::new(product.as_str(), version.as_str()))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        catalog::tables(&mut self.session, &self.data.schemas())
    }

    fn describe_tables(&mut self, tables: &[TableRef]) -> Result<Vec<Table>> {
        catalog::describe(&mut self.session, tables)
    }

    fn begin_snapshot(&mut self, _timeout: Duration) -> Result<bool> {
        self.session.begin_snapshot()
    }

    fn end_snapshot(&mut self) -> Result<()> {
        self.session.end_snapshot()
    }

    fn query(&mut self, statement: &Statement) -> Result<Cursor> {
        Cursor::open(&mut self.session, statement)
    }

    fn schema(&mut self, cursor: &mut Cursor) -> Result<Vec<Column>> {
        Ok(cursor.columns())
    }

    fn next(&mut self, cursor: &mut Cursor, limits: BatchLimits) -> Result<Option<Batch>> {
        cursor.next(&mut self.session, limits)
    }

    fn close(&mut self, cursor: Cursor) -> Result<bool> {
        cursor.close(&mut self.session)
    }
}
