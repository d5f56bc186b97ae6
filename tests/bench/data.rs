//! One table of a million rows and eight columns, in both engines.

use mindhost_tests::{Postgres, PostgresDatabase};

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
