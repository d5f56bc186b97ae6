//! What a statement may not do, and how it is stopped.

use std::time::Duration;

use mindhost_sdk::{Connector, ErrorKind, Statement, Value, control};

use crate::support::{LIMITS, Shop, batches, rows};

const SQL: &str = "CREATE TABLE t (v INTEGER); INSERT INTO t VALUES (1);
                   CREATE VIRTUAL TABLE notes USING fts5 (body); INSERT INTO notes VALUES ('blue chair'), ('red table');
                   CREATE VIRTUAL TABLE areas USING rtree (id, x0, x1); INSERT INTO areas VALUES (1, 0, 2), (2, 5, 6);
                   CREATE VIEW odd AS SELECT v FROM t WHERE v % 2 = 1;";

#[test]
fn what_writes_or_reaches_out_is_refused() {
    let shop = Shop::new(SQL);
    let before = std::fs::read(shop.path()).unwrap();
    let mut sqlite = shop.open().unwrap();
    for sql in [
        "INSERT INTO t VALUES (2)",
        "INSERT INTO t VALUES (2) RETURNING v",
        "UPDATE t SET v = 3",
        "DELETE FROM t RETURNING v",
        "DROP TABLE t",
        "CREATE TABLE u (w)",
        "CREATE TEMP TABLE u AS SELECT 1",
        "ATTACH 'other.db' AS other",
        "PRAGMA journal_mode",
        "PRAGMA query_only = 0",
        "VACUUM INTO 'copy.db'",
        "BEGIN",
        "EXPLAIN SELECT 1",
        "SELECT load_extension('x')",
        "SELECT name FROM sqlite_master",
        "SELECT sql FROM main.SQLITE_SCHEMA",
        "SELECT * FROM pragma_table_info('t')",
        "SELECT fts3_tokenizer('simple')",
        "INSERT INTO notes VALUES ('x')",
        "INSERT INTO notes (notes) VALUES ('optimize')",
        "INSERT INTO areas VALUES (3, 0, 1)",
        "DELETE FROM areas_node",
        "DELETE FROM areas_rowid RETURNING rowid",
        "INSERT INTO areas_parent VALUES (1, 2) RETURNING 1",
        "UPDATE areas_node SET data = NULL RETURNING 1",
    ] {
        let error = rows(&mut sqlite, sql).expect_err(sql);
        assert!(
            matches!(
                error.kind(),
                ErrorKind::Permission | ErrorKind::InvalidStatement
            ),
            "{sql}: {error:?}"
        );
    }
    assert_eq!(std::fs::read(shop.path()).unwrap(), before);
}

#[test]
fn what_reads_is_allowed() {
    let shop = Shop::new(SQL);
    assert_eq!(shop.rows("SELECT v FROM odd"), [[Value::Int64(1)]]);
    assert_eq!(
        shop.rows("SELECT count(*) FROM notes WHERE notes MATCH 'chair'"),
        [[Value::Int64(1)]]
    );
    assert_eq!(
        shop.rows("SELECT id FROM areas WHERE x0 <= 5 AND x1 >= 5"),
        [[Value::Int64(2)]]
    );
    assert_eq!(shop.rows("WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT sum(i) FROM n"), [[Value::Int64(6)]]);
    assert_eq!(
        shop.rows("SELECT upper('a'), date('2026-01-01', '+1 day')")
            .len(),
        1
    );
}

#[test]
fn errors_say_where() {
    let shop = Shop::new(SQL);
    let error = shop.error("SELECT 'é', w FROM t");
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::InvalidStatement, "no such column: w")
    );
    assert_eq!(
        (error.statement_position(), error.engine_code()),
        (Some(13), "1")
    );
    assert_eq!(shop.error("SELEC 1").statement_position(), Some(1));
    assert_eq!(
        shop.error("SELECT * FROM gone").message(),
        "no such table: gone"
    );
    assert_eq!(
        shop.error("SELECT \"nothing\" FROM t").message(),
        "no such column: \"nothing\" - should this be a string literal in single-quotes?"
    );
    assert_eq!(
        shop.error("SELECT 1; SELECT 2").message(),
        "only one statement can be run at a time"
    );
    assert_eq!(shop.error("").kind(), ErrorKind::InvalidStatement);
    assert_eq!(
        shop.error("SELECT abs(-9223372036854775808)").kind(),
        ErrorKind::InvalidStatement
    );
}

const ENDLESS: &str =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";

#[test]
fn a_statement_ends_after_its_time() {
    let shop = Shop::new(SQL);
    let mut sqlite = shop.open().unwrap();
    let statement = Statement {
        timeout: Duration::from_millis(50),
        ..Statement::new(ENDLESS)
    };
    let error = batches(&mut sqlite, &statement, LIMITS).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.is_connection_usable());
    assert_eq!(
        rows(&mut sqlite, "SELECT v FROM t"),
        Ok(vec![vec![Value::Int64(1)]])
    );
}

#[test]
fn a_statement_ends_when_the_host_wants_it() {
    let shop = Shop::new(SQL);
    let mut sqlite = shop.open().unwrap();
    let mut cursor = sqlite.query(&Statement::new(ENDLESS)).unwrap();
    control::stand_in::set_cancelled(true);
    let error = sqlite.next(&mut cursor, LIMITS).unwrap_err();
    control::stand_in::set_cancelled(false);
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(sqlite.close(cursor), Ok(true));
    assert!(rows(&mut sqlite, "SELECT v FROM t").is_ok());
}

#[test]
fn sorting_needs_no_temporary_file() {
    let shop = Shop::new(
        "CREATE TABLE t (s TEXT);
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO t SELECT hex(randomblob(100)) FROM n;",
    );
    assert_eq!(shop.rows("SELECT s FROM t ORDER BY s").len(), 20_000);
}

#[test]
fn statement_with_too_many_selects_is_refused_before_sqlite_reads_it() {
    let shop = Shop::new(SQL);
    let union = |selects: usize| vec!["SELECT v FROM t"; selects].join(" UNION ALL ");
    assert_eq!(shop.rows(&union(500)).len(), 500);
    let error = shop.error(&union(501));
    assert_eq!(error.kind(), ErrorKind::InvalidStatement);
    assert!(
        error.is_connection_usable() && error.message().contains("too complex"),
        "{error:?}"
    );
    // Words in texts and comments are none.
    let text = format!(
        "SELECT v FROM t WHERE '{}' <> '' -- select",
        "select ".repeat(600)
    );
    assert_eq!(shop.rows(&text).len(), 1);
}
