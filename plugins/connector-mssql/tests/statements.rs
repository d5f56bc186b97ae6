//! Statements: rows in batches, errors, limits, and ends before the end.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a panic is a failed test"
)]

mod support;

use std::time::{Duration, Instant};

use connector_mssql::Mssql;
use mindhost_sdk::{BatchLimits, Connector, ErrorKind, Statement, Value, control, testing};
use serde_json::json;
use support::{LIMITS, SLOW, connect, data, error, query, run, shop, value};

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn rows_come_with_their_columns() {
    let double = shop();
    let mut mssql = connect(&double);
    let (columns, rows) = query(
        &mut mssql,
        "SELECT id, name, price FROM dbo.item ORDER BY id",
    )
    .unwrap();
    let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["id", "name", "price"]);
    let natives: Vec<_> = columns
        .iter()
        .map(|column| column.native_type.as_str())
        .collect();
    assert_eq!(natives, ["int", "nvarchar(40)", "decimal(12,2)"]);
    assert_eq!(
        rows,
        [
            [
                Value::Int64(1),
                Value::Text("tea".into()),
                Value::Decimal("2.50".into())
            ],
            [Value::Int64(2), Value::Text("salt".into()), Value::Null],
        ]
    );
    let (columns, rows) = query(&mut mssql, "SELECT id FROM dbo.item WHERE 1 = 0").unwrap();
    assert_eq!((columns.len(), rows.len()), (1, 0));
}

#[test]
fn many_rows_come_in_batches_whatever_the_encryption() {
    let double = shop();
    for mode in ["disable", "require"] {
        let mut mssql = Mssql::open(&data(&double, json!({"sslmode": mode}))).unwrap();
        let sql = "SELECT value, REPLICATE('x', 100) AS wide FROM GENERATE_SERIES(1, 100000)";
        let mut cursor = mssql.query(&Statement::new(sql)).unwrap();
        let columns = mssql.schema(&mut cursor).unwrap();
        let (mut rows, mut batches) = (0, 0);
        while let Some(batch) = mssql.next(&mut cursor, LIMITS).unwrap() {
            for row in testing::rows(&batch, &columns).unwrap() {
                rows += 1;
                assert_eq!(row[0], Value::Int64(rows));
            }
            batches += 1;
        }
        assert_eq!(rows, 100_000);
        assert!(batches > 10, "{batches}");
        assert!(mssql.close(cursor).unwrap());
    }
}

#[test]
fn every_statement_runs_in_a_transaction_that_is_rolled_back() {
    let double = shop();
    let mut mssql = connect(&double);
    value(&mut mssql, "SELECT 'it''s' AS quoted");
    let batch = double
        .asked()
        .into_iter()
        .find(|text| text.contains("sp_executesql"))
        .unwrap();
    assert!(
        batch.contains("BEGIN TRANSACTION EXECUTE sys.sp_executesql"),
        "{batch}"
    );
    assert!(batch.contains("N'SELECT ''it''''s'' AS quoted'"), "{batch}");
    assert!(
        batch.ends_with("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION"),
        "{batch}"
    );
}

/// `SET LOCK_TIMEOUT` outlives its batch, so one that does not set it would run with the limit of the one before.
#[test]
fn no_statement_waits_for_locks_with_the_limit_of_another() {
    let double = shop();
    let mut mssql = connect(&double);
    let brief = Statement {
        timeout: Duration::from_millis(2500),
        ..Statement::new("SELECT 1 AS brief")
    };
    run(&mut mssql, &brief).unwrap();
    mssql.check().unwrap();
    assert!(!mssql.tables().unwrap().is_empty());
    assert!(mssql.begin_snapshot(Duration::from_secs(60)).unwrap());
    value(&mut mssql, "SELECT 2 AS late");
    mssql.end_snapshot().unwrap();
    let asked = double.asked();
    assert!(asked.len() > 6, "{asked:?}");
    // What runs in `sp_executesql` is noted as a batch of its own.
    let within = ["SELECT 1 AS brief", "SELECT 2 AS late"];
    for batch in asked.iter().filter(|one| !within.contains(&one.as_str())) {
        let rest = batch.strip_prefix("SET LOCK_TIMEOUT ").unwrap();
        let (limit, rest) = rest.split_once(' ').unwrap();
        assert!(limit.parse::<u32>().unwrap() > 0, "{batch}");
        // A sign of life may be asked for within the time of the statement.
        if rest != "SELECT 1" {
            assert_eq!(limit == "2500", rest.contains("AS brief"), "{batch}");
        }
    }
}

#[test]
fn what_would_write_is_refused_and_changes_nothing() {
    let double = shop();
    let mut mssql = connect(&double);
    for sql in [
        "DELETE FROM dbo.item",
        "SELECT 1 DELETE FROM dbo.item",
        "SELECT 1 COMMIT DELETE FROM dbo.item",
        "SELECT 1; DELETE FROM dbo.item",
        "SELECT * INTO dbo.copy FROM dbo.item",
        "WITH a AS (SELECT 1 AS n) DELETE FROM dbo.item",
        "EXEC sp_executesql N'DELETE FROM dbo.item'",
    ] {
        assert_eq!(
            error(&mut mssql, sql).kind(),
            ErrorKind::InvalidStatement,
            "{sql}"
        );
    }
    assert_eq!(double.value("SELECT COUNT(*) FROM dbo.item"), "2");
    // Without a look at the statement the same text would have written: the double cuts batches as the server does.
    assert!(!double.asked().iter().any(|text| text.contains("DELETE")));
}

