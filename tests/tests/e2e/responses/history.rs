//! What a model sees of the conversation: as much as fits, with the SQL of earlier answers.

use mindhost_tests::{Host, ScriptedModel, Turn};
use serde_json::{Value, json};

use super::SHOP;

const ORDERS: &str = "
    CREATE TABLE orders (id INTEGER PRIMARY KEY, total DECIMAL(10,2), placed_at TEXT);
    INSERT INTO orders VALUES (1, 12.5, '2024-01-05'), (2, 7.25, '2024-02-07'), (3, 100, '2024-02-09');";

/// Builds on the statement of the earlier answer, which it knows only from the dialogue.
fn by_month(body: &Value) -> Turn {
    let messages = body["messages"].as_array().expect("messages");
    let last = messages.last().expect("a message");
    if last["role"] == "tool" {
        return Turn::text("Done.");
    }
    let earlier = messages
        .iter()
        .rev()
        .find(|message| message["role"] == "assistant");
    let earlier = earlier.and_then(|message| message["content"].as_str());
    let sql = match earlier.and_then(|text| text.split_once("SQL of this answer:\n")) {
        None => "SELECT sum(total) FROM orders".to_owned(),
        Some((_, sql)) => {
            let month = "strftime('%Y-%m', placed_at)";
            let sql = sql
                .trim()
                .replacen("SELECT ", &format!("SELECT {month}, "), 1);
            format!("{sql} GROUP BY {month} ORDER BY 1")
        }
    };
    Turn::call("run_sql", json!({ "sql": sql }))
}

#[tokio::test]
async fn and_by_month_builds_on_the_sql_of_the_answer_before() {
    let host = Host::start().await;
    host.sqlite("shop", ORDERS).await.load().await;
    let model = ScriptedModel::reacting(by_month).await;
    host.scripted_provider("scripted", &model).await;
    host.mind("told")
        .datasource("shop")
        .provider("scripted")
        .create()
        .await;
    let body = json!({"model": "told", "input": "What is the revenue?"});
    let first = host
        .post("/responses", body)
        .await
        .expect_status(200)
        .json();
    assert_eq!(first["output"][0]["sql"], "SELECT sum(total) FROM orders");
    let body = json!({"model": "told", "input": "And by month?", "conversation": first["conversation"]["id"]});
    let second = host
        .post("/responses", body)
        .await
        .expect_status(200)
        .json();
    let sql = second["output"][0]["sql"].as_str().unwrap();
    assert!(
        sql.contains("sum(total)") && sql.contains("GROUP BY strftime"),
        "{sql}"
    );
    assert_eq!(second["output"][0]["row_count"], 2);
}

#[tokio::test]
async fn offline_model_answers_by_month_after_an_answer() {
    let host = Host::start().await;
    host.sqlite("shop", ORDERS).await.load().await;
    let mind = host.mind("sales").datasource("shop").create().await;
    let first = mind
        .ask("How many orders are there?")
        .await
        .expect_status(200)
        .json();
    let body = json!({"model": "sales", "input": "And by month?", "conversation": first["conversation"]["id"]});
    let second = host
        .post("/responses", body)
        .await
        .expect_status(200)
        .json();
    assert_eq!(second["output"][0]["row_count"], 2, "{second}");
}

/// A conversation of instructions and many long questions, on a host with a small context.
async fn long(count: usize) -> (Host, ScriptedModel, Value) {
    let host = Host::builder()
        .env("MINDHOST_ANSWERING__CONTEXT_TOKENS", "3000")
        .start()
        .await;
    host.sqlite("shop", SHOP).await.load().await;
    let model = ScriptedModel::start([Turn::text("Three."), Turn::text("Three.")]).await;
    host.scripted_provider("scripted", &model).await;
    host.mind("told")
        .datasource("shop")
        .provider("scripted")
        .create()
        .await;
    let message =
        |role: &str, text: String| json!({"type": "message", "role": role, "content": text});
    let first = json!({"items": [message("developer", "Speak like a pirate.".to_owned())]});
    let conversation = host
        .post("/conversations", first)
        .await
        .expect_status(200)
        .json();
    let path = format!(
        "/conversations/{}/items",
        conversation["id"].as_str().unwrap()
    );
    for group in 0..count.div_ceil(20) {
        let items = (0..20).map(|at| {
            let role = if at % 2 == 0 { "user" } else { "assistant" };
            message(
                role,
                format!("number {} {}", group * 20 + at, "word ".repeat(20)),
            )
        });
        let items: Vec<Value> = items.collect();
        host.post(&path, json!({ "items": items }))
            .await
            .expect_status(200);
    }
    (host, model, conversation["id"].clone())
}

#[tokio::test]
async fn truncation_auto_leaves_out_the_oldest_messages_and_keeps_instructions() {
    let (host, model, conversation) = long(240).await;
    let body = json!({"model": "told", "input": "How many?", "conversation": conversation, "truncation": "auto"});
    let response = host
        .post("/responses", body)
        .await
        .expect_status(200)
        .json();
    assert_eq!(response["truncation"], "auto");
    let asked = model.asked().remove(0);
    let system = asked.text_of("system");
    assert!(
        system.contains("careful data analyst") && system.contains("pirate"),
        "{system}"
    );
    let users = asked.text_of("user");
    assert!(
        users.contains("How many?") && users.contains("number 238 "),
        "{users}"
    );
    assert!(!users.contains("number 0 "), "{users}");
    let bytes: usize = ["system", "user", "assistant"]
        .map(|role| asked.text_of(role).len())
        .iter()
        .sum();
    assert!(bytes < 3000 * 4, "{bytes} bytes");
}

#[tokio::test]
async fn without_truncation_a_dialogue_that_is_too_long_is_refused() {
    let (host, model, conversation) = long(240).await;
    let mut body = json!({"model": "told", "input": "How many?", "conversation": conversation});
    let error = host
        .post("/responses", body.clone())
        .await
        .expect_error(400, "context_length_exceeded");
    assert!(
        error["message"].as_str().unwrap().contains("truncation"),
        "{error}"
    );
    assert_eq!(model.asked().len(), 0);
    body["truncation"] = json!("sometimes");
    let error = host
        .post("/responses", body)
        .await
        .expect_error(400, "invalid_body");
    assert_eq!(error["param"], "truncation");
}

#[tokio::test]
async fn instructions_that_are_too_long_are_named() {
    let (host, model, _conversation) = long(0).await;
    let instructions = "Be brief. ".repeat(3_000);
    let body = json!({"model": "told", "input": "How many?", "instructions": instructions});
    let refused = host.post("/responses", body).await;
    let error = refused.expect_error(400, "context_length_exceeded");
    assert_eq!(error["param"], "instructions");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("shorten"), "{message}");
    assert!(!message.contains("truncation"), "{message}");
    assert_eq!(model.asked().len(), 0);
}

#[tokio::test]
async fn more_than_twenty_messages_are_shown_where_they_fit() {
    let (host, model, conversation) = long(40).await;
    let body = json!({"model": "told", "input": "How many?", "conversation": conversation});
    let response = host
        .post("/responses", body)
        .await
        .expect_status(200)
        .json();
    assert_eq!(response["truncation"], "disabled");
    let users = model.asked().remove(0).text_of("user");
    assert!(
        users.contains("number 0 ") && users.contains("number 38 "),
        "{users}"
    );
}
