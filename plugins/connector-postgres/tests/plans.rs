//! Statements that come again are kept prepared: nobody may notice but by the clock.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests")]

mod support;

use std::time::Duration;

use connector_postgres::Postgres;
use mindhost_sdk::{Connector, DataType, ErrorKind, Statement, Value};
use serde_json::json;
use support::{LIMITS, Server, connect, data, error, query, run};

/// How many statements the server keeps for this connection. The text is new each time, so that it is not kept.
fn kept(postgres: &mut Postgres) -> i64 {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let sql = format!("SELECT count(*), {number} FROM pg_catalog.pg_prepared_statements");
    integer(&query(postgres, &sql).unwrap().1)
}

fn integer(rows: &[Vec<Value>]) -> i64 {
    match rows[0][0] {
        Value::Int64(number) => number,
        ref other => panic!("{other:?}"),
    }
}

/// Often enough that the statement is kept and used.
fn warm(postgres: &mut Postgres, sql: &str) {
    for _ in 0..3 {
        query(postgres, sql).unwrap();
    }
}

#[test]
fn a_statement_that_comes_again_is_kept() {
    let mut postgres = connect();
    let sql = "SELECT 7 AS number, 'x'::text AS text, NULL::numeric(4,1) AS nothing";
    let first = query(&mut postgres, sql).unwrap();
    assert_eq!(kept(&mut postgres), 0, "it may never come again");
    for _ in 0..5 {
        assert_eq!(query(&mut postgres, sql).unwrap(), first);
    }
    assert_eq!(kept(&mut postgres), 1);
    // In a snapshot too, as its first statement and as another.
    assert!(postgres.begin_snapshot(Duration::from_secs(9)).unwrap());
    for _ in 0..2 {
        assert_eq!(query(&mut postgres, sql).unwrap(), first);
    }
    postgres.end_snapshot().unwrap();
    assert_eq!(query(&mut postgres, sql).unwrap(), first);
}

/// More seems to come after the first portion, so it is asked for anew in the binary format; and then it was all.
#[test]
fn an_answer_of_one_full_portion_is_read_as_it_comes() {
    let mut postgres = connect();
    let sql = "SELECT i, i / 2.0::float8 AS half, decode(lpad(to_hex(i), 4, '0'), 'hex') AS bytes,
        date '2024-01-01' + i AS day FROM generate_series(1, 1024) i";
    let first = query(&mut postgres, sql).unwrap();
    assert_eq!(first.1.len(), 1024);
    assert_eq!(first.1[1][1], Value::Float64(1.0));
    for _ in 0..4 {
        assert_eq!(query(&mut postgres, sql).unwrap(), first);
    }
    assert_eq!(kept(&mut postgres), 1);
    assert!(postgres.begin_snapshot(Duration::from_secs(60)).unwrap());
    for _ in 0..4 {
        assert_eq!(query(&mut postgres, sql).unwrap(), first);
    }
    postgres.end_snapshot().unwrap();
}

#[test]
fn thousands_of_statements_leave_few() {
    let mut postgres = connect();
    for number in 0..1500 {
        let sql = format!("SELECT {number} AS number");
        warm(&mut postgres, &sql);
    }
    assert!(kept(&mut postgres) <= 33);
    let long = format!("SELECT '{}' AS text", "x".repeat(5000));
    let before = kept(&mut postgres);
    warm(&mut postgres, &long);
    assert_eq!(kept(&mut postgres), before);
}

#[test]
fn large_answers_are_not_kept_and_stay_whole() {
    let server = Server::shared();
    server.psql("CREATE TABLE public.swelling AS SELECT 1 AS i, now() AS at");
    let mut postgres = connect();
    let sql = "SELECT * FROM public.swelling";
    warm(&mut postgres, sql);
    assert_eq!(kept(&mut postgres), 1);
    server.psql("INSERT INTO public.swelling SELECT i, now() FROM generate_series(2, 50000) i");
    for snapshot in [false, true] {
        if snapshot {
            postgres.begin_snapshot(Duration::from_secs(60)).unwrap();
        }
        assert_eq!(query(&mut postgres, sql).unwrap().1.len(), 50_000);
        postgres.end_snapshot().unwrap();
        assert_eq!(kept(&mut postgres), 0);
    }
    // Left in the middle, where all of it was asked for.
    server.psql("DELETE FROM public.swelling WHERE i > 1");
    warm(&mut postgres, sql);
    server.psql("INSERT INTO public.swelling SELECT i, now() FROM generate_series(2, 300000) i");
    let mut cursor = postgres.query(&Statement::new(sql)).unwrap();
    postgres.next(&mut cursor, LIMITS).unwrap();
    assert!(postgres.close(cursor).unwrap());
    assert_eq!(query(&mut postgres, sql).unwrap().1.len(), 300_000);
}

