//! Files as other programs leave them.

use std::fs;
use std::path::Path;

use connector_sqlite::Sqlite;
use mindhost_sdk::{BatchLimits, Config, Connector, ErrorKind, Statement, Value};

use crate::support::{Shop, open, rows};

const SQL: &str = "CREATE TABLE t (v INTEGER); INSERT INTO t VALUES (1), (2), (3);";

#[test]
fn check_names_the_engine() {
    let info = Shop::new(SQL).open().unwrap().check().unwrap();
    assert_eq!(info.product, "SQLite");
    assert!(info.version.starts_with("3."));
}

#[test]
fn configuration_and_files_that_cannot_work() {
    let shop = Shop::new(SQL);
    let check = |path: &Path, kind: ErrorKind, message: &str| {
        let error = open(path).err().unwrap();
        assert_eq!((error.kind(), error.message()), (kind, message));
    };
    let missing = shop.directory.path().join("missing.db");
    check(
        &missing,
        ErrorKind::NotFound,
        "the database file `missing.db` does not exist; check `path`",
    );
    let other = shop.directory.path().join("notes.txt");
    fs::write(&other, "no database ".repeat(100)).unwrap();
    check(
        &other,
        ErrorKind::InvalidConfig,
        "`notes.txt` is not a SQLite database, or it is encrypted",
    );
    let error = Sqlite::open(&Config::from_json("{}")).err().unwrap();
    assert_eq!(
        error.message(),
        "connection_data is not complete: missing field `path`"
    );
}

#[test]
fn an_empty_file_is_an_empty_database() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("new.db"), "").unwrap();
    assert_eq!(
        open(&directory.path().join("new.db")).unwrap().tables(),
        Ok(Vec::new())
    );
}

#[test]
fn names_may_hold_any_character() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("100% é?mode=rwc#1 .db");
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch(SQL)
        .unwrap();
    assert_eq!(
        rows(&mut open(&path).unwrap(), "SELECT max(v) FROM t"),
        Ok(vec![vec![Value::Int64(3)]])
    );
}

#[test]
fn a_change_between_statements_is_seen() {
    let shop = Shop::new(SQL);
    let mut sqlite = shop.open().unwrap();
    assert_eq!(
        rows(&mut sqlite, "SELECT count(*) FROM t"),
        Ok(vec![vec![Value::Int64(3)]])
    );
    shop.write("INSERT INTO t VALUES (4); CREATE TABLE u (w);");
    assert_eq!(
        rows(&mut sqlite, "SELECT count(*) FROM t"),
        Ok(vec![vec![Value::Int64(4)]])
    );
    assert_eq!(sqlite.tables().unwrap().len(), 2);
}

#[test]
fn a_replaced_file_is_seen() {
    let shop = Shop::new(SQL);
    let mut sqlite = shop.open().unwrap();
    let other = Shop::new("CREATE TABLE t (v INTEGER); INSERT INTO t VALUES (70);");
    fs::rename(other.path(), shop.path()).unwrap();
    assert_eq!(
        rows(&mut sqlite, "SELECT sum(v) FROM t"),
        Ok(vec![vec![Value::Int64(70)]])
    );
}

#[test]
fn a_change_while_a_statement_runs_is_an_error() {
    let shop = Shop::new(SQL);
    let mut sqlite = shop.open().unwrap();
    let one_row = BatchLimits {
        max_rows: 1,
        max_bytes: 1000,
    };
    let mut cursor = sqlite.query(&Statement::new("SELECT v FROM t")).unwrap();
    assert!(sqlite.next(&mut cursor, one_row).unwrap().is_some());
    shop.write("UPDATE t SET v = v + 10");
    let error = sqlite.next(&mut cursor, one_row).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream);
    assert_eq!(
        error.message(),
        "another program changed the database file while the statement was reading it; run the statement again"
    );
    assert_eq!(sqlite.close(cursor), Ok(true));
    assert_eq!(
        rows(&mut sqlite, "SELECT min(v) FROM t"),
        Ok(vec![vec![Value::Int64(11)]])
    );
}

#[test]
fn a_snapshot_notices_a_change() {
    let shop = Shop::new(SQL);
    let mut sqlite = shop.open().unwrap();
    assert_eq!(
        sqlite.begin_snapshot(std::time::Duration::from_secs(9)),
        Ok(true)
    );
    assert!(rows(&mut sqlite, "SELECT count(*) FROM t").is_ok());
    shop.write("DELETE FROM t");
    assert_eq!(
        rows(&mut sqlite, "SELECT v FROM t").unwrap_err().kind(),
        ErrorKind::Upstream
    );
    sqlite.end_snapshot().unwrap();
    assert_eq!(rows(&mut sqlite, "SELECT v FROM t"), Ok(Vec::new()));
}

