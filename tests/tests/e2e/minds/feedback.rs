//! `/minds/{name}/feedback`

use mindhost_tests::{Host, Mind, ScriptedModel, Turn, Value, json};

use super::knowledge::{SHOP, entries};
use crate::stores;

const SQL: &str = "SELECT count(*) FROM orders";

/// A Mind `sales` whose model answers with the number of orders. Gives the id of its response.
async fn answered(host: &Host) -> String {
    host.sqlite("shop", SHOP).await.load().await;
    let turns = [
        Turn::call("run_sql", json!({"sql": SQL})),
        Turn::text("Two."),
    ];
    let model = ScriptedModel::start(turns).await;
    host.scripted_provider("scripted", &model).await;
    let mind: Mind = host
        .mind("sales")
        .datasource("shop")
        .provider("scripted")
        .create()
        .await;
    let response = mind
        .ask("How many orders are there?")
        .await
        .expect_status(200)
        .json();
    response["id"].as_str().unwrap().to_owned()
}

async fn give(host: &Host, response: &str, body: Value) -> Value {
    let given = host
        .post(&format!("/responses/{response}/feedback"), body)
        .await;
    given.expect_status(200).json()
}

#[tokio::test]
async fn editor_makes_a_verified_query_of_feedback() {
    for host in stores::both().await {
        let response = answered(&host).await;
        let given = give(&host, &response, json!({"rating": "up"})).await;
        let listed = host
            .get("/minds/sales/feedback")
            .await
            .expect_status(200)
            .json();
        assert_eq!(listed["data"], json!([given]));
        assert_eq!(
            (&given["question"], &given["sql"]),
            (&json!("How many orders are there?"), &json!(SQL))
        );

        let path = format!(
            "/minds/sales/feedback/{}/promote",
            given["id"].as_str().unwrap()
        );
        let made = host
            .post(&path, json!({"notes": "All of them."}))
            .await
            .expect_status(201)
            .json();
        assert_eq!(made["kind"], "verified_query");
        assert_eq!(
            (&made["question"], &made["sql"]),
            (&given["question"], &given["sql"])
        );
        assert_eq!(entries(&host).await, std::slice::from_ref(&made));
        host.post(&path, json!({}))
            .await
            .expect_error(409, "wrong_state");
        let listed = host.get("/minds/sales/feedback").await.json();
        assert_eq!(listed["data"][0]["knowledge_id"], made["id"]);

        // A deleted one can be made again.
        host.delete(&format!(
            "/minds/sales/knowledge/{}",
            made["id"].as_str().unwrap()
        ))
        .await
        .expect_status(204);
        host.post(&path, json!({"question": "Orders?"}))
            .await
            .expect_status(201);
    }
}

#[tokio::test]
async fn corrected_statement_is_checked_when_it_is_promoted() {
    let host = Host::start().await;
    let response = answered(&host).await;
    let wrong = json!({"rating": "down", "corrected_sql": "DELETE FROM orders"});
    let given = give(&host, &response, wrong).await;
    let path = format!(
        "/minds/sales/feedback/{}/promote",
        given["id"].as_str().unwrap()
    );
    host.post(&path, json!({}))
        .await
        .expect_error(400, "sql_not_read_only");
    assert_eq!(entries(&host).await, Vec::<Value>::new());

    let right = "SELECT count(*) FROM orders WHERE status <> 'cancelled'";
    let again = give(
        &host,
        &response,
        json!({"rating": "down", "corrected_sql": right}),
    )
    .await;
    assert_eq!(again["id"], given["id"], "one per key and response");
    let made = host.post(&path, json!({})).await.expect_status(201).json();
    assert_eq!(made["sql"], right);
    let nothing = format!(
        "/minds/sales/feedback/{}/promote",
        made["id"].as_str().unwrap()
    );
    host.post(&nothing, json!({}))
        .await
        .expect_error(404, "feedback_not_found");
}

#[tokio::test]
async fn stored_answers_name_their_responses_for_those_who_rate_later() {
    let host = Host::start().await;
    let response = answered(&host).await;
    let conversation = host.get("/conversations").await.expect_status(200).json();
    let path = format!(
        "/conversations/{}/items",
        conversation["data"][0]["id"].as_str().unwrap()
    );
    let items = async |query: &str| {
        let page = host.get(&format!("{path}{query}")).await;
        page.expect_status(200).json()["data"].clone()
    };
    let named = items("?include=response_id&order=asc").await;
    assert_eq!(named[1]["response_id"], response);
    assert!(named[0].get("response_id").is_none(), "{named}");
    let plain = items("?order=asc").await;
    assert!(plain[1].get("response_id").is_none(), "{plain}");
    let odd = host.get(&format!("{path}?include=everything")).await;
    odd.expect_error(400, "invalid_parameter");
}
