//! A throw-away PostgreSQL for one test binary, and what tests do with a connection to it.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "each test binary uses a part of it"
)]

pub mod server;

use connector_postgres::Postgres;
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
        "host": "localhost", "port": server.port, "user": "postgres", "database": "postgres", "sslmode": "disable",
    });
    data.as_object_mut()
        .unwrap()
        .extend(changes.as_object().unwrap().clone());
    Config::from_json(data.to_string())
}

/// A connection of the superuser.
pub fn connect() -> Postgres {
    Postgres::open(&data(json!({}))).unwrap()
}

/// The whole answer to a statement.
pub fn query(postgres: &mut Postgres, sql: &str) -> Result<(Vec<Column>, Vec<Vec<Value>>)> {
    run(postgres, &Statement::new(sql))
}

/// The whole answer to a statement; its cursor is closed also after an error.
pub fn run(
    postgres: &mut Postgres,
    statement: &Statement,
) -> Result<(Vec<Column>, Vec<Vec<Value>>)> {
    let mut cursor = postgres.query(statement)?;
    let columns = postgres.schema(&mut cursor)?;
    let mut rows = Vec::new();
    let outcome = loop {
        match postgres.next(&mut cursor, LIMITS) {
            Ok(Some(batch)) => rows.extend(testing::rows(&batch, &columns).unwrap()),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    postgres.close(cursor)?;
    outcome.map(|()| (columns, rows))
}

/// The error of a statement.
pub fn error(postgres: &mut Postgres, sql: &str) -> Error {
    query(postgres, sql).expect_err(sql)
}