#[test]
fn columns_that_change_are_seen() {
    let server = Server::shared();
    server.psql("CREATE TABLE public.changing AS SELECT 1 AS a");
    let mut postgres = connect();
    let sql = "SELECT * FROM public.changing";
    for (change, columns, data_type) in [
        ("ALTER TABLE public.changing ADD b text", 2, DataType::Int64),
        (
            "ALTER TABLE public.changing ALTER a TYPE numeric",
            2,
            DataType::Decimal,
        ),
        (
            "DROP TABLE public.changing; CREATE TABLE public.changing AS SELECT 'x'::text AS a",
            1,
            DataType::Text,
        ),
    ] {
        for snapshot in [false, true] {
            warm(&mut postgres, sql);
            if snapshot {
                server.psql("ALTER TABLE public.changing RENAME a TO c");
                postgres.begin_snapshot(Duration::from_secs(60)).unwrap();
            } else {
                server.psql(change);
            }
            let (described, rows) = query(&mut postgres, sql).unwrap();
            let name = if snapshot { "c" } else { "a" };
            assert_eq!(described[0].name, name, "{change}");
            assert_eq!(
                (described.len(), described[0].data_type, rows.len()),
                (columns, data_type, 1)
            );
            postgres.end_snapshot().unwrap();
        }
        server.psql("ALTER TABLE public.changing RENAME c TO a");
    }
    assert!(kept(&mut postgres) <= 1, "the server forgot the others");
}

#[test]
fn a_table_that_is_gone_and_comes_back() {
    let server = Server::shared();
    server.psql("CREATE TABLE public.passing AS SELECT 1 AS a");
    let mut postgres = connect();
    let sql = "SELECT a FROM public.passing";
    warm(&mut postgres, sql);
    server.psql("DROP TABLE public.passing");
    for _ in 0..2 {
        let error = error(&mut postgres, sql);
        assert_eq!(
            (error.engine_code(), error.statement_position()),
            ("42P01", Some(15))
        );
    }
    server.psql("CREATE TABLE public.passing AS SELECT 2 AS a");
    assert_eq!(query(&mut postgres, sql).unwrap().1, [[Value::Int64(2)]]);
}

/// As behind a pool that gives the session to others.
#[test]
fn a_server_that_forgot_is_told_again() {
    let mut postgres = connect();
    for _ in 0..5 {
        for snapshot in [false, true] {
            warm(&mut postgres, "SELECT 5 AS five");
            // It has no columns, and does what it says all the same.
            assert_eq!(
                error(&mut postgres, "DEALLOCATE ALL").kind(),
                ErrorKind::InvalidStatement
            );
            if snapshot {
                postgres.begin_snapshot(Duration::from_secs(60)).unwrap();
            }
            let (_, rows) = query(&mut postgres, "SELECT 5 AS five").unwrap();
            assert_eq!(rows, [[Value::Int64(5)]]);
            postgres.end_snapshot().unwrap();
        }
    }
    warm(&mut postgres, "SELECT 5 AS five");
    assert_eq!(kept(&mut postgres), 0, "it gave up");
}

#[test]
fn errors_inside_end_the_transaction() {
    let server = Server::shared();
    server.psql("CREATE TABLE public.divisors AS SELECT 1 AS a");
    let mut postgres = connect();
    let sql = "SELECT 1 / a AS share FROM public.divisors";
    warm(&mut postgres, sql);
    server.psql("UPDATE public.divisors SET a = 0");
    for _ in 0..2 {
        let error = error(&mut postgres, sql);
        assert_eq!(error.engine_code(), "22012");
        assert!(error.is_connection_usable());
    }
    assert!(postgres.begin_snapshot(Duration::from_secs(60)).unwrap());
    assert_eq!(error(&mut postgres, sql).engine_code(), "22012");
    assert!(error(&mut postgres, sql).message().contains("snapshot"));
    postgres.end_snapshot().unwrap();
    server.psql("UPDATE public.divisors SET a = 1");
    assert_eq!(query(&mut postgres, sql).unwrap().1, [[Value::Int64(1)]]);
}

