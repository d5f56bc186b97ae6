//! `mindhost plugin watch`

use mindhost_tests::{Host, Version, eventually, served_by};

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
