//! How statements run: streams, cancellation, timeouts, snapshots, and nothing left behind.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests")]

mod support;

use std::time::{Duration, Instant};

use connector_mysql::MySql;
use mindhost_sdk::control::stand_in;
use mindhost_sdk::{BatchLimits, Connector, ErrorKind, Statement, Value, testing};
use serde_json::json;
use support::{LIMITS, Server, connect, data, error, query, run};

fn with_timeout(sql: &str, timeout: Duration) -> Statement {
    Statement {
        timeout,
        ..Statement::new(sql)
    }
}

/// Whether the connection answers.
fn answers(mysql: &mut MySql) -> bool {
    query(mysql, "SELECT 1").unwrap().1 == [[Value::Int64(1)]]
}

#[test]
fn answers_of_any_size_arrive_whole() {
    let mut mysql = connect();
    for count in [0, 1, 2, 1000, 100_000] {
        let sql = format!(
            "SELECT seq, CONCAT('row ', seq) AS name FROM shop.seq_1_to_100000 WHERE seq <= {count}"
        );
        let (_, rows) = query(&mut mysql, &sql).unwrap();
        assert_eq!(rows.len(), count, "{count}");
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(row[0], Value::Uint64(index as u64 + 1));
        }
    }
}

#[test]
fn batches_keep_to_their_limits() {
    let mut mysql = connect();
    let sql = "SELECT REPEAT('x', 1000) FROM shop.seq_1_to_3000";
    let mut cursor = mysql.query(&Statement::new(sql)).unwrap();
    let columns = mysql.schema(&mut cursor).unwrap();
    let mut total = 0;
    for limits in [(10, 1 << 20), (1000, 10_000), (1, 1), (1000, 1)]
        .into_iter()
        .cycle()
    {
        let limits = BatchLimits {
            max_rows: limits.0,
            max_bytes: limits.1,
        };
        let Some(batch) = mysql.next(&mut cursor, limits).unwrap() else {
            break;
        };
        let rows = testing::rows(&batch, &columns).unwrap().len();
        let bytes = (limits.max_bytes as usize).max(1000);
        assert!(
            rows <= limits.max_rows as usize && rows * 1000 <= bytes,
            "{rows}"
        );
        total += rows;
    }
    assert_eq!(total, 3000);
    assert!(mysql.close(cursor).unwrap());
}

#[test]
fn a_cursor_may_be_closed_at_any_time() {
    let mut mysql = connect();
    for batches in [0, 1, 3] {
        let sql = "SELECT seq FROM shop.seq_1_to_100000000";
        let mut cursor = mysql.query(&Statement::new(sql)).unwrap();
        for _ in 0..batches {
            mysql.next(&mut cursor, LIMITS).unwrap();
        }
        assert!(mysql.close(cursor).unwrap());
        assert!(answers(&mut mysql));
    }
}

/// The second row takes for ever when the cursor is closed.
#[test]
fn closing_stops_what_still_runs() {
    let mut mysql = connect();
    // The server sends what it has once that is 16 KiB.
    let sql = "SELECT IF(seq > 40, SLEEP(60), REPEAT('x', 1000)) FROM shop.seq_1_to_80";
    let mut cursor = mysql.query(&Statement::new(sql)).unwrap();
    let limits = BatchLimits {
        max_rows: 10,
        ..LIMITS
    };
    assert!(mysql.next(&mut cursor, limits).unwrap().is_some());
    let since = Instant::now();
    assert!(mysql.close(cursor).unwrap());
    assert!(since.elapsed() < Duration::from_secs(30));
    assert!(answers(&mut mysql));
}

#[test]
fn errors_have_kind_and_code() {
    let mut mysql = connect();
    let server = Server::shared();
    server.sql(
        "CREATE TABLE IF NOT EXISTS shop.t (a int); CREATE SEQUENCE IF NOT EXISTS shop.counter",
    );
    for (sql, kind, code) in [
        ("SELEC 1", ErrorKind::InvalidStatement, "1064 (42000)"),
        (
            "SELECT nothing FROM shop.t",
            ErrorKind::InvalidStatement,
            "1054 (42S22)",
        ),
        (
            "SELECT * FROM shop.nothing",
            ErrorKind::InvalidStatement,
            "1146 (42S02)",
        ),
        (
            "SELECT 1; SELECT 2",
            ErrorKind::InvalidStatement,
            "1064 (42000)",
        ),
        (
            "INSERT INTO shop.t VALUES (1)",
            ErrorKind::InvalidStatement,
            "1792 (25006)",
        ),
        (
            "DROP TABLE shop.t",
            ErrorKind::InvalidStatement,
            "1792 (25006)",
        ),
        (
            "CREATE TABLE shop.u (a int)",
            ErrorKind::InvalidStatement,
            "1792 (25006)",
        ),
        (
            "SELECT NEXT VALUE FOR shop.counter",
            ErrorKind::InvalidStatement,
            "1792 (25006)",
        ),
        (
            "SELECT SETVAL(shop.counter, 9)",
            ErrorKind::InvalidStatement,
            "1792 (25006)",
        ),
        (
            "SELECT ST_GeomFromText('POINT(')",
            ErrorKind::InvalidStatement,
            "",
        ),
        ("", ErrorKind::InvalidStatement, "1065 (42000)"),
        ("SET @a = 1", ErrorKind::InvalidStatement, ""),
    ] {
        let Err(error) = query(&mut mysql, sql) else {
            // What is no error of MariaDB's.
            assert!(code.is_empty(), "{sql}");
            continue;
        };
        assert_eq!(
            (error.kind(), error.engine_code()),
            (kind, code),
            "{sql}: {error}"
        );
        assert!(
            error.is_connection_usable() && answers(&mut mysql),
            "after {sql}"
        );
    }
    assert_eq!(server.sql("SELECT COUNT(*) FROM shop.t"), "0");
    let reader = json!({"user": "reader", "password": "hunter2 reader"});
    let mut other = MySql::open(&data(reader)).unwrap();
    let refused = error(&mut other, "SELECT * FROM shop.t");
    assert_eq!(refused.kind(), ErrorKind::Permission);
}

