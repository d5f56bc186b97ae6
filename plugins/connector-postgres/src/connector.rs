//! What the host calls.

use std::time::Duration;

use mindhost_sdk::{
    Batch, BatchLimits, Column, ColumnStatistics, Config, Connector, Error, Result, ServerInfo,
    Statement, StatisticsOptions, Table, TableRef,
};

use crate::config::ConnectionData;
use crate::cursor::Cursor;
use crate::handshake::{self, CancelKey};
use crate::session::Session;
use crate::{catalog, statistics};

/// The version of the cancel key's form.
const KEY_VERSION: u8 = 1;

/// A connection to one PostgreSQL database.
pub struct Postgres {
    data: ConnectionData,
    session: Session,
}

impl Connector for Postgres {
    const MANIFEST: &'static str = include_str!("../manifest.json");

    type Cursor = Cursor;

    fn open(config: &Config) -> Result<Self> {
        let data = ConnectionData::parse(config)?;
        let session = Session::open(&data)?;
        Ok(Self { data, session })
    }

    fn cancel_key(&self) -> Option<Vec<u8>> {
        let CancelKey {
            process,
            secret,
            tls,
        } = self.session.cancel;
        let mut key = vec![KEY_VERSION, u8::from(tls)];
        key.extend(process.to_be_bytes());
        key.extend(secret.to_be_bytes());
        Some(key)
    }

    fn check(&mut self) -> Result<ServerInfo> {
        let mut banner = String::new();
        self.session.rows("SELECT version()", &[], |row| {
            banner = row.text(0).to_owned();
            Ok(())
        })?;
        catalog::check_schemas(&mut self.session, &self.data.schemas())?;
        let product = banner
            .split(' ')
            .next()
            .filter(|product| !product.is_empty())
            .unwrap_or("PostgreSQL");
        Ok(ServerInfo::new(product, self.session.version.as_str()))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        catalog::tables(&mut self.session, &self.data.schemas())
    }

    fn describe_tables(&mut self, tables: &[TableRef]) -> Result<Vec<Table>> {
        catalog::describe(&mut self.session, tables)
    }

    fn statistics(
        &mut self,
        table: &TableRef,
        options: &StatisticsOptions,
    ) -> Result<Option<Vec<ColumnStatistics>>> {
        statistics::statistics(&mut self.session, table, options)
    }

    fn begin_snapshot(&mut self, timeout: Duration) -> Result<bool> {
        self.session.begin_snapshot(timeout)?;
        Ok(true)
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
        let data = &self.data;
        cursor.close(&mut self.session, |session| {
            handshake::cancel(data, session.cancel)
        })
    }

    fn cancel(config: &Config, key: &[u8]) -> Result<()> {
        let data = ConnectionData::parse(config)?;
        let foreign = || Error::internal("the cancel key is not one of this plugin's");
        let (&[version, tls, process @ ..], secret) =
            key.split_first_chunk::<6>().ok_or_else(foreign)?;
        let secret = <[u8; 4]>::try_from(secret).map_err(|_| foreign())?;
        if version != KEY_VERSION {
            return Err(foreign());
        }
        let key = CancelKey {
            process: i32::from_be_bytes(process),
            secret: i32::from_be_bytes(secret),
            tls: tls == 1,
        };
        handshake::cancel(&data, key)
    }
}
