//! Bad input: the documented refusal, and nothing changed.

use serde_json::{Value, json};

use super::shop;

#[tokio::test]
async fn bad_input_names_the_parameter() {
    let (host, _mind) = shop().await;
    let cases = [
        (json!({"input": "x"}), "model"),
        (json!({"model": "", "input": "x"}), "model"),
        (json!({"model": "sales"}), "input"),
        (json!({"model": "sales", "input": ""}), "input"),
        (json!({"model": "sales", "input": []}), "input"),
        (
            json!({"model": "sales", "input": [{"role": "user", "content": " "}]}),
            "input[0].content",
        ),
        (
            json!({"model": "sales", "tools": [{"type": "sql_query", "query": " "}]}),
            "tools[0].query",
        ),
    ];
    for (body, param) in cases {
        let error = host
            .post("/responses", body.clone())
            .await
            .expect_error(400, "invalid_parameter");
        assert_eq!(error["param"], param, "{body}");
    }
}

#[tokio::test]
async fn one_request_has_at_most_a_thousand_messages() {
    let (host, _mind) = shop().await;
    let messages = vec![json!({"role": "user", "content": "a"}); 1_001];
    for (path, field) in [("/responses", "input"), ("/chat/completions", "messages")] {
        let mut body = json!({"model": "sales"});
        body[field] = json!(messages);
        let error = host.post(path, body).await;
        let error = error.expect_error(400, "invalid_parameter");
        assert_eq!(error["param"], field);
    }
    let mut most = vec![json!({"role": "assistant", "content": "a"}); 999];
    most.push(json!({"role": "user", "content": "How many orders are there?"}));
    let body = json!({"model": "sales", "input": most, "truncation": "auto"});
    host.post("/responses", body).await.expect_status(200);
}

/// Clients that keep the dialogue themselves send all of it each time.
#[tokio::test]
async fn answers_that_a_client_sends_along_are_not_the_answer() {
    let (host, _mind) = shop().await;
    let earlier = json!([
        {"role": "user", "content": "How many products are there?"},
        {"role": "assistant", "content": "A million."},
        {"role": "user", "content": "How many orders are there?"},
    ]);
    let sql = json!([{"type": "sql_query", "query": "SELECT 1 AS one"}]);
    for tools in [json!([]), sql] {
        let body = json!({"model": "sales", "input": earlier, "tools": tools});
        let made = host
            .post("/responses", body)
            .await
            .expect_status(200)
            .json();
        let path = format!("/responses/{}", made["id"].as_str().unwrap());
        let shown = host.get(&path).await.expect_status(200).json();
        assert_eq!(shown["output"][0]["id"], made["output"][0]["id"], "{shown}");
        let items = format!(
            "/conversations/{}/items?include=answer",
            made["conversation"]["id"].as_str().unwrap()
        );
        let items = host.get(&items).await.expect_status(200).json();
        let told = items["data"].as_array().unwrap();
        let of_client = told
            .iter()
            .find(|item| item.to_string().contains("A million."));
        let of_client = of_client.unwrap();
        assert_eq!(of_client["response_id"], json!(null), "{of_client}");
        assert_eq!(of_client["answer"], json!(null), "{of_client}");
        if tools == json!([]) {
            let rating = host.post(&format!("{path}/feedback"), json!({"rating": "up"}));
            rating.await.expect_status(200);
            let given = host.get("/minds/sales/feedback").await.json();
            let given = given["data"].as_array().unwrap();
            assert_eq!(given.len(), 1, "{given:?}");
            assert_eq!(given[0]["question"], "How many orders are there?");
        }
    }
}

#[tokio::test]
async fn what_clients_send_for_nothing_is_nothing() {
    let (host, _mind) = shop().await;
    let sql = json!([{"type": "sql_query", "query": "SELECT 1"}]);
    for body in [
        json!({"model": "sales", "input": "How many orders are there?", "tools": []}),
        json!({"model": "sales", "input": "", "tools": sql}),
        json!({"model": "sales", "input": [], "tools": sql}),
    ] {
        host.post("/responses", body).await.expect_status(200);
    }
}

#[tokio::test]
async fn every_item_of_an_answer_can_be_sent_back() {
    let (host, _mind) = shop().await;
    let sql = json!([{"type": "sql_query", "query": "SELECT 1"}]);
    let rows = host
        .post("/responses", json!({"model": "sales", "tools": sql}))
        .await;
    let rows = rows.expect_status(200).json();
    let mut input = rows["output"].as_array().unwrap().clone();
    input.push(json!({"role": "user", "content": "How many orders are there?"}));
    let body = json!({"model": "sales", "input": input});
    host.post("/responses", body).await.expect_status(200);
}

