//! `/audit`

use std::time::Duration;

use mindhost_tests::{ADMIN_KEY, Host, Postgres, Value, json};

use crate::stores;

async fn entries(host: &Host, query: &str) -> Vec<Value> {
    let listed = host.get(&format!("/audit{query}")).await;
    let listed = listed.expect_status(200).json();
    listed["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn what_was_done_is_there_when_the_answer_is() {
    for host in stores::both().await {
        let key = json!({"name": "clerk", "role": "editor"});
        let key = host.post("/keys", key).await.expect_status(201).json();
        let text = key["key"].as_str().unwrap();
        let made = host
            .post("/minds", host.mind("sales").body())
            .key(text)
            .await;
        let made = made.expect_status(200);
        host.delete("/minds/nothing")
            .key(text)
            .await
            .expect_status(404);
        host.get("/minds").key(text).await.expect_status(200);

        let listed = entries(&host, "").await;
        let line = |index: usize| {
            let entry = &listed[index];
            let parts = ["key_name", "action", "resource", "made", "status"];
            parts.map(|part| entry[part].clone())
        };
        let deleted = json!(["clerk", "DELETE /minds/{name}", "/minds/nothing", null, 404]);
        assert_eq!(json!(line(0)), deleted);
        assert_eq!(
            json!(line(1)),
            json!(["clerk", "POST /minds", "/minds", "sales", 200])
        );
        assert_eq!(listed[1]["request_id"], made.header("x-request-id"));
        assert_eq!(listed[1]["key_id"], key["id"]);
        let by = ["MINDHOST_ADMIN_KEY", "POST /keys", "/keys"];
        assert_eq!(json!(line(2)), json!([by[0], by[1], by[2], key["id"], 201]));
        assert_eq!(listed.len(), 3, "reading is not noted: {listed:?}");

        let first = entries(&host, "?limit=1").await;
        let next = format!("?limit=1&after={}", first[0]["id"].as_str().unwrap());
        assert_eq!(entries(&host, &next).await, listed[1..2]);
        let of_key = format!("?key_id={}", key["id"].as_str().unwrap());
        assert_eq!(entries(&host, &of_key).await, listed[..2]);
        host.get("/audit")
            .key(text)
            .await
            .expect_error(403, "forbidden");
        host.get("/audit?limit=0")
            .await
            .expect_error(400, "invalid_parameter");
    }
}

#[tokio::test]
async fn asking_is_noted_too() {
    let host = Host::start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)").await;
    let mind = host.mind("clerk").datasource("shop").direct_queries();
    mind.create().await.query("SELECT id FROM item").await;
    let noted = tokio::time::timeout(Duration::from_secs(30), async {
        while entries(&host, "").await[0]["action"] != "POST /responses" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(noted.await.is_ok(), "it never was");
}

#[tokio::test]
async fn no_secret_is_ever_in_it() {
    let database = Postgres::shared().database("").await;
    let host = Host::start().await;
    host.postgres("pg", &database).await;
    let made = host
        .post("/keys", json!({"name": "a", "role": "user"}))
        .await
        .json();
    let text = made["key"].as_str().unwrap();
    host.delete(&format!("/keys/{text}"))
        .await
        .expect_status(404);
    let trail = host.get("/audit").await.expect_status(200).text();
    for secret in [text, ADMIN_KEY, &database.password] {
        assert!(!trail.contains(secret), "{trail}");
    }
    assert!(
        trail.contains("\"pg\"") && trail.contains("/keys/mh_…"),
        "{trail}"
    );
}

#[tokio::test]
async fn what_is_too_old_is_deleted() {
    let host = Host::builder()
        .env("MINDHOST_AUDIT__RETENTION", "0s")
        .start()
        .await;
    host.mind("sales").create().await;
    host.restart().await;
    let gone = tokio::time::timeout(Duration::from_secs(30), async {
        while !entries(&host, "").await.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(gone.await.is_ok(), "it never was");
}
