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
        let version = self.meet()?;
        catalog::check_schemas(&self.data)?;
        Ok(ServerInfo::new("Trino", version))
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
    use std::time::Duration;

    use mindhost_sdk::ErrorKind;
    use mindhost_sdk::http::{Request, Response};
    use mindhost_sdk::testing::{open_connector, stand_in};

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

    #[test]
    fn schema_that_the_catalog_lacks_is_named() {
        let _host = stand_in(|request| match &*String::from_utf8_lossy(&request.body) {
            sql if sql.contains("information_schema.schemata") => {
                Ok(page(r#"{"id": "s", "data": [["tiny"]]}"#))
            }
            _ => answer(request, || Err(lost())),
        });
        let check = |schemas: &str| {
            let config = CONFIG.replace('}', &format!(r#", "schemas": {schemas}}}"#));
            Trino::open(&Config::from_json(config)).unwrap().check()
        };
        assert!(check(r#"["TINY"]"#).is_ok());
        let refused = check(r#"["tiny", "tyni"]"#).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotFound);
        assert!(refused.message().contains("no schema `tyni`"), "{refused}");
    }

    const CONFIG: &str = r#"{"url": "http://localhost:8080", "user": "app", "catalog": "tpch"}"#;

    fn config() -> Config {
        Config::from_json(CONFIG)
    }

    fn one_row() -> Result<Response> {
        Ok(page(
            r#"{"id": "b", "columns": [{"name": "n", "type": "bigint"}], "data": [[1]]}"#,
        ))
    }

    #[test]
    fn rows_that_a_segment_lacks_are_an_error() {
        // In base64: `[[1],[2]]`, and `[[1],[2]] [[3]]`.
        let whole: fn() -> Result<Response> = || segment("W1sxXSxbMl1d", 2);
        let short: fn() -> Result<Response> = || segment("W1sxXSxbMl1d", 1000);
        let two: fn() -> Result<Response> = || segment("W1sxXSxbMl1dIFtbM11d", 2);
        let read = |sent: fn() -> Result<Response>| {
            let _host = stand_in(move |request| answer(request, sent));
            let trino = open_connector::<Trino>(CONFIG)?;
            let (_, rows) = trino.query(&Statement::new("SELECT 1 AS n"))?;
            Ok::<_, Error>(rows.len())
        };
        assert_eq!(read(whole).unwrap(), 2);
        for sent in [short, two] {
            let error = read(sent).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Upstream, "{error}");
        }
    }

    fn segment(base64: &str, rows: u32) -> Result<Response> {
        Ok(page(&format!(
            r#"{{"id": "b", "columns": [{{"name": "n", "type": "bigint"}}],
                "data": {{"encoding": "json", "segments": [{{"type": "inline", "data": "{base64}",
                "metadata": {{"rowsCount": {rows}}}}}]}}}}"#
        )))
    }

    #[test]
    fn a_statement_whose_first_page_is_bad_is_ended() {
        const NEXT: &str = "http://localhost:8080/v1/statement/executing/b/1";
        let host = stand_in(|request| {
            answer(request, || {
                Ok(page(&format!(
                    r#"{{"id": "b", "nextUri": "{NEXT}", "columns": [{{"name": "n", "type": "array("}}]}}"#
                )))
            })
        });
        let mut trino = Trino::open(&config()).unwrap();
        let refused = trino.query(&Statement::new("SELECT 1 AS n"));
        assert_eq!(refused.err().unwrap().kind(), ErrorKind::Upstream);
        let requests = host.requests();
        let mut behind = requests.iter().rev();
        assert_eq!(behind.next().unwrap().body, b"ROLLBACK");
        let ended = behind.next().unwrap();
        assert_eq!((ended.method, ended.url.as_str()), ("DELETE", NEXT));
    }

    #[test]
    fn a_transaction_waits_no_longer_than_its_statement() {
        for (timeout, limit) in [(5, "5s"), (300, "60s")] {
            let host = stand_in(|request| answer(request, one_row));
            let mut trino = Trino::open(&config()).unwrap();
            let mut statement = Statement::new("SELECT 1 AS n");
            statement.timeout = Duration::from_secs(timeout);
            trino.query(&statement).unwrap();
            let requests = host.requests();
            let begun = requests
                .iter()
                .find(|request| request.body == b"START TRANSACTION READ ONLY");
            let session = (
                "x-trino-session".to_owned(),
                format!("query_max_run_time={limit}"),
            );
            assert!(begun.unwrap().headers.contains(&session));
        }
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
