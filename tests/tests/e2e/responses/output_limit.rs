//! `max_output_tokens`, against a vendor that ignores it and where the limit leaves no text.

use serde_json::{Value, json};

use super::{shop, told};
use mindhost_tests::{Host, Turn};

async fn cut(host: &Host, limit: u32) -> (Value, String) {
    let body = json!({"model": "told", "input": "How many?", "max_output_tokens": limit});
    let response = host.post("/responses", body).await.expect_status(200);
    let response = response.json();
    assert_eq!(response["status"], "completed", "{response}");
    assert_eq!(response["ending"], "max_output_tokens", "{response}");
    let reason = &response["incomplete_details"]["reason"];
    assert_eq!(reason, "max_output_tokens", "{response}");
    let item = &response["output"][0];
    assert_eq!(item["status"], "incomplete", "{response}");
    let text = item["content"][0]["text"].as_str().unwrap_or_default();
    (response.clone(), text.to_owned())
}

#[tokio::test]
async fn vendor_that_ignores_the_limit_is_cut() {
    let (host, _mind) = shop().await;
    let endless = || Turn::empty().and_text(&"word ".repeat(20_000)).and_hang();
    let limits = [1, 16, 50];
    let model = told(&host, limits.map(|_| endless())).await;
    for limit in limits {
        let (response, text) = cut(&host, limit).await;
        assert_eq!(text.len(), limit as usize * 8, "{text}");
        assert!(text.starts_with("word wor"), "{text}");
        assert_eq!(response["usage"]["output_tokens"], limit);
    }
    model.wait_for_abandoned(limits.len()).await;

    // Within the limit nothing is cut, however the host would count it.
    model.play([Turn::text("There are three of them.")]);
    let body = json!({"model": "told", "input": "How many?", "max_output_tokens": 3});
    let response = host.post("/responses", body).await.json();
    assert_eq!(response["ending"], Value::Null, "{response}");
}

#[tokio::test]
async fn tool_call_beyond_the_limit_is_not_run() {
    let (host, _mind) = shop().await;
    let sql = format!("SELECT '{}'", "x".repeat(1_000));
    let long = Turn::call("run_sql", json!({ "sql": sql }));
    let model = told(&host, [long]).await;
    let (response, text) = cut(&host, 20).await;
    assert!(text.starts_with("This answer was stopped"), "{text}");
    assert!(text.contains("`max_output_tokens`"), "{text}");
    assert!(text.contains("You can ask"), "{text}");
    assert_eq!(response["output"][0]["sql"], Value::Null);
    assert_eq!(model.asked().len(), 1);
}

#[tokio::test]
async fn limit_between_turns_says_what_was_tried() {
    let (host, _mind) = shop().await;
    let call = || Turn::call("run_sql", json!({"sql": "SELECT id FROM orders"}));
    // The scripted model counts 7 tokens of output a turn.
    let model = told(&host, vec![call(); 10]).await;
    let (_, text) = cut(&host, 40).await;
    assert!(text.starts_with("This answer was stopped"), "{text}");
    assert!(text.contains("`SELECT id FROM orders`"), "{text}");
    assert_eq!(model.asked().len(), 4);
}

#[tokio::test]
async fn limit_in_a_tool_call_or_before_any_text_says_so() {
    let (host, _mind) = shop().await;
    let half = |turn: Turn| {
        let turn = turn.and_call_with("run_sql", "{\"sql\": \"SEL");
        turn.finish("length")
    };
    let turns = [
        half(Turn::empty()),
        half(Turn::text("Let me see.")),
        Turn::empty().finish("length"),
    ];
    let _model = told(&host, turns).await;
    for before in ["", "Let me see.\n\n", ""] {
        let (_, text) = cut(&host, 20).await;
        let text = text.strip_prefix(before).expect("the text of the model");
        assert!(text.starts_with("This answer was stopped"), "{text}");
    }
}
