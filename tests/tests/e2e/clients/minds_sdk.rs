//! `minds-sdk` for Python, with a key made for it.

use mindhost_tests::{Host, build, json};
use tokio::process::Command;

use super::check;

#[tokio::test]
async fn datasources_and_minds() {
    let host = Host::start().await;
    host.write_sqlite("shop.db", "CREATE TABLE item (id INTEGER PRIMARY KEY)");
    let key = async |role: &str| {
        let body = json!({"name": role, "role": role, "compat": "minds-sdk"});
        let made = host.post("/keys", body).await.expect_status(201).json();
        made["key"].as_str().unwrap().to_owned()
    };
    let script = build::workspace_dir().join("tests/clients/minds_sdk/resources.py");
    let mut python = Command::new(build::python());
    python.arg(script).args([
        &host.url(),
        &key("editor").await,
        &key("user").await,
        "shop.db",
    ]);
    check(python).await;
}
