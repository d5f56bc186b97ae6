//! `/responses/{id}/feedback`

use mindhost_tests::{Host, Value, json};

use super::{SHOP, shop};

#[tokio::test]
async fn feedback_replaces_what_the_key_said_before() {
    let (host, mind) = shop().await;
    let response = mind.sql("SELECT 1").await.expect_status(200).json();
    let path = format!("/responses/{}/feedback", response["id"].as_str().unwrap());
    let body = json!({"rating": "down", "comment": "Why one?\nTwo, please."});
    let first = host.post(&path, body).await.expect_status(200).json();
    assert_eq!(
        (&first["rating"], &first["sql"]),
        (&json!("down"), &json!("SELECT 1"))
    );
    assert_eq!(first["question"], Value::Null);
    assert_eq!(first["response_id"], response["id"]);
    let again = host
        .post(&path, json!({"rating": "up"}))
        .await
        .expect_status(200)
        .json();
    assert_eq!(
        (&again["id"], &again["comment"]),
        (&first["id"], &Value::Null)
    );
    let listed = host.get("/minds/sales/feedback").await.json();
    assert_eq!(listed["data"], json!([again]));
}

#[tokio::test]
async fn wrong_feedback_is_refused() {
    let (host, mind) = shop().await;
    let response = mind.sql("SELECT 1").await.expect_status(200).json();
    let path = format!("/responses/{}/feedback", response["id"].as_str().unwrap());
    host.post(&path, json!({"rating": "great"}))
        .await
        .expect_error(400, "invalid_body");
    host.post(&path, json!({}))
        .await
        .expect_error(400, "invalid_body");
    for (field, value) in [
        ("comment", "x".repeat(2001)),
        ("comment", "\u{1b}[31m".to_owned()),
        ("comment", " ".to_owned()),
        ("corrected_sql", "x".repeat(20_001)),
    ] {
        let refused = host
            .post(&path, json!({"rating": "up", field: value}))
            .await;
        assert_eq!(
            refused.expect_error(400, "invalid_parameter")["param"],
            field
        );
    }
    let nothing = "/responses/resp_00000000-0000-7000-8000-000000000000/feedback";
    host.post(nothing, json!({"rating": "up"}))
        .await
        .expect_error(404, "response_not_found");
}

#[tokio::test]
async fn only_the_key_that_asked_gives_feedback() {
    let host = Host::start().await;
    host.sqlite("shop", SHOP).await.load().await;
    host.mind("sales")
        .datasource("shop")
        .direct_queries()
        .create()
        .await;
    let made = host
        .post("/keys", json!({"name": "clerk", "role": "user"}))
        .await;
    let clerk = made.expect_status(201).json()["key"]
        .as_str()
        .unwrap()
        .to_owned();
    let made = host
        .post("/keys", json!({"name": "other", "role": "user"}))
        .await;
    let other = made.expect_status(201).json()["key"]
        .as_str()
        .unwrap()
        .to_owned();
    let ask = json!({"model": "sales", "tools": [{"type": "sql_query", "query": "SELECT 1"}]});
    let response = host
        .post("/responses", ask)
        .key(&clerk)
        .await
        .expect_status(200)
        .json();
    let path = format!("/responses/{}/feedback", response["id"].as_str().unwrap());
    let up = || host.post(&path, json!({"rating": "up"}));
    up().key(&other)
        .await
        .expect_error(404, "response_not_found");
    // An admin may read the response of another key, but speaks not for it.
    up().await.expect_error(403, "forbidden");
    up().key(&clerk).await.expect_status(200);
    let refused = host.get("/minds/sales/feedback").key(&clerk).await;
    refused.expect_error(403, "forbidden");
}

#[tokio::test]
async fn feedback_goes_with_its_response() {
    for host in crate::stores::both().await {
        host.sqlite("shop", SHOP).await.load().await;
        let mind = host
            .mind("sales")
            .datasource("shop")
            .direct_queries()
            .create()
            .await;
        let response = mind.sql("SELECT 1").await.expect_status(200).json();
        let id = response["id"].as_str().unwrap();
        let up = json!({"rating": "up", "comment": "Right."});
        host.post(&format!("/responses/{id}/feedback"), up)
            .await
            .expect_status(200);
        let conversation = response["conversation"]["id"].as_str().unwrap();
        host.delete(&format!("/conversations/{conversation}"))
            .await
            .expect_status(200);
        let listed = host.get("/minds/sales/feedback").await.json();
        assert_eq!(
            (&listed["data"][0]["comment"], &listed["data"][0]["sql"]),
            (&json!("Right."), &Value::Null)
        );
        host.delete(&format!("/responses/{id}"))
            .await
            .expect_status(200);
        let listed = host.get("/minds/sales/feedback").await.json();
        assert_eq!(listed["data"], json!([]));
    }
}

#[tokio::test]
async fn response_that_was_not_stored_takes_no_feedback() {
    let (host, _mind) = shop().await;
    let ask = json!({"model": "sales", "store": false, "tools": [{"type": "sql_query", "query": "SELECT 1"}]});
    let response = host.post("/responses", ask).await.expect_status(200).json();
    let path = format!("/responses/{}/feedback", response["id"].as_str().unwrap());
    let body = json!({"rating": "down", "comment": "Keep this."});
    host.post(&path, body)
        .await
        .expect_error(404, "response_not_found");
}
