//! `curl`, the client that everybody has.

use mindhost_tests::{Host, Turn, build};
use tokio::process::Command;

use super::{ANSWER, check, told};

#[tokio::test]
async fn everything() {
    for prefix in ["/api/v1", "/v1"] {
        let host = Host::builder().env("MINDHOST_ANSWERING__BACKGROUND_PER_KEY", "1");
        let mut turns: Vec<Turn> = [ANSWER; 8].map(Turn::text).into();
        turns.push(Turn::text("There are ").and_cut());
        turns.push(Turn::text("There ").and_hang());
        let (host, model) = told(host.start().await, turns).await;
        let script = build::workspace_dir().join("tests/clients/curl/everything.sh");
        let mut bash = Command::new("bash");
        bash.arg(script).args([
            &format!("{}{prefix}", host.url()),
            host.key(),
            "clerk",
            ANSWER,
        ]);
        check(bash).await;
        assert_eq!(model.left(), 0);
    }
}
