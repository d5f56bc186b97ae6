//! Which Mind and which key may go on with a conversation.

use mindhost_tests::{Host, ScriptedModel, Turn};
use serde_json::{Value, json};

use super::{running::id, shop};

async fn key(host: &Host, body: Value) -> String {
    let made = host.post("/keys", body).await.expect_status(201).json();
    made["key"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn asking_in_a_conversation_of_a_deleted_mind_says_that_it_was_deleted() {
    let (host, mind) = shop().await;
    host.mind("other").datasource("shop").create().await;
    let response = mind.sql("SELECT 1").await.expect_status(200).json();
    let conversation = response["conversation"]["id"].clone();
    host.delete("/minds/sales").await.expect_status(200);
    for model in ["sales", "other", "nobody"] {
        for place in [
            json!({"conversation": conversation}),
            json!({"previous_response_id": response["id"]}),
        ] {
            let mut body = json!({"model": model, "input": "x"});
            body.as_object_mut()
                .unwrap()
                .extend(place.as_object().unwrap().clone());
            host.post("/responses", body)
                .await
                .expect_error(404, "mind_deleted");
        }
    }
    let items = format!("/conversations/{}/items", conversation.as_str().unwrap());
    host.get(&items).await.expect_status(200);
    let new = json!({"model": "sales", "input": "x"});
    host.post("/responses", new)
        .await
        .expect_error(404, "mind_not_found");
}

#[tokio::test]
async fn a_key_that_may_not_see_the_mind_is_not_told_that_it_was_deleted() {
    let (host, mind) = shop().await;
    host.mind("open").datasource("shop").create().await;
    let response = mind.sql("SELECT 1").await.expect_status(200).json();
    let conversation = id(&response["conversation"]);
    // An admin may read what other keys of the workspace made, and this one is limited to another Mind.
    let limited = json!({"name": "limited", "role": "admin", "minds": ["open"]});
    let limited = key(&host, limited).await;
    let body = json!({"model": "open", "input": "x", "conversation": conversation});
    host.post("/responses", body)
        .key(&limited)
        .await
        .expect_error(404, "conversation_not_found");
    for (path, code) in [
        (
            format!("/conversations/{conversation}"),
            "conversation_not_found",
        ),
        (
            format!("/responses/{}", id(&response)),
            "response_not_found",
        ),
    ] {
        host.get(&path).key(&limited).await.expect_error(404, code);
        host.delete(&path)
            .key(&limited)
            .await
            .expect_error(404, code);
    }
}

#[tokio::test]
async fn what_one_key_made_does_not_exist_for_another() {
    let (host, _mind) = shop().await;
    let one = key(&host, json!({"name": "one", "role": "user"})).await;
    let two = key(&host, json!({"name": "two", "role": "user"})).await;
    let tool = json!({"type": "sql_query", "query": "SELECT 1"});
    let body = json!({"model": "sales", "tools": [tool]});
    let response = host.post("/responses", body).key(&one).await;
    let response = response.expect_status(200).json();
    let conversation = format!("/conversations/{}", id(&response["conversation"]));
    let item = format!("{conversation}/items/{}", id(&response["output"][0]));
    let of_response = format!("/responses/{}", id(&response));
    for path in [
        &conversation,
        &format!("{conversation}/items"),
        &item,
        &format!("{item}/result"),
        &format!("{item}/export"),
    ] {
        host.get(path)
            .key(&two)
            .await
            .expect_error(404, "conversation_not_found");
        host.get(path).key(&one).await.expect_status(200);
        host.get(path).await.expect_status(200);
    }
    let get = host.get(&of_response).key(&two).await;
    get.expect_error(404, "response_not_found");
    for place in [
        json!({"conversation": response["conversation"]["id"]}),
        json!({"previous_response_id": response["id"]}),
    ] {
        let mut body = json!({"model": "sales", "input": "x"});
        body.as_object_mut()
            .unwrap()
            .extend(place.as_object().unwrap().clone());
        let stranger = host.post("/responses", body.clone()).key(&two).await;
        assert_eq!(stranger.status, 404, "{}", stranger.text());
        // An admin may read it, and no more.
        host.post("/responses", body)
            .await
            .expect_error(403, "forbidden");
    }
    host.delete(&conversation)
        .await
        .expect_error(403, "forbidden");
    host.delete(&of_response)
        .await
        .expect_error(403, "forbidden");
    host.delete(&of_response).key(&one).await.expect_status(200);
    host.delete(&conversation)
        .key(&one)
        .await
        .expect_status(200);
}

#[tokio::test]
async fn a_response_whose_conversation_was_deleted_cannot_be_continued() {
    let (host, mind) = shop().await;
    let response = mind.sql("SELECT 1").await.expect_status(200).json();
    host.delete(&format!("/conversations/{}", id(&response["conversation"])))
        .await
        .expect_status(200);
    let body = json!({"model": "sales", "input": "x", "previous_response_id": response["id"]});
    let error = host
        .post("/responses", body)
        .await
        .expect_error(404, "conversation_not_found");
    assert_eq!(error["param"], "previous_response_id");
}

#[tokio::test]
async fn without_input_the_last_question_is_answered_again() {
    let (host, _mind) = shop().await;
    let model = ScriptedModel::start([Turn::text("Three."), Turn::text("3.")]).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("told").datasource("shop").provider("scripted");
    mind.create().await;
    let body = json!({"model": "told", "input": "How many?"});
    let first = host.post("/responses", body).await.json();
    let body = json!({"model": "told", "conversation": first["conversation"]});
    host.post("/responses", body).await.expect_status(200);
    let asked = model.asked()[1].clone();
    assert_eq!(
        (asked.text_of("user"), asked.text_of("assistant")),
        ("How many?".to_owned(), String::new())
    );
    let items = format!(
        "/conversations/{}/items?order=asc",
        id(&first["conversation"])
    );
    let items = host.get(&items).await.json();
    let texts: Vec<_> = items["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["How many?", "Three.", "3."]);
    // A message that the conversation has already is no new one.
    model.play([Turn::text("Three again.")]);
    let reference = json!({"type": "item_reference", "id": id(&first["output"][0])});
    let body =
        json!({"model": "told", "input": [reference], "conversation": first["conversation"]});
    host.post("/responses", body).await.expect_status(200);
    let asked = model.asked()[2].clone();
    assert_eq!(
        (asked.text_of("user"), asked.text_of("assistant")),
        ("How many?".to_owned(), String::new())
    );
    let empty = host.post("/conversations", json!({})).await.json();
    let body = json!({"model": "told", "conversation": empty["id"]});
    let error = host.post("/responses", body).await;
    assert_eq!(
        error.expect_error(400, "invalid_parameter")["param"],
        "input"
    );
}
