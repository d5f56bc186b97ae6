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
        cursor.schema()
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

#[cfg(test)]
mod tests {
    use mindhost_sdk::ErrorKind;
    use mindhost_sdk::http::{Request, Response};
    use mindhost_sdk::testing::stand_in;

    use super::*;

    fn page(json: &str) -> Response {
        Response::scripted(200, vec![Ok(json.as_bytes().to_vec())])
    }

    fn lost() -> Error {
        Error::new(ErrorKind::ConnectionLost, "the connection broke")
    }

    /// A coordinator that takes every statement of the connector's own. `sent` answers the caller's statement, and
    /// every page after the first is lost.
    fn answer(request: &Request, sent: fn() -> Result<Response>) -> Result<Response> {
        match &*String::from_utf8_lossy(&request.body) {
            "START TRANSACTION READ ONLY" => {
                Ok(page(r#"{"id": "a"}"#).with_header("x-trino-started-transaction-id", "t1"))
            }
            "SELECT 1 AS n" => sent(),
            "ROLLBACK" => Ok(page(r#"{"id": "c"}"#)),
            sql if sql.starts_with("SELECT version()") => {
                Ok(page(r#"{"id": "m", "data": [["481", "1"]]}"#))
            }
            _ => Err(lost()),
        }
    }

    fn config() -> Config {
        let json = r#"{"url": "http://localhost:8080", "user": "app", "catalog": "tpch"}"#;
        Config::from_json(json)
    }

    /// The host repeats a call that is a lost connection, and a killed statement must not run again.
    #[test]
    fn a_statement_whose_connection_is_killed_is_not_repeated() {
        let before_the_head = || -> Result<Response> { Err(lost()) };
        let before_the_columns = || -> Result<Response> {
            let next = "http://localhost:8080/v1/statement/queued/b/1";
            Ok(page(&format!(r#"{{"id": "b", "nextUri": "{next}"}}"#)))
        };
        let all: [fn() -> Result<Response>; 2] = [before_the_head, before_the_columns];
        for sent in all {
            let host = stand_in(move |request| answer(request, sent));
            let mut trino = Trino::open(&config()).unwrap();
            let opened = trino.query(&Statement::new("SELECT 1 AS n"));
            let described = opened.and_then(|mut cursor| trino.schema(&mut cursor));
            let killed = described.err().unwrap();
            assert_eq!(killed.kind(), ErrorKind::Unreachable, "{killed}");
            assert!(!killed.is_connection_usable());
            let requests = host.requests();
            let times = requests
                .iter()
                .filter(|request| request.body == b"SELECT 1 AS n")
                .count();
            assert_eq!(times, 1);
        }
    }

    /// What was asked before the statement can be asked again.
    #[test]
    fn a_connection_that_broke_before_the_statement_is_lost() {
        let host = stand_in(|request| match request.body.as_slice() {
            b"START TRANSACTION READ ONLY" => Err(lost()),
            _ => answer(request, || Err(lost())),
        });
        let mut trino = Trino::open(&config()).unwrap();
        let stale = trino.query(&Statement::new("SELECT 1 AS n"));
        assert_eq!(stale.err().unwrap().kind(), ErrorKind::ConnectionLost);
        assert_eq!(host.requests().len(), 2);
    }
}