#[test]
fn functions_cannot_write() {
    let server = Server::shared();
    server.sql("CREATE TABLE shop.log (a int) ENGINE = Aria");
    server.sql_as(
        &["--delimiter=//"],
        "CREATE FUNCTION shop.note() RETURNS int BEGIN INSERT INTO shop.log VALUES (1); RETURN 1; END",
    );
    let mut mysql = connect();
    let refused = error(&mut mysql, "SELECT shop.note()");
    assert_eq!(refused.engine_code(), "1792 (25006)");
    assert!(mysql.begin_snapshot(Duration::from_secs(9)).unwrap());
    let refused = error(&mut mysql, "SELECT shop.note()");
    assert_eq!(refused.engine_code(), "1792 (25006)");
    mysql.end_snapshot().unwrap();
    assert!(answers(&mut mysql));
    assert_eq!(server.sql("SELECT COUNT(*) FROM shop.log"), "0");
}

#[test]
fn a_statement_stops_at_its_timeout() {
    let mut mysql = connect();
    let statement = with_timeout("SELECT SLEEP(60)", Duration::from_millis(50));
    let stopped = run(&mut mysql, &statement).unwrap_err();
    assert_eq!(
        (stopped.kind(), stopped.engine_code()),
        (ErrorKind::Timeout, "1969 (70100)")
    );
    assert!(answers(&mut mysql));
}

#[test]
fn another_instance_cancels_a_statement() {
    for sslmode in ["disable", "require"] {
        let changes = json!({"sslmode": sslmode});
        let mut mysql = MySql::open(&data(changes.clone())).unwrap();
        let key = mysql.cancel_key().unwrap();
        let marker = format!("SELECT SLEEP(60) AS slept_{sslmode}");
        let canceller = std::thread::spawn({
            let count = format!(
                "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User sleep' AND INFO = '{marker}'"
            );
            move || {
                while Server::shared().sql(&count) == "0" {}
                MySql::cancel(&data(changes), &key)
            }
        });
        let stopped = error(&mut mysql, &marker);
        canceller.join().unwrap().unwrap();
        assert_eq!(
            (stopped.kind(), stopped.engine_code()),
            (ErrorKind::Cancelled, "1317 (70100)")
        );
        assert!(answers(&mut mysql));
    }
    assert!(MySql::cancel(&data(json!({})), b"no key").is_err());
    // A session that is gone runs nothing.
    assert!(MySql::cancel(&data(json!({})), &[1, 0x7f, 0, 0, 0]).is_ok());
}

/// Behind a load balancer the id of the session is another one's there.
#[test]
fn a_cancel_that_reaches_another_server_is_an_error() {
    let other = Server::start();
    let mut mysql = connect();
    let key = mysql.cancel_key().unwrap();
    let strayed = MySql::cancel(&data(json!({"port": other.port})), &key).unwrap_err();
    assert_eq!(strayed.kind(), ErrorKind::Upstream, "{strayed}");
    assert!(answers(&mut mysql));
}

#[test]
fn a_session_of_another_account_is_not_cancelled() {
    let mut mysql = connect();
    let key = mysql.cancel_key().unwrap();
    let reader = json!({"user": "reader", "password": "hunter2 reader"});
    let refused = MySql::cancel(&data(reader), &key).unwrap_err();
    assert_eq!(
        (refused.kind(), refused.engine_code()),
        (ErrorKind::Permission, "1095 (HY000)")
    );
    assert!(answers(&mut mysql));
}

#[test]
fn a_cancelled_call_stops_waiting() {
    let mut mysql = connect();
    stand_in::set_cancelled(true);
    let stopped = error(&mut mysql, "SELECT SLEEP(60)");
    stand_in::set_cancelled(false);
    assert_eq!(stopped.kind(), ErrorKind::Cancelled);
    assert!(!stopped.is_connection_usable());
    let mut mysql = connect();
    stand_in::set_remaining(Some(Duration::from_millis(100)));
    let stopped = error(&mut mysql, "SELECT SLEEP(60)");
    stand_in::set_remaining(None);
    assert_eq!(stopped.kind(), ErrorKind::Timeout);
}