#[test]
fn errors_of_the_server_have_its_number_and_leave_the_connection_usable() {
    let double = shop();
    let mut mssql = connect(&double);
    for (sql, number) in [
        ("SELECT * FROM dbo.nowhere", "208"),
        ("SELECT absent FROM dbo.item", "207"),
        ("SELECT 1 +* 2 FORM", "102"),
        ("SELECT nosuch(1)", "195"),
    ] {
        let error = error(&mut mssql, sql);
        assert_eq!(error.kind(), ErrorKind::InvalidStatement, "{sql}: {error}");
        assert_eq!(error.engine_code(), number, "{sql}: {error}");
        assert!(error.is_connection_usable());
        assert_eq!(value(&mut mssql, "SELECT 7"), Value::Int64(7));
    }
}

#[test]
fn a_statement_beyond_its_timeout_is_stopped_in_the_server_and_the_connection_goes_on() {
    let double = shop();
    for mode in ["disable", "require"] {
        let mut mssql = Mssql::open(&data(&double, json!({"sslmode": mode}))).unwrap();
        let slow = Statement {
            timeout: Duration::from_millis(300),
            ..Statement::new(SLOW)
        };
        let error = run(&mut mssql, &slow).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        assert!(error.is_connection_usable(), "{error}");
        eventually("the server has stopped", || double.running() == 0);
        assert_eq!(value(&mut mssql, "SELECT 7"), Value::Int64(7));
    }
}

#[test]
fn a_cancelled_statement_is_stopped_in_the_server_by_an_attention() {
    let double = shop();
    let mut mssql = connect(&double);
    control::stand_in::set_remaining(Some(Duration::from_millis(300)));
    let error = run(&mut mssql, &Statement::new(SLOW)).unwrap_err();
    control::stand_in::set_remaining(None);
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(!error.is_connection_usable());
    // The connection is still open: it was the attention that ended it.
    eventually("the server has stopped", || double.running() == 0);
    drop(mssql);
}

#[test]
fn a_dropped_connection_ends_its_statement() {
    let double = shop();
    let (port, config) = (double.port(), data(&double, json!({"sslmode": "disable"})));
    let config = config.json().to_owned();
    assert!(port > 0);
    let runs = std::thread::spawn(move || {
        let mut mssql = Mssql::open(&mindhost_sdk::Config::from_json(config)).unwrap();
        control::stand_in::set_remaining(Some(Duration::from_millis(500)));
        run(&mut mssql, &Statement::new(SLOW)).map(drop)
    });
    assert!(runs.join().unwrap().is_err());
    eventually("the server has stopped", || double.running() == 0);
}

#[test]
fn a_cursor_that_is_closed_early_leaves_a_usable_connection() {
    let double = shop();
    let mut mssql = connect(&double);
    let sql = "SELECT value FROM GENERATE_SERIES(1, 100000000)";
    let mut cursor = mssql.query(&Statement::new(sql)).unwrap();
    let few = BatchLimits {
        max_rows: 10,
        max_bytes: 1 << 20,
    };
    assert!(mssql.next(&mut cursor, few).unwrap().is_some());
    assert!(mssql.close(cursor).unwrap());
    assert_eq!(value(&mut mssql, "SELECT 7"), Value::Int64(7));
    eventually("the server has stopped", || double.running() == 0);
}

#[test]
fn a_cell_above_the_limit_is_too_large_and_costs_only_the_statement() {
    let double = shop();
    let mut mssql = connect(&double);
    let statement = Statement {
        max_cell_bytes: 1000,
        ..Statement::new("SELECT REPLICATE('x', 1001) AS wide")
    };
    let error = run(&mut mssql, &statement).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    let statement = Statement {
        max_cell_bytes: 1000,
        ..Statement::new("SELECT REPLICATE('x', 1000) AS wide")
    };
    assert_eq!(run(&mut mssql, &statement).unwrap().1.len(), 1);
}

#[test]
fn a_snapshot_sees_one_state_and_survives_an_error() {
    let double = shop();
    let mut mssql = connect(&double);
    let count = "SELECT COUNT(*) FROM dbo.item";
    assert!(mssql.begin_snapshot(Duration::from_secs(60)).unwrap());
    assert_eq!(value(&mut mssql, count), Value::Int64(2));
    double.execute("INSERT INTO dbo.item VALUES (3, N'oil', NULL, NULL)");
    assert_eq!(value(&mut mssql, count), Value::Int64(2));
    assert!(query(&mut mssql, "SELECT * FROM dbo.nowhere").is_err());
    mssql.end_snapshot().unwrap();
    assert_eq!(value(&mut mssql, count), Value::Int64(3));
}

#[test]
fn where_the_database_has_no_snapshots_none_begins() {
    let options = tds_double::Options {
        no_snapshots: true,
        ..tds_double::Options::default()
    };
    let double = tds_double::Double::with(support::SHOP, options);
    let mut mssql = connect(&double);
    assert!(!mssql.begin_snapshot(Duration::from_secs(60)).unwrap());
    assert_eq!(value(&mut mssql, "SELECT 7"), Value::Int64(7));
}
