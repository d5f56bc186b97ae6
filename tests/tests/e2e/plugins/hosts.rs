//! Several hosts of one store.

use mindhost_tests::{Host, Mind, Reply, Value, Version, build, eventually, json, served_by};
use reqwest::Method;

use crate::stores;

/// A host whose store others may share, and a Mind on it.
async fn first() -> (Host, Mind) {
    let [_, first] = stores::both_with(|host| host.plugin(build::guest("memory"))).await;
    let mind = first.memory("numbers", 3).await;
    (first, mind)
}

/// Asks the Mind on a host.
async fn ask(host: &Host, mind: &Mind) -> Reply {
    let tool = json!({"type": "sql_query", "query": "SELECT n FROM numbers"});
    let body = json!({"model": mind.name, "tools": [tool]});
    host.post("/responses", body).await
}

/// Asks until a version answers there.
async fn serves(host: &Host, mind: &Mind, version: &Version) {
    let served = async || served_by(&ask(host, mind).await);
    eventually(served, |digest| *digest == version.digest()).await;
}

async fn newest(host: &Host) -> Value {
    host.get("/plugins/guest-memory").await.json()["rollouts"][0].clone()
}

#[tokio::test]
async fn hosts_of_one_store_follow_each_other() {
    let (first, mind) = first().await;
    let second = first.beside().await;
    let new = Version::of("0.1.1");
    second.install(&new).await;
    first.activate(&new).await;
    serves(&second, &mind, &new).await;
    // One whose file is missing there changes nothing there, and is named in its log.
    let newer = Version::of("0.1.2");
    first.activate(&newer).await;
    eventually(async || second.log(), |log| log.contains(&newer.digest())).await;
    serves(&second, &mind, &new).await;
    second.install(&newer).await;
    serves(&second, &mind, &newer).await;
}

#[tokio::test]
async fn a_host_that_joins_without_the_file_changes_nothing() {
    let (first, mind) = first().await;
    let new = Version::of("0.1.1");
    first.activate(&new).await;
    // It has another version, and one engine less.
    let (other, less) = (first.beside().await, first.beside_without_plugins().await);
    for joined in [&other, &less] {
        assert!(joined.log().contains(&new.digest()), "{}", joined.log());
    }
    serves(&other, &mind, &Version::of("0.1.0")).await;
    let old = Version::of("0.1.0").digest();
    let missing = |instead: Value| json!([{"serves": "connector memory", "digest": new.digest(), "instead": instead}]);
    for (joined, instead) in [(&other, json!(old)), (&less, Value::Null)] {
        let ready = joined.request(Method::GET, "/readyz").without_key();
        let ready = ready.await.expect_status(200).json();
        assert_eq!(ready["missing"], missing(instead), "{ready}");
    }
    let plugin = other.get("/plugins/guest-memory").await.json();
    assert_eq!(plugin["active"], old, "{plugin}");
    assert_eq!(plugin["missing"], missing(json!(old)), "{plugin}");
    first.restart().await;
    serves(&first, &mind, &new).await;
    less.install(&new).await;
    serves(&less, &mind, &new).await;
}

#[tokio::test]
async fn one_rollout_runs_at_a_time_and_any_host_may_end_it() {
    let (first, mind) = first().await;
    let second = first.beside().await;
    let (bad, next) = (Version::of("0.1.1"), Version::of("0.1.2"));
    for host in [&first, &second] {
        host.install(&bad).await;
        host.install(&next).await;
    }
    let canary = json!({"version": bad.digest(), "canary": {"percent": 1.0, "seconds": 600}});
    let begun = first.post("/plugins/guest-memory/activate", canary);
    begun.await.expect_status(202);
    let body = json!({"version": next.digest()});
    let refused = second.post("/plugins/guest-memory/activate", body.clone());
    refused.await.expect_error(409, "rollout_active");
    let ended = second.rolled_back("guest-memory").await;
    assert_eq!(ended["stage"], "rolled_back", "{ended}");
    assert_eq!(ended["to"], bad.digest());
    // On probation there, it stays when the next one is activated here.
    first.activated(json!({"version": bad.digest()})).await;
    let rollout = second.activated(body).await;
    assert_eq!(rollout["stage"], "probation", "{rollout}");
    assert_eq!(rollout["from"], bad.digest());
    serves(&first, &mind, &next).await;
}

#[tokio::test]
async fn a_version_is_on_probation_on_every_host() {
    let probation = ("MINDHOST_ROLLOUTS__PROBATION", "10m");
    let [_, first] = stores::both_with(|host| {
        host.plugin(build::guest("memory"))
            .env(probation.0, probation.1)
    })
    .await;
    let mind = first.memory("numbers", 3).await;
    let second = first.beside().await;
    let bad = Version::of("0.1.1").that("trap", 100);
    second.install(&bad).await;
    first.activate(&bad).await;
    // Nobody asks the host of the rollout.
    let asked = async || {
        ask(&second, &mind).await.expect_status(200);
        newest(&first).await
    };
    let ended = eventually(asked, |rollout| rollout["ended_at"].is_string()).await;
    assert_eq!(ended["stage"], "rolled_back", "{ended}");
    serves(&first, &mind, &Version::of("0.1.0")).await;
    serves(&second, &mind, &Version::of("0.1.0")).await;
}

#[tokio::test]
async fn a_pin_holds_on_every_host() {
    let (first, mind) = first().await;
    let second = first.beside().await;
    let kept = Version::of("0.1.1");
    for host in [&first, &second] {
        host.install(&kept).await;
    }
    let pin = json!({"plugin_digest": kept.digest()});
    first
        .patch("/datasources/numbers", pin)
        .await
        .expect_status(200);
    serves(&second, &mind, &kept).await;
    let version = format!("/plugins/guest-memory/versions/{}", kept.digest());
    let third = first.beside().await;
    third.install(&kept).await;
    for host in [&second, &third] {
        host.delete(&version)
            .await
            .expect_error(409, "resource_in_use");
    }
    let unpin = json!({"plugin_digest": null});
    first
        .patch("/datasources/numbers", unpin)
        .await
        .expect_status(200);
    serves(&second, &mind, &Version::of("0.1.0")).await;
    second.delete(&version).await.expect_status(204);
}