#[test]
fn a_kept_statement_stops_at_its_timeout_and_by_a_cancel() {
    let server = Server::shared();
    server.psql("CREATE TABLE public.naps AS SELECT 0.0::float8 AS s");
    let mut postgres = connect();
    let sql = "SELECT pg_sleep(s)::text AS nap FROM public.naps";
    warm(&mut postgres, sql);
    server.psql("UPDATE public.naps SET s = 60");
    let short = Statement {
        timeout: Duration::from_millis(50),
        ..Statement::new(sql)
    };
    assert_eq!(
        run(&mut postgres, &short).unwrap_err().kind(),
        ErrorKind::Timeout
    );
    let timeout = "SELECT current_setting('statement_timeout') AS now";
    let with = |seconds| Statement {
        timeout: Duration::from_secs(seconds),
        ..Statement::new(timeout)
    };
    for _ in 0..3 {
        for (seconds, set) in [(20, "20s"), (70, "70s")] {
            let (_, rows) = run(&mut postgres, &with(seconds)).unwrap();
            let Value::Text(now) = &rows[0][0] else {
                panic!("{rows:?}")
            };
            assert!(now.starts_with(&set[..1]), "{now}");
        }
    }
    let key = postgres.cancel_key().unwrap();
    let canceller = std::thread::spawn(move || {
        let active = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%naps%'";
        while Server::shared().psql(active) == "0" {}
        Postgres::cancel(&data(json!({})), &key)
    });
    let error = error(&mut postgres, sql);
    canceller.join().unwrap().unwrap();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(query(&mut postgres, "SELECT 1").unwrap().1.len(), 1);
}

/// Read-only, and nothing left behind: also where the end of the transaction travels with the statement.
#[test]
fn what_a_kept_statement_does_is_taken_back() {
    let server = Server::shared();
    let mut postgres = connect();
    warm(&mut postgres, "SELECT lo_from_bytea(0, 'abc')::text AS oid");
    warm(
        &mut postgres,
        "SELECT set_config('statement_timeout', '200', false) AS was",
    );
    warm(
        &mut postgres,
        "SELECT pg_advisory_xact_lock(77)::text AS held",
    );
    // Longer than that timeout, which the end of its transaction has to keep too on a machine that does much else.
    query(&mut postgres, "SELECT pg_sleep(0.5)::text").unwrap();
    assert_eq!(
        server.psql("SELECT count(*) FROM pg_largeobject_metadata"),
        "0"
    );
    assert_eq!(
        server.psql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 77"),
        "0"
    );
    let writes = "CREATE FUNCTION public.scribble() RETURNS int LANGUAGE plpgsql AS
        'BEGIN IF EXISTS (SELECT FROM public.armed) THEN DELETE FROM public.armed; END IF; RETURN 1; END'";
    server.psql(&format!("CREATE TABLE public.armed (a int); {writes}"));
    let sql = "SELECT public.scribble() AS a";
    warm(&mut postgres, sql);
    server.psql("INSERT INTO public.armed VALUES (1)");
    assert_eq!(error(&mut postgres, sql).engine_code(), "25006");
}

#[test]
fn a_snapshot_limits_how_long_it_is_left_alone_and_a_cursor_does_not() {
    let mut postgres = connect();
    let sql = "SELECT current_setting('idle_in_transaction_session_timeout') AS now";
    for _ in 0..3 {
        assert_eq!(
            query(&mut postgres, sql).unwrap().1,
            [[Value::Text("0".into())]]
        );
        postgres.begin_snapshot(Duration::from_secs(8)).unwrap();
        let (_, rows) = query(&mut postgres, sql).unwrap();
        assert_ne!(rows, [[Value::Text("0".into())]]);
        postgres.end_snapshot().unwrap();
    }
}
