//! What the host calls.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use mindhost_sdk::{
    Batch, BatchLimits, Column, Config, Connector, Error, Result, ServerInfo, Statement, Table,
    TableRef,
};

use crate::catalog;
use crate::config::ConnectionData;
use crate::cursor::{Cursor, Session, plain_id};
use crate::http::{Sending, rows};
use crate::server::Server;

/// How long the server may take to end a statement.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);
/// What the answer to `KILL QUERY` may have, in bytes: it repeats the statement.
const MAX_KILLED: usize = 4 << 20;

/// A user of one ClickHouse server. HTTP has no sessions: each statement is a request.
pub struct ClickHouse {
    data: ConnectionData,
    server: Server,
    /// What names the requests of this connection in `system.processes`.
    agent: String,
}

impl ClickHouse {
    fn session(&self) -> Session<'_> {
        Session {
            data: &self.data,
            server: &self.server,
            agent: &self.agent,
        }
    }
}

impl Connector for ClickHouse {
    const MANIFEST: &'static str = include_str!("../manifest.json");

    type Cursor = Cursor;

    fn open(config: &Config) -> Result<Self> {
        let data = ConnectionData::parse(config)?;
        let agent = new_agent();
        let server = Server::meet(&data, &agent)?;
        Ok(Self {
            data,
            server,
            agent,
        })
    }

    /// For statements that run before their cursor is there: the server answers only when it has the first rows.
    fn cancel_key(&self) -> Option<Vec<u8>> {
        Some(format!("a{}", self.agent).into_bytes())
    }

    fn check(&mut self) -> Result<ServerInfo> {
        self.server = Server::meet(&self.data, &self.agent)?;
        Ok(ServerInfo::new("ClickHouse", self.server.version.as_str()))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        catalog::tables(&self.session())
    }

    fn describe_tables(&mut self, tables: &[TableRef]) -> Result<Vec<Table>> {
        catalog::describe(&self.session(), tables)
    }

    fn query(&mut self, statement: &Statement) -> Result<Cursor> {
        Cursor::open(&self.session(), statement)
    }

    fn schema(&mut self, cursor: &mut Cursor) -> Result<Vec<Column>> {
        Ok(cursor.columns())
    }

    fn cursor_cancel_key(&self, cursor: &Cursor) -> Option<Vec<u8>> {
        (!cursor.id.is_empty()).then(|| format!("q{}", cursor.id).into_bytes())
    }

    fn next(&mut self, cursor: &mut Cursor, limits: BatchLimits) -> Result<Option<Batch>> {
        cursor.next(limits)
    }

    /// A request that is dropped ends its exchange, and a server from version 20 on then ends the statement. An old
    /// one, which looks at its client only when it writes, is told.
    fn close(&mut self, cursor: Cursor) -> Result<bool> {
        let (id, has_ended) = (cursor.id.clone(), cursor.has_ended());
        drop(cursor);
        if !has_ended
            && !id.is_empty()
            && !self
                .server
                .sets("cancel_http_readonly_queries_on_client_close")
        {
            kill(
                &self.data,
                &self.agent,
                &format!("query_id = '{id}'"),
                "ASYNC",
            )?;
        }
        Ok(true)
    }

    fn cancel(config: &Config, key: &[u8]) -> Result<()> {
        let data = ConnectionData::parse(config)?;
        let foreign = || Error::internal("the cancel key is not one of this plugin's");
        let (kind, name) = key.split_first().ok_or_else(foreign)?;
        let name = std::str::from_utf8(name).map_err(|_| foreign())?;
        let column = match kind {
            b'a' => "http_user_agent",
            b'q' => "query_id",
            _ => return Err(foreign()),
        };
        if name.is_empty() || plain_id(name) != name {
            return Err(foreign());
        }
        kill(&data, &new_agent(), &format!("{column} = '{name}'"), "SYNC")
    }
}

/// Ends statements. A user may always end its own, a read-only one too. The name of a connection is not that of the
/// connection which asks, so the server does not end the request to end.
fn kill(data: &ConnectionData, agent: &str, which: &str, how: &str) -> Result<()> {
    let sql = format!("KILL QUERY WHERE {which} {how}");
    let parameters = vec![("default_format", "TabSeparated".to_owned())];
    let sending = Sending {
        agent,
        sql: &sql,
        parameters,
        timeout: KILL_TIMEOUT,
        before: 0,
    };
    rows(data, &sending, MAX_KILLED).map(drop)
}

/// A name that nobody can guess: a caller could otherwise be named as somebody else.
fn new_agent() -> String {
    let random = || RandomState::new().hash_one(0_u8);
    format!("mindhost-{:016x}{:016x}", random(), random())
}

#[cfg(test)]
mod tests {
    use mindhost_sdk::http::{Request, Response};
    use mindhost_sdk::testing::{self, stand_in};
    use mindhost_sdk::{ErrorKind, Value};

    use super::*;

