//! Texts of guests: what is cut, and what is taken out of them.

use std::time::Instant;

use mindhost_base::error::Code;
use serde_json::json;

use crate::{
    fixture::{Sandbox, check_fault, soon},
    lines::Lines,
};

#[tokio::test(flavor = "multi_thread")]
async fn texts_are_cut_and_cannot_exhaust_the_host() {
    let sandbox = Sandbox::with(mindhost_base::config::PluginSettings {
        max_memory_bytes: 512 << 20,
        ..crate::fixture::settings()
    })
    .await;
    let data = json!({"mode": "long-text", "at": "check"});
    let mut connection = sandbox.connect(data, &soon()).await.unwrap();
    assert!(connection.check(&soon()).await.unwrap().product.len() <= 200);

    let error = sandbox.failure("giant-text", "check").await;
    check_fault(&error, Code::PluginError, "returned an invalid value");
    let error = sandbox.failure("long-error", "check").await;
    assert_eq!(error.code(), Code::UpstreamError);
    assert!(error.message().len() <= 4_096);
    let error = sandbox.failure("empty-error", "check").await;
    check_fault(&error, Code::PluginError, "without a message");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_does_not_leave_in_an_error() {
    let sandbox = Sandbox::new().await;
    let data = json!({"mode": "error", "at": "check", "password": "hunter22"});
    let error = sandbox
        .outcome_of(data, "check", &soon())
        .await
        .unwrap_err();
    assert_eq!(error.message(), "login with ******** failed");
}

fn check_lines(lines: &[String], began: Instant) {
    let seconds = began.elapsed().as_secs() as usize + 2;
    assert!(!lines.is_empty());
    // Fifty a second, and one that says how many were dropped.
    assert!(lines.len() <= 51 * seconds, "{} lines", lines.len());
    for line in lines {
        assert!(line.len() < 2_400, "{} bytes", line.len());
        assert!(!line.contains("hunt"), "{line}");
    }
}

#[tokio::test]
async fn a_flood_of_log_lines_is_limited_cut_and_masked() {
    let began = Instant::now();
    let sandbox = Sandbox::new().await;
    let (lines, _capturing) = Lines::of_this_thread();
    let data = json!({"mode": "log", "at": "check", "password": "hunter22"});
    sandbox.outcome_of(data, "check", &soon()).await.unwrap();
    let lines = lines.about("guest-hostile");
    check_lines(&lines, began);
    assert!(lines.iter().filter(|line| line.contains("****")).count() >= 6);
}

#[tokio::test]
async fn a_flood_of_refusals_is_limited_cut_and_masked_too() {
    let began = Instant::now();
    let sandbox = Sandbox::new().await;
    let (lines, _capturing) = Lines::of_this_thread();
    let data = json!({"mode": "resolve-many", "at": "check", "password": "hunter22"});
    let error = sandbox.outcome_of(data, "check", &soon()).await;
    check_lines(&lines.about("guest-hostile"), began);
    let message = error.unwrap_err().message().to_owned();
    assert!(
        message.contains("looked up `********0.example`"),
        "{message}"
    );
}
