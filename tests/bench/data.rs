//! One table of a million rows and eight columns, in each engine.

use std::{ffi::OsStr, path::Path, process::Command};

use mindhost_tests::{MariaDatabase, MariaDb, Postgres, PostgresDatabase, build::target_dir};

/// Rows of the table.
pub const ROWS: u64 = 1_000_000;

/// Everything of it.
pub const SCAN: &str = "SELECT id, customer, amount, price, note, placed, ratio, paid FROM facts";

/// In PostgreSQL.
pub async fn postgres() -> PostgresDatabase {
    let sql = format!(
        "CREATE TABLE facts (id bigint PRIMARY KEY, customer integer, amount integer, price numeric(12,2), note text,
             placed timestamp, ratio double precision, paid boolean);
         INSERT INTO facts SELECT n, n % 1000, n % 77, (n % 100000) / 100.0, 'note number ' || n,
             timestamp '2024-01-01' + n * interval '1 second', n / 7.0, n % 3 = 0 FROM generate_series(1, {ROWS}) n;
         VACUUM ANALYZE facts;"
    );
    let statements: Vec<&str> = sql.split_inclusive(';').collect();
    let database = Postgres::shared().database("SELECT 1").await;
    for statement in statements.iter().filter(|text| !text.trim().is_empty()) {
        database.run(statement).await;
    }
    database
}

/// PostgreSQL's own client on a database, without settings of the user's and without remarks.
pub fn psql(database: &PostgresDatabase) -> tokio::process::Command {
    let connection = database.connection_data();
    let text = |name: &str| {
        let value = connection[name].as_str().map(str::to_owned);
        value.unwrap_or_else(|| connection[name].to_string())
    };
    let mut command = tokio::process::Command::new("psql");
    command
        .args(["-q", "-X", "-h", &text("host"), "-p", &text("port")])
        .args(["-U", &text("user"), "-d", &text("database")])
        .env("PGPASSWORD", text("password"));
    command
}

/// In SQLite, as SQL text.
pub fn sqlite() -> String {
    format!(
        "CREATE TABLE facts (id INTEGER PRIMARY KEY, customer INTEGER, amount INTEGER, price REAL, note TEXT,
             placed TIMESTAMP, ratio REAL, paid BOOLEAN);
         WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {ROWS})
         INSERT INTO facts SELECT n, n % 1000, n % 77, (n % 100000) / 100.0, 'note number ' || n,
             datetime('2024-01-01', n || ' seconds'), n / 7.0, n % 3 = 0 FROM c;"
    )
}

/// In MariaDB.
pub async fn mariadb() -> MariaDatabase {
    let sql = format!(
        "CREATE TABLE facts (id bigint PRIMARY KEY, customer integer, amount integer, price decimal(12,2), note text,
             placed datetime, ratio double, paid boolean);
         INSERT INTO facts SELECT seq, seq % 1000, seq % 77, (seq % 100000) / 100.0, concat('note number ', seq),
             '2024-01-01' + INTERVAL seq SECOND, seq / 7e0, seq % 3 = 0 FROM seq_1_to_{ROWS};
         ANALYZE TABLE facts;"
    );
    MariaDb::shared().database(&sql).await
}

/// In ClickHouse, as the fixture of a server.
pub fn clickhouse() -> String {
    format!(
        "CREATE TABLE facts (id Int64, customer Int32, amount Int32, price Decimal(12,2), note String,
             placed DateTime('UTC'), ratio Float64, paid Bool) ENGINE = MergeTree ORDER BY id
;;
INSERT INTO facts SELECT n, n % 1000, n % 77, (n % 100000) / 100, concat('note number ', toString(n)),
             toDateTime('2024-01-01 00:00:00', 'UTC') + n, n / 7, n % 3 = 0
             FROM (SELECT number + 1 AS n FROM numbers({ROWS}))
;;
"
    )
}

/// As a Parquet file, which DuckDB writes.
pub fn parquet(file: &Path) {
    let rows = format!(
        "SELECT n AS id, (n % 1000)::integer AS customer, (n % 77)::integer AS amount,
             ((n % 100000) / 100.0)::decimal(12,2) AS price, 'note number ' || n AS note,
             timestamp '2024-01-01' + to_seconds(n) AS placed, n / 7.0::double AS ratio, n % 3 = 0 AS paid
         FROM range(1, {ROWS} + 1) numbers(n)"
    );
    let copy = format!("COPY ({rows}) TO '{}' (FORMAT parquet)", file.display());
    duckdb(&copy);
}

/// Runs statements in DuckDB over the Parquet files of a folder, each of them a table, and gives the seconds that they
/// took without the start of the program.
pub fn duckdb_over(folder: &Path, statements: &[&str]) -> f64 {
    let script = "import json, pathlib, sys, time, duckdb
connection = duckdb.connect()
for file in pathlib.Path(sys.argv[1]).glob('*.parquet'):
    connection.execute(f\"CREATE VIEW {file.stem} AS FROM '{file}'\")
statements = json.loads(sys.argv[2])
began = time.perf_counter()
for statement in statements:
    connection.execute(statement).fetchall()
print(time.perf_counter() - began)";
    let statements = serde_json::to_string(statements).unwrap();
    seconds_of_python(&[
        script.as_ref(),
        folder.as_os_str(),
        statements.as_str().as_ref(),
    ])
}

/// Runs a statement in DuckDB, and gives the seconds that it took without the start of the program.
pub fn duckdb(sql: &str) -> f64 {
    let script = "import sys, time, duckdb
connection = duckdb.connect()
began = time.perf_counter()
connection.execute(sys.argv[1])
print(time.perf_counter() - began)";
    seconds_of_python(&[script.as_ref(), sql.as_ref()])
}

/// Runs a program that prints seconds.
fn seconds_of_python(program: &[&OsStr]) -> f64 {
    let run = Command::new(target_dir().join("duckdb/bin/python"))
        .arg("-c")
        .args(program)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    let seconds = said.trim().parse();
    seconds.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&run.stderr)))
}
