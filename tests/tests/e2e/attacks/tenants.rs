//! A tenant whose database lies and breaks its connector wants to take the connector from the others.

use mindhost_tests::{Builder, Host, Value, build, eventually, json};

/// With the hostile guest, and no patience.
fn host() -> Builder {
    Host::builder()
        .plugin(build::guest("hostile"))
        .env("MINDHOST_PLUGINS__FAULTS__BUDGET", "2")
        .env("MINDHOST_PLUGINS__FAULTS__BACKOFF", "10ms")
        .env("MINDHOST_PLUGINS__FAULTS__QUARANTINE_AFTER", "2")
}

/// A workspace with a datasource that breaks its plugin where it is asked, or nowhere.
struct Tenant {
    /// The text of its admin's key.
    admin: String,
}

impl Tenant {
    async fn new(host: &Host, name: &str, mode: &str) -> Self {
        let made = host.post("/workspaces", json!({"name": name})).await;
        made.expect_status(201);
        let keys = format!("/workspaces/{name}/keys");
        let key = json!({"name": "admin", "role": "admin"});
        let key = host.post(&keys, key).await.expect_status(201).json();
        let tenant = Self {
            admin: key["key"].as_str().unwrap().to_owned(),
        };
        let data = json!({"mode": mode, "at": "check"});
        let body = json!({"name": "base", "engine": "hostile", "connection_data": data});
        host.post("/datasources?check_connection=false", body)
            .key(&tenant.admin)
            .await
            .expect_status(201);
        tenant
    }

    /// Tests the connection of its datasource.
    async fn check(&self, host: &Host) -> Value {
        let tested = host.get("/datasources/base?check_connection=true");
        let tested = tested.key(&self.admin).await.expect_status(200).json();
        tested["connection_status"].clone()
    }

    /// Has its datasource fail until the version is in quarantine.
    async fn fail(&self, host: &Host) {
        let is_told = |status: &Value| status.to_string().contains("quarantine");
        eventually(async || self.check(host).await, is_told).await;
    }

    /// Has its datasource behave again.
    async fn repair(&self, host: &Host) {
        let body = json!({"connection_data": {"mode": "nothing"}});
        host.patch("/datasources/base?check_connection=false", body)
            .key(&self.admin)
            .await
            .expect_status(200);
    }

    async fn release(&self, host: &Host) -> Value {
        let released = host.post("/plugins/guest-hostile/release", Value::Null);
        let released = released.key(&self.admin).await;
        released.expect_status(200).json()
    }
}

async fn health(host: &Host) -> Value {
    let usage = host.get("/plugins/guest-hostile/usage").await;
    usage.expect_status(200).json()["since_start"][0]["health"].clone()
}

#[tokio::test]
async fn one_tenant_takes_the_plugin_from_nobody_else() {
    let host = host().start().await;
    let bad = Tenant::new(&host, "bad", "trap").await;
    let good = Tenant::new(&host, "good", "nothing").await;
    // No other workspace has used the version since the start, so no good use speaks for it.
    bad.fail(&host).await;
    assert_eq!(good.check(&host).await["success"], true);
    bad.fail(&host).await;
    let report = health(&host).await;
    assert_eq!(report["status"], "ok", "{report}");
    assert_eq!(report["workspaces"][0]["workspace"], "bad", "{report}");
    assert_eq!(report["workspaces"][0]["status"], "quarantined", "{report}");
    // Another datasource of theirs is not called either.
    let body = json!({"name": "new", "engine": "hostile", "connection_data": {}});
    let refused = host.post("/datasources", body).key(&bad.admin).await;
    let refused = refused.expect_error(503, "plugin_suspended");
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("for this workspace")
    );
}

#[tokio::test]
async fn an_admin_releases_the_own_workspace_alone() {
    let host = host().start().await;
    let one = Tenant::new(&host, "one", "trap").await;
    let other = Tenant::new(&host, "other", "trap").await;
    let good = Tenant::new(&host, "good", "nothing").await;
    one.fail(&host).await;
    assert_eq!(good.check(&host).await["success"], true);
    other.fail(&host).await;
    one.repair(&host).await;
    assert_ne!(one.check(&host).await["success"], true);
    let released = one.release(&host).await;
    assert_eq!(released["workspace"], "one");
    assert_eq!(
        released["versions"][0]["was_in_trouble"], true,
        "{released}"
    );
    assert!(!released.to_string().contains("other"), "{released}");
    assert_eq!(one.check(&host).await["success"], true);
    assert_ne!(other.check(&host).await["success"], true);
    // An editor cannot release it; an operator releases it for all workspaces.
    let body = json!({"name": "clerk", "role": "editor"});
    let editor = host.post("/keys", body).key(&one.admin).await;
    let editor = editor.expect_status(201).json();
    let refused = host.post("/plugins/guest-hostile/release", Value::Null);
    let refused = refused.key(editor["key"].as_str().unwrap()).await;
    refused.expect_error(403, "forbidden");
    let released = host
        .post("/plugins/guest-hostile/release", Value::Null)
        .await;
    let released = released.expect_status(200).json();
    assert_eq!(released["workspace"], Value::Null);
    other.repair(&host).await;
    assert_eq!(other.check(&host).await["success"], true);
}

#[tokio::test]
async fn a_version_that_fails_for_several_tenants_rests_for_all() {
    let host = host().env("MINDHOST_PLUGINS__FAULTS__BACKOFF", "1h");
    let host = host.env("MINDHOST_PLUGINS__FAULTS__MAX_BACKOFF", "1h");
    let host = host.start().await;
    let mut bad = Vec::new();
    for name in ["one", "two", "three"] {
        bad.push(Tenant::new(&host, name, "trap").await);
    }
    for tenant in &bad {
        for _ in 0..2 {
            tenant.check(&host).await;
        }
    }
    let report = health(&host).await;
    assert_eq!(report["status"], "backing_off", "{report}");
    let late = Tenant::new(&host, "late", "nothing").await;
    let refused = late.check(&host).await;
    assert_ne!(refused["success"], true, "{refused}");
    // What an admin releases is the own workspace; the version as a whole is the operator's.
    late.release(&host).await;
    assert_ne!(late.check(&host).await["success"], true);
}

#[tokio::test]
async fn what_a_database_does_is_no_fault_of_the_plugin() {
    let host = host().start().await;
    for mode in ["error", "auth", "unreachable", "cancelled"] {
        let tenant = Tenant::new(&host, mode, mode).await;
        for _ in 0..8 {
            let status = tenant.check(&host).await;
            assert_eq!(status["success"], false, "{status}");
        }
    }
    let report = health(&host).await;
    assert_eq!(report["status"], "ok", "{report}");
    assert_eq!(report["workspaces"], json!([]), "{report}");
    assert_eq!(report["targets"], json!([]), "{report}");
}