#[tokio::test]
async fn a_wrong_shape_is_an_invalid_body_with_the_path_and_what_is_expected() {
    let (host, _mind) = shop().await;
    let message = |message: Value| json!({"model": "sales", "input": [message]});
    let tool = |tool: Value| json!({"model": "sales", "tools": [tool]});
    let image = json!({"type": "input_image", "image_url": "x"});
    let cases = [
        (
            json!({"model": "sales", "input": 7}),
            "`input`: expected a text or a list, got a number",
        ),
        (
            message(json!({"role": "robot", "content": "x"})),
            "`input[0].role`: 'robot' is not known here; expected one of `user`, `assistant`, `system`, `developer`",
        ),
        (
            message(json!({"role": "user"})),
            "`input[0].content` is missing",
        ),
        (
            message(json!({"role": "user", "content": [image]})),
            "`input[0].content[0].type`: 'input_image' is not known here; expected one of `input_text`, `output_text`, `text`",
        ),
        (
            message(json!({"type": "x".repeat(1_000)})),
            &format!(
                "`input[0].type`: '{}' is not known here; expected one of `message`, `item_reference`, `query_result`, `reasoning`, `function_call`, `function_call_output`",
                "x".repeat(80)
            ),
        ),
        (
            tool(json!({"type": "web_search"})),
            "`tools[0].type`: 'web_search' is not known here; expected `sql_query`",
        ),
        (
            tool(json!({"type": "sql_query"})),
            "`tools[0].query` is missing",
        ),
        (
            tool(json!({"type": "sql_query", "query": 7})),
            "`tools[0].query`: expected a text, got a number",
        ),
        (
            json!({"model": "sales", "input": "x", "conversation": 7}),
            "`conversation`: expected a conversation's id, or an object {\"id\": …}",
        ),
    ];
    for (body, expected) in cases {
        let error = host
            .post("/responses", body.clone())
            .await
            .expect_error(400, "invalid_body");
        assert_eq!(error["message"], expected, "{body}");
        assert_eq!(error["param"], expected.split('`').nth(1).unwrap());
    }
}

#[tokio::test]
async fn a_field_of_the_wrong_type_is_an_invalid_body() {
    let (host, _mind) = shop().await;
    for body in [
        json!({"model": 7, "input": "x"}),
        json!({"model": "sales", "input": "x", "stream": "yes"}),
        json!([]),
    ] {
        host.post("/responses", body)
            .await
            .expect_error(400, "invalid_body");
    }
    let post = || host.api(reqwest::Method::POST, "/responses");
    post()
        .header("content-type", "application/json")
        .body("{\"model\":")
        .await
        .expect_error(400, "invalid_body");
    post()
        .header("content-type", "text/plain")
        .body("hello")
        .await
        .expect_error(415, "unsupported_media_type");
    host.api(reqwest::Method::PUT, "/responses")
        .json(&json!({}))
        .await
        .expect_error(405, "method_not_allowed");
}

#[tokio::test]
async fn what_does_not_exist_is_not_found() {
    let (host, _mind) = shop().await;
    host.post("/responses", json!({"model": "nobody", "input": "x"}))
        .await
        .expect_error(404, "mind_not_found");
    let missing = "0190aaaa-0000-7000-8000-000000000000";
    for conversation in [
        json!(missing),
        json!(format!("conv_{missing}")),
        json!({"id": missing}),
        json!("nonsense"),
    ] {
        let body = json!({"model": "sales", "input": "x", "conversation": conversation});
        host.post("/responses", body)
            .await
            .expect_error(404, "conversation_not_found");
    }
}

#[tokio::test]
async fn a_conversation_of_another_mind_is_refused() {
    let (host, mind) = shop().await;
    host.mind("other").datasource("shop").create().await;
    let response = mind.sql("SELECT 1").await.expect_status(200).json();
    let conversation = response["conversation"]["id"].clone();
    let body = json!({"model": "other", "input": "x", "conversation": conversation});
    let error = host.post("/responses", body).await;
    let error = error.expect_error(400, "conversation_of_another_mind");
    assert_eq!(error["param"], "conversation");
    let body = json!({"model": "other", "input": "x", "previous_response_id": response["id"]});
    let error = host.post("/responses", body).await;
    let error = error.expect_error(400, "conversation_of_another_mind");
    assert_eq!(error["param"], "previous_response_id");
    let told = "this conversation belongs to the Mind 'sales'; ask that one, or leave `previous_response_id` out";
    assert_eq!(error["message"], told);
    let both: Value = json!({"model": "sales", "input": "x", "conversation": conversation, "previous_response_id": response["id"]});
    host.post("/responses", both)
        .await
        .expect_error(400, "invalid_parameter");
}
