//! A share of the calls first, and back when it goes badly.

use std::time::Duration;

use mindhost_tests::{Host, Mind, Version, build, eventually, eventually_within, json, served_by};

use super::host;

/// How the newest rollout stands.
async fn newest(host: &Host) -> mindhost_tests::Value {
    let plugin = host.get("/plugins/guest-memory").await.expect_status(200);
    plugin.json()["rollouts"][0].clone()
}

/// Asks until the newest rollout has ended; every answer must be right. Gives how often it asked.
async fn ask_until_it_ends(host: &Host, mind: &Mind) -> u32 {
    let mut asked = 0;
    let ask = async || {
        for _ in 0..20 {
            assert_eq!(mind.rows("SELECT n, name FROM numbers").await.len(), 3);
            asked += 1;
        }
        newest(host).await
    };
    let is_over = |rollout: &mindhost_tests::Value| rollout["ended_at"].is_string();
    eventually_within(Duration::from_secs(120), ask, is_over).await;
    asked
}

#[tokio::test]
async fn a_version_that_traps_now_and_then_goes_back_and_nobody_notices() {
    let host = host().await;
    let mind = host.memory("numbers", 3).await;
    let bad = Version::of("0.1.1").that("trap", 20);
    host.install(&bad).await;
    let body = json!({"version": bad.digest(), "canary": {"percent": 50.0, "seconds": 600}});
    host.post("/plugins/guest-memory/activate", body.clone())
        .await
        .expect_status(202);
    host.post("/plugins/guest-memory/activate", body)
        .await
        .expect_error(409, "rollout_active");
    let is_canary = |rollout: &mindhost_tests::Value| rollout["stage"] == "canary";
    eventually(async || newest(&host).await, is_canary).await;
    ask_until_it_ends(&host, &mind).await;
    let rollout = newest(&host).await;
    assert_eq!(rollout["stage"], "rolled_back", "{rollout}");
    let reason = rollout["reason"].as_str().unwrap();
    assert!(
        reason.contains("failed where the stable version did not"),
        "{reason}"
    );
    assert!(
        rollout["candidate"]["faults"].as_u64().unwrap() >= 3,
        "{rollout}"
    );
    let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
    assert_eq!(served_by(&reply), Version::of("0.1.0").digest());
}

#[tokio::test]
async fn one_that_turns_bad_after_the_switch_goes_back_by_itself() {
    let host = Host::builder()
        .plugin(build::guest("memory"))
        .env("MINDHOST_ROLLOUTS__PROBATION", "1m")
        .start()
        .await;
    let mind = host.memory("numbers", 3).await;
    // Its connections open and its tables are there: nothing is wrong with it until it is asked.
    let rollout = host.activate(&Version::of("0.1.1").that("trap", 100)).await;
    assert_eq!(rollout["stage"], "probation", "{rollout}");
    ask_until_it_ends(&host, &mind).await;
    let rollout = newest(&host).await;
    assert_eq!(rollout["stage"], "rolled_back", "{rollout}");
    let old = Version::of("0.1.0").digest();
    let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
    assert_eq!(served_by(&reply), old);
    host.restart().await;
    let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
    assert_eq!(served_by(&reply), old);
}

#[tokio::test]
async fn a_good_one_gets_its_share_and_then_all() {
    let host = Host::builder()
        .plugin(build::guest("memory"))
        .env("MINDHOST_ROLLOUTS__PROBATION", "0s")
        .start()
        .await;
    let mind = host.memory("numbers", 3).await;
    let (old, new) = (Version::of("0.1.0"), Version::of("0.1.1"));
    host.install(&new).await;
    let body = json!({"canary": {"percent": 25.0, "seconds": 20}});
    host.post("/plugins/guest-memory/activate", body)
        .await
        .expect_status(202);
    let is_canary = |rollout: &mindhost_tests::Value| rollout["stage"] == "canary";
    eventually(async || newest(&host).await, is_canary).await;
    let mut served = Vec::new();
    for _ in 0..8 {
        let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
        served.push(served_by(&reply));
    }
    let share = served.iter().filter(|digest| **digest == new.digest());
    assert_eq!(share.count(), 2, "{served:?}");
    assert!(served.contains(&old.digest()));
    let is_over = |rollout: &mindhost_tests::Value| rollout["ended_at"].is_string();
    let rollout = eventually(async || newest(&host).await, is_over).await;
    assert_eq!(rollout["stage"], "completed", "{rollout}");
    assert_eq!(rollout["candidate"]["faults"], 0, "{rollout}");
    let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
    assert_eq!(served_by(&reply), new.digest());
}

/// Eight that ask at the same time, until the newest rollout has ended; every answer must be right.
async fn load_until_it_ends(host: &Host, mind: &Mind) -> mindhost_tests::Value {
    let some = async || {
        for _ in 0..5 {
            assert_eq!(mind.rows("SELECT n, name FROM numbers").await.len(), 3);
        }
        newest(host).await
    };
    let is_over = |rollout: &mindhost_tests::Value| rollout["ended_at"].is_string();
    let ask = async || eventually_within(Duration::from_secs(300), some, is_over).await;
    tokio::join!(ask(), ask(), ask(), ask(), ask(), ask(), ask(), ask()).0
}

