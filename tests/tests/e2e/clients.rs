//! Clients that people already use, run unchanged against the server.

mod ai_sdk;
mod curl;
mod minds_sdk;
mod openai;

use mindhost_tests::{Host, ScriptedModel, Turn};
use tokio::process::Command;

/// What the scripted models say.
const ANSWER: &str = "There are three items, and each is blue.";

/// A Mind `clerk` over one table, whose model plays these turns.
async fn told(host: Host, turns: impl IntoIterator<Item = Turn>) -> (Host, ScriptedModel) {
    let model = ScriptedModel::start(turns).await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER PRIMARY KEY)")
        .await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("clerk").datasource("shop").provider("scripted");
    mind.create().await;
    (host, model)
}

/// Runs a program of `tests/clients` that says "ok" when all of it went well.
pub async fn check(mut program: Command) {
    let output = program.kill_on_drop(true).output().await.unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(stdout, "ok\n", "{program:?}: {stderr}");
}
