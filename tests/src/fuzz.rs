//! A fuzzer that makes requests up from the OpenAPI document: `schemathesis`, unchanged, against a host of its own, since
//! it deletes whatever it can.

use std::{process::Stdio, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{process::Command, time::timeout};

use crate::{Host, build};

/// The fuzzer repeats itself with it.
const SEED: &str = "1";

/// How a run ended.
#[derive(Debug)]
pub struct Fuzzed {
    /// Requests that were checked.
    pub cases: u64,
    /// Whether nothing was found.
    pub is_clean: bool,
    /// What the fuzzer said.
    pub report: String,
}

/// Sends requests of all sorts, at most `examples` random ones to each operation besides those that the document
/// suggests and those in which one operation leads to another.
///
/// # Panics
/// When the fuzzer cannot be run or takes longer than `patience`.
pub async fn fuzz(examples: u32, patience: Duration) -> Fuzzed {
    let host = Host::builder()
        .env("MINDHOST_LIMITS__REQUESTS_PER_SECOND", "0")
        .start()
        .await;
    let folder = TempDir::new().expect("a folder");
    let known: String = known(&host)
        .await
        .iter()
        .map(|name| format!("\"{name}\"\n"))
        .collect();
    std::fs::write(folder.path().join("known.txt"), known).expect("a dictionary");
    for file in ["schemathesis.toml", "hooks.py"] {
        let ours = build::workspace_dir()
            .join("tests/clients/schemathesis")
            .join(file);
        std::fs::copy(ours, folder.path().join(file)).expect("the configuration");
    }
    let mut command = Command::new(build::schemathesis());
    command
        .current_dir(folder.path())
        .env("SCHEMATHESIS_HOOKS", "hooks")
        .arg("run")
        .arg(format!("{}/openapi.json", host.base_url()))
        .args(["--header", &format!("Authorization: Bearer {}", host.key())])
        .args(["--max-examples", &examples.to_string()])
        .args(["--seed", SEED, "--generation-database", "none"])
        .args(["--continue-on-failure", "--no-color", "--no-shrink"])
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = timeout(patience, command.output()).await;
    let output = output
        .expect("the fuzzer ends in time")
        .expect("the fuzzer runs");
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    Fuzzed {
        cases: cases(&report),
        is_clean: output.status.success(),
        report: report + &String::from_utf8_lossy(&output.stderr),
    }
}

/// `2904 generated, …`
fn cases(report: &str) -> u64 {
    let number = |line: &str| line.trim().split_once(" generated")?.0.parse().ok();
    report.lines().find_map(number).unwrap_or(0)
}

/// One of everything, named as in the examples of the document; the names and ids.
async fn known(host: &Host) -> Vec<String> {
    let sql = "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES (1, 'a'), (2, 'b');";
    host.sqlite("shop", sql).await.load().await;
    let sales = host.mind("sales").datasource("shop").direct_queries();
    let sales = sales.create().await;
    let made =
        async |path: &str, body: Value| host.post(path, body).await.expect_status(201).json();
    made(
        "/providers",
        json!({"name": "vendor", "plugin": "model-offline"}),
    )
    .await;
    made("/workspaces", json!({"name": "team"})).await;
    let key = made("/keys", json!({"name": "dashboard", "role": "user"})).await;
    let rows = sales
        .sql("SELECT id, name FROM item")
        .await
        .expect_status(200)
        .json();
    let words = sales
        .ask("How many items are there?")
        .await
        .expect_status(200)
        .json();
    let ids = [
        &key["id"],
        &rows["id"],
        &rows["conversation"]["id"],
        &rows["output"][0]["id"],
        &words["id"],
        &words["conversation"]["id"],
        &words["output"][0]["id"],
    ];
    let names = ["shop", "sales", "vendor", "team", "item", "name", "sqlite"];
    let ids = ids.iter().map(|id| id.as_str().expect("an id").to_owned());
    names.map(str::to_owned).into_iter().chain(ids).collect()
}
