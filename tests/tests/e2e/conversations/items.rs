//! Items of a conversation: added, removed, referred to, listed.

use mindhost_tests::{Host, ScriptedModel, Turn, Value, json};

use crate::{
    responses::{self, running::id, shop},
    stores,
};

fn texts(list: &Value) -> Vec<&str> {
    let data = list["data"].as_array().unwrap().iter();
    data.map(|item| item["content"][0]["text"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn items_are_added_and_removed() {
    let host = Host::start().await;
    let made = host.post("/conversations", json!({})).await.json();
    let conversation = format!("/conversations/conv_{}", id(&made));
    let path = format!("{conversation}/items");
    let parts = json!([{"type": "input_text", "text": "two"}]);
    let items = json!([{"role": "user", "content": "one"}, {"type": "message", "role": "assistant", "content": parts}]);
    let added = host.post(&path, json!({"items": items})).await;
    let added = added.expect_status(200).json();
    assert_eq!(
        (texts(&added), &added["object"]),
        (vec!["one", "two"], &json!("list"))
    );
    assert_eq!(added["data"][1]["content"][0]["type"], "output_text");
    let item = format!("{path}/msg_{}", id(&added["data"][0]));
    let removed = host.delete(&item).await.expect_status(200).json();
    assert_eq!(
        (&removed["object"], &removed["id"]),
        (&json!("conversation"), &made["id"])
    );
    host.delete(&item)
        .await
        .expect_error(404, "message_not_found");
    host.get(&item).await.expect_error(404, "message_not_found");
    // What comes later stands behind what is left.
    let third = json!({"items": [{"role": "user", "content": "three"}]});
    host.post(&path, third).await.expect_status(200);
    let all = host.get(&format!("{path}?order=asc")).await.json();
    assert_eq!(texts(&all), ["two", "three"]);
    let many = vec![json!({"role": "user", "content": "x"}); 21];
    for (items, code) in [
        (json!([]), "invalid_parameter"),
        (json!(many), "invalid_parameter"),
        (json!("x"), "invalid_body"),
        (json!([{"role": "robot", "content": "x"}]), "invalid_body"),
        (
            json!([{"type": "item_reference", "id": added["data"][1]["id"]}]),
            "invalid_parameter",
        ),
    ] {
        host.post(&path, json!({"items": items}))
            .await
            .expect_error(400, code);
    }
    for (query, status, code) in [
        ("limit=101", 400, "invalid_parameter"),
        ("after=nonsense", 404, "message_not_found"),
        (
            &format!("after={}", id(&added["data"][0])),
            404,
            "message_not_found",
        ),
    ] {
        host.get(&format!("{path}?{query}"))
            .await
            .expect_error(status, code);
    }
    host.get(&format!("{path}?limit=100"))
        .await
        .expect_status(200);
}

#[tokio::test]
async fn a_reference_stands_for_a_message_of_before() {
    let (host, _mind) = shop().await;
    let model = ScriptedModel::start(["Three.", "Two.", "One."].map(Turn::text)).await;
    host.scripted_provider("scripted", &model).await;
    host.mind("told")
        .datasource("shop")
        .provider("scripted")
        .create()
        .await;
    let first = host
        .post("/responses", json!({"model": "told", "input": "How many?"}))
        .await
        .json();
    let reference =
        json!({"type": "item_reference", "id": format!("msg_{}", id(&first["output"][0]))});
    let input = json!([{"role": "user", "content": "How many?"}, reference, {"role": "user", "content": "And in DE?"}]);
    let second = host
        .post("/responses", json!({"model": "told", "input": input}))
        .await;
    let second = second.expect_status(200).json();
    assert_ne!(second["conversation"], first["conversation"]);
    let asked = &model.asked()[1];
    assert_eq!(
        (asked.text_of("assistant"), asked.text_of("user")),
        ("Three.".to_owned(), "How many?\nAnd in DE?".to_owned())
    );
    // In its own conversation it is there already.
    let input = json!([reference, {"role": "user", "content": "And in FR?"}]);
    let body = json!({"model": "told", "input": input, "conversation": first["conversation"]});
    host.post("/responses", body).await.expect_status(200);
    assert_eq!(model.asked()[2].text_of("assistant"), "Three.");
    let stranger = json!({"name": "stranger", "role": "user"});
    let stranger = host.post("/keys", stranger).await.json();
    let body = json!({"model": "told", "input": [reference, {"role": "user", "content": "x"}]});
    let error = host
        .post("/responses", body)
        .key(stranger["key"].as_str().unwrap())
        .await;
    assert_eq!(
        error.expect_error(404, "message_not_found")["param"],
        "input[0].id"
    );
}

#[tokio::test]
async fn answer_is_read_later_with_its_steps_assumptions_and_rating() {
    for host in stores::both().await {
        host.sqlite("shop", responses::SHOP).await.load().await;
        let assumed = json!({"sql": "SELECT count(*) FROM customers", "assumptions": ["Closed accounts count."]});
        let model = ScriptedModel::start([
            Turn::call("run_sql", json!({"sql": "SELECT missing FROM customers"})),
            Turn::call("run_sql", assumed),
            Turn::text("Three."),
        ]);
        let model = model.await;
        host.scripted_provider("scripted", &model).await;
        let mind = host.mind("told").datasource("shop").provider("scripted");
        let mind = mind.create().await;
        let response = mind.ask("How many?").await.expect_status(200).json();
        let conversation = format!("/conversations/{}", id(&response["conversation"]));
        let answer = async |query: &str| {
            let items = host.get(&format!("{conversation}/items{query}")).await;
            items.expect_status(200).json()["data"][0].clone()
        };
        let item = answer("?include=answer").await;
        assert_eq!(item["response_id"], response["id"], "{item}");
        let known = &item["answer"];
        let steps = known["steps"].as_array().unwrap();
        let ends: Vec<_> = steps.iter().map(|step| &step["status"]).collect();
        assert_eq!(ends, ["completed", "failed", "completed"], "{known}");
        // What the prompt had of the catalog. Only the stream lists the tables.
        assert_eq!(steps[0]["name"], "context");
        let message = "2 of 2 tables: shop.main.customers, shop.main.orders";
        assert_eq!(steps[0]["message"], message);
        assert_eq!(steps[0].get("tables"), None);
        assert_eq!(steps[2]["sql"], "SELECT count(*) FROM customers");
        assert_eq!(known["assumptions"], json!(["Closed accounts count."]));
        assert_eq!(known["tables"], json!(["shop.main.customers"]));
        assert_eq!(
            (&known["row_count"], &known["truncated"]),
            (&json!(1), &json!(false))
        );
        let follow_ups = &response["output"][0]["follow_up_questions"];
        assert_eq!(&known["follow_up_questions"], follow_ups);
        for missing in ["ending", "error", "feedback"] {
            assert_eq!(known[missing], Value::Null, "{missing}");
        }

        let right = "SELECT count(*) + 1 FROM customers";
        let rating = json!({"rating": "down", "comment": "Too few.", "corrected_sql": right});
        let path = format!("/responses/{}/feedback", id(&response));
        host.post(&path, rating.clone()).await.expect_status(200);
        assert_eq!(
            answer("?include=answer").await["answer"]["feedback"],
            rating
        );

        // Neither unless asked, nor for questions, nor once the response is deleted.
        assert_eq!(answer("").await.get("answer"), None);
        let question = answer("?include=answer&order=asc").await;
        assert_eq!(question.get("answer"), None);
        assert_eq!(question["response_id"], response["id"], "{question}");
        host.get(&format!("{conversation}/items?include=everything"))
            .await
            .expect_error(400, "invalid_parameter");
        let path = format!("/responses/{}", id(&response));
        host.delete(&path).await.expect_status(200);
        assert_eq!(answer("?include=answer").await.get("answer"), None);
    }
}

#[tokio::test]
async fn failed_answer_is_read_later_with_its_reason_and_the_id_of_its_request() {
    for host in stores::both().await {
        host.sqlite("shop", responses::SHOP).await.load().await;
        let turns = [
            Turn::error(400, "The model sleeps."),
            Turn::text("It is awake."),
        ];
        let model = ScriptedModel::start(turns).await;
        host.scripted_provider("scripted", &model).await;
        let mind = host.mind("told").datasource("shop").provider("scripted");
        mind.create().await;
        let made = host.post("/conversations", json!({})).await.json();
        let ask = async |question: &str| {
            let body = json!({"model": "told", "conversation": made["id"], "input": question});
            host.post("/responses", body).await
        };
        let failed = ask("How many?").await;
        let request = failed.header("x-request-id").to_owned();
        ask("And now?").await.expect_status(200);
        let path = format!("/conversations/{}/items", id(&made));
        let items =
            async |query: &str| host.get(&format!("{path}{query}")).await.json()["data"].clone();
        let question = items("?include=answer&order=asc").await[0].clone();
        let reason = &question["failure"];
        assert_eq!(reason["request_id"], request, "{question}");
        let message = reason["message"].as_str().unwrap();
        assert!(message.contains("The model sleeps."), "{message}");
        let response = format!("/responses/{}", question["response_id"].as_str().unwrap());
        let stored = host.get(&response).await.expect_status(200).json();
        assert_eq!(&stored["error"], reason, "{stored}");
        // Neither unless asked, nor of what did not fail.
        assert_eq!(items("?order=asc").await[0].get("failure"), None);
        for item in items("?include=answer").await.as_array().unwrap() {
            let has_failed = item["id"] == question["id"];
            assert_eq!(item.get("failure").is_some(), has_failed, "{item}");
        }
    }
}

#[tokio::test]
async fn question_that_was_answered_at_last_has_no_failure() {
    for host in stores::both().await {
        host.sqlite("shop", responses::SHOP).await.load().await;
        let turns = [
            Turn::error(400, "The model sleeps."),
            Turn::text("It is awake."),
        ];
        let model = ScriptedModel::start(turns).await;
        host.scripted_provider("scripted", &model).await;
        let mind = host.mind("told").datasource("shop").provider("scripted");
        mind.create().await;
        let made = host.post("/conversations", json!({})).await.json();
        let body = json!({"model": "told", "conversation": made["id"], "input": "How many?"});
        host.post("/responses", body.clone()).await;
        let answered = host.post("/responses", body).await.expect_status(200);
        let path = format!("/conversations/{}/items?include=answer", id(&made));
        let items = host.get(&path).await.json()["data"].clone();
        assert_eq!(items.as_array().unwrap().len(), 2, "{items}");
        for item in items.as_array().unwrap() {
            assert_eq!(item["response_id"], answered.json()["id"], "{item}");
            assert_eq!(item.get("failure"), None, "{item}");
        }
    }
}
