//! An editor wants code of the editor's choice to serve a datasource whose password somebody else stored.

use mindhost_tests::{Builder, Host, Value, Version, build, json, served_by};

use crate::stores;

/// The text of a key of the workspace `default`.
async fn key(host: &Host, role: &str) -> String {
    let body = json!({"name": role, "role": role});
    let made = host.post("/keys", body).await.expect_status(201).json();
    made["key"].as_str().unwrap().to_owned()
}

/// A datasource of the hostile guest with a stored password.
async fn victim(host: &Host) {
    let data = json!({"password": "s3cret"});
    let body = json!({"name": "victim", "engine": "hostile", "connection_data": data});
    host.post("/datasources", body).await.expect_status(201);
}

fn pin(version: &Version) -> Value {
    json!({"plugin_digest": version.digest()})
}

#[tokio::test]
async fn an_editor_cannot_have_a_version_serve_that_never_served() {
    for host in stores::both_with(|host| host.plugin(build::guest("hostile"))).await {
        victim(&host).await;
        let new = Version::of_guest("hostile", "0.1.1");
        host.install(&new).await;
        for role in ["editor", "admin"] {
            let key = key(&host, role).await;
            let refused = host.patch("/datasources/victim", pin(&new)).key(&key).await;
            let refused = refused.expect_error(403, "forbidden");
            assert_eq!(refused["param"], "plugin_digest");
            // Not with the password either, and not for a datasource of the own.
            let mut with = pin(&new);
            with["connection_data"] = json!({"password": "s3cret"});
            let refused = host.patch("/datasources/victim", with.clone()).key(&key);
            refused.await.expect_error(403, "forbidden");
            with["name"] = json!("own");
            with["engine"] = json!("hostile");
            let refused = host.post("/datasources", with).key(&key).await;
            refused.expect_error(403, "forbidden");
        }
        let shown = host.get("/datasources/victim").await.json();
        assert_eq!(shown["plugin_digest"], Value::Null);
    }
}

#[tokio::test]
async fn another_version_is_another_destination() {
    for host in stores::both_with(|host| host.plugin(build::guest("hostile"))).await {
        victim(&host).await;
        let new = Version::of_guest("hostile", "0.1.1");
        host.install(&new).await;
        // An operator may choose any version, and has to know the password all the same.
        for unknown in [json!({}), json!({"password": "********"})] {
            let mut body = pin(&new);
            body["connection_data"] = unknown;
            let refused = host.patch("/datasources/victim", body).await;
            let refused = refused.expect_error(422, "secret_required");
            assert_eq!(refused["param"], "connection_data.password");
        }
        let refused = host.patch("/datasources/victim", pin(&new)).await;
        refused.expect_error(422, "secret_required");
        let mut body = pin(&new);
        body["connection_data"] = json!({"password": "s3cret"});
        let changed = host.patch("/datasources/victim", body).await;
        assert_eq!(
            changed.expect_status(200).json()["plugin_digest"],
            new.digest()
        );
        let noted = host.get("/audit?limit=1").await.json();
        let expected = format!("plugin_digest={}", new.digest());
        assert_eq!(noted["data"][0]["made"], json!(expected), "{noted}");
        // The way back is one too; what has no secret needs none.
        let unpin = json!({"plugin_digest": null});
        let refused = host.patch("/datasources/victim", unpin.clone()).await;
        refused.expect_error(422, "secret_required");
        let same = json!({"plugin_digest": new.digest(), "description": "as before"});
        host.patch("/datasources/victim", same)
            .await
            .expect_status(200);
        let forgotten = json!({"plugin_digest": null, "connection_data": {"password": null}});
        host.patch("/datasources/victim", forgotten)
            .await
            .expect_status(200);
    }
}

