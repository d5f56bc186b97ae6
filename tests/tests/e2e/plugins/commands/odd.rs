//! `mindhost plugin …` with what nobody should give it, and with servers that have a bad day.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    process::Stdio,
};

use mindhost_tests::json;

use super::{super::host, failed, plugin, said};

#[tokio::test]
async fn a_name_that_leads_elsewhere_is_not_sent() {
    let host = host().await;
    host.memory("numbers", 3).await;
    for args in [
        &["remove", "x", "../../../minds/numbers_mind"][..],
        &["remove", "../minds/numbers_mind?x=", "1.0.0"],
        &["activate", "../../minds", "1.0.0"],
        &["activate", "guest-memory", "../x"],
        &["rollback", "a/b"],
        &["release", "a/../b"],
        &["usage", ".."],
    ] {
        let refused = failed(&plugin(&host, args).await);
        assert!(
            refused.contains("is not a plugin name") || refused.contains("neither"),
            "{refused}"
        );
    }
    host.get("/minds/numbers_mind").await.expect_status(200);
}

#[tokio::test]
async fn what_is_wrong_is_said_in_words_and_without_passwords() {
    let host = host().await;
    let say = async |args: &[&str]| {
        let mut command = host.command(&[&["plugin"], args].concat());
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        failed(&output.await.unwrap())
    };
    let error = say(&["show", "guest-memory", "--server", "notaurl"]).await;
    assert!(error.contains("http://127.0.0.1:8080"), "{error}");
    let error = say(&["show", "nofile.wasm"]).await;
    assert!(error.contains("No such file"), "{error}");
    for secret in [
        &["show", "oci://me:hunter2@registry.example.com/x:1"][..],
        &["install", "oci://me:hunter2@registry.example.com/x:1"],
        &["install", "https://me:hunter2@example.com/x.wasm"],
        &["rollback", "x", "--server", "http://me:hunter2@127.0.0.1:9"],
    ] {
        let error = say(secret).await;
        assert!(!error.contains("hunter2"), "{error}");
    }
    let mut usage = host.command(&["plugin", "activate", "x", "--canary-seconds", "5"]);
    assert_eq!(usage.output().unwrap().status.code(), Some(2));
}

#[tokio::test]
async fn a_reader_that_has_heard_enough_is_no_error() {
    let host = host().await;
    let url = host.url();
    let plugin = &["plugin", "show", "guest-memory", "--server", &url][..];
    let list = &["plugin", "list", "--server", &url];
    for args in [plugin, list, &["settings"], &["doctor"], &["keys", "list"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = host.command(args);
        command.stdout(writer).stderr(Stdio::piped());
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        let output = output.await.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        // What `doctor` finds may be bad.
        let is_well = matches!(output.status.code(), Some(0)) || args == ["doctor"];
        assert!(is_well && errors.is_empty(), "{args:?}: {errors}");
    }
}

#[tokio::test]
async fn a_key_for_this_machine_goes_to_no_proxy() {
    let host = host().await;
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let mut command = host.command(&["plugin", "list", "--server", &host.url()]);
    for name in ["http_proxy", "all_proxy"] {
        command.env(name, &address);
        command.env(name.to_uppercase(), &address);
    }
    command.env_remove("no_proxy").env_remove("NO_PROXY");
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    said(&output.await.unwrap());
    let called = proxy.accept().unwrap_err();
    assert_eq!(called.kind(), std::io::ErrorKind::WouldBlock);
}

#[tokio::test]
async fn a_rollout_is_followed_through_a_bad_moment() {
    let host = host().await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let rollout = |stage: &str| {
        json!({"id": "018f", "plugin": "x", "version": "1.0.0", "to": "0".repeat(64), "stage": stage})
            .to_string()
    };
    let busy = json!({"error": {"code": "rate_limit_exceeded", "message": "too many"}}).to_string();
    let answers = [
        ("429 Too Many Requests", busy.clone()),
        ("202 Accepted", rollout("compiling")),
        ("429 Too Many Requests", busy),
        // A connection that ends without an answer.
        ("", String::new()),
        ("503 Service Unavailable", "no JSON".to_owned()),
        ("200 OK", rollout("completed")),
    ];
    let server = std::thread::spawn(move || {
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut some = [0; 4096];
            // The head; a body is short and comes with it, or is not needed.
            while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                let count = stream.read(&mut some).unwrap();
                request.extend_from_slice(&some[..count]);
            }
            if !status.is_empty() {
                let length = body.len();
                write!(
                    stream,
                    "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                )
                .unwrap();
            }
        }
    });
    let mut command = host.command(&["plugin", "activate", "x", "--server", &url]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let text = said(&output.await.unwrap());
    assert!(text.contains("completed"), "{text}");
    server.join().unwrap();
}
