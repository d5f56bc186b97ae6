//! The AI SDK (`ai` with `@ai-sdk/openai`).

use mindhost_tests::{Host, Turn, build};
use tokio::process::Command;

use super::{ANSWER, check, told};

#[tokio::test]
async fn texts_and_second_turns() {
    for prefix in ["/api/v1", "/v1"] {
        let mut turns: Vec<Turn> = [ANSWER; 5].map(Turn::text).into();
        turns.push(Turn::text("There are ").and_cut());
        let (host, model) = told(Host::start().await, turns).await;
        let script = build::workspace_dir().join("tests/clients/ai_sdk/text.mjs");
        let mut node: Command = build::node_script(&script).into();
        let base_url = format!("{}{prefix}", host.url());
        node.args([&base_url, host.key(), "clerk", ANSWER]);
        check(node).await;
        assert_eq!(model.left(), 0);
        // What a second turn refers to was said to the model.
        for turn in [1, 3] {
            assert_eq!(model.asked()[turn].text_of("assistant"), ANSWER);
        }
    }
}
