//! What the host calls.

use std::time::Duration;

use mindhost_sdk::{
    Batch, BatchLimits, Column, ColumnStatistics, Config, Connector, Error, ErrorKind, Result,
    ServerInfo, Statement, StatisticsOptions, Table, TableRef,
};

use crate::config::ConnectionData;
use crate::cursor::Cursor;
use crate::error::is_unknown_session;
use crate::session::Session;
use crate::{catalog, statistics};

/// The version of the cancel key's form: the id of the session, and the server that knows it by this id.
const KEY_VERSION: u8 = 1;

/// How long the snapshot of a check may stay idle. The check ends it at once.
const CHECK_IDLE: Duration = Duration::from_secs(60);

/// A connection to one MySQL or MariaDB server.
pub struct MySql {
    data: ConnectionData,
    session: Session,
}

impl Connector for MySql {
    const MANIFEST: &'static str = include_str!("../manifest.json");

    type Cursor = Cursor;

    fn open(config: &Config) -> Result<Self> {
        let data = ConnectionData::parse(config)?;
        let session = Session::open(&data)?;
        Ok(Self { data, session })
    }

    fn cancel_key(&self) -> Option<Vec<u8>> {
        let mut key = vec![KEY_VERSION];
        key.extend(self.session.id.to_be_bytes());
        key.extend(self.session.server.as_bytes());
        Some(key)
    }

    fn check(&mut self) -> Result<ServerInfo> {
        let mut version = String::new();
        // The one of the connection is known to be there.
        let mut databases = self.data.schemas();
        databases.retain(|name| self.data.database.as_deref() != Some(*name));
        catalog::check_databases(&mut self.session, &databases)?;
        // Within a snapshot, so that a server that refuses one is found here and not by the first question.
        self.session.begin_snapshot(CHECK_IDLE)?;
        let asked = self.session.rows("SELECT VERSION()", |row| {
            version = row.text(0).to_owned();
            Ok(())
        });
        // After an error the snapshot may still be open.
        asked.map_err(|error| error.connection_usable(false))?;
        self.session.end_snapshot()?;
        self.session.settle()?;
        let product = if self.session.is_mariadb {
            "MariaDB"
        } else {
            "MySQL"
        };
        if version.is_empty() {
            version.clone_from(&self.session.version);
        }
        Ok(ServerInfo::new(product, version))
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
            kill(data, session.id, session.server.as_bytes())
        })
    }

    fn cancel(config: &Config, key: &[u8]) -> Result<()> {
        let data = ConnectionData::parse(config)?;
        let foreign = || Error::internal("the cancel key is not one of this plugin's");
        match key.split_first() {
            Some((&KEY_VERSION, rest)) => {
                let (id, server) = rest.split_first_chunk::<4>().ok_or_else(foreign)?;
                kill(&data, u32::from_be_bytes(*id), server)
            }
            _ => Err(foreign()),
        }
    }
}

/// Asks the server to stop what the session with this id runs, over a connection of its own. Behind a load balancer
/// that may lead to another server, where the id is a stranger's or none.
fn kill(data: &ConnectionData, id: u32, server: &[u8]) -> Result<()> {
    let mut session = Session::open(data)?;
    if !server.is_empty() && session.server.as_bytes() != server {
        let message = "the connection for KILL QUERY reached another server than the one that runs the statement, as \
            behind a load balancer; there it ends at its timeout";
        return Err(Error::new(ErrorKind::Upstream, message));
    }
    match session.rows(&format!("KILL QUERY {id}"), |_| Ok(())) {
        // The session has ended, and what it ran. Every other refusal means that the statement still runs.
        Err(error) if is_unknown_session(&error) => Ok(()),
        done => done,
    }
}