#[test]
fn a_snapshot_sees_one_state() {
    let server = Server::shared();
    server.sql("CREATE TABLE shop.growing AS SELECT 1 AS a");
    let mut mysql = connect();
    let count = "SELECT COUNT(*) FROM shop.growing";
    assert!(mysql.begin_snapshot(Duration::from_secs(60)).unwrap());
    assert_eq!(query(&mut mysql, count).unwrap().1, [[Value::Int64(1)]]);
    server.sql("INSERT INTO shop.growing VALUES (2)");
    assert_eq!(query(&mut mysql, count).unwrap().1, [[Value::Int64(1)]]);
    // An error ends the statement alone.
    error(&mut mysql, "SELECT nothing");
    assert_eq!(query(&mut mysql, count).unwrap().1, [[Value::Int64(1)]]);
    mysql.end_snapshot().unwrap();
    assert_eq!(query(&mut mysql, count).unwrap().1, [[Value::Int64(2)]]);
}

#[test]
fn a_large_cell_is_an_error_and_a_large_row_is_not() {
    let mut mysql = connect();
    let limited = |sql: &str| Statement {
        max_cell_bytes: 1 << 20,
        ..Statement::new(sql)
    };
    let refused = run(&mut mysql, &limited("SELECT REPEAT('x', 1048577) AS large")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::TooLarge);
    assert!(refused.message().contains("`large`"), "{refused}");
    let sql = "SELECT REPEAT('x', 1048576), REPEAT('y', 1048576), REPEAT(X'00', 1048576) FROM shop.seq_1_to_5";
    assert_eq!(run(&mut mysql, &limited(sql)).unwrap().1.len(), 5);
    let refused = run(&mut mysql, &limited("SELECT REPEAT('x', 100000000)")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::TooLarge);
}

/// What is 16 MiB or longer comes in parts, of which the last may be empty.
#[test]
fn rows_in_several_packets_are_put_together() {
    let mut mysql = connect();
    // The length of the cell takes four or nine bytes.
    for size in [
        0xff_ffff - 5,
        0xff_ffff - 4,
        0xff_ffff,
        0x1ff_fffe - 9,
        40_000_000,
    ] {
        let statement = Statement {
            max_cell_bytes: 64 << 20,
            ..Statement::new(format!(
                "SELECT REPEAT('x', {size}), seq FROM shop.seq_1_to_2"
            ))
        };
        let (_, rows) = run(&mut mysql, &statement).unwrap();
        assert_eq!(rows.len(), 2);
        for row in rows {
            assert!(
                matches!(&row[0], Value::Text(text) if text.len() == size),
                "{size}"
            );
        }
    }
}

#[test]
fn a_server_that_dies_is_a_lost_connection() {
    let server = Server::start();
    let mut mysql = MySql::open(&data(json!({"port": server.port}))).unwrap();
    let sql = "SELECT seq FROM mysql.seq_1_to_100000000";
    let mut cursor = mysql.query(&Statement::new(sql)).unwrap();
    mysql.next(&mut cursor, LIMITS).unwrap();
    server.crash();
    let lost = loop {
        match mysql.next(&mut cursor, LIMITS) {
            Ok(batch) => assert!(batch.is_some()),
            Err(error) => break error,
        }
    };
    assert_eq!(lost.kind(), ErrorKind::ConnectionLost);
    assert!(!lost.is_connection_usable());
    assert!(!mysql.close(cursor).unwrap_or(false));
}

#[test]
fn a_session_that_is_killed_is_a_lost_connection() {
    let mut mysql = connect();
    let (_, rows) = query(&mut mysql, "SELECT CONNECTION_ID()").unwrap();
    let Value::Int64(id) = rows[0][0] else {
        panic!("{rows:?} is no id");
    };
    Server::shared().sql(&format!("KILL {id}"));
    let lost = error(&mut mysql, "SELECT 1");
    assert_eq!(lost.kind(), ErrorKind::ConnectionLost, "{lost}");
    assert!(!lost.is_connection_usable());
}

/// The host repeats a call that is a lost connection, and a killed statement must not run again.
#[test]
fn a_statement_whose_connection_is_killed_is_not_repeated() {
    let mut mysql = connect();
    // The second statement has the timeout of the first, so that nothing but a ping precedes it.
    let (_, rows) = query(&mut mysql, "SELECT CONNECTION_ID()").unwrap();
    let Value::Int64(id) = rows[0][0] else {
        panic!("{rows:?} is no id");
    };
    let killer = std::thread::spawn(move || {
        let running = format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND info LIKE '%SLEEP%'"
        );
        while Server::shared().sql(&running) == "0" {}
        Server::shared().sql(&format!("KILL {id}"));
    });
    let opened = mysql.query(&Statement::new("SELECT SLEEP(60)"));
    killer.join().unwrap();
    let killed = opened.err().unwrap();
    assert_eq!(killed.kind(), ErrorKind::Unreachable, "{killed}");
    assert!(!killed.is_connection_usable());
}
