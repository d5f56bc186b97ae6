//! A double of SQL Server for one test binary, and what tests do with a connection to it.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "each test binary uses a part of it"
)]

use connector_mssql::Mssql;
use mindhost_sdk::{
    BatchLimits, Column, Config, Connector, Error, Result, Statement, Value, testing,
};
use serde_json::{Value as Json, json};
use tds_double::{DATABASE, Double, PASSWORD, USER};

/// Large enough that no test meets it by accident.
pub const LIMITS: BatchLimits = BatchLimits {
    max_rows: 8192,
    max_bytes: 1 << 20,
};

/// Tables with keys, comments and a view.
pub const SHOP: &str = "
    CREATE TABLE dbo.item (
        id int NOT NULL PRIMARY KEY, name nvarchar(40) NOT NULL DEFAULT 'none', price decimal(12,2), made datetime2(3));
    CREATE TABLE dbo.part (
        item int NOT NULL, place smallint NOT NULL, note varchar(max),
        CONSTRAINT part_key PRIMARY KEY (item, place),
        CONSTRAINT part_of_item FOREIGN KEY (item) REFERENCES dbo.item (id));
    CREATE TABLE sales.total (day date NOT NULL, amount money);
    INSERT INTO dbo.item VALUES (1, N'tea', '2.50', '2024-02-29 12:34:56.789'), (2, N'salt', NULL, NULL);
    INSERT INTO dbo.part VALUES (1, 1, 'green'), (1, 2, NULL);
    CREATE VIEW dbo.cheap AS SELECT id, name FROM dbo.item WHERE price < 5;
";

/// Rows without an end.
pub const SLOW: &str = "SELECT COUNT(*) FROM GENERATE_SERIES(1, 2000000000) AS a WHERE a.value < 0";

/// A double over [`SHOP`].
pub fn shop() -> Double {
    let double = Double::start(SHOP);
    double.comment("dbo", "item", None, "What is sold");
    double.comment("dbo", "item", Some("price"), "In euros");
    double
}

/// `connection_data` for a double, with some properties put in the place of the usual ones.
pub fn data(double: &Double, changes: Json) -> Config {
    let mut data = json!({
        "host": "localhost", "port": double.port(), "user": USER, "password": PASSWORD, "database": DATABASE,
    });
    let object = data.as_object_mut().unwrap();
    object.extend(changes.as_object().unwrap().clone());
    Config::from_json(data.to_string())
}

/// A connection without TLS.
pub fn connect(double: &Double) -> Mssql {
    Mssql::open(&data(double, json!({"sslmode": "disable"}))).unwrap()
}

/// The whole answer to a statement.
pub fn query(mssql: &mut Mssql, sql: &str) -> Result<(Vec<Column>, Vec<Vec<Value>>)> {
    run(mssql, &Statement::new(sql))
}

/// The whole answer to a statement; its cursor is closed also after an error.
pub fn run(mssql: &mut Mssql, statement: &Statement) -> Result<(Vec<Column>, Vec<Vec<Value>>)> {
    let mut cursor = mssql.query(statement)?;
    let columns = mssql.schema(&mut cursor)?;
    let mut rows = Vec::new();
    let outcome = loop {
        match mssql.next(&mut cursor, LIMITS) {
            Ok(Some(batch)) => rows.extend(testing::rows(&batch, &columns).unwrap()),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    mssql.close(cursor)?;
    outcome.map(|()| (columns, rows))
}

/// The error of a statement.
pub fn error(mssql: &mut Mssql, sql: &str) -> Error {
    query(mssql, sql).expect_err(sql)
}

/// The one value of a statement.
pub fn value(mssql: &mut Mssql, sql: &str) -> Value {
    let (_, mut rows) = query(mssql, sql).expect(sql);
    rows.remove(0).remove(0)
}
