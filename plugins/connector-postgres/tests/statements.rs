//! How statements run: one flight, bounded portions, cancellation, timeouts, snapshots, and nothing left behind.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests")]

mod support;

use std::time::{Duration, Instant};

use connector_postgres::Postgres;
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

#[test]
fn answers_of_any_size_arrive_whole() {
    let mut postgres = connect();
    // Around the bounds of the first portion and of its half.
    for count in [0, 1, 512, 513, 514, 1023, 1024, 1025, 2048, 100_000] {
        let sql = format!("SELECT i, 'row ' || i AS name FROM generate_series(1, {count}) i");
        let (_, rows) = query(&mut postgres, &sql).unwrap();
        assert_eq!(rows.len(), count, "{count}");
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(row[0], Value::Int64(index as i64 + 1));
        }
    }
}

#[test]
fn batches_keep_to_their_limits() {
    let mut postgres = connect();
    let mut cursor = postgres
        .query(&Statement::new(
            "SELECT repeat('x', 1000) FROM generate_series(1, 3000)",
        ))
        .unwrap();
    let columns = postgres.schema(&mut cursor).unwrap();
    let mut total = 0;
    for limits in [(10, 1 << 20), (1000, 10_000), (1, 1), (1000, 1)]
        .into_iter()
        .cycle()
    {
        let limits = BatchLimits {
            max_rows: limits.0,
            max_bytes: limits.1,
        };
        let Some(batch) = postgres.next(&mut cursor, limits).unwrap() else {
            break;
        };
        let rows = testing::rows(&batch, &columns).unwrap().len();
        assert!(
            rows <= limits.max_rows as usize
                && rows * 1000 <= (limits.max_bytes as usize).max(1000),
            "{rows}"
        );
        total += rows;
    }
    assert_eq!(total, 3000);
    assert!(postgres.close(cursor).unwrap());
}

#[test]
fn a_cursor_may_be_closed_at_any_time() {
    let mut postgres = connect();
    for batches in [0, 1, 3] {
        let mut cursor = postgres
            .query(&Statement::new("SELECT generate_series(1, 10000000) AS i"))
            .unwrap();
        for _ in 0..batches {
            postgres.next(&mut cursor, LIMITS).unwrap();
        }
        assert!(postgres.close(cursor).unwrap());
        assert_eq!(
            query(&mut postgres, "SELECT 1").unwrap().1,
            [[Value::Int64(1)]]
        );
    }
}

/// The second row takes for ever, and its portion has been asked for when the cursor is closed.
#[test]
fn closing_stops_what_still_runs() {
    let mut postgres = connect();
    let sql = "SELECT CASE WHEN i > 1500 THEN pg_sleep(60)::text ELSE '' END FROM generate_series(1, 3000) i";
    let mut cursor = postgres.query(&Statement::new(sql)).unwrap();
    postgres
        .next(
            &mut cursor,
            BatchLimits {
                max_rows: 1000,
                ..LIMITS
            },
        )
        .unwrap();
    let since = Instant::now();
    assert!(postgres.close(cursor).unwrap());
    assert!(since.elapsed() < Duration::from_secs(30));
    assert_eq!(
        query(&mut postgres, "SELECT 1").unwrap().1,
        [[Value::Int64(1)]]
    );
}

