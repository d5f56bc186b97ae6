//! Answers that do not come to their end: what is kept of them, and how a client goes on.

use mindhost_tests::{Gate, Host, Turn, eventually};
use reqwest::Method;
use serde_json::{Value, json};

use super::{SHOP, running::id, shop, told};
use crate::stores;

async fn ask(host: &Host, fields: Value) -> mindhost_tests::Reply {
    let mut body = json!({"model": "told"});
    body.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    host.post("/responses", body).await
}

/// What a stream showed before its client left is a message like others: the next question may refer to it.
#[tokio::test]
async fn what_was_said_before_the_client_left_is_kept() {
    let (host, _mind) = shop().await;
    let model = told(
        &host,
        [Turn::text("There are ").and_hang(), Turn::text("Three.")],
    )
    .await;
    let body = json!({"model": "told", "input": "How many?", "stream": true});
    let mut stream = host.stream("/responses", body).await;
    let begun = stream.until("response.output_text.delta").await;
    let response = &begun[0].data["response"];
    let (path, conversation) = (
        format!("/responses/{}", id(response)),
        response["conversation"]["id"].clone(),
    );
    let item = begun[begun.len() - 1].data["item_id"].clone();
    stream.until("response.output_text.delta").await;
    drop(stream);
    model.wait_for_abandoned(1).await;
    let ended = eventually(
        async || host.get(&path).await.json(),
        |now| now["status"] == "cancelled",
    )
    .await;
    let said = &ended["output"][0];
    assert_eq!(said["id"], item);
    assert_eq!(said["status"], "incomplete");
    let text = said["content"][0]["text"].as_str().unwrap();
    assert!(
        "There are ".starts_with(text) && !text.is_empty(),
        "{ended}"
    );

    let input = json!([
        {"type": "item_reference", "id": item},
        {"role": "user", "content": "Go on."}
    ]);
    let next = ask(&host, json!({"input": input, "conversation": conversation})).await;
    next.expect_status(200);
    assert!(
        model
            .asked()
            .last()
            .unwrap()
            .text_of("assistant")
            .contains(text.trim())
    );
}

