//! `mindhost plugin …` against a running server.

use std::{path::Path, process::Output};

use mindhost_tests::{Host, OciRegistry, Version, build, json};

use super::host;

/// Runs `mindhost plugin` as the operator of a host, beside the test's own runtime.
async fn plugin(host: &Host, args: &[&str]) -> Output {
    let url = host.url();
    let is_local = matches!(args[0], "keygen" | "sign" | "push")
        || Path::new(args[1]).is_file() && args[0] == "show";
    let server: &[&str] = if is_local { &[] } else { &["--server", &url] };
    let mut command = host.command(&[&["plugin"], args, server].concat());
    tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap()
}

#[track_caller]
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    text
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn an_operator_installs_activates_goes_back_and_removes() {
    let host = host().await;
    let folder = tempfile::tempdir().unwrap();
    let new = Version::of("0.1.1");
    let file = new.write(folder.path());
    let shown = said(&plugin(&host, &["install", path(&file), "--dry-run"]).await);
    assert!(shown.contains(&new.digest()), "{shown}");
    assert!(shown.contains("serves     memory"), "{shown}");
    assert!(!shown.contains("installed"), "{shown}");
    assert_eq!(shown, said(&plugin(&host, &["show", path(&file)]).await));
    said(&plugin(&host, &["install", path(folder.path())]).await);
    let activated = said(&plugin(&host, &["activate", "guest-memory", "0.1.1"]).await);
    assert!(activated.contains("completed"), "{activated}");
    let shown = said(&plugin(&host, &["show", "guest-memory"]).await);
    assert!(shown.contains("0.1.1      active"), "{shown}");
    let back = said(&plugin(&host, &["rollback", "guest-memory"]).await);
    assert!(back.contains("0.1.0"), "{back}");
    said(&plugin(&host, &["remove", "guest-memory", "0.1.1"]).await);
    let gone = plugin(&host, &["activate", "guest-memory", "0.1.1"]).await;
    assert!(!gone.status.success());
    let error = String::from_utf8_lossy(&gone.stderr).into_owned();
    assert!(error.contains("installed are 0.1.0"), "{error}");
}

#[tokio::test]
async fn a_signed_plugin_is_taken_where_signatures_are_required_and_a_changed_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let maker = host().await;
    let key = folder.path().join("maker.key");
    let made = said(&plugin(&maker, &["keygen", "--output", path(&key)]).await);
    let public = made.split('"').nth(1).unwrap().to_owned();
    let file = Version::of("0.1.1").write(folder.path());
    said(&plugin(&maker, &["sign", path(&file), "--key", path(&key)]).await);

    let host = Host::builder()
        .env("MINDHOST_PLUGINS__REQUIRE_SIGNATURE", "true")
        .env("MINDHOST_PLUGINS__TRUSTED_KEYS", &public)
        .start()
        .await;
    said(&plugin(&host, &["install", path(&file), "--activate"]).await);
    let engines = host.get("/engines").await.expect_status(200).json();
    assert_eq!(engines[0]["engine"], "memory", "{engines}");
    let plugins = host.get("/plugins/guest-memory").await.json();
    assert!(plugins["versions"][0]["signer"].is_string(), "{plugins}");

    std::fs::write(&file, Version::of("0.1.2").bytes()).unwrap();
    let refused = plugin(&host, &["install", path(&file)]).await;
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(error.contains("does not fit its signature"), "{error}");
    // The same is asked of what was installed, at every start.
    host.restart().await;
    let engines = host.get("/engines").await.expect_status(200).json();
    assert_eq!(engines[0]["engine"], "memory", "{engines}");
}

#[tokio::test]
async fn a_lock_file_gives_another_host_the_same_bytes() {
    let first = host().await;
    let folder = tempfile::tempdir().unwrap();
    let new = Version::of("0.1.1");
    let file = new.write(folder.path());
    let lock = folder.path().join("plugins.lock");
    said(&plugin(&first, &["install", path(&file), "--lock", path(&lock)]).await);

    let second = Host::builder().plugin(build::guest("memory")).start().await;
    said(&plugin(&second, &["install", "--locked", path(&lock), "--activate"]).await);
    let plugins = second.get("/plugins/guest-memory").await.json();
    assert_eq!(plugins["active"], new.digest(), "{plugins}");
    std::fs::write(&file, Version::of("0.1.2").bytes()).unwrap();
    let other = plugin(&second, &["install", "--locked", path(&lock)]).await;
    let error = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(
        !other.status.success() && error.contains(&new.digest()),
        "{error}"
    );
    assert_eq!(
        json!(plugins),
        second.get("/plugins/guest-memory").await.json()
    );
}

#[tokio::test]
async fn a_command_without_a_server_says_what_to_do() {
    let host = host().await;
    let server = ["--server", "http://127.0.0.1:9"];
    let args = [&["plugin", "rollback", "guest-memory"], &server[..]].concat();
    let output = host.command(&args).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("mindhost serve"), "{error}");
}

#[tokio::test]
async fn a_registry_keeps_a_plugin_with_its_signature() {
    let registry = OciRegistry::start();
    let folder = tempfile::tempdir().unwrap();
    let maker = host().await;
    let key = folder.path().join("maker.key");
    let made = said(&plugin(&maker, &["keygen", "--output", path(&key)]).await);
    let public = made.split('"').nth(1).unwrap().to_owned();
    let new = Version::of("0.1.1");
    let file = new.write(folder.path());
    said(&plugin(&maker, &["sign", path(&file), "--key", path(&key)]).await);
    let reference = registry.reference("plugins/guest-memory:0.1.1");
    let pushed = said(&plugin(&maker, &["push", path(&file), &reference]).await);
    assert!(pushed.contains(&new.digest()), "{pushed}");

    let host = Host::builder()
        .env("MINDHOST_PLUGINS__REQUIRE_SIGNATURE", "true")
        .env("MINDHOST_PLUGINS__TRUSTED_KEYS", &public)
        .start()
        .await;
    let lock = folder.path().join("plugins.lock");
    let args = ["install", &reference, "--activate", "--lock", path(&lock)];
    said(&plugin(&host, &args).await);
    let plugins = host.get("/plugins/guest-memory").await.json();
    assert_eq!(plugins["active"], new.digest(), "{plugins}");

    // Somebody moves the tag: whoever has the lock file does not get the other bytes.
    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let other = Version::of("0.1.2").write(&other);
    said(&plugin(&maker, &["push", path(&other), &reference]).await);
    let moved = plugin(&host, &["install", "--locked", path(&lock)]).await;
    let error = String::from_utf8_lossy(&moved.stderr).into_owned();
    assert!(
        !moved.status.success() && error.contains(&new.digest()),
        "{error}"
    );
    let missing = registry.reference("plugins/nothing:1");
    let missing = plugin(&host, &["install", &missing]).await;
    assert!(!missing.status.success());
}
