//! `openai` for Python.

use mindhost_tests::{Host, ScriptedModel, Turn, build};
use tokio::process::Command;

const ANSWER: &str = "There are three items, and each is blue.";

/// Runs a script against a Mind whose model plays these turns, all of them.
async fn check(name: &str, turns: Vec<Turn>) {
    let model = ScriptedModel::start(turns).await;
    let host = Host::start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER PRIMARY KEY)")
        .await;
    host.scripted_provider("scripted", &model).await;
    let mind = host
        .mind("clerk")
        .datasource("shop")
        .provider("scripted")
        .create()
        .await;

    let script = build::workspace_dir().join("tests/clients/openai_python");
    let mut python = Command::new(build::python());
    python
        .arg(script.join(name))
        .args([&host.base_url(), host.key(), &mind.name, ANSWER])
        .kill_on_drop(true);
    let output = python.output().await.unwrap();

    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(stdout, "ok\n", "{stderr}");
    assert_eq!(model.left(), 0);
}

#[tokio::test]
async fn responses_and_conversations() {
    check("responses.py", [ANSWER; 3].map(Turn::text).into()).await;
}

#[tokio::test]
async fn chat_completions() {
    let mut turns: Vec<Turn> = [ANSWER; 4].map(Turn::text).into();
    turns.push(Turn::text("There are ").and_cut());
    check("chat.py", turns).await;
}
