//! What must never take the place of a version that works.

use std::path::Path;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use mindhost_tests::{Host, Value, Version, build, eventually, json, served_by};
use reqwest::Method;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

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
        let digest = mindhost_runtime::package::digest(&bytes);
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
    host.install(&broken).await;
    let begun = "/plugins/guest-memory/activate?wait=200";
    let begun = host.post(begun, json!({"version": broken.digest()})).await;
    let request = begun.header("x-request-id").to_owned();
    let rollout = begun.expect_status(202).json();
    assert_eq!(rollout["stage"], "failed", "{rollout}");
    // Also for those who look later, who find it in the log by this.
    let listed = host.get("/plugins/guest-memory").await.json()["rollouts"][0].clone();
    assert_eq!(
        (&listed["id"], &listed["request_id"]),
        (&rollout["id"], &json!(request))
    );
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

/// A key pair in a folder; gives its public key.
fn key(host: &Host, folder: &Path, name: &str) -> String {
    let file = folder.join(name);
    let args = ["plugin", "keygen", "--output", file.to_str().unwrap()];
    let output = host.command(&args).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    said.split('"').nth(1).unwrap().to_owned()
}

/// The signature of a version, as the header has it.
fn signature(host: &Host, folder: &Path, name: &str, version: &Version) -> String {
    let (file, key) = (version.write(folder), folder.join(name));
    let (file, key) = (file.to_str().unwrap(), key.to_str().unwrap());
    let sign = ["plugin", "sign", file, "--key", key];
    assert!(host.command(&sign).output().unwrap().status.success());
    let text = std::fs::read(format!("{file}.minisig")).unwrap();
    BASE64_STANDARD.encode(text)
}

#[tokio::test]
async fn a_trusted_signature_is_not_lost_by_sending_the_same_file_again() {
    let maker = host().await;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let trusted = key(&maker, folder, "ours");
    key(&maker, folder, "stranger");
    let host = Host::builder()
        .env("MINDHOST_PLUGINS__TRUSTED_KEYS", trusted)
        .start()
        .await;
    let new = Version::of("0.1.1");
    let signer = async || {
        let plugin = host.get("/plugins/guest-memory").await.json();
        plugin["versions"][0]["signer"].clone()
    };
    let [ours, stranger] = ["ours", "stranger"].map(|key| signature(&maker, folder, key, &new));
    for (signature, is_trusted) in [
        (Some(&stranger), false),
        (Some(&ours), true),
        (Some(&stranger), true),
        (None, true),
    ] {
        let mut upload = host.upload(new.bytes());
        if let Some(signature) = signature {
            upload = upload.header("x-mindhost-signature", signature);
        }
        let installed = upload.await.expect_status(201).json();
        assert_eq!(installed["signer"].is_string(), is_trusted, "{installed}");
        assert_eq!(signer().await.is_string(), is_trusted);
    }
    host.restart().await;
    assert!(signer().await.is_string());
}

#[tokio::test]
async fn a_version_on_its_way_is_not_removed() {
    let host = host().await;
    host.memory("numbers", 3).await;
    let new = Version::of("0.1.1");
    host.install(&new).await;
    host.post("/plugins/guest-memory/activate", json!({}))
        .await
        .expect_status(202);
    host.delete("/plugins/guest-memory/versions/0.1.1")
        .await
        .expect_error(409, "resource_in_use");
    // What ended is not in the way of anybody.
    host.post("/plugins/guest-memory/rollback", json!({}))
        .await
        .expect_status(200);
    host.delete("/plugins/guest-memory/versions/0.1.1")
        .await
        .expect_status(204);
}

#[tokio::test]
async fn a_wrong_wait_activates_nothing() {
    let host = host().await;
    host.install(&Version::of("0.1.1")).await;
    host.post("/plugins/guest-memory/activate?wait=999", json!({}))
        .await
        .expect_error(400, "invalid_parameter");
    let plugin = host.get("/plugins/guest-memory").await.json();
    assert_eq!(plugin["rollouts"], json!([]), "{plugin}");
}

