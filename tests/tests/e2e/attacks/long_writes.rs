//! Somebody keeps the one writer of SQLite busy, so that others cannot store anything.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use mindhost_tests::{Host, Value, eventually, json};

use crate::stores;

/// An engine with so many tables that their names are just below the longest body.
fn tables(count: usize) -> Value {
    let tables = (0..count).map(|n| (format!("t{n:05}"), json!({"columns": ["a"], "rows": []})));
    let tables: serde_json::Map<String, Value> = tables.collect();
    json!({"name": "wide", "engine": "memory", "connection_data": {"rows": 1, "tables": tables}})
}

/// An editor connects a database with very many tables. At the same time readers see no part of the list, and writers are
/// not refused.
#[tokio::test]
async fn a_long_list_of_tables_is_seen_whole_or_not_at_all() {
    const TABLES: usize = 5_000;
    let with_memory =
        |host: mindhost_tests::Builder| host.plugin(mindhost_tests::build::guest("memory"));
    for host in stores::both_with(with_memory).await {
        let listed = AtomicBool::new(false);
        let attack = async {
            let made = host.post("/datasources", tables(TABLES));
            made.patience(Duration::from_secs(300))
                .await
                .expect_status(201);
            listed.store(true, Ordering::SeqCst);
        };
        let writer = async {
            while !listed.load(Ordering::SeqCst) {
                let written = host.post("/conversations", json!({})).await;
                written.expect_status(200);
            }
        };
        let reader = async {
            let mut seen = Vec::new();
            while !listed.load(Ordering::SeqCst) {
                let catalog = host.get("/datasources/wide/catalog").await;
                match catalog.status {
                    // Not even the datasource is there.
                    404 => seen.push(0),
                    _ => {
                        let catalog = catalog.expect_status(200).json();
                        seen.push(catalog["tables"].as_array().unwrap().len());
                    }
                }
            }
            seen
        };
        let ((), (), seen) = tokio::join!(attack, writer, reader);
        assert!(seen.len() > 1, "it was written before anybody could look");
        for tables in seen {
            assert!(
                [0, TABLES + 1].contains(&tables),
                "a part of the list was seen: {tables}"
            );
        }
        let catalog = host.get("/datasources/wide/catalog").await.json();
        assert_eq!(catalog["tables"].as_array().unwrap().len(), TABLES + 1);
    }
}

/// Somebody locks the file of the store. Who writes hears when to come back, and what was done is in the audit trail.
#[tokio::test]
async fn a_locked_store_is_busy_and_loses_no_note() {
    let host = Host::builder().env("MINDHOST_STORE__ACQUIRE_TIMEOUT", "1s");
    let host = host.start().await;
    let lock = rusqlite::Connection::open(host.data_dir().join("mindhost.db")).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = host.post("/conversations", json!({})).await;
    refused.expect_error(503, "overloaded");
    assert_eq!(refused.header("retry-after"), "1");
    host.get("/conversations").await.expect_status(200);
    lock.execute_batch("ROLLBACK").unwrap();
    let noted = async || {
        let listed = host.get("/audit").await.expect_status(200).json();
        listed["data"][0].clone()
    };
    let is_there =
        |entry: &Value| entry["action"] == "POST /conversations" && entry["status"] == 503;
    eventually(noted, is_there).await;
}
