//! Decent guests: loading, choosing, pooling.

use std::path::Path;

use mindhost_base::error::Code;
use mindhost_plugin_api::{Batch, Value};
use mindhost_plugins::registry::{Active, Registry, Status};
use mindhost_runtime::package::pack;
use serde_json::json;

use crate::fixture::{
    Sandbox, check_fault, guest, only_row, registry, settings, soon, statement, target,
};

#[tokio::test(flavor = "multi_thread")]
async fn rows_come_through() {
    let sandbox = Sandbox::new().await;
    let mut connection = sandbox.connect(json!({}), &soon()).await.unwrap();
    match only_row(&mut *connection).await.unwrap() {
        Batch::Rows(rows) => assert_eq!(rows, [[Value::Int64(1)]]),
        Batch::Arrow(_) => panic!("the guest gives rows"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_batch_is_larger_than_asked_for() {
    let sandbox = Sandbox::new().await;
    let memory = sandbox.registry.engine("memory").unwrap();
    let target = target(json!({"rows": 25}));
    let mut connection = memory.connect(&target, &soon()).await.unwrap();
    let mut statement = statement();
    statement.text = String::from("SELECT * FROM \"main\".\"numbers\"");
    connection.query(&statement, &soon()).await.unwrap();
    let mut sizes = Vec::new();
    while let Some(batch) = connection.next(10, &soon()).await.unwrap() {
        sizes.push(batch.rows());
    }
    connection.close(&soon()).await.unwrap();
    assert_eq!(sizes, [10, 10, 5]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_broke_in_the_pool_is_replaced_once() {
    let sandbox = Sandbox::new().await;
    let hostile = sandbox.hostile();
    let target = target(json!({"mode": "lost-once", "at": "check"}));
    // The guest loses a connection at its second use, and a new connection works.
    let mut connection = hostile.connect(&target, &soon()).await.unwrap();
    connection.check(&soon()).await.unwrap();
    drop(connection);
    let mut pooled = hostile.connect(&target, &soon()).await.unwrap();
    pooled.check(&soon()).await.unwrap();
    // In use it is not replaced: what was delivered before would be lost.
    let error = pooled.check(&soon()).await.unwrap_err();
    assert_eq!(error.code(), Code::UpstreamUnreachable);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_configuration_gets_new_connections() {
    let sandbox = Sandbox::new().await;
    let memory = sandbox.registry.engine("memory").unwrap();
    let mut target = target(json!({"rows": 1}));
    drop(memory.connect(&target, &soon()).await.unwrap());
    target.connection_data = std::sync::Arc::new(json!({"rows": 2}).as_object().unwrap().clone());
    let mut connection = memory.connect(&target, &soon()).await.unwrap();
    let mut statement = statement();
    statement.text = String::from("SELECT * FROM numbers");
    connection.query(&statement, &soon()).await.unwrap();
    let batch = connection.next(10, &soon()).await.unwrap().unwrap();
    assert_eq!(batch.rows(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_file_is_reported_and_harms_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let (wasm, manifest) = guest("memory");
    let newer = manifest.replace("\"version\": \"0.1.0\"", "\"version\": \"0.2.0\"");
    let packed = pack(&wasm, &manifest).unwrap();
    Sandbox::add(dir.path(), "a-truncated", &packed[..packed.len() / 2]);
    Sandbox::add(dir.path(), "b-text", b"not wasm");
    Sandbox::add(dir.path(), "c-good", &packed);
    Sandbox::add(dir.path(), "d-differs", &pack(&wasm, &newer).unwrap());
    Sandbox::add(dir.path(), "e-same", &packed);
    let sandbox = Sandbox::load(dir, settings()).await;
    let status = |name: &str| {
        let named = |one: &&mindhost_plugins::registry::Installed| {
            let file = one.file.as_ref().unwrap();
            file.file_stem() == Path::new(name).file_stem()
        };
        let installed = sandbox.registry.installed();
        let found = installed.iter().find(named);
        found.unwrap().status.clone()
    };
    assert!(matches!(status("a-truncated"), Status::Refused(why) if why.contains("cut off")));
    assert!(matches!(status("b-text"), Status::Refused(why) if why.contains("not a WebAssembly")));
    assert_eq!(status("c-good"), Status::Active);
    assert!(matches!(status("d-differs"), Status::Refused(why) if why.contains("differently")));
    assert!(matches!(status("e-same"), Status::Inactive(_)));
    assert!(sandbox.registry.engine("memory").is_ok());
}

/// The guest `memory` as if it were of another version. What it says of itself is the manifest in its data.
fn version(number: &str) -> Vec<u8> {
    let (mut wasm, manifest) = guest("memory");
    let (old, new) = (
        "\"version\": \"0.1.0\"",
        format!("\"version\": \"{number}\""),
    );
    let at = wasm
        .windows(old.len())
        .position(|bytes| bytes == old.as_bytes())
        .unwrap();
    wasm[at..at + old.len()].copy_from_slice(new.as_bytes());
    pack(&wasm, &manifest.replace(old, &new)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_never_changes_what_is_active() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    let start = |active: Active| registry(dir.path(), &cache, settings(), active);
    let served = |registry: &Registry| {
        let memory = registry.engine("memory").unwrap();
        memory.manifest().version.clone()
    };
    Sandbox::add(dir.path(), "one", &version("0.1.0"));
    let first = start(Active::new()).await;
    assert_eq!(served(&first), "0.1.0");
    Sandbox::add(dir.path(), "two", &version("0.2.0"));
    let second = start(first.active()).await;
    assert_eq!(served(&second), "0.1.0");
    assert_eq!(second.active(), first.active());
    let status = &second.installed()[1].status;
    assert!(matches!(status, Status::Inactive(why) if why.contains("a start changes nothing")));
    // Where nothing served before, the highest version does; and so it is when the file is gone.
    assert_eq!(served(&start(Active::new()).await), "0.2.0");
    std::fs::remove_file(dir.path().join("plugins/one.wasm")).unwrap();
    assert_eq!(served(&start(second.active()).await), "0.2.0");
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_names_say_what_there_is() {
    let sandbox = Sandbox::new().await;
    let error = sandbox.registry.engine("oracle").err().unwrap();
    check_fault(&error, Code::EngineNotFound, "hostile, memory");
    let error = sandbox
        .registry
        .connector("oracle", None)
        .await
        .err()
        .unwrap();
    check_fault(&error, Code::NoPlugin, "hostile, memory");
}

#[tokio::test(flavor = "multi_thread")]
async fn compiled_code_that_was_tampered_with_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    let (wasm, manifest) = guest("memory");
    Sandbox::add(dir.path(), "memory", &pack(&wasm, &manifest).unwrap());
    let load = || async {
        let registry = registry(dir.path(), &cache, settings(), Active::new()).await;
        registry.engine("memory").map(drop)
    };
    load().await.unwrap();
    let file = std::fs::read_dir(&cache)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let good = std::fs::read(&file).unwrap();
    for at in [0, 40, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        std::fs::write(&file, &bad).unwrap();
        load().await.unwrap();
        assert_ne!(std::fs::read(&file).unwrap(), bad, "byte {at}");
    }
    std::fs::write(&file, b"").unwrap();
    load().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_file_gets_a_new_connection() {
    let sandbox = Sandbox::new().await;
    let target =
        target(json!({"mode": "size", "at": "check", "target": "/data/own.db", "path": "own.db"}));
    let hostile = sandbox.hostile();
    let mut before = hostile.connect(&target, &soon()).await.unwrap();
    assert_eq!(before.check(&soon()).await.unwrap().product, "3 bytes");
    drop(before);
    let file = sandbox.dir.path().join("data/files/default/own.db");
    std::fs::write(file.with_extension("new"), "longer").unwrap();
    std::fs::rename(file.with_extension("new"), &file).unwrap();
    let mut after = hostile.connect(&target, &soon()).await.unwrap();
    assert_eq!(after.check(&soon()).await.unwrap().product, "6 bytes");
}
