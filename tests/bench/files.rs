//! Scans of a Parquet file and of a CSV file, in the sandbox and by the same connector outside. Without SQL: that is
//! the host's on both sides.

use std::{path::Path, sync::Arc, time::Duration};

use connector_files::Files;
use mindhost_base::config::Config as Settings;
use mindhost_plugin_api::{
    Call, TableRef,
    scanner::{Scan, Scanner},
};
use mindhost_runtime::{package::Package, standalone::StandalonePlugin};
use mindhost_sdk::{Config, Scanner as Guest, scanner::ScanRequest};
use mindhost_tests::build;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    data,
    engines::{LIMITS, decoded_rows, target},
    pairs::{Bar, PAIRS, quartiles, report, seconds},
};

const COLUMNS: [&str; 8] = [
    "id", "customer", "amount", "price", "note", "placed", "ratio", "paid",
];

/// Runs all of it.
pub async fn run() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let from = root.join("facts.parquet");
    data::parquet(&from);
    for format in ["parquet", "csv"] {
        let folder = root.join(format);
        std::fs::create_dir(&folder).unwrap();
        let to = folder.join(format!("facts.{format}"));
        let copy = format!(
            "COPY (FROM '{}') TO '{}' (FORMAT {format})",
            from.display(),
            to.display()
        );
        data::duckdb(&copy);
        compare(format, &folder).await;
    }
}

async fn compare(format: &str, folder: &Path) {
    let package = build::plugins_dir().join("connector-files.wasm");
    let settings = Settings::defaults().unwrap().plugins.limits;
    let package = Package::read(&package, u64::MAX).unwrap_or_else(|error| panic!("{error}"));
    let plugin = StandalonePlugin::load(package, settings, vec![folder.to_owned()], None).await;
    let plugin = plugin.unwrap_or_else(|error| panic!("{error}"));
    let scanner = plugin.scanner.clone().unwrap();
    let mut pairs = Vec::new();
    for pair in 0..=PAIRS {
        let through = seconds(sandboxed(&*scanner, folder)).await;
        let folder = folder.to_owned();
        let direct = tokio::task::spawn_blocking(move || natively(&folder));
        let direct = seconds(direct).await;
        // The first pair warms everything up.
        if pair > 0 {
            pairs.push((through, direct));
        }
    }
    plugin.drain().await;
    let bar = Bar {
        name: &format!("scan 1M x 8, {format} file, sandbox/native"),
        aim: 1.3,
        bar: 1.5,
    };
    report(&bar, &pairs);
    let rate = data::ROWS as f64 / quartiles(pairs.iter().map(|pair| pair.0).collect())[1];
    println!(
        "{:<46} {:.2} M rows/s",
        format!("  scan through the sandbox, {format} file"),
        rate / 1e6
    );
}

async fn sandboxed(scanner: &dyn Scanner, folder: &Path) {
    let call = Call::new(Duration::from_secs(300), CancellationToken::new());
    let target = target("files", &json!({"path": folder}));
    let mut source = scanner.open(&target, &call).await.unwrap();
    let tables = source.tables(&call).await.unwrap();
    let [table]: [TableRef; 1] = tables.try_into().unwrap();
    let columns = source.columns(&table, &call).await.unwrap();
    assert!(columns.iter().map(|column| &column.name).eq(COLUMNS));
    let scan = Scan {
        table,
        columns: Arc::clone(&columns),
        filters: Vec::new(),
        limit: None,
        is_count: false,
        id: "bench".to_owned(),
    };
    let scan = source.scan(&scan, &call).await.unwrap();
    let mut seen = 0;
    while let Some(batch) = source.next(scan, LIMITS.max_rows, &call).await.unwrap() {
        seen += batch.rows() as u64;
    }
    source.close(scan, &call).await.unwrap();
    assert_eq!(seen, data::ROWS);
}

fn natively(folder: &Path) {
    let config = Config::from_json(json!({"path": folder}).to_string());
    let mut files = Files::open(&config).unwrap();
    let [table] = files.tables().unwrap().try_into().unwrap();
    files.columns(&table).unwrap();
    let mut scan = files.scan(&ScanRequest::new(table, &COLUMNS)).unwrap();
    let mut seen = 0;
    while let Some(batch) = files.next(&mut scan, LIMITS).unwrap() {
        seen += decoded_rows(batch);
    }
    files.close(scan).unwrap();
    assert_eq!(seen, data::ROWS);
}
