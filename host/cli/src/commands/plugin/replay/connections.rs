//! Replays the calls of connections.

use std::{collections::BTreeMap, time::Duration};

use mindhost_plugin_api::{Connection, Connector, Dialect, Statement, StatisticsOptions, TableRef};
use mindhost_plugins::record::{self, Entry, Outcome};
use serde_json::Value as Json;
use sqlparser::{ast::Statement as Parsed, dialect, parser::Parser};

use super::ReplayRun;

/// Repeats the calls of each recorded connection, one connection after the other.
pub(super) async fn replay(
    connector: &dyn Connector,
    entries: &[Entry],
    again: &mut ReplayRun<'_>,
) {
    let mut connections: BTreeMap<u64, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        connections.entry(entry.on).or_default().push(entry);
    }
    for calls in connections.into_values() {
        connection(connector, &calls, again).await;
    }
}

async fn connection(connector: &dyn Connector, calls: &[&Entry], again: &mut ReplayRun<'_>) {
    let Some((open, mut calls)) = calls.split_first() else {
        return;
    };
    if is_elsewhere(connector, open, again) {
        again.found.lead_elsewhere();
        calls.iter().for_each(|_| again.found.pass_over());
        return again.found.pass_over();
    }
    let target = again.configured.target();
    let opened = connector.connect(&target, &again.call()).await;
    again.compare(open);
    let Ok(mut connection) = opened else {
        return;
    };
    while let Some((entry, rest)) = calls.split_first() {
        calls = rest;
        if entry.call == "query" {
            let of_cursor = |entry: &&&Entry| matches!(entry.call.as_str(), "next" | "close");
            let length = calls.iter().take_while(of_cursor).count();
            let (cursor, rest) = calls.split_at(length);
            calls = rest;
            query(&mut *connection, entry, cursor, again).await;
        } else if is_stopped(entry) {
            again.found.pass_over();
        } else {
            other(&mut *connection, entry, again).await;
            again.compare(entry);
        }
    }
    drop(connection);
    connector.forget(&target.id).await;
}

/// Whether a connection was opened to a target other than the configured one, or with refused credentials, which a
/// recording does not contain.
fn is_elsewhere(connector: &dyn Connector, open: &Entry, again: &ReplayRun<'_>) -> bool {
    let was_refused = matches!(&open.outcome, Outcome::Error(error) if error["reported"] == "auth");
    let data = &again.configured.config.connection_data;
    was_refused
        || open.call != "open"
        || open.arguments != record::shown(connector.manifest(), data)
}

/// Whether the host ended a call, which is not the plugin's doing.
fn is_stopped(entry: &Entry) -> bool {
    match &entry.outcome {
        Outcome::Ok(_) => false,
        Outcome::Error(error) => {
            error["code"] == "cancelled"
                || error["code"] == "timeout" && error["reported"].is_null()
        }
    }
}

async fn other(connection: &mut dyn Connection, entry: &Entry, again: &ReplayRun<'_>) {
    let call = again.call();
    let arguments = &entry.arguments;
    // The outcome of a call is on the tape.
    match entry.call.as_str() {
        "check" => drop(connection.check(&call).await),
        "tables" => drop(connection.tables(&call).await),
        "describe-tables" => {
            let tables: Vec<TableRef> =
                serde_json::from_value(arguments.clone()).unwrap_or_default();
            drop(connection.describe_tables(&tables, &call).await);
        }
        "statistics" => {
            let table = serde_json::from_value::<TableRef>(arguments["table"].clone());
            let columns = serde_json::from_value(arguments["columns"].clone());
            let options = StatisticsOptions {
                columns: columns.unwrap_or_default(),
                max_rows: arguments["max_rows"].as_u64().unwrap_or_default(),
                max_time: millis(&arguments["max_ms"]),
            };
            if let Ok(table) = table {
                drop(connection.statistics(&table, &options, &call).await);
            }
        }
        "begin-snapshot" => {
            let timeout = millis(&arguments["timeout_ms"]);
            drop(connection.begin_snapshot(timeout, &call).await);
        }
        "end-snapshot" => drop(connection.end_snapshot(&call).await),
        _ => {}
    }
}