#[test]
fn errors_have_kind_code_and_position() {
    let mut postgres = connect();
    Server::shared().psql("CREATE TABLE IF NOT EXISTS public.secret (a int); CREATE TABLE IF NOT EXISTS public.t (a int)");
    for (sql, kind, code, position) in [
        ("SELEC 1", ErrorKind::InvalidStatement, "42601", Some(1)),
        (
            "SELECT 'ü', nothing FROM public.t",
            ErrorKind::InvalidStatement,
            "42703",
            Some(13),
        ),
        (
            "SELECT * FROM public.nothing",
            ErrorKind::InvalidStatement,
            "42P01",
            Some(15),
        ),
        ("SELECT 1 / 0", ErrorKind::InvalidStatement, "22012", None),
        (
            "SELECT 1 / (i - 5000) FROM generate_series(1, 9000) i",
            ErrorKind::InvalidStatement,
            "22012",
            None,
        ),
        // After the next portion was asked for, whose answer is an error too.
        (
            "SELECT 1 / (i - 800) FROM generate_series(1, 9000) i",
            ErrorKind::InvalidStatement,
            "22012",
            None,
        ),
        (
            "SELECT 1; SELECT 2",
            ErrorKind::InvalidStatement,
            "42601",
            None,
        ),
        (
            "INSERT INTO public.t VALUES (1) RETURNING a",
            ErrorKind::InvalidStatement,
            "25006",
            None,
        ),
        (
            "SELECT * FROM public.t FOR UPDATE",
            ErrorKind::InvalidStatement,
            "25006",
            None,
        ),
        ("", ErrorKind::InvalidStatement, "", None),
        (
            "SET search_path TO public",
            ErrorKind::InvalidStatement,
            "",
            None,
        ),
        (
            "COPY public.t TO STDOUT",
            ErrorKind::InvalidStatement,
            "",
            None,
        ),
        (
            "SELECT FROM public.t",
            ErrorKind::InvalidStatement,
            "",
            None,
        ),
        ("SELECT '\0'", ErrorKind::InvalidStatement, "", None),
    ] {
        let error = error(&mut postgres, sql);
        assert_eq!(
            (
                error.kind(),
                error.engine_code(),
                error.statement_position()
            ),
            (kind, code, position),
            "{sql}"
        );
        if error.is_connection_usable() {
            assert_eq!(
                query(&mut postgres, "SELECT 1").unwrap().1,
                [[Value::Int64(1)]],
                "after {sql}"
            );
        } else {
            postgres = connect();
        }
    }
    let mut other = Postgres::open(&data(
        json!({"user": "password_user", "password": "hunter2 password"}),
    ))
    .unwrap();
    assert_eq!(
        error(&mut other, "SELECT * FROM public.secret").kind(),
        ErrorKind::Permission
    );
}

#[test]
fn what_functions_write_is_rolled_back() {
    let server = Server::shared();
    server.psql(
        "CREATE TABLE public.log (a int); CREATE FUNCTION public.write() RETURNS int LANGUAGE sql
        AS 'INSERT INTO public.log VALUES (1) RETURNING a'",
    );
    let mut postgres = connect();
    assert_eq!(
        error(&mut postgres, "SELECT public.write()").engine_code(),
        "25006"
    );
    // A read-only transaction lets this pass; only the rollback takes it back.
    query(&mut postgres, "SELECT lo_from_bytea(0, 'abc')").unwrap();
    assert!(postgres.begin_snapshot(Duration::from_secs(9)).unwrap());
    query(&mut postgres, "SELECT lo_from_bytea(0, 'abc')").unwrap();
    postgres.end_snapshot().unwrap();
    postgres.check().unwrap();
    assert_eq!(
        server.psql("SELECT count(*) FROM pg_largeobject_metadata"),
        "0"
    );
    assert_eq!(server.psql("SELECT count(*) FROM public.log"), "0");
}

#[test]
fn a_statement_stops_at_its_timeout() {
    let mut postgres = connect();
    let statement = with_timeout("SELECT pg_sleep(60)", Duration::from_millis(50));
    let error = run(&mut postgres, &statement).unwrap_err();
    assert_eq!(
        (error.kind(), error.engine_code()),
        (ErrorKind::Timeout, "57014")
    );
    assert_eq!(
        query(&mut postgres, "SELECT 1").unwrap().1,
        [[Value::Int64(1)]]
    );
}

