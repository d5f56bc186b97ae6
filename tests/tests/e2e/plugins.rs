//! `/plugins`

mod authors;
mod canary;
mod commands;
mod dev;
mod first_start;
mod guide;
mod hosts;
mod languages;
mod museum;
mod new;
mod quarantine;
mod refused;
mod starts;
mod under_load;
mod usage;
mod watch;

use mindhost_tests::{Builder, Host, Value, Version, build, json, served_by};

use crate::stores;

/// A host that has the engine `memory` in its version 0.1.0.
async fn host() -> Host {
    let host = Host::builder().plugin(build::guest("memory"));
    host.start().await
}

/// On a busy machine what follows an activation outlasts the usual probation.
fn on_long_probation(host: Builder) -> Builder {
    host.plugin(build::guest("memory"))
        .env("MINDHOST_ROLLOUTS__PROBATION", "10m")
}

#[tokio::test]
async fn a_version_is_inspected_installed_activated_rolled_back_and_removed() {
    for host in stores::both_with(on_long_probation).await {
        let mind = host.memory("numbers", 3).await;
        let (old, new) = (Version::of("0.1.0"), Version::of("0.1.1"));
        let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
        assert_eq!(served_by(&reply), old.digest());

        let shown = host.upload(new.bytes()).query("dry_run", "true").await;
        let shown = shown.expect_status(200).json();
        assert_eq!(shown["digest"], new.digest());
        assert_eq!(shown["world"], "sql-connector");
        assert_eq!(shown["size"], new.bytes().len());
        assert_eq!(shown["signer"], Value::Null);
        assert_eq!(shown["manifest"]["engines"], json!(["memory"]));
        let nobody = host.get("/plugins/guest-memory").await.json();
        assert_eq!(nobody["versions"].as_array().unwrap().len(), 1, "{nobody}");

        host.install(&new).await;
        let rollout = host.activated(json!({})).await;
        assert_eq!(rollout["stage"], "probation", "{rollout}");
        assert_eq!(rollout["from"], old.digest());
        assert_eq!(rollout["checks"][0]["outcome"], "passed", "{rollout}");
        let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
        assert_eq!(served_by(&reply), new.digest());
        let plugin = host.get("/plugins/guest-memory").await.json();
        assert_eq!(plugin["active"], new.digest());
        for (version, cause) in [
            (
                "0.1.1",
                "has a rollout in progress; wait for its end, or abort it",
            ),
            ("0.1.0", "is what serves again if the rollout in progress"),
        ] {
            refused_to_remove(&host, version, cause).await;
        }

        // A restart never changes what is active, though its file is not in the plugins directory.
        host.restart().await;
        let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
        assert_eq!(served_by(&reply), new.digest());

        host.activated(json!({"version": "0.1.0"})).await;
        host.activated(json!({"version": "0.1.1"})).await;
        let back = host.post("/plugins/guest-memory/rollback", json!({})).await;
        let back = back.expect_status(200).json();
        assert_eq!(back["stage"], "rolled_back", "{back}");
        let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
        assert_eq!(served_by(&reply), old.digest());

        host.delete(&format!(
            "/plugins/guest-memory/versions/{}",
            &new.digest()[..12]
        ))
        .await
        .expect_status(204);
        let error = host.post(
            "/plugins/guest-memory/activate",
            json!({"version": "0.1.1"}),
        );
        error.await.expect_error(404, "plugin_not_found");
    }
}

/// Removing the version is 409 with this cause.
async fn refused_to_remove(host: &Host, version: &str, cause: &str) {
    let path = format!("/plugins/guest-memory/versions/{version}");
    let refused = host.delete(&path).await;
    let error = refused.expect_error(409, "resource_in_use");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(cause), "{message}");
}

#[tokio::test]
async fn going_back_after_the_end_of_a_rollout_needs_no_trial() {
    let host = Host::builder()
        .plugin(build::guest("memory"))
        .env("MINDHOST_ROLLOUTS__PROBATION", "0s")
        .start()
        .await;
    let mind = host.memory("numbers", 3).await;
    host.post("/plugins/guest-memory/rollback", json!({}))
        .await
        .expect_error(409, "wrong_state");
    let alone =
        "serves; no other version of it can be activated; install one and activate that first";
    refused_to_remove(&host, "0.1.0", alone).await;
    let rollout = host.activate(&Version::of("0.1.1")).await;
    assert_eq!(rollout["stage"], "completed", "{rollout}");
    let replaceable = "serves; activate another version first";
    refused_to_remove(&host, "0.1.1", replaceable).await;
    let back = host.post("/plugins/guest-memory/rollback", json!({})).await;
    assert_eq!(back.expect_status(200).json()["stage"], "completed");
    let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
    assert_eq!(served_by(&reply), Version::of("0.1.0").digest());
    // What serves again came before nothing.
    host.post("/plugins/guest-memory/rollback", json!({}))
        .await
        .expect_error(409, "wrong_state");
}

#[tokio::test]
async fn a_datasource_keeps_the_version_that_it_pins() {
    let host = host().await;
    let follows = host.memory("follows", 3).await;
    let keeps = host.memory("keeps", 3).await;
    let (old, new) = (Version::of("0.1.0"), Version::of("0.1.1"));
    let pin = json!({"plugin_digest": old.digest()});
    let changed = host.patch("/datasources/keeps", pin).await;
    assert_eq!(
        changed.expect_status(200).json()["plugin_digest"],
        old.digest()
    );
    host.activate(&new).await;
    let reply = follows
        .sql("SELECT n FROM numbers")
        .await
        .expect_status(200);
    assert_eq!(served_by(&reply), new.digest());
    let reply = keeps.sql("SELECT n FROM numbers").await.expect_status(200);
    assert_eq!(served_by(&reply), old.digest());

    refused_to_remove(&host, &old.digest(), "is pinned by a datasource").await;
    host.restart().await;
    let reply = keeps.sql("SELECT n FROM numbers").await.expect_status(200);
    assert_eq!(served_by(&reply), old.digest());
    let stranger = json!({"plugin_digest": "0".repeat(64)});
    host.patch("/datasources/keeps", stranger)
        .await
        .expect_error(400, "invalid_parameter");
    host.patch("/datasources/keeps", json!({"plugin_digest": null}))
        .await
        .expect_status(200);
    let reply = keeps.sql("SELECT n FROM numbers").await.expect_status(200);
    assert_eq!(served_by(&reply), new.digest());
}

#[tokio::test]
async fn an_answer_in_words_says_which_model_made_it() {
    let host = Host::start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER PRIMARY KEY)")
        .await;
    let mind = host.mind("clerk").datasource("shop").create().await;
    let reply = mind
        .ask("how many items are there?")
        .await
        .expect_status(200);
    let header = reply.headers["x-mindhost-plugins"].to_str().unwrap();
    assert!(header.contains("model-offline sha256="), "{header}");
    assert!(header.contains("sqlite sha256="), "{header}");
    let body = json!({"model": "clerk", "input": "how many?", "stream": true});
    let stream = host.post("/responses", body).open().await;
    let header = stream.headers()["x-mindhost-plugins"].to_str().unwrap();
    assert!(header.starts_with("model-offline sha256="), "{header}");
}
