//! A throw-away MariaDB for one test binary, and what tests do with a connection to it.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "each test binary uses a part of it"
)]

pub mod server;

use connector_mysql::MySql;
use mindhost_sdk::{
    BatchLimits, Column, Config, Connector, Error, Result, Statement, Value, testing,
};
use serde_json::{Value as Json, json};

pub use server::Server;

/// Large enough that no test meets it by accident.
pub const LIMITS: BatchLimits = BatchLimits {
    max_rows: 8192,
    max_bytes: 1 << 20,
};

/// `connection_data` of the superuser, with some properties put in the place of the usual ones.
pub fn data(changes: Json) -> Config {
    let server = Server::shared();
    let mut data = json!({
        "host": "localhost", "port": server.port, "user": "root", "sslmode": "disable",
    });
    data.as_object_mut()
        .unwrap()
        .extend(changes.as_object().unwrap().clone());
    Config::from_json(data.to_string())
}

/// A connection of the superuser.
pub fn connect() -> MySql {
    MySql::open(&data(json!({}))).unwrap()
}

/// The whole answer to a statement.
pub fn query(mysql: &mut MySql, sql: &str) -> Result<(Vec<Column>, Vec<Vec<Value>>)> {
    run(mysql, &Statement::new(sql))
}

/// The whole answer to a statement; its cursor is closed also after an error.
pub fn run(mysql: &mut MySql, statement: &Statement) -> Result<(Vec<Column>, Vec<Vec<Value>>)> {
    let mut cursor = mysql.query(statement)?;
    let columns = mysql.schema(&mut cursor)?;
    let mut rows = Vec::new();
    let outcome = loop {
        match mysql.next(&mut cursor, LIMITS) {
            Ok(Some(batch)) => rows.extend(testing::rows(&batch, &columns).unwrap()),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    mysql.close(cursor)?;
    outcome.map(|()| (columns, rows))
}

/// The error of a statement.
pub fn error(mysql: &mut MySql, sql: &str) -> Error {
    query(mysql, sql).expect_err(sql)
}