#[tokio::test]
async fn a_version_whose_every_statement_is_slow_goes_back() {
    let host = host().await;
    let mind = host.memory("numbers", 3).await;
    let slow = Version::of("0.1.1").that("slow", 999);
    host.install(&slow).await;
    // Its connections, its pages and its ends are as quick as ever.
    let body = json!({"version": slow.digest(), "canary": {"percent": 50.0, "seconds": 200}});
    host.post("/plugins/guest-memory/activate", body)
        .await
        .expect_status(202);
    let rollout = load_until_it_ends(&host, &mind).await;
    assert_eq!(rollout["stage"], "rolled_back", "{rollout}");
    let reason = rollout["reason"].as_str().unwrap();
    assert!(reason.contains("at the median"), "{reason}");
    let median = |side: &str| rollout[side]["median_ms"].as_f64().unwrap();
    assert!(median("candidate") >= 999.0, "{rollout}");
    assert!(median("stable") < 999.0, "{rollout}");
}

#[tokio::test]
async fn a_version_that_fails_one_statement_in_twenty_goes_back() {
    let host = host().await;
    let mind = host.memory("numbers", 3).await;
    let bad = Version::of("0.1.1").that("trap", 5);
    host.install(&bad).await;
    let body = json!({"version": bad.digest(), "canary": {"percent": 50.0, "seconds": 200}});
    host.post("/plugins/guest-memory/activate", body)
        .await
        .expect_status(202);
    let rollout = load_until_it_ends(&host, &mind).await;
    assert_eq!(rollout["stage"], "rolled_back", "{rollout}");
    let seen = |what: &str| rollout["candidate"][what].as_u64().unwrap();
    // As many as fail: a statement is one call, however often the plugin is asked for it.
    assert!(seen("faults") * 100 > seen("calls") * 2, "{rollout}");
}

#[tokio::test]
async fn two_plugins_for_one_engine_wait_for_each_other() {
    let host = host().await;
    let mut other = Version::of("0.1.2");
    other.replace("guest-memory", "guest-memoyy");
    let new = Version::of("0.1.1");
    host.install(&new).await;
    host.install(&other).await;
    let accept = json!(["engine:memory"]);
    let canary = json!({"canary": {"percent": 50.0, "seconds": 600}, "accept_rights": accept});
    host.post("/plugins/guest-memory/activate", canary.clone())
        .await
        .expect_status(202);
    let refused = host.post("/plugins/guest-memoyy/activate", canary).await;
    let error = refused.expect_error(409, "rollout_active");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("rollout of guest-memory "), "{message}");
    host.post("/plugins/guest-memory/rollback", json!({}))
        .await
        .expect_status(200);
    let accepted = json!({"accept_rights": accept});
    host.post("/plugins/guest-memoyy/activate?wait=200", accepted)
        .await
        .expect_status(202);
}

#[tokio::test]
async fn a_version_that_gives_other_rows_goes_back_before_anybody_sees_them() {
    let host = host().await;
    let mind = host.memory("numbers", 3).await;
    let wrong = Version::of("0.1.1").that("wrong", 1);
    host.install(&wrong).await;
    let shadow = json!({"shadow": true});
    host.patch("/datasources/numbers", shadow)
        .await
        .expect_status(200);
    // Hardly anybody is served by it, but every statement is compared.
    let body = json!({"version": wrong.digest(), "canary": {"percent": 0.01, "seconds": 600}});
    host.post("/plugins/guest-memory/activate", body)
        .await
        .expect_status(202);
    let is_canary = |rollout: &mindhost_tests::Value| rollout["stage"] == "canary";
    eventually(async || newest(&host).await, is_canary).await;
    // What depends on an order is not compared.
    mind.sql("SELECT row_number() OVER (ORDER BY n) FROM numbers")
        .await;
    assert_eq!(newest(&host).await["stage"], "canary");
    let is_over = |rollout: &mindhost_tests::Value| rollout["ended_at"].is_string();
    let asked = async || {
        assert_eq!(mind.rows("SELECT n FROM numbers").await[0][0], json!(0));
        newest(&host).await
    };
    let rollout = eventually(asked, is_over).await;
    assert_eq!(rollout["stage"], "rolled_back", "{rollout}");
    let reason = rollout["reason"].as_str().unwrap();
    assert!(reason.contains("3 rows with other values"), "{reason}");
}

#[tokio::test]
async fn what_a_canary_may_be_is_bounded() {
    let host = host().await;
    for canary in [
        json!({"percent": 0, "seconds": 60}),
        json!({"percent": 101, "seconds": 60}),
        json!({"percent": 5, "seconds": 0}),
    ] {
        let body = json!({"canary": canary});
        let reply = host.post("/plugins/guest-memory/activate", body).await;
        reply.expect_error(400, "invalid_parameter");
    }
    host.post("/plugins/guest-memory/activate", json!({}))
        .await
        .expect_error(409, "wrong_state");
    host.post("/plugins/nobody/activate", json!({}))
        .await
        .expect_error(404, "plugin_not_found");
}
