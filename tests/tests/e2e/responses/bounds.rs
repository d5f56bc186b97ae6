//! The bounds of an answer: each ends it with a text and a reason that say which one it was.

use mindhost_tests::{Gate, Host, Mind, ScriptedModel, Turn};
use serde_json::{Value, json};

use super::SHOP;

async fn bounded(turns: Vec<Turn>, setting: (&str, &str)) -> (Host, Mind, ScriptedModel) {
    let host = Host::builder().env(setting.0, setting.1).start().await;
    host.sqlite("shop", SHOP).await.load().await;
    let model = ScriptedModel::start(turns).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host
        .mind("told")
        .datasource("shop")
        .provider("scripted")
        .create()
        .await;
    (host, mind, model)
}

fn call(sql: &str) -> Turn {
    Turn::call("run_sql", json!({"sql": sql}))
}

/// The answer says which bound it reached.
async fn ended(mind: &Mind, reason: &str, words: &str) -> Value {
    let response = mind.ask("How many?").await.expect_status(200).json();
    assert_eq!(
        response["incomplete_details"]["reason"], reason,
        "{response}"
    );
    let text = response["output"][0]["content"][0]["text"]
        .as_str()
        .unwrap();
    assert!(text.contains(words), "{text}");
    response
}

#[tokio::test]
async fn too_many_tool_calls_end_the_answer() {
    let turns = vec![call("SELECT 1"); 4];
    let (_host, mind, model) = bounded(turns, ("MINDHOST_ANSWERING__TOOL_CALLS", "3")).await;
    ended(&mind, "tool_limit", "3 tool calls").await;
    assert_eq!(model.asked().len(), 4);
}

#[tokio::test]
async fn too_many_repairs_end_the_answer() {
    let turns = vec![call("DROP TABLE orders"); 4];
    let (_host, mind, _model) = bounded(turns, ("MINDHOST_ANSWERING__REPAIRS", "2")).await;
    ended(&mind, "repair_limit", "refused or failed").await;
}

#[tokio::test]
async fn too_many_tokens_end_the_answer() {
    let turns = vec![call("SELECT 1"); 2];
    let (_host, mind, _model) = bounded(turns, ("MINDHOST_ANSWERING__TOKENS", "1")).await;
    ended(&mind, "token_budget", "tokens").await;
}

#[tokio::test]
async fn too_much_time_ends_the_answer() {
    let turns = vec![Turn::text("Let me think").and_hang()];
    let (_host, mind, model) = bounded(turns, ("MINDHOST_ANSWERING__WALL_CLOCK", "10s")).await;
    ended(
        &mind,
        "timeout",
        "Let me think\n\nThis answer was stopped: it took longer than 10s",
    )
    .await;
    model.wait_for_abandoned(1).await;
}

#[tokio::test]
async fn answer_at_a_bound_keeps_what_it_found() {
    // The scripted model counts 18 tokens a turn.
    let calls = vec![call("SELECT id FROM orders"); 3];
    let (_host, mind, model) = bounded(calls, ("MINDHOST_ANSWERING__TOKENS", "40")).await;
    let response = ended(&mind, "token_budget", "used up its 40 tokens").await;
    assert_eq!(response["output"][0]["sql"], "SELECT id FROM orders");
    assert_eq!(model.asked().len(), 3);

    // A model that is slow after its first statement: nothing opens the gate.
    let slow = Turn::empty().and_wait(&Gate::default()).and_text("Three.");
    let turns = vec![call("SELECT id FROM orders"), slow];
    let (_host, mind, model) = bounded(turns, ("MINDHOST_ANSWERING__WALL_CLOCK", "10s")).await;
    let response = ended(&mind, "timeout", "`SELECT id FROM orders`: 3 of 3 rows").await;
    assert_eq!(response["output"][0]["row_count"], 3);
    model.wait_for_abandoned(1).await;
}

#[tokio::test]
async fn too_much_text_ends_the_answer() {
    let long = Turn::text("Zoë said: ").and_text("ëëëëëëëëëë").and_hang();
    let (_host, mind, model) =
        bounded(vec![long], ("MINDHOST_ANSWERING__ANSWER_BYTES", "20")).await;
    // It is cut between characters.
    let cut = "Zoë said: ëëëë\n\nThis answer was stopped: the model wrote more than 20 bytes";
    ended(&mind, "size_limit", cut).await;
    model.wait_for_abandoned(1).await;
}

#[tokio::test]
async fn too_many_tool_calls_of_one_turn_end_the_answer_with_their_number() {
    let search = json!({"query": "item"});
    let many = |calls: usize| {
        let more = |turn: Turn, _| turn.and_call("search_catalog", search.clone());
        (0..calls).fold(Turn::empty(), more)
    };
    // The calls of a turn count against the limit of the answer first.
    for (calls, reason, words) in [
        (128, "tool_limit", "3 tool calls"),
        (129, "size_limit", "more than 128 tool calls"),
    ] {
        let turns = vec![many(calls), many(1)];
        let (_host, mind, _model) = bounded(turns, ("MINDHOST_ANSWERING__TOOL_CALLS", "3")).await;
        ended(&mind, reason, words).await;
    }
}

#[tokio::test]
async fn a_vendor_that_refuses_is_named_without_its_key() {
    // The host repeats what a limit of the rate refused, three times.
    for (status, asked, code, answer) in [
        (401, 1, "upstream_error", 502),
        (429, 4, "rate_limit_exceeded", 429),
        (500, 1, "upstream_error", 502),
    ] {
        let turns = vec![Turn::error(status, "no luck today"); asked];
        let (_host, mind, model) = bounded(turns, ("MINDHOST_ANSWERING__REPAIRS", "3")).await;
        let reply = mind.ask("How many?").await;
        let error = reply.expect_error(answer, code);
        assert!(!error.to_string().contains("sk-scripted"), "{error}");
        // A refused key stays refused. The vendor does not say how long to wait.
        let (retry, wait) = match status {
            401 => ("false", ""),
            429 => ("", "1"),
            _ => ("", ""),
        };
        assert_eq!(reply.header("x-should-retry"), retry, "{status}");
        assert_eq!(reply.header("retry-after"), wait, "{status}");
        assert_eq!(model.asked().len(), asked);
    }
}