#[test]
fn a_live_wal_is_refused_with_what_to_do() {
    let shop = Shop::new("PRAGMA journal_mode = WAL; CREATE TABLE t (v INTEGER);");
    let error = shop.open().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    assert!(
        error
            .message()
            .contains("run `PRAGMA wal_checkpoint(TRUNCATE)`"),
        "{}",
        error.message()
    );
    assert!(error.message().contains("`PRAGMA journal_mode=DELETE`"));

    shop.write("PRAGMA wal_checkpoint(TRUNCATE); ");
    let mut sqlite = shop.open().unwrap();
    assert_eq!(rows(&mut sqlite, "SELECT v FROM t"), Ok(Vec::new()));
    shop.write("INSERT INTO t VALUES (1)");
    assert_eq!(
        rows(&mut sqlite, "SELECT v FROM t").unwrap_err().kind(),
        ErrorKind::InvalidConfig
    );
}

#[test]
fn a_wal_that_was_written_back_is_no_obstacle() {
    let shop = Shop::new(
        "PRAGMA journal_mode = WAL; CREATE TABLE t (v INTEGER); INSERT INTO t VALUES (1), (2);",
    );
    shop.write("PRAGMA wal_checkpoint(PASSIVE)");
    let wal = shop.directory.path().join("shop.db-wal");
    assert!(
        fs::metadata(&wal).unwrap().len() > 32,
        "the log still has frames"
    );
    let mut sqlite = shop.open().unwrap();
    assert_eq!(
        rows(&mut sqlite, "SELECT sum(v) FROM t"),
        Ok(vec![vec![Value::Int64(3)]])
    );

    // The next transaction starts the log anew, at the same length.
    shop.write("UPDATE t SET v = 5");
    assert_eq!(
        rows(&mut sqlite, "SELECT sum(v) FROM t")
            .unwrap_err()
            .kind(),
        ErrorKind::InvalidConfig
    );
    shop.write("PRAGMA wal_checkpoint(PASSIVE)");
    assert_eq!(
        rows(&mut sqlite, "SELECT sum(v) FROM t"),
        Ok(vec![vec![Value::Int64(10)]])
    );

    // Without the index nothing proves that the log is done with.
    fs::remove_file(shop.directory.path().join("shop.db-shm")).unwrap();
    assert_eq!(shop.open().err().unwrap().kind(), ErrorKind::InvalidConfig);
}

#[test]
fn a_transaction_that_was_not_finished_is_refused() {
    let shop = Shop::new(SQL);
    let journal = shop.directory.path().join("shop.db-journal");
    fs::write(
        &journal,
        [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7, 0, 0, 0, 0],
    )
    .unwrap();
    let error = shop.open().err().unwrap();
    assert_eq!(
        (error.kind(), error.engine_code()),
        (ErrorKind::Upstream, "5")
    );
    assert!(error.message().starts_with(
        "another program is writing to `shop.db`, or a crash left `shop.db-journal` behind"
    ));
    // A journal that is kept between transactions begins with zeros.
    fs::write(&journal, [0; 512]).unwrap();
    assert!(shop.open().is_ok());
}

/// A journal or log that is there and cannot be read may hold what the database lacks. A link to itself is one.
#[test]
fn a_journal_or_log_that_cannot_be_read_is_refused() {
    for (sql, suffix) in [
        (SQL, "-journal"),
        (
            "PRAGMA journal_mode = WAL; CREATE TABLE t (v INTEGER);",
            "-wal",
        ),
    ] {
        let Shop { directory, writer } = Shop::new(sql);
        // It takes its own journal or log along.
        drop(writer);
        let path = directory.path().join("shop.db");
        assert!(open(&path).is_ok());
        let name = format!("shop.db{suffix}");
        std::os::unix::fs::symlink(&name, directory.path().join(&name)).unwrap();
        let error = open(&path).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Upstream, "{suffix}");
        assert!(
            error
                .message()
                .starts_with(&format!("`{name}` is beside the database file")),
            "{error}"
        );
    }
}

/// As the README says: while a writer keeps its journal in memory, nothing tells that it is in a transaction.
#[test]
fn a_transaction_without_a_journal_is_not_seen() {
    let shop = Shop::new(SQL);
    shop.write("PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE; UPDATE t SET v = v + 10;");
    assert!(!shop.directory.path().join("shop.db-journal").exists());
    assert!(shop.open().is_ok());
    shop.write("COMMIT");
}
