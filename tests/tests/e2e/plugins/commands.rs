//! `mindhost plugin …` against a running server.

mod files;
mod odd;
mod publishing;
mod registries;

use std::{path::Path, process::Output};

use mindhost_tests::{Host, Version, build, eventually, json};

use super::host;

/// Runs `mindhost plugin` as the operator of a host, beside the test's own runtime.
async fn plugin(host: &Host, args: &[&str]) -> Output {
    let url = host.url();
    let is_local = matches!(
        args[0],
        "keygen" | "sign" | "push" | "publish" | "catalogue" | "search"
    ) || args.contains(&"--dir")
        || args[0] == "show" && Path::new(args[1]).is_file();
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

/// What a command that failed said, in order and not by a panic.
#[track_caller]
fn failed(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{errors}");
    assert!(
        errors.lines().all(|line| !line.contains("panicked")),
        "{errors}"
    );
    errors
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
    let error = failed(&plugin(&host, &["activate", "guest-memory"]).await);
    assert!(
        error.contains("guest-memory 0.1.0 serves already")
            && error.contains("`mindhost plugin activate guest-memory 0.1.1`"),
        "{error}"
    );
    said(&plugin(&host, &["remove", "guest-memory", "0.1.1"]).await);
    let gone = plugin(&host, &["activate", "guest-memory", "0.1.1"]).await;
    assert!(!gone.status.success());
    let error = String::from_utf8_lossy(&gone.stderr).into_owned();
    assert!(error.contains("installed are 0.1.0"), "{error}");
}

#[tokio::test]
async fn the_plugins_of_a_server_and_those_of_a_directory_are_listed() {
    let host = host().await;
    let folder = tempfile::tempdir().unwrap();
    let file = Version::of("0.1.1").write(folder.path());
    said(&plugin(&host, &["install", path(&file)]).await);
    let listed = said(&plugin(&host, &["list"]).await);
    let digest = Version::of("0.1.0").digest();
    let line = format!(
        "guest-memory 0.1.0  connector for memory  {}  active; 2 versions are installed",
        &digest[..12]
    );
    assert!(listed.lines().any(|shown| shown == line), "{listed}");
    assert!(listed.contains("model-offline"), "{listed}");
    let lying = said(&plugin(&host, &["list", "--dir", path(folder.path())]).await);
    assert!(lying.contains("memory-0.1.1.wasm"), "{lying}");
    assert!(!lying.contains("model-offline"), "{lying}");
}

#[tokio::test]
async fn what_a_plugin_used_is_shown_and_a_version_in_trouble_is_released() {
    let host = Host::builder()
        .plugin(build::guest("memory"))
        .env("MINDHOST_PLUGINS__FAULTS__BUDGET", "1")
        .env("MINDHOST_PLUGINS__FAULTS__BACKOFF", "1h")
        .env("MINDHOST_PLUGINS__FAULTS__MAX_BACKOFF", "1h")
        .env("MINDHOST_ROLLOUTS__PROBATION", "0s")
        .start()
        .await;
    let mind = host.memory("numbers", 3).await;
    mind.sql("SELECT n FROM numbers").await.expect_status(200);
    let used = said(&plugin(&host, &["usage", "guest-memory"]).await);
    assert!(used.contains("default/numbers: "), "{used}");
    let json = said(&plugin(&host, &["usage", "guest-memory", "--json"]).await);
    assert!(json.contains("\"since_start\""), "{json}");
    let was = said(&plugin(&host, &["release", "guest-memory"]).await);
    assert!(was.contains("was well"), "{was}");
    let bad = Version::of("0.1.1").that("trap", 100);
    host.install(&bad).await;
    host.activated(json!({"version": bad.digest(), "force": true}))
        .await;
    eventually(
        async || {
            let _ = mind.sql("SELECT n FROM numbers").await;
            said(&plugin(&host, &["show", "guest-memory"]).await)
        },
        |shown| shown.contains("backing off"),
    )
    .await;
    let digest = bad.digest();
    let released = said(&plugin(&host, &["release", "guest-memory", &digest[..8]]).await);
    assert!(released.contains("is called again"), "{released}");
    let shown = said(&plugin(&host, &["show", "guest-memory"]).await);
    assert!(!shown.contains("backing off"), "{shown}");
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
    // As often as one likes: what serves already is what was asked for.
    let again = ["install", "--locked", path(&lock), "--activate"];
    let again = said(&plugin(&second, &again).await);
    assert!(again.contains("serves already"), "{again}");
    let plugins = second.get("/plugins/guest-memory").await.json();
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
async fn what_a_version_may_do_beyond_the_active_one_is_shown_and_accepted_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let host = host().await;
    host.memory("numbers", 3).await;
    let wider = Version::of("0.1.1").declaring(|manifest| {
        manifest["engines"] = json!(["memory", "memory2"]);
    });
    let file = wider.write(folder.path());
    let asked = "needs --accept-rights engine:memory2: serving the engine `memory2`";
    let installed = said(&plugin(&host, &["install", path(&file)]).await);
    assert!(installed.contains(asked), "{installed}");
    let shown = said(&plugin(&host, &["show", "guest-memory"]).await);
    assert!(shown.contains(asked), "{shown}");
    for refused in [
        plugin(&host, &["activate", "guest-memory"]).await,
        plugin(&host, &["install", path(&file), "--activate"]).await,
    ] {
        let error = failed(&refused);
        assert!(error.contains("--accept-rights engine:memory2"), "{error}");
    }
    let accept = ["--accept-rights", "engine:memory2,engine:other"];
    let activate = [&["activate", "guest-memory"][..], &accept].concat();
    let activated = said(&plugin(&host, &activate).await);
    assert!(
        activated.contains("accepted were engine:memory2"),
        "{activated}"
    );
    let shown = said(&plugin(&host, &["show", "guest-memory"]).await);
    assert!(!shown.contains("needs --accept-rights"), "{shown}");
}
