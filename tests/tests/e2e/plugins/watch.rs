//! `mindhost plugin watch`

use std::process::Command;

use mindhost_tests::{Host, Version, build, eventually, served_by};

#[tokio::test]
async fn a_file_that_is_built_anew_serves_without_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    Version::of("0.1.0").write(dir.path());
    let host = Host::builder()
        .arguments(&["plugin", "watch", dir.path().to_str().unwrap()])
        .start()
        .await;
    let mind = host.memory("numbers", 3).await;
    let served = async || {
        let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
        served_by(&reply)
    };
    let (old, new) = (Version::of("0.1.0"), Version::of("0.1.1"));
    assert_eq!(served().await, old.digest());
    // As compilers do: under the same name, over what is there.
    std::fs::write(dir.path().join("memory-0.1.0.wasm"), new.bytes()).unwrap();
    eventually(&served, |digest| *digest == new.digest()).await;
    std::fs::write(dir.path().join("memory-0.1.0.wasm"), &new.bytes()[..999]).unwrap();
    eventually(async || host.log(), |log| log.contains("serves on")).await;
    assert_eq!(served().await, new.digest());
    std::fs::write(dir.path().join("memory-0.1.0.wasm"), old.bytes()).unwrap();
    eventually(&served, |digest| *digest == old.digest()).await;
    let versions = host.get("/plugins/guest-memory").await.json();
    assert_eq!(
        versions["versions"].as_array().unwrap().len(),
        1,
        "{versions}"
    );
}

#[tokio::test]
async fn reading_is_no_change_and_what_is_no_file_holds_up_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    Version::of("0.1.0").write(dir.path());
    let made = Command::new("mkfifo").arg(at("a-pipe.wasm")).status();
    assert!(made.unwrap().success());
    std::fs::write(at("b-broken.wasm"), b"\0asm").unwrap();
    std::fs::create_dir(at("c-folder.wasm")).unwrap();
    let host = Host::builder()
        .arguments(&["plugin", "watch", dir.path().to_str().unwrap()])
        .start()
        .await;
    let mind = host.memory("numbers", 3).await;
    let served = async || {
        let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
        served_by(&reply)
    };
    for number in ["0.1.1", "0.1.2", "0.1.0"] {
        let version = Version::of(number);
        std::fs::write(at("memory-0.1.0.wasm"), version.bytes()).unwrap();
        eventually(&served, |digest| *digest == version.digest()).await;
        // Whoever looks at a file does not change it.
        std::fs::read(at("b-broken.wasm")).unwrap();
    }
    let log = host.log();
    for bad in ["a-pipe.wasm", "b-broken.wasm", "c-folder.wasm"] {
        let said = log
            .lines()
            .filter(|line| line.contains("serves on") && line.contains(bad));
        assert_eq!(said.count(), 1, "{bad}: {log}");
    }
    assert!(host.shut_down().await);
}

#[tokio::test]
async fn where_signatures_are_required_the_one_beside_the_file_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let keys = tempfile::tempdir().unwrap();
    let maker = Host::builder().plugin(build::guest("memory")).start().await;
    let run = |args: &[&str]| {
        let output = maker.command(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let key = keys.path().join("maker.key");
    let key = key.to_str().unwrap();
    let made = run(&["plugin", "keygen", "--output", key]);
    let public = made.split('"').nth(1).unwrap();
    let host = Host::builder()
        .env("MINDHOST_PLUGINS__REQUIRE_SIGNATURE", "true")
        .env("MINDHOST_PLUGINS__TRUSTED_KEYS", public)
        .arguments(&["plugin", "watch", dir.path().to_str().unwrap()])
        .start()
        .await;
    let new = Version::of("0.1.1");
    let file = new.write(dir.path());
    eventually(async || host.log(), |log| log.contains("is not signed")).await;
    run(&["plugin", "sign", file.to_str().unwrap(), "--key", key]);
    let plugin = async || host.get("/plugins/guest-memory").await.json();
    eventually(plugin, |plugin| plugin["active"] == new.digest()).await;
}