#[tokio::test]
async fn a_datasource_that_could_not_be_stored_keeps_no_version() {
    let host = host().await;
    host.memory("numbers", 3).await;
    let new = Version::of("0.1.1").that("refuse", 100);
    let installed = "/plugins/guest-memory/versions/0.1.1";
    let with =
        |rows: Value| json!({"plugin_digest": new.digest(), "connection_data": {"rows": rows}});
    for (rows, code) in [
        (json!("many"), "invalid_connection_data"),
        (json!(3), "connection_failed"),
    ] {
        host.install(&new).await;
        let mut made = with(rows.clone());
        made["name"] = json!("others");
        made["engine"] = json!("memory");
        let refused = host.post("/datasources", made).await;
        refused.expect_error(400, code);
        host.delete(installed).await.expect_status(204);
        host.install(&new).await;
        let refused = host.patch("/datasources/numbers", with(rows)).await;
        refused.expect_error(400, code);
        host.delete(installed).await.expect_status(204);
    }
    // One that was stored keeps it, also when another could not be.
    host.install(&new).await;
    let kept = host.patch(
        "/datasources/numbers?check_connection=false",
        json!({"plugin_digest": new.digest()}),
    );
    kept.await.expect_status(200);
    let refused = host.patch("/datasources/numbers", with(json!(4))).await;
    refused.expect_error(400, "connection_failed");
    host.delete(installed)
        .await
        .expect_error(409, "resource_in_use");
}

#[tokio::test]
async fn a_file_that_was_damaged_and_mended_is_not_called_refused() {
    let host = host().await;
    let new = Version::of("0.1.1").that("slow", 1);
    host.install(&new).await;
    let file = host
        .data_dir()
        .join("plugins")
        .join(format!("{}.wasm", new.digest()));
    let version = async || {
        let plugin = host.get("/plugins/guest-memory").await.json();
        plugin["versions"][1].clone()
    };
    std::fs::write(&file, Version::of("0.1.2").bytes()).unwrap();
    let rollout = host.activated(json!({})).await;
    assert_eq!(rollout["stage"], "failed", "{rollout}");
    assert_eq!(version().await["status"], "refused");
    std::fs::write(&file, new.bytes()).unwrap();
    let rollout = host.activated(json!({"version": "0.1.1"})).await;
    assert_eq!(rollout["stage"], "probation", "{rollout}");
    assert_eq!(version().await["status"], "active");
    host.activated(json!({"version": "0.1.0"})).await;
    assert_eq!(version().await["status"], "inactive");
}

#[tokio::test]
async fn nothing_is_counted_of_a_version_that_was_removed() {
    let host = host().await;
    let mind = host.memory("numbers", 3).await;
    let new = Version::of("0.1.1");
    host.activate(&new).await;
    mind.sql("SELECT n FROM numbers").await.expect_status(200);
    let figures = async || host.request(Method::GET, "/metrics").await.text();
    assert!(figures().await.contains(&new.digest()));
    host.post("/plugins/guest-memory/rollback", json!({}))
        .await
        .expect_status(200);
    host.delete("/plugins/guest-memory/versions/0.1.1")
        .await
        .expect_status(204);
    assert!(!figures().await.contains(&new.digest()));
    // What it used is in the account of the day all the same.
    let used = async || host.get("/plugins/guest-memory/usage").await.json();
    let is_kept = |usage: &Value| usage["days"].to_string().contains(&new.digest());
    eventually(used, is_kept).await;
}

#[tokio::test]
async fn each_refusal_says_what_is_wrong() {
    let host = Host::builder()
        .plugin(build::guest("memory"))
        .env("MINDHOST_PLUGINS__MAX_PACKAGE_BYTES", "8000000")
        .start()
        .await;
    host.memory("numbers", 3).await;
    let reply = host.upload(vec![0; 8_000_001]).await;
    let error = reply.expect_error(413, "body_too_large");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("8000000"), "{message}");
    let reply = host
        .upload(Vec::new())
        .header("content-type", "application/wasmfoo");
    reply.await.expect_error(415, "unsupported_media_type");
    let reply = host
        .upload(Vec::new())
        .header("content-type", "Application/WASM; version=1");
    reply.await.expect_error(400, "plugin_refused");

    let release = host.post("/plugins/guest-memory/release?digest=abc", json!({}));
    let error = release.await.expect_error(404, "plugin_not_found");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("digest `abc`"), "{message}");
    assert!(
        message.contains(&Version::of("0.1.0").digest()),
        "{message}"
    );

    // A body that breaks off is another thing than one that is too large.
    let mut stream = TcpStream::connect(host.url().trim_start_matches("http://")).await;
    let stream = stream.as_mut().unwrap();
    let request = format!(
        "POST /api/v1/plugins HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/wasm\r\ntransfer-encoding: chunked\r\n\r\n4\r\n\0asm\r\nno length\r\n",
        host.key()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 400"), "{reply}");
    assert!(reply.contains("broke off"), "{reply}");
}
