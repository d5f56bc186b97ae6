//! What must never take the place of a version that works.

use mindhost_tests::{Version, json, served_by};

use super::host;

#[tokio::test]
async fn a_file_that_is_no_good_plugin_is_refused_and_changes_nothing() {
    let host = host().await;
    let mind = host.memory("numbers", 3).await;
    let good = Version::of("0.1.1").bytes();
    let with = |old: &str, new: &str| {
        let mut version = Version::of("0.1.1");
        version.replace(old, new);
        version.bytes()
    };
    let refused = [
        (
            "no component at all",
            b"not wasm".to_vec(),
            "not a WebAssembly component",
        ),
        ("empty", Vec::new(), "not a WebAssembly component"),
        ("truncated", good[..good.len() / 2].to_vec(), ""),
        ("without its last byte", good[..good.len() - 1].to_vec(), ""),
        (
            "of another world",
            with("\"sql-connector\"", "\"sql-conneptor\""),
            "world",
        ),
        (
            "too new",
            with("\"wit\":\"0.1.0\"", "\"wit\":\"9.1.0\""),
            "WIT 9.1",
        ),
    ];
    for (what, bytes, words) in refused {
        let reply = host.upload(bytes).await;
        let error = reply.expect_error(400, "plugin_refused");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(words), "{what}: {message}");
    }
    let plugin = host.get("/plugins/guest-memory").await.json();
    assert_eq!(plugin["versions"].as_array().unwrap().len(), 1, "{plugin}");
    let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
    assert_eq!(served_by(&reply), Version::of("0.1.0").digest());
}

#[tokio::test]
async fn one_that_cannot_run_fails_before_it_serves() {
    let host = host().await;
    let mind = host.memory("numbers", 3).await;
    let old = Version::of("0.1.0");
    // It says of itself what its manifest does not.
    let mut liar = Version::of("0.1.1");
    liar.replace(
        "\"title\":\"Rows in memory\"",
        "\"title\":\"Rows in memorx\"",
    );
    // A bit of its code is another one: whatever that means, it is found out before anybody is served.
    let mut flipped = Version::of("0.1.2").bytes();
    let code = flipped
        .windows(4)
        .position(|bytes| bytes == b"\0asm")
        .unwrap();
    flipped[code + 40] ^= 1;
    for bytes in [liar.bytes(), flipped] {
        let digest = mindhost::plugins::package::digest(&bytes);
        let installed = host.upload(bytes).await;
        if installed.status == 400 {
            installed.expect_error(400, "plugin_refused");
            continue;
        }
        let rollout = host.activated(json!({"version": digest})).await;
        assert_eq!(rollout["stage"], "failed", "{rollout}");
        assert!(rollout["reason"].is_string(), "{rollout}");
        let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
        assert_eq!(served_by(&reply), old.digest());
    }
}

#[tokio::test]
async fn one_that_fails_with_a_datasource_that_works_does_not_serve() {
    let host = host().await;
    let mind = host.memory("numbers", 3).await;
    let old = Version::of("0.1.0");
    let broken = Version::of("0.1.1").that("refuse", 100);
    let rollout = host.activate(&broken).await;
    assert_eq!(rollout["stage"], "failed", "{rollout}");
    assert_eq!(rollout["checks"][0]["outcome"], "failed", "{rollout}");
    let reason = rollout["reason"].as_str().unwrap();
    assert!(reason.contains("default/numbers"), "{reason}");
    assert!(reason.contains("opens nothing"), "{reason}");
    let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
    assert_eq!(served_by(&reply), old.digest());

    // Where the active version fails too, the new one is not to blame.
    let forced = json!({"version": broken.digest(), "force": true});
    let rollout = host.activated(forced).await;
    assert_eq!(rollout["stage"], "probation", "{rollout}");
    let rollout = host
        .activate(&Version::of("0.1.2").that("refuse", 100))
        .await;
    assert_eq!(
        rollout["checks"][0]["outcome"], "failed_before",
        "{rollout}"
    );
    assert_eq!(rollout["stage"], "probation", "{rollout}");
}

#[tokio::test]
async fn where_signatures_are_required_nothing_runs_without_one() {
    use mindhost_tests::{Host, build};
    let host = Host::builder()
        .plugin(build::guest("memory"))
        .env("MINDHOST_PLUGINS__REQUIRE_SIGNATURE", "true")
        // Of a key that nobody has any more.
        .env(
            "MINDHOST_PLUGINS__TRUSTED_KEYS",
            "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3",
        )
        .start()
        .await;
    let engines = host.get("/engines").await.expect_status(200).json();
    assert_eq!(engines, json!([]));
    let error = host.upload(Version::of("0.1.1").bytes()).await;
    let error = error.expect_error(400, "plugin_refused");
    assert!(
        error["message"].as_str().unwrap().contains("not signed"),
        "{error}"
    );
    let error = host
        .upload(Version::of("0.1.1").bytes())
        .header("x-mindhost-signature", "bm8gc2lnbmF0dXJl")
        .await;
    error.expect_error(400, "plugin_refused");
}
