//! Statements that mean more than they say, straight to a connector: its engine refuses them, and the plugin is not to
//! blame.

use std::path::PathBuf;

use mindhost_base::error::{Code, Error};
use mindhost_plugin_api::{Statement, Target};
use serde_json::json;

use crate::fixture::{Sandbox, settings, soon, statement, target};

/// The connector for SQLite as it is shipped, over an empty file.
async fn sqlite() -> (Sandbox, Target) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folder =
        std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("../../target"), PathBuf::from);
    let plugin =
        std::fs::read(folder.join("plugins/connector-sqlite.wasm")).expect("`just plugins`");
    let dir = tempfile::tempdir().unwrap();
    Sandbox::add(dir.path(), "sqlite", &plugin);
    let settings = mindhost_base::config::PluginSettings {
        max_memory_bytes: 512 << 20,
        ..settings()
    };
    let sandbox = Sandbox::load(dir, settings).await;
    // No bytes are a database without tables.
    std::fs::write(sandbox.dir.path().join("data/files/default/empty.db"), "").unwrap();
    let target = target(json!({"path": "empty.db"}));
    (sandbox, target)
}

async fn error_of(sandbox: &Sandbox, target: &Target, text: &str) -> Option<Error> {
    let call = soon();
    let connector = sandbox.registry.engine("sqlite").unwrap();
    let mut connection = connector.connect(target, &call).await.unwrap();
    let statement = Statement {
        text: text.to_owned(),
        ..statement()
    };
    match connection.query(&statement, &call).await {
        Err(error) => Some(error),
        Ok(_) => connection.next(10, &call).await.err(),
    }
}

/// So many names, each made of the one before.
fn chained(length: usize, next: &str) -> String {
    let name = |nth: usize| {
        let before = format!("c{}", nth - 1);
        format!(", c{nth} AS ({})", next.replace("before", &before))
    };
    let names: String = (1..length).map(name).collect();
    format!(
        "WITH c0 AS (SELECT 1 AS v, 'a' AS s){names} SELECT v FROM c{}",
        length - 1
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn statement_too_complex_for_sqlite_is_refused_and_no_fault_of_the_plugin() {
    let (sandbox, target) = sqlite().await;
    for text in [
        chained(700, "SELECT v, s FROM before"),
        chained(24, "SELECT x.v, x.s FROM before x, before y"),
        chained(24, "SELECT v, s || s AS s FROM before")
            .replace("SELECT v FROM c23", "SELECT s FROM c23"),
    ] {
        let error = error_of(&sandbox, &target, &text).await.expect(&text[..80]);
        let refusals = [Code::SqlInvalid, Code::ResultTooLarge];
        assert!(
            refusals.contains(&error.code()),
            "{error}: {}",
            &text[..120]
        );
    }
    // As deep as its own bounds allow.
    for text in [
        chained(490, "SELECT v, s FROM before"),
        chained(100, "SELECT v + 1 + 1 + 1 + 1 AS v, s FROM before"),
        format!("SELECT {} FROM (SELECT 1 AS v)", vec!["v"; 390].join(" + ")),
        vec!["SELECT 1 AS v"; 500].join(" UNION ALL "),
    ] {
        let error = error_of(&sandbox, &target, &text).await;
        assert!(error.is_none(), "{error:?}: {}", &text[..120]);
    }
}
