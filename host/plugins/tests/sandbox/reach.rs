//! Guests that reach for what their configuration does not name.

use mindhost_base::error::Code;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::fixture::{Sandbox, soon};

/// What the guest says came of an attempt, or what the host says.
async fn attempt(sandbox: &Sandbox, mode: &str, target: &str, more: Value) -> String {
    let mut data = json!({"mode": mode, "at": "check", "target": target});
    for (name, value) in more.as_object().unwrap() {
        data[name] = value.clone();
    }
    let error = sandbox
        .outcome_of(data, "check", &soon())
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::UpstreamUnreachable, "{error}");
    error.message().to_owned()
}

async fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_granted_address_can_be_connected_to() {
    let sandbox = Sandbox::new().await;
    let (_granted, port) = listener().await;
    let (_other, other_port) = listener().await;
    let grant = json!({"host": "127.0.0.1", "port": port});
    let own = attempt(
        &sandbox,
        "connect",
        &format!("127.0.0.1:{port}"),
        grant.clone(),
    )
    .await;
    assert_eq!(own, "reached");
    for target in [
        format!("127.0.0.1:{other_port}"),
        format!("127.0.0.2:{port}"),
        format!("[::1]:{port}"),
        String::from("169.254.169.254:80"),
        String::from("93.184.216.34:80"),
    ] {
        let refused = attempt(&sandbox, "connect", &target, grant.clone()).await;
        assert!(refused.contains("egress rules"), "{target}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_no_other_way_onto_the_network() {
    let sandbox = Sandbox::new().await;
    let (_granted, port) = listener().await;
    let grant = json!({"host": "localhost", "port": port});
    for (mode, target) in [
        ("listen", String::from("127.0.0.1:0")),
        ("listen", String::from("0.0.0.0:0")),
        ("udp", format!("127.0.0.1:{port}")),
    ] {
        let refused = attempt(&sandbox, mode, &target, grant.clone()).await;
        assert!(refused.starts_with("refused"), "{mode} {target}: {refused}");
    }
    let http = attempt(&sandbox, "http", &format!("127.0.0.1:{port}"), grant).await;
    assert!(http.contains("egress rules"), "{http}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_granted_name_can_be_looked_up() {
    let sandbox = Sandbox::new().await;
    let grant = json!({"host": "localhost", "port": 5432});
    let own = attempt(&sandbox, "resolve", "LOCALHOST.", grant.clone()).await;
    assert_eq!(own, "reached");
    for name in ["example.com", "localhost.example.com", "127.0.0.1", ""] {
        let refused = attempt(&sandbox, "resolve", name, grant.clone()).await;
        assert!(refused.contains("does not name"), "{name}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_that_no_rule_allows_is_refused_before_the_guest_runs() {
    let sandbox = Sandbox::new().await;
    for host in [
        "169.254.169.254",
        "0.0.0.0",
        "::ffff:169.254.169.254",
        "fe80::1",
    ] {
        let data = json!({"host": host, "port": 80});
        let error = sandbox.connect(data, &soon()).await.err().unwrap();
        assert_eq!(error.code(), Code::UpstreamUnreachable);
        assert!(error.message().contains("egress rules"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_granted_file_and_its_siblings_exist() {
    let sandbox = Sandbox::new().await;
    let grant = json!({"path": "own.db"});
    for path in ["/data/own.db", "/data/./own.db", "/data/own.db-wal"] {
        assert_eq!(
            attempt(&sandbox, "read", path, grant.clone()).await,
            "reached",
            "{path}"
        );
    }
    let listed = attempt(&sandbox, "list", "/data", grant.clone()).await;
    assert_eq!(listed, "listed: own.db own.db-wal");
    for path in [
        "/data/other.db",
        "/data/../default/other.db",
        "/data/../../secrets.key",
        "/data/own.db/../other.db",
        "/etc/passwd",
        "other.db",
        "../secrets.key",
    ] {
        for mode in ["read", "stat"] {
            let refused = attempt(&sandbox, mode, path, grant.clone()).await;
            assert!(!refused.contains("reached"), "{mode} {path}: {refused}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_can_be_written() {
    let sandbox = Sandbox::new().await;
    let grant = json!({"path": "own.db"});
    for (mode, path) in [
        ("write", "/data/own.db"),
        ("write", "/data/new.db"),
        ("write", "/data/own.db-journal"),
        ("create-dir", "/data/own.db-wal2"),
        ("remove", "/data/own.db"),
        ("rename", "/data/own.db"),
        ("link", "/data/own.db"),
    ] {
        let refused = attempt(&sandbox, mode, path, grant.clone()).await;
        assert!(!refused.contains("reached"), "{mode} {path}: {refused}");
    }
    let own = sandbox.dir.path().join("data/files/default/own.db");
    assert_eq!(std::fs::read(own).unwrap(), b"own");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_in_the_place_of_the_file_is_not_followed() {
    let sandbox = Sandbox::new().await;
    let files = sandbox.dir.path().join("data/files/default");
    std::os::unix::fs::symlink("../../secrets.key", files.join("link.db")).unwrap();
    std::os::unix::fs::symlink("../../secrets.key", files.join("own.db-extra")).unwrap();
    let error = sandbox
        .connect(json!({"path": "link.db"}), &soon())
        .await
        .err()
        .unwrap();
    assert!(error.message().contains("symbolic link"), "{error}");

    std::fs::remove_file(files.join("own.db-wal")).unwrap();
    std::os::unix::fs::symlink("../../secrets.key", files.join("own.db-wal")).unwrap();
    let refused = attempt(
        &sandbox,
        "read",
        "/data/own.db-wal",
        json!({"path": "own.db"}),
    )
    .await;
    assert!(!refused.contains("reached"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let sandbox = Sandbox::new().await;
    let files = sandbox.dir.path().join("data/files/default");
    let pipe = |name: &str| {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let path = files.join(name);
        let _ = std::fs::remove_file(&path);
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    };
    pipe("own.db-wal");
    let own = json!({"path": "own.db"});
    let refused = attempt(&sandbox, "read", "/data/own.db-wal", own).await;
    assert!(refused.starts_with("refused"), "{refused}");
    pipe("pipe.db");
    let data = json!({"path": "pipe.db"});
    let error = sandbox.connect(data, &soon()).await.err().unwrap();
    assert!(error.message().contains("not a regular file"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_earlier_call_was_refused_explains_nothing_of_the_next() {
    let sandbox = Sandbox::new().await;
    let data = json!({"mode": "unreachable", "at": "tables", "target": "elsewhere.example"});
    let mut connection = sandbox.connect(data, &soon()).await.unwrap();
    // `open` looked the target up, was refused, and went on without it.
    let error = connection.tables(&soon()).await.unwrap_err();
    assert_eq!(error.message(), "no route");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_has_no_environment_no_arguments_and_no_input() {
    let sandbox = Sandbox::new().await;
    let found = attempt(&sandbox, "environment", "", json!({})).await;
    assert_eq!(found, "found: 0 variables, 0 arguments");
    assert!(
        attempt(&sandbox, "stdin", "", json!({}))
            .await
            .starts_with("refused")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_guest_uses_up_the_handles_of_the_process() {
    let sandbox = Sandbox::new().await;
    let network = json!({"host": "localhost", "port": 5432});
    assert_eq!(attempt(&sandbox, "sockets", "", network).await, "made: 64");
    let files = json!({"path": "own.db"});
    let held = attempt(&sandbox, "files", "/data/own.db", files.clone()).await;
    assert_eq!(held, "opened: 63", "the connection holds one more");
    let closed = attempt(&sandbox, "file-by-file", "/data/own.db", files).await;
    assert_eq!(closed, "opened: 1000");
}