/// Clients send a question again after a failure, by themselves or because the person does.
#[tokio::test]
async fn a_question_that_failed_and_comes_again_is_there_once() {
    let (host, _mind) = shop().await;
    let turns = [
        Turn::error(500, "no luck"),
        Turn::error(500, "no luck"),
        Turn::text("Three."),
    ];
    let model = told(&host, turns).await;
    let conversation = host.post("/conversations", json!({})).await.json();
    let fields = json!({"input": "How many?", "conversation": conversation["id"]});
    for status in [502, 502, 200] {
        ask(&host, fields.clone()).await.expect_status(status);
    }
    assert_eq!(
        model
            .asked()
            .last()
            .unwrap()
            .text_of("user")
            .matches("How many?")
            .count(),
        1
    );
    let path = format!("/conversations/{}/items?order=asc", id(&conversation));
    let items = host.get(&path).await.json();
    let roles: Vec<&Value> = items["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["role"])
        .collect();
    assert_eq!(roles, ["user", "assistant"]);
    // Said again after its answer, it is another question.
    model.play([Turn::text("Still three.")]);
    ask(&host, fields).await.expect_status(200);
    assert_eq!(
        host.get(&path).await.json()["data"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
}

#[tokio::test]
async fn a_tool_call_that_the_limit_cuts_ends_the_answer_as_incomplete() {
    let (host, _mind) = shop().await;
    let cut = Turn::text("Let me see")
        .and_call_with("run_sql", "{\"sql\": \"SEL")
        .finish("length");
    let model = told(&host, [cut]).await;
    let fields = json!({"input": "How many?", "max_output_tokens": 20});
    let answer = ask(&host, fields).await.expect_status(200).json();
    assert_eq!(answer["incomplete_details"]["reason"], "max_output_tokens");
    let text = answer["output"][0]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Let me see\n\nThis answer"), "{text}");
    assert_eq!(model.asked().len(), 1, "it is not asked in vain again");
}

#[tokio::test]
async fn an_answer_that_the_vendor_filters_says_so() {
    let (host, _mind) = shop().await;
    let filtered = || Turn::text("There are").finish("content_filter");
    let _model = told(&host, [filtered(), filtered()]).await;
    let answer = ask(&host, json!({"input": "How many?"})).await.json();
    assert_eq!(answer["incomplete_details"]["reason"], "content_filter");
    let stored = host
        .get(&format!("/responses/{}", id(&answer)))
        .await
        .json();
    assert_eq!(stored["incomplete_details"], answer["incomplete_details"]);
    let chat = json!({"model": "told", "messages": [{"role": "user", "content": "How many?"}]});
    let chat = host.post("/chat/completions", chat).await.json();
    assert_eq!(chat["choices"][0]["finish_reason"], "content_filter");
}

#[tokio::test]
async fn the_end_of_the_server_is_no_cancellation() {
    let host = Host::builder()
        .env("MINDHOST_SERVER__SHUTDOWN_GRACE", "1s")
        .start()
        .await;
    host.sqlite("shop", SHOP).await.load().await;
    let model = told(&host, [Turn::text("There ").and_hang()]).await;
    let body = json!({"model": "told", "input": "How many?", "background": true});
    let begun = host
        .post("/responses", body)
        .await
        .expect_status(200)
        .json();
    model.wait_for_requests(1).await;
    assert!(host.shut_down().await, "{}", host.log());
    host.restart().await;
    let ended = host.get(&format!("/responses/{}", id(&begun))).await.json();
    assert_eq!(
        (&ended["status"], &ended["error"]["code"]),
        (&json!("failed"), &json!("overloaded"))
    );
}

/// Whichever host of the store is asked: an answer is stopped where it is made.
#[tokio::test]
async fn an_answer_is_stopped_through_another_host() {
    let [_, first] = stores::both().await;
    first.sqlite("shop", SHOP).await.load().await;
    let second = first.beside().await;
    let turns = [0, 1, 2].map(|_| Turn::text("There ").and_hang());
    let model = told(&first, turns).await;
    for (done, method) in [(1, "cancel"), (2, "delete"), (3, "conversation")] {
        let body = json!({"model": "told", "input": "How many?", "background": true});
        let begun = first
            .post("/responses", body)
            .await
            .expect_status(200)
            .json();
        let path = format!("/responses/{}", id(&begun));
        assert_eq!(second.get(&path).await.json()["status"], "in_progress");
        model.wait_for_requests(done).await;
        let conversation = begun["conversation"]["id"].as_str().unwrap();
        let stopped = match method {
            "cancel" => second.post(&format!("{path}/cancel"), json!({})).await,
            "delete" => second.delete(&path).await,
            _ => {
                second
                    .delete(&format!("/conversations/{conversation}"))
                    .await
            }
        };
        let stopped = stopped.expect_status(200).json();
        if method == "cancel" {
            assert_eq!(stopped["status"], "cancelled");
        }
        model.wait_for_abandoned(done).await;
    }
}

/// A retry that reaches another host while the first still answers must not be answered, and paid, twice.
#[tokio::test]
async fn a_request_that_another_host_is_answering_is_not_answered_twice() {
    let [_, first] = stores::both().await;
    first.sqlite("shop", SHOP).await.load().await;
    let second = first.beside().await;
    let gate = Gate::default();
    let model = told(&first, [Turn::empty().and_wait(&gate).and_text("Three.")]).await;
    let send = |host: &Host| {
        let body = json!({"model": "told", "input": "How many?", "background": true});
        host.post("/responses", body)
            .header("idempotency-key", "once")
    };
    let begun = send(&first).await.expect_status(200).json();
    send(&second).await.expect_error(409, "wrong_state");
    gate.open();
    let path = format!("/responses/{}", id(&begun));
    eventually(
        async || first.get(&path).await.json(),
        |now| now["status"] == "completed",
    )
    .await;
    assert_eq!(
        send(&second).await.expect_status(200).json()["id"],
        begun["id"]
    );
    assert_eq!(model.asked().len(), 1);
}

#[tokio::test]
async fn what_an_answer_would_not_do_is_refused() {
    let (host, _mind) = shop().await;
    let _model = told(&host, [Turn::text("Three.")]).await;
    let format = json!({"format": {"type": "json_schema", "name": "n", "schema": {}}});
    let error = ask(&host, json!({"input": "How many?", "text": format})).await;
    assert_eq!(
        error.expect_error(400, "invalid_parameter")["param"],
        "text.format.type"
    );
    let chat = json!({"model": "told", "messages": [{"role": "user", "content": "How many?"}],
        "response_format": {"type": "json_object"}});
    let error = host.post("/chat/completions", chat).await;
    assert_eq!(
        error.expect_error(400, "invalid_parameter")["param"],
        "response_format.type"
    );
    let zipped = host
        .post("/responses", json!({"model": "told", "input": "How many?"}))
        .header("content-encoding", "gzip");
    zipped.await.expect_error(415, "unsupported_media_type");
    let text = json!({"format": {"type": "text"}});
    ask(&host, json!({"input": "How many?", "text": text}))
        .await
        .expect_status(200);
}

/// What clients of OpenAI add to their requests passes a browser's question before the request.
#[tokio::test]
async fn a_page_may_send_the_headers_of_its_client() {
    let host = Host::builder()
        .env(
            "MINDHOST_SERVER__CORS_ORIGINS",
            "[\"https://app.example.com\"]",
        )
        .start()
        .await;
    let headers = "authorization,x-stainless-retry-count";
    let ask = async |origin: &str| {
        host.request(Method::OPTIONS, "/api/v1/responses")
            .without_key()
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", headers)
            .await
    };
    let allowed = ask("https://app.example.com").await.expect_status(200);
    assert_eq!(allowed.header("access-control-allow-headers"), headers);
    let origin = allowed.header("access-control-allow-origin");
    assert_eq!(origin, "https://app.example.com");
    let methods = allowed.header("access-control-allow-methods");
    assert!(methods.contains("POST"), "{methods}");
    // A page of anybody else may not.
    let foreign = ask("https://evil.example.com").await;
    assert_eq!(foreign.header("access-control-allow-origin"), "");
}
