//! `POST /keys/{id}/rotate`

use mindhost_tests::{Host, Value, json};

use super::{create, text};
use crate::stores;

async fn rotate(host: &Host, id: &Value, body: Value) -> mindhost_tests::Reply {
    let path = format!("/keys/{}/rotate", id.as_str().unwrap());
    host.post(&path, body).await
}

#[tokio::test]
async fn a_new_text_ends_the_old_one_and_keeps_what_belongs_to_the_key() {
    for host in stores::both().await {
        let made = create(&host, json!({"name": "report", "role": "user"})).await;
        let old = made["key"].as_str().unwrap();
        let conversation = host.post("/conversations", json!({})).key(old).await.json();
        let path = format!("/conversations/{}", conversation["id"].as_str().unwrap());

        let rotated = rotate(&host, &made["id"], json!({}))
            .await
            .expect_status(200)
            .json();
        let new = rotated["key"].as_str().unwrap();
        assert_ne!(new, old);
        assert_eq!(rotated["id"], made["id"]);
        assert!(new.starts_with(rotated["prefix"].as_str().unwrap()));
        host.get(&path).key(new).await.expect_status(200);
        host.get(&path)
            .key(old)
            .await
            .expect_error(401, "invalid_api_key");
        assert!(!host.log().contains(new));
    }
}

#[tokio::test]
async fn a_key_is_not_had_by_rotating_a_wider_one() {
    let host = Host::start().await;
    host.mind("open").create().await;
    let ends = "2099-01-01T00:00:00Z";
    let admin = text(
        &host,
        json!({"name": "admin", "role": "admin", "expires_at": ends}),
    )
    .await;
    let limited = text(
        &host,
        json!({"name": "limited", "role": "admin", "minds": ["open"]}),
    )
    .await;
    let lasting = create(&host, json!({"name": "lasting", "role": "user"})).await;
    let operator = create(&host, json!({"name": "operator", "role": "operator"})).await;
    let check = async |made: &Value, key: &str, body: Value, status: u16| {
        let path = format!("/keys/{}/rotate", made["id"].as_str().unwrap());
        let reply = host.post(&path, body).key(key).await;
        assert_eq!(reply.status, status, "{}", reply.text());
    };
    check(&operator, &admin, json!({"expires_at": ends}), 403).await;
    check(&lasting, &admin, json!({}), 403).await;
    check(&lasting, &limited, json!({}), 404).await;
    check(&lasting, &admin, json!({"expires_at": ends}), 200).await;
}

#[tokio::test]
async fn a_key_that_cannot_be_rotated_says_why() {
    let host = Host::start().await;
    let made = create(&host, json!({"name": "gone", "role": "user"})).await;
    let path = format!("/keys/{}", made["id"].as_str().unwrap());
    host.delete(&path).await.expect_status(204);
    rotate(&host, &made["id"], json!({}))
        .await
        .expect_error(409, "wrong_state");
    rotate(&host, &json!("unknown"), json!({}))
        .await
        .expect_error(404, "key_not_found");
    let keys = host.get("/keys").await.json();
    let configured = keys
        .as_array()
        .unwrap()
        .iter()
        .find(|key| key["role"] == "operator")
        .unwrap();
    rotate(&host, &configured["id"], json!({}))
        .await
        .expect_error(409, "wrong_state");
    let past = rotate(&host, &made["id"], json!({"expires_at": "soon"})).await;
    past.expect_error(400, "invalid_body");
}
