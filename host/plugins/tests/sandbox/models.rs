//! Hostile models: what they do wrong ends their completion, and nothing else.

use mindhost_base::error::{Blame, Code, Error, Result};
use mindhost_plugin_api::{Call, ModelEvent, ModelRequest, StopReason, Target};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};

use crate::fixture::{Sandbox, brief, check_fault, soon, target};

fn with(mode: &str, at: &str) -> Target {
    target(json!({"mode": mode, "at": at}))
}

/// Calls the function `at`; of a completion, every event.
async fn use_function(sandbox: &Sandbox, target: &Target, at: &str, call: &Call) -> Result<()> {
    let model = sandbox.model();
    match at {
        "check" => model.check(target, call).await.map(drop),
        "models" => model.models(target, call).await.map(drop),
        _ => events(sandbox, target, call).await.map(drop),
    }
}

async fn events(sandbox: &Sandbox, target: &Target, call: &Call) -> Result<Vec<ModelEvent>> {
    let request = ModelRequest::default();
    let mut completion = sandbox.model().start(target, request, call).await?;
    let mut all = Vec::new();
    while let Some(events) = completion.next(call).await? {
        all.extend(events);
    }
    Ok(all)
}

async fn failure(sandbox: &Sandbox, mode: &str, at: &str) -> Error {
    use_function(sandbox, &with(mode, at), at, &soon())
        .await
        .expect_err("a fault")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decent_completion_comes_through() {
    let sandbox = Sandbox::of_models().await;
    let events = events(&sandbox, &with("", ""), &soon()).await.unwrap();
    let stop = ModelEvent::Stop(StopReason::End, "done".into());
    assert_eq!(events, [ModelEvent::Text("a".into()), stop]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_function_ends_with_the_deadline() {
    let sandbox = Sandbox::of_models().await;
    for mode in ["loop", "sleep"] {
        for at in ["start", "next", "check", "models"] {
            let target = with(mode, at);
            let error = use_function(&sandbox, &target, at, &brief()).await;
            assert_eq!(error.expect_err(at).code(), Code::Timeout, "{mode} {at}");
        }
    }
    let nothing = use_function(&sandbox, &with("nothing", "next"), "next", &brief()).await;
    assert_eq!(nothing.unwrap_err().code(), Code::Timeout);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_falls_over_is_to_blame() {
    let sandbox = Sandbox::of_models().await;
    for (mode, words) in [
        ("memory", "out of memory"),
        ("stack", "stack overflowed"),
        ("trap", "panicked"),
        ("exit", "exit"),
        ("resources", "plugin failed"),
    ] {
        for at in ["start", "next", "check"] {
            let error = failure(&sandbox, mode, at).await;
            check_fault(&error, Code::PluginError, words);
            assert_eq!(error.blame(), Some(Blame::Plugin));
        }
    }
}

/// Answers every connection with `answer`, and gives what the first one sent.
async fn serve(answer: String) -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            assert!(stream.read_buf(&mut request).await.unwrap() > 0);
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(request).unwrap()
    });
    (port, served)
}

fn ok() -> String {
    String::from("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
}

/// What the guest says came of a request, or what the host says.
async fn attempt(sandbox: &Sandbox, mode: &str, base_url: &str, goal: &str) -> String {
    let data: Value = json!({
        "mode": mode, "at": "check", "base_url": base_url, "target": goal, "api_key": "sk-secret"
    });
    let error = sandbox.model().check(&target(data), &soon()).await;
    error.unwrap_err().message().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_its_own_origin_is_reached_in_whatever_spelling() {
    let sandbox = Sandbox::of_models().await;
    let (port, served) = serve(ok()).await;
    let base = format!("http://localhost:{port}/v1");
    let goal = format!("LOCALHOST.:{port}");
    assert_eq!(attempt(&sandbox, "http", &base, &goal).await, "reached");
    let request = served.await.unwrap();
    assert!(
        request.contains(&format!("host: localhost:{port}")),
        "{request}"
    );
    for goal in [
        format!("127.0.0.1:{port}"),
        String::from("localhost:1"),
        String::from("LOCALHOST"),
        String::from("169.254.169.254"),
        String::from("example.com"),
    ] {
        let refused = attempt(&sandbox, "http", &base, &goal).await;
        assert!(refused.contains("does not name"), "{goal}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_leads_nowhere_else_and_takes_no_credential_along() {
    let sandbox = Sandbox::of_models().await;
    let (elsewhere, seen) = serve(ok()).await;
    let location = format!("127.0.0.1:{elsewhere}");
    let redirect =
        format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
    let (port, served) = serve(redirect).await;
    let base = format!("http://127.0.0.1:{port}");
    let refused = attempt(&sandbox, "follow", &base, &format!("127.0.0.1:{port}")).await;
    assert!(refused.contains("does not name"), "{refused}");
    assert!(served.await.unwrap().contains("Bearer sk-secret"));
    assert!(!seen.is_finished());
    seen.abort();
}