/// The timeout is for each portion, so that a slow reader does not lose the answer.
#[test]
fn the_timeout_does_not_count_while_the_reader_pauses() {
    let mut postgres = connect();
    let timeout = Duration::from_secs(4);
    // In the list of columns it is not made whole before its first row.
    let statement = with_timeout("SELECT generate_series(1, 1000000) AS i", timeout);
    let mut cursor = postgres.query(&statement).unwrap();
    postgres.next(&mut cursor, LIMITS).unwrap();
    // The server's own clock tells when the time is up.
    Server::shared().psql("SELECT pg_sleep(5)");
    let mut batches = 0;
    while postgres.next(&mut cursor, LIMITS).unwrap().is_some() {
        batches += 1;
    }
    assert!(batches > 10);
    assert!(postgres.close(cursor).unwrap());
}

#[test]
fn another_instance_cancels_a_statement() {
    for sslmode in ["disable", "require"] {
        let changes = json!({"sslmode": sslmode});
        let mut postgres = Postgres::open(&data(changes.clone())).unwrap();
        let key = postgres.cancel_key().unwrap();
        let marker = format!("SELECT pg_sleep(60) AS {sslmode}");
        let canceller = std::thread::spawn({
            let marker = marker.clone();
            move || {
                wait_for(&format!(
                    "SELECT count(*) FROM pg_stat_activity WHERE query = '{marker}' AND wait_event = 'PgSleep'"
                ));
                Postgres::cancel(&data(changes), &key)
            }
        });
        let error = error(&mut postgres, &marker);
        canceller.join().unwrap().unwrap();
        assert_eq!(
            (error.kind(), error.engine_code()),
            (ErrorKind::Cancelled, "57014")
        );
    }
    assert!(Postgres::cancel(&data(json!({})), b"no key").is_err());
}

#[test]
fn a_cancelled_call_stops_waiting() {
    let mut postgres = connect();
    stand_in::set_cancelled(true);
    let error = error(&mut postgres, "SELECT pg_sleep(60)");
    stand_in::set_cancelled(false);
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(!error.is_connection_usable());
    let mut postgres = connect();
    stand_in::set_remaining(Some(Duration::from_millis(100)));
    let error = support::error(&mut postgres, "SELECT pg_sleep(60)");
    stand_in::set_remaining(None);
    assert_eq!(error.kind(), ErrorKind::Timeout);
}

#[test]
fn a_snapshot_sees_one_state() {
    let server = Server::shared();
    server.psql("CREATE TABLE public.growing AS SELECT 1 AS a");
    let mut postgres = connect();
    let count = "SELECT count(*) FROM public.growing";
    assert!(postgres.begin_snapshot(Duration::from_secs(60)).unwrap());
    assert_eq!(query(&mut postgres, count).unwrap().1, [[Value::Int64(1)]]);
    server.psql("INSERT INTO public.growing VALUES (2)");
    assert_eq!(query(&mut postgres, count).unwrap().1, [[Value::Int64(1)]]);
    postgres.end_snapshot().unwrap();
    assert_eq!(query(&mut postgres, count).unwrap().1, [[Value::Int64(2)]]);
}

/// A session that was idle is tried before the snapshot, while the host can still take another.
#[test]
fn a_dead_session_begins_no_snapshot() {
    let mut postgres = connect();
    let (_, rows) = query(&mut postgres, "SELECT pg_backend_pid()").unwrap();
    let pid = pid(&rows);
    Server::shared().psql(&format!(
        "SELECT pg_terminate_backend({pid}, 5000), pg_sleep(1.1)"
    ));
    let error = postgres
        .begin_snapshot(Duration::from_secs(60))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionLost);
}

#[test]
fn an_error_ends_the_snapshot_and_nothing_else() {
    let mut postgres = connect();
    assert!(postgres.begin_snapshot(Duration::from_secs(60)).unwrap());
    assert_eq!(error(&mut postgres, "SELECT 1 / 0").engine_code(), "22012");
    let error = error(&mut postgres, "SELECT 1");
    assert!(
        error.message().contains("snapshot") && error.is_connection_usable(),
        "{error}"
    );
    postgres.end_snapshot().unwrap();
    assert_eq!(
        query(&mut postgres, "SELECT 1").unwrap().1,
        [[Value::Int64(1)]]
    );
}

