//! `mindhost plugin install` of files that are none, or not good ones.

use std::{path::Path, process::Command};

use mindhost_tests::{Host, Version, build};

use super::{super::host, failed, path, plugin, said};

fn pipe(at: &Path) {
    let made = Command::new("mkfifo").arg(at).status().unwrap();
    assert!(made.success());
}

#[tokio::test]
async fn of_a_directory_the_good_files_are_installed_and_each_bad_one_is_named() {
    let host = host().await;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("a-broken.wasm"), b"\0asm").unwrap();
    std::fs::create_dir(at("b-folder.wasm")).unwrap();
    pipe(&at("c-pipe.wasm"));
    // 20 GB, of which nothing is there.
    let sparse = std::fs::File::create(at("d-sparse.wasm")).unwrap();
    sparse.set_len(20_000_000_000).unwrap();
    let new = Version::of("0.1.1");
    new.write(folder.path());
    let installed = plugin(&host, &["install", path(folder.path())]).await;
    let errors = failed(&installed);
    for bad in ["a-broken.wasm", "c-pipe.wasm", "d-sparse.wasm"] {
        assert!(errors.contains(bad), "{bad}: {errors}");
    }
    assert!(errors.contains("3 of 4 failed"), "{errors}");
    let out = String::from_utf8_lossy(&installed.stdout).into_owned();
    assert!(out.contains("memory-0.1.1.wasm:\n"), "{out}");
    let plugins = host.get("/plugins/guest-memory").await.json();
    assert!(plugins.to_string().contains(&new.digest()), "{plugins}");
    for one in ["c-pipe.wasm", "b-folder.wasm"] {
        for command in ["show", "install", "sign", "test"] {
            let refused = failed_or_reported(&host, command, &at(one)).await;
            let why = ["is not a regular file", "holds no .wasm file"];
            assert!(
                why.iter().any(|why| refused.contains(why)),
                "{command}: {refused}"
            );
        }
    }
}

/// What a command says of a file, on either output.
async fn failed_or_reported(host: &Host, command: &str, file: &Path) -> String {
    let mut run = host.command(&["plugin", command, path(file)]);
    if matches!(command, "show" | "install") {
        run.args(["--server", &host.url()]);
    }
    let output = tokio::task::spawn_blocking(move || run.output().unwrap());
    let output = output.await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[tokio::test]
async fn a_signature_that_cannot_be_one_is_not_taken_for_none() {
    let host = host().await;
    let folder = tempfile::tempdir().unwrap();
    let file = Version::of("0.1.1").write(folder.path());
    let signature = folder.path().join("memory-0.1.1.wasm.minisig");
    for (content, why) in [
        (vec![b'a'; 5_000], "at most 4096"),
        (vec![0xff; 100], "is not UTF-8"),
        (b"no signature".to_vec(), "not in the format of minisign"),
    ] {
        std::fs::write(&signature, content).unwrap();
        for args in [
            &["install", path(&file), "--dry-run"][..],
            &["show", path(&file)],
        ] {
            let refused = failed(&plugin(&host, args).await);
            assert!(refused.contains(why), "{refused}");
        }
    }
}

#[tokio::test]
async fn a_path_in_a_lock_file_is_meant_from_that_file_on() {
    let first = host().await;
    let folder = tempfile::tempdir().unwrap();
    let (built, locks) = (folder.path().join("built"), folder.path().join("locks"));
    std::fs::create_dir(&built).unwrap();
    std::fs::create_dir(&locks).unwrap();
    let new = Version::of("0.1.1");
    new.write(&built);
    let url = first.url();
    let mut install = first.command(&["plugin", "install", "memory-0.1.1.wasm", "--server", &url]);
    install
        .args(["--lock", "../locks/plugins.lock"])
        .current_dir(&built);
    said(&install.output().unwrap());
    let lock = locks.join("plugins.lock");
    let text = std::fs::read_to_string(&lock).unwrap();
    assert!(text.contains("\"../built/memory-0.1.1.wasm\""), "{text}");

    // Wherever it is used.
    let second = Host::builder().plugin(build::guest("memory")).start().await;
    said(&plugin(&second, &["install", "--locked", path(&lock)]).await);
    let plugins = second.get("/plugins/guest-memory").await.json();
    assert!(plugins.to_string().contains(&new.digest()), "{plugins}");
}