    /// A server that describes every statement; what it has to say to a statement itself is `run`.
    fn answer(request: &Request, run: impl Fn() -> Result<Response>) -> Result<Response> {
        let sql = String::from_utf8_lossy(&request.body);
        let text = match &*sql {
            sql if sql.contains("system.settings") => {
                "26.9.2.1\tUTC\t0\tdate_time_output_format,output_format_arrow_compression_method\t1\t1\t1\n"
            }
            sql if sql.starts_with("DESCRIBE") => "n\tInt64\n",
            _ => return run(),
        };
        let response = Response::scripted(200, vec![Ok(text.as_bytes().to_vec())]);
        Ok(response.with_header("x-clickhouse-summary", "{}"))
    }

    fn lost() -> Error {
        Error::new(ErrorKind::ConnectionLost, "the connection broke")
    }

    /// The host repeats a call that is a lost connection, and a killed statement must not run again.
    #[test]
    fn a_statement_whose_connection_is_killed_is_not_repeated() {
        let before_the_head = || -> Result<Response> { Err(lost()) };
        let before_the_columns = || -> Result<Response> {
            let response = Response::scripted(200, vec![Err(lost())]);
            Ok(response.with_header("x-clickhouse-summary", "{}"))
        };
        let runs: [fn() -> Result<Response>; 2] = [before_the_head, before_the_columns];
        for run in runs {
            let host = stand_in(move |request| answer(request, run));
            let config = Config::from_json(r#"{"url": "http://localhost:8123"}"#);
            let mut clickhouse = ClickHouse::open(&config).unwrap();
            for sql in ["SELECT 1 AS n", "EXPLAIN SELECT 1 AS n"] {
                let killed = clickhouse.query(&Statement::new(sql)).err().unwrap();
                assert_eq!(killed.kind(), ErrorKind::Unreachable, "{sql}: {killed}");
                assert!(!killed.is_connection_usable());
            }
            // Who the server is, the description of the first statement, and each statement once.
            assert_eq!(host.requests().len(), 4);
        }
    }

    /// What was asked before the statement can be asked again.
    #[test]
    fn a_connection_that_broke_before_the_statement_is_lost() {
        let mut asked = 0;
        let host = stand_in(move |request| {
            asked += 1;
            match asked {
                1 => answer(request, || Err(lost())),
                _ => Err(lost()),
            }
        });
        let config = Config::from_json(r#"{"url": "http://localhost:8123"}"#);
        let mut clickhouse = ClickHouse::open(&config).unwrap();
        let stale = clickhouse.query(&Statement::new("SELECT 1 AS n"));
        assert_eq!(stale.err().unwrap().kind(), ErrorKind::ConnectionLost);
        assert_eq!(host.requests().len(), 2);
    }

    /// Arrow would carry the first column, if the server could multiply it. Types and cells are those of version 26.9.
    #[test]
    fn instants_of_a_text_answer_are_dates_wherever_they_are() {
        let host = stand_in(|request| {
            let sql = String::from_utf8_lossy(&request.body);
            let text = match &*sql {
                sql if sql.starts_with("DESCRIBE") => "late\tDateTime64(7, \\'UTC\\')\n",
                sql if sql.contains("FROM t") => {
                    "late\tearly\tdoc\tany\tlist\n\
                     DateTime64(7, \\'UTC\\')\tDateTime64(1, \\'UTC\\')\tJSON\tDynamic\tArray(Dynamic)\n\
                     2300-01-01T10:00:00.1234567Z\t1969-12-31T23:59:59.5Z\t{\"t\":\"2024-01-01T10:00:00Z\"}\t\
                     2024-01-01T01:00:00Z\t['2024-01-01T01:00:00Z',1234567890123456789.12]\n"
                }
                _ => return answer(request, || Err(lost())),
            };
            let response = Response::scripted(200, vec![Ok(text.as_bytes().to_vec())]);
            Ok(response.with_header("x-clickhouse-summary", "{}"))
        });
        let config = Config::from_json(r#"{"url": "http://localhost:8123"}"#);
        let mut clickhouse = ClickHouse::open(&config).unwrap();
        let statement = Statement::new("SELECT late, early, doc, any, list FROM t");
        let mut cursor = clickhouse.query(&statement).unwrap();
        let limits = BatchLimits {
            max_rows: 10,
            max_bytes: 1 << 20,
        };
        let batch = clickhouse.next(&mut cursor, limits).unwrap().unwrap();
        let rows = testing::rows(&batch, &cursor.columns()).unwrap();
        let expected = [
            Value::TimestampUtc(10_413_828_000_123_456),
            Value::TimestampUtc(-500_000),
            Value::Json(r#"{"t":"2024-01-01T10:00:00Z"}"#.into()),
            Value::Text("2024-01-01T01:00:00Z".into()),
            Value::Json(r#"["2024-01-01T01:00:00Z","1234567890123456789.12"]"#.into()),
        ];
        assert_eq!(rows, [expected]);
        let sent = host.requests();
        let url = &sent.last().unwrap().url;
        assert!(url.contains("date_time_output_format=iso"), "{url}");
        assert!(url.contains("TabSeparatedWithNamesAndTypes"), "{url}");
    }
}