#[test]
fn a_large_cell_is_an_error_and_a_large_row_is_not() {
    let mut postgres = connect();
    let limited = |sql: &str| Statement {
        max_cell_bytes: 1 << 20,
        ..Statement::new(sql)
    };
    let error = run(
        &mut postgres,
        &limited("SELECT repeat('x', 1048577) AS large"),
    )
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.message().contains("`large`"), "{error}");
    let sql = "SELECT repeat('x', 1048576), repeat('y', 1048576), decode(repeat('00', 1048576), 'hex') FROM generate_series(1, 5)";
    assert_eq!(run(&mut postgres, &limited(sql)).unwrap().1.len(), 5);
    let huge = run(&mut postgres, &limited("SELECT repeat('x', 100000000)")).unwrap_err();
    assert_eq!(huge.kind(), ErrorKind::TooLarge);
}

#[test]
fn a_server_that_dies_is_a_lost_connection() {
    let server = Server::start();
    let mut postgres = Postgres::open(&data(json!({"port": server.port}))).unwrap();
    let mut cursor = postgres
        .query(&Statement::new(
            "SELECT i FROM generate_series(1, 10000000) i",
        ))
        .unwrap();
    postgres.next(&mut cursor, LIMITS).unwrap();
    server.crash();
    let error = loop {
        match postgres.next(&mut cursor, LIMITS) {
            Ok(batch) => assert!(batch.is_some()),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::ConnectionLost);
    assert!(!error.is_connection_usable());
    assert!(!postgres.close(cursor).unwrap_or(false));
}

#[test]
fn a_backend_that_is_terminated_is_a_lost_connection() {
    let mut postgres = connect();
    let (_, rows) = query(&mut postgres, "SELECT pg_backend_pid()").unwrap();
    let pid = pid(&rows);
    Server::shared().psql(&format!("SELECT pg_terminate_backend({pid}, 5000)"));
    let error = error(&mut postgres, "SELECT 1");
    assert_eq!(error.kind(), ErrorKind::ConnectionLost);
    assert!(!error.is_connection_usable());
}

fn pid(rows: &[Vec<Value>]) -> i64 {
    match rows[0][0] {
        Value::Int64(pid) => pid,
        ref other => panic!("{other:?} is no process"),
    }
}

/// Waits until a count is not zero.
fn wait_for(sql: &str) {
    while Server::shared().psql(sql) == "0" {}
}

/// The server quotes the text that is no number, whatever its length.
#[test]
fn an_error_of_any_length_keeps_its_code() {
    let mut postgres = connect();
    for megabytes in [2, 20, 100] {
        let sql = format!("SELECT repeat('x', {megabytes} * 1024 * 1024)::int");
        let error = error(&mut postgres, &sql);
        assert_eq!(error.kind(), ErrorKind::InvalidStatement, "{megabytes}");
        assert_eq!(error.engine_code(), "22P02");
        assert!(error.message().starts_with("invalid input syntax"));
        assert!(error.message().len() < 10_000);
        assert!(error.is_connection_usable());
    }
    let (_, rows) = query(&mut postgres, "SELECT 1").unwrap();
    assert_eq!(rows, [[Value::Int64(1)]]);
}

#[test]
fn an_error_that_comes_again_is_one_of_the_statement() {
    let mut postgres = connect();
    let server = Server::shared();
    server.psql("CREATE MATERIALIZED VIEW public.bare AS SELECT 1 AS a WITH NO DATA");
    for (sql, code, kind) in [
        ("SELECT chr(0)", "54000", ErrorKind::InvalidStatement),
        ("SELECT lpad('', 2000000000)", "54000", ErrorKind::TooLarge),
        (
            "SELECT * FROM public.bare",
            "55000",
            ErrorKind::InvalidStatement,
        ),
    ] {
        let error = error(&mut postgres, sql);
        assert_eq!((error.engine_code(), error.kind()), (code, kind), "{sql}");
        assert!(error.is_connection_usable());
    }
}
