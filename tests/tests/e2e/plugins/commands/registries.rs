//! `mindhost plugin push`, and what comes back from a registry.

use std::path::Path;

use mindhost_tests::{Host, OciRegistry, Value, Version};

use super::{super::host, failed, path, plugin, said};

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

    // Somebody moves the tag: whoever has the lock file still gets the same bytes, with their signature.
    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let other = Version::of("0.1.2").write(&other);
    said(&plugin(&maker, &["push", path(&other), &reference, "--move-tag"]).await);
    let second = Host::builder()
        .env("MINDHOST_PLUGINS__REQUIRE_SIGNATURE", "true")
        .env("MINDHOST_PLUGINS__TRUSTED_KEYS", &public)
        .start()
        .await;
    said(&plugin(&second, &["install", "--locked", path(&lock), "--activate"]).await);
    let plugins = second.get("/plugins/guest-memory").await.json();
    assert_eq!(plugins["active"], new.digest(), "{plugins}");
    // A lock file that does not know the manifest finds the bytes by their digest.
    let text = std::fs::read_to_string(&lock).unwrap();
    let mut locked: Value = serde_json::from_str(&text).unwrap();
    let entry = locked["plugins"][0].as_object_mut().unwrap();
    assert!(entry.remove("manifest").is_some(), "{text}");
    std::fs::write(&lock, locked.to_string()).unwrap();
    said(&plugin(&maker, &["install", "--locked", path(&lock)]).await);
    entry_with(&lock, "digest", &"0".repeat(64));
    let other = failed(&plugin(&maker, &["install", "--locked", path(&lock)]).await);
    assert!(other.contains(&"0".repeat(64)), "{other}");

    let missing = registry.reference("plugins/nothing:1");
    let missing = failed(&plugin(&host, &["install", &missing]).await);
    assert!(missing.contains("has no such plugin"), "{missing}");
    let shown = said(&plugin(&host, &["show", &reference]).await);
    assert!(shown.contains("guest-memory 0.1.2"), "{shown}");
}

/// Changes a value of the only entry of a lock file.
fn entry_with(lock: &Path, name: &str, value: &str) {
    let text = std::fs::read_to_string(lock).unwrap();
    let mut locked: Value = serde_json::from_str(&text).unwrap();
    locked["plugins"][0][name] = value.into();
    std::fs::write(lock, locked.to_string()).unwrap();
}

#[tokio::test]
async fn a_file_that_does_not_fit_its_signature_is_not_pushed() {
    let registry = OciRegistry::start();
    let folder = tempfile::tempdir().unwrap();
    let maker = host().await;
    let key = folder.path().join("maker.key");
    said(&plugin(&maker, &["keygen", "--output", path(&key)]).await);
    let file = Version::of("0.1.1").write(folder.path());
    said(&plugin(&maker, &["sign", path(&file), "--key", path(&key)]).await);
    std::fs::write(&file, Version::of("0.1.2").bytes()).unwrap();
    let reference = registry.reference("plugins/guest-memory:0.1.2");
    let refused = failed(&plugin(&maker, &["push", path(&file), &reference]).await);
    assert!(refused.contains("another file"), "{refused}");
    let nothing = failed(&plugin(&maker, &["show", &reference]).await);
    assert!(nothing.contains("has no such plugin"), "{nothing}");
}
