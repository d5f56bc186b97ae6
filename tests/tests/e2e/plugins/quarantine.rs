//! Plugins that keep failing.

use mindhost_tests::{Builder, Host, Reply, Value, Version, build, eventually, json, served_by};

use crate::metrics::Figures;

/// With the hostile guest, and no patience.
fn host() -> Builder {
    Host::builder()
        .plugin(build::guest("hostile"))
        .env("MINDHOST_PLUGINS__FAULTS__BUDGET", "2")
        .env("MINDHOST_PLUGINS__FAULTS__BACKOFF", "10ms")
        .env("MINDHOST_PLUGINS__FAULTS__QUARANTINE_AFTER", "2")
}

async fn hostile(host: &Host, name: &str, mode: &str) {
    let data = json!({"mode": mode, "at": "check"});
    let body = json!({"name": name, "engine": "hostile", "connection_data": data});
    let made = host.post("/datasources?check_connection=false", body).await;
    made.expect_status(201);
}

/// Tests the connection of a datasource.
async fn check(host: &Host, name: &str) -> Value {
    let path = format!("/datasources/{name}?check_connection=true");
    let reply = host.get(&path).await.expect_status(200).json();
    reply["connection_status"].clone()
}

/// Has a datasource fail until what comes of it has these words.
async fn fail_until(host: &Host, name: &str, words: &str) {
    let says = |status: &Value| {
        let message = status["error_message"].as_str();
        message.is_some_and(|message| message.contains(words))
    };
    eventually(async || check(host, name).await, says).await;
}

async fn health(host: &Host) -> Value {
    let usage = host.get("/plugins/guest-hostile/usage").await;
    usage.expect_status(200).json()["since_start"][0]["health"].clone()
}

async fn release(host: &Host) -> Reply {
    host.post("/plugins/guest-hostile/release", Value::Null)
        .await
}

#[tokio::test]
async fn a_version_that_serves_nobody_is_in_quarantine_until_it_is_released() {
    let host = host().start().await;
    hostile(&host, "bad", "trap").await;
    fail_until(&host, "bad", "quarantine").await;
    let report = health(&host).await;
    assert_eq!(report["status"], "quarantined");
    assert!(report["since"].is_string(), "{report}");
    assert!(
        report["reason"].as_str().unwrap().contains("panicked"),
        "{report}"
    );
    let figures = Figures::read(&host).await;
    let status = [("plugin", "guest-hostile"), ("status", "quarantined")];
    assert_eq!(figures.sum("mindhost_plugin_health", &status), 1.0);
    let plugin = [("plugin", "guest-hostile")];
    assert!(figures.sum("mindhost_plugin_refused_total", &plugin) >= 1.0);
    assert!(host.log().contains("in quarantine"));

    // The plugin itself says so too, with what it may do.
    let shown = host
        .get("/plugins/guest-hostile")
        .await
        .expect_status(200)
        .json();
    let health = &shown["versions"][0]["health"];
    assert_eq!(
        (&health["status"], &health["reason"]),
        (&report["status"], &report["reason"])
    );
    let rights = shown["versions"][0]["rights"].as_array().unwrap().iter();
    let names: Vec<_> = rights
        .map(|right| right["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"engine:hostile"), "{names:?}");
    assert_eq!(shown["connection_data"]["type"], "object", "{shown}");
    // An admin sees the own workspace alone; one that is limited to Minds sees nothing of it.
    let admin = async |minds: Value| {
        let body = json!({"name": "admin", "role": "admin", "minds": minds});
        let made = host.post("/keys", body).await.expect_status(201).json();
        let shown = host
            .get("/plugins/guest-hostile")
            .key(made["key"].as_str().unwrap())
            .await;
        shown.expect_status(200).json()["versions"][0].clone()
    };
    assert_eq!(admin(Value::Null).await["health"]["status"], "quarantined");
    assert_eq!(admin(json!([])).await.get("health"), None);

    // Another plugin does not notice.
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)").await;
    assert_eq!(check(&host, "shop").await["success"], true);

    // A new datasource is refused with the reason.
    let data = json!({"name": "new", "engine": "hostile", "connection_data": {}});
    let refused = host.post("/datasources", data.clone()).await;
    refused.expect_error(503, "plugin_suspended");
    assert!(refused.text().contains("quarantine"), "{}", refused.text());

    let released = release(&host).await.expect_status(200).json();
    assert_eq!(released["versions"][0]["was_in_trouble"], true);
    assert_eq!(released["versions"][0]["health"]["status"], "ok");
    host.post("/datasources", data).await.expect_status(201);
}

#[tokio::test]
async fn a_datasource_that_breaks_its_plugin_rests_alone() {
    let host = host()
        .env("MINDHOST_PLUGINS__FAULTS__BACKOFF", "1h")
        .env("MINDHOST_PLUGINS__FAULTS__MAX_BACKOFF", "1h")
        .start()
        .await;
    hostile(&host, "bad", "trap").await;
    hostile(&host, "good", "nothing").await;
    assert_eq!(check(&host, "good").await["success"], true);
    fail_until(&host, "bad", "is backed off").await;
    assert_eq!(check(&host, "good").await["success"], true);
    let report = health(&host).await;
    assert_eq!(report["status"], "ok");
    assert_eq!(report["targets"][0]["name"], "bad");

    // A change that fails wakes nothing.
    for _ in 0..3 {
        let worse = json!({"connection_data": {"mode": "trap", "at": "tables"}});
        let refused = host.patch("/datasources/bad", worse).await;
        refused.expect_error(502, "plugin_error");
        let status = check(&host, "bad").await;
        let message = status["error_message"].as_str().unwrap_or_default();
        assert!(message.contains("is backed off"), "{status}");
    }

    // What is changed is tried anew.
    let corrected = json!({"connection_data": {"mode": "nothing"}});
    host.patch("/datasources/bad", corrected)
        .await
        .expect_status(200);
    assert_eq!(check(&host, "bad").await["success"], true);
}

#[tokio::test]
async fn a_failure_says_which_version_it_was() {
    let host = Host::builder().plugin(build::guest("memory")).start().await;
    let mind = host.memory("numbers", 3).await;
    let bad = Version::of("0.1.1").that("trap", 100);
    host.install(&bad).await;
    let kept = json!({"plugin_digest": bad.digest()});
    let kept = host.patch("/datasources/numbers?check_connection=false", kept);
    kept.await.expect_status(200);
    let failed = mind.sql("SELECT n FROM numbers").await;
    failed.expect_error(502, "plugin_error");
    assert_eq!(served_by(&failed), bad.digest());
}