/// Runs a statement and reads as many rows as the recording.
async fn query(
    connection: &mut dyn Connection,
    entry: &Entry,
    cursor: &[&Entry],
    again: &mut ReplayRun<'_>,
) {
    if is_stopped(entry) || cursor.iter().any(|entry| is_stopped(entry)) {
        again.found.pass_over();
        return cursor.iter().for_each(|_| again.found.pass_over());
    }
    let text = entry.arguments["text"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let has_order = has_order(&text, again.configured.package.manifest.dialect);
    let statement = Statement {
        text,
        id: uuid::Uuid::new_v4().to_string(),
        timeout: millis(&entry.arguments["timeout_ms"]),
    };
    let began = connection.query(&statement, &again.call()).await;
    again.compare(entry);
    if began.is_err() {
        return;
    }
    let reads: Vec<_> = cursor.iter().filter(|entry| entry.call == "next").collect();
    if let Some(last) = reads.last() {
        rows(connection, entry, last, reads.len(), has_order, again).await;
    }
    // The result of the close is not compared: an engine may drop a connection.
    let _ = connection.close(&again.call()).await;
    again.came();
}

/// Reads all rows, in batches of any size, and compares them as a whole.
async fn rows(
    connection: &mut dyn Connection,
    query: &Entry,
    last: &Entry,
    reads: usize,
    has_order: bool,
    again: &mut ReplayRun<'_>,
) {
    let max_rows = last.arguments["max_rows"].as_u64();
    let max_rows = max_rows
        .and_then(|rows| u32::try_from(rows).ok())
        .unwrap_or(u32::MAX);
    let reads_all = matches!(&last.outcome, Outcome::Ok(end) if !end["end"].is_null())
        || matches!(last.outcome, Outcome::Error(_));
    let mut count = 0;
    let now = loop {
        let batch = connection.next(max_rows, &again.call()).await;
        count += 1;
        let is_over = !matches!(batch, Ok(Some(_)));
        if is_over || !reads_all && count == reads {
            break again.came();
        }
    };
    let (Outcome::Ok(before), Some(Outcome::Ok(now))) =
        (&last.outcome, now.as_ref().map(|now| &now.outcome))
    else {
        if let Some(now) = now {
            again.found.compare(last, &now.outcome);
        }
        return;
    };
    // A result that was not read to its end stops at a batch boundary, which the plugin chooses.
    if !reads_all {
        return again.found.pass_over();
    }
    for (what, counts) in [("rows", true), ("unordered", true), ("ordered", has_order)] {
        if counts {
            let what_differs = match what {
                "rows" => "number of rows",
                "unordered" => "values of the rows",
                _ => "order of the rows",
            };
            again
                .found
                .same(query, what_differs, &before["end"][what], &now["end"][what]);
        }
    }
}

/// Whether a statement has an ORDER BY. False if it cannot be parsed.
fn has_order(text: &str, dialect: Option<Dialect>) -> bool {
    let grammar: &dyn dialect::Dialect = match dialect {
        Some(Dialect::Sqlite) => &dialect::SQLiteDialect {},
        Some(Dialect::Postgresql) => &dialect::PostgreSqlDialect {},
        Some(Dialect::Mysql) => &dialect::MySqlDialect {},
        Some(Dialect::Mssql) => &dialect::MsSqlDialect {},
        Some(Dialect::Clickhouse) => &dialect::ClickHouseDialect {},
        Some(Dialect::Trino | Dialect::Generic | Dialect::Datafusion) | None => {
            &dialect::GenericDialect {}
        }
    };
    let parsed = Parser::parse_sql(grammar, text).unwrap_or_default();
    matches!(parsed.as_slice(), [Parsed::Query(query)] if query.order_by.is_some())
}

fn millis(value: &Json) -> Duration {
    Duration::from_millis(value.as_u64().unwrap_or_default())
}
