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
    Batch, BatchLimits, Column, Config, Connector, Error, Result, Statement, Value,
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
            Ok(Some(batch)) => rows.extend(values(&columns, batch)),
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

/// The rows of a batch of either form.
pub fn values(columns: &[Column], batch: Batch) -> Vec<Vec<Value>> {
    match batch {
        Batch::Rows(rows) => rows,
        Batch::Arrow(bytes) => arrow_values(columns, &bytes),
    }
}

fn arrow_values(columns: &[Column], bytes: &[u8]) -> Vec<Vec<Value>> {
    let mut reader = arrow_ipc::reader::StreamReader::try_new(bytes, None).unwrap();
    let batch = reader.next().unwrap().unwrap();
    let row = |row| {
        let cells = columns.iter().zip(batch.columns());
        cells
            .map(|(column, array)| cell(column.data_type, array, row))
            .collect()
    };
    (0..batch.num_rows()).map(row).collect()
}

fn cell(data_type: mindhost_sdk::DataType, array: &arrow_array::ArrayRef, row: usize) -> Value {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{
        Date32Type, Float64Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType,
        UInt64Type,
    };
    use mindhost_sdk::DataType;
    if array.is_null(row) {
        return Value::Null;
    }
    match data_type {
        DataType::Boolean => Value::Boolean(array.as_boolean().value(row)),
        DataType::Int64 => Value::Int64(array.as_primitive::<Int64Type>().value(row)),
        DataType::Uint64 => Value::Uint64(array.as_primitive::<UInt64Type>().value(row)),
        DataType::Float64 => Value::Float64(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal => Value::Decimal(array.as_string::<i32>().value(row).into()),
        DataType::Text => Value::Text(array.as_string::<i32>().value(row).into()),
        DataType::Json => Value::Json(array.as_string::<i32>().value(row).into()),
        DataType::Bytes => Value::Bytes(array.as_binary::<i32>().value(row).into()),
        DataType::Date => Value::Date(array.as_primitive::<Date32Type>().value(row)),
        DataType::Time => Value::Time(
            array
                .as_primitive::<Time64MicrosecondType>()
                .value(row)
                .cast_unsigned(),
        ),
        DataType::Timestamp => {
            Value::Timestamp(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        DataType::TimestampUtc => {
            Value::TimestampUtc(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        DataType::Any => panic!("type any has no Arrow form"),
    }
}