#[tokio::test]
async fn an_editor_keeps_what_has_served_unless_it_was_taken_back() {
    let with = |host: Builder| {
        let host = host.plugin(build::guest("memory"));
        host.env("MINDHOST_ROLLOUTS__PROBATION", "0s")
    };
    for host in stores::both_with(with).await {
        let mind = host.memory("numbers", 3).await;
        let editor = key(&host, "editor").await;
        let [first, second, third] = ["0.1.0", "0.1.1", "0.1.2"].map(Version::of);
        host.activate(&second).await;
        host.activate(&third).await;
        host.rolled_back("guest-memory").await;
        host.restart().await;
        for served in [&first, &second] {
            let kept = host.patch("/datasources/numbers", pin(served)).key(&editor);
            kept.await.expect_status(200);
            let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
            assert_eq!(served_by(&reply), served.digest());
        }
        let refused = host.patch("/datasources/numbers", pin(&third)).key(&editor);
        refused.await.expect_error(403, "forbidden");
        // The operator may, and a version that is activated again has not been taken back any more.
        host.patch("/datasources/numbers", pin(&third))
            .await
            .expect_status(200);
        host.patch("/datasources/numbers", pin(&first))
            .await
            .expect_status(200);
        host.activated(json!({"version": third.digest()})).await;
        let kept = host.patch("/datasources/numbers", pin(&third)).key(&editor);
        kept.await.expect_status(200);
    }
}

#[tokio::test]
async fn an_editor_keeps_no_version_on_probation() {
    let with = |host: Builder| {
        let host = host.plugin(build::guest("memory"));
        host.env("MINDHOST_ROLLOUTS__PROBATION", "1h")
    };
    for host in stores::both_with(with).await {
        host.memory("numbers", 3).await;
        let editor = key(&host, "editor").await;
        let [second, third] = ["0.1.1", "0.1.2"].map(Version::of);
        let rollout = host.activate(&second).await;
        assert_eq!(rollout["stage"], "probation", "{rollout}");
        let keep = || {
            host.patch("/datasources/numbers", pin(&second))
                .key(&editor)
        };
        keep().await.expect_error(403, "forbidden");
        // The next version ends the probation well.
        host.activate(&third).await;
        keep().await.expect_status(200);
    }
}

#[tokio::test]
async fn a_version_is_tried_before_it_is_kept() {
    let host = Host::builder().plugin(build::guest("memory")).start().await;
    host.memory("numbers", 3).await;
    let deaf = Version::of("0.1.1").that("refuse", 100);
    host.install(&deaf).await;
    let refused = host.patch("/datasources/numbers", pin(&deaf)).await;
    refused.expect_error(400, "connection_failed");
    let shown = host.get("/datasources/numbers").await.json();
    assert_eq!(shown["plugin_digest"], Value::Null);
}

#[tokio::test]
async fn version_that_rests_is_not_called_by_pinning_it() {
    let host = Host::builder()
        .plugin(build::guest("hostile"))
        .env("MINDHOST_PLUGINS__FAULTS__BUDGET", "1")
        .env("MINDHOST_PLUGINS__FAULTS__BACKOFF", "1h")
        .env("MINDHOST_PLUGINS__FAULTS__MAX_BACKOFF", "1h")
        .start()
        .await;
    let editor = key(&host, "editor").await;
    let body = json!({"name": "bad", "engine": "hostile", "connection_data": {"mode": "trap", "at": "check"}});
    let made = host.post("/datasources?check_connection=false", body.clone());
    made.await.expect_status(201);
    let checked = host.get("/datasources/bad?check_connection=true").await;
    checked.expect_status(200);
    let mut other = json!({"name": "other", "engine": "hostile", "connection_data": {}});
    let refused = host.post("/datasources", other.clone()).await;
    refused.expect_error(503, "plugin_suspended");
    other["plugin_digest"] = host.active("guest-hostile").await;
    let refused = host.post("/datasources", other).key(&editor).await;
    refused.expect_error(503, "plugin_suspended");
}
