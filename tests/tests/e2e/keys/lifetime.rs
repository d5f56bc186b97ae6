//! When keys end, who may end them, and when they were used.

use jiff::{SignedDuration, Timestamp};
use mindhost_tests::{Host, Value, eventually, json};

use super::{create, text};
use crate::stores;

#[tokio::test]
async fn a_key_that_ends_hands_out_none_that_lasts_longer() {
    for host in stores::both().await {
        let ends = Timestamp::now() + SignedDuration::from_hours(1);
        let body = |name: &str, at: Option<Timestamp>| json!({"name": name, "role": "admin", "expires_at": at});
        let key = text(&host, body("ends", Some(ends))).await;
        let longer = ends + SignedDuration::from_secs(1);
        for wider in [None, Some(longer)] {
            let refused = host.post("/keys", body("wider", wider)).key(&key).await;
            let error = refused.expect_error(403, "forbidden");
            assert_eq!(error["param"], "expires_at");
        }
        let same = host.post("/keys", body("same", Some(ends))).key(&key).await;
        same.expect_status(201);
    }
}

#[tokio::test]
async fn a_key_that_was_valid_ends_at_its_time() {
    let host = Host::start().await;
    let ends = Timestamp::now() + SignedDuration::from_secs(10);
    let key = text(
        &host,
        json!({"name": "brief", "role": "user", "expires_at": ends}),
    )
    .await;
    host.get("/minds").key(&key).await.expect_status(200);
    let ask = async || host.get("/minds").key(&key).await;
    let refused = eventually(ask, |reply| reply.status != 200).await;
    refused.expect_error(401, "invalid_api_key");
    assert!(Timestamp::now() >= ends);
}

#[tokio::test]
async fn the_last_key_that_could_make_every_other_stays() {
    let host = Host::builder().env("MINDHOST_ADMIN_KEY", "").start().await;
    let file = host.data_dir().join("admin.key");
    let key = std::fs::read_to_string(file).unwrap().trim().to_owned();
    let keys = host.get("/keys").key(&key).await.expect_status(200).json();
    let path = format!("/keys/{}", keys[0]["id"].as_str().unwrap());
    host.post("/minds", host.mind("open").body())
        .key(&key)
        .await
        .expect_status(200);
    let make = async |body: Value| host.post("/keys", body).key(&key).await.expect_status(201);
    let ends = Timestamp::now() + SignedDuration::from_hours(1);
    make(json!({"name": "ends", "role": "admin", "expires_at": ends})).await;
    make(json!({"name": "limited", "role": "admin", "minds": ["open"]})).await;
    make(json!({"name": "small", "role": "editor"})).await;
    host.delete(&path)
        .key(&key)
        .await
        .expect_error(409, "resource_in_use");
    host.get("/keys").key(&key).await.expect_status(200);
    // An admin does not make operators, so it does not stand in for the last one of these.
    make(json!({"name": "next", "role": "admin"})).await;
    let refused = host.delete(&path).key(&key).await;
    let error = refused.expect_error(409, "resource_in_use");
    assert!(error["message"].as_str().unwrap().contains("operator"));
    let rotate = format!("{path}/rotate");
    host.post(&rotate, json!({"expires_at": ends}))
        .key(&key)
        .await
        .expect_error(409, "resource_in_use");
    // One of another workspace does.
    host.post("/workspaces", json!({"name": "team"}))
        .key(&key)
        .await
        .expect_status(201);
    host.post(
        "/workspaces/team/keys",
        json!({"name": "next", "role": "operator"}),
    )
    .key(&key)
    .await
    .expect_status(201);
    host.delete(&path).key(&key).await.expect_status(204);
    host.get("/keys")
        .key(&key)
        .await
        .expect_error(401, "invalid_api_key");
}

#[tokio::test]
async fn an_admin_key_with_an_end_that_is_alone_is_renewed_and_replaced() {
    let host = Host::start().await;
    host.post("/workspaces", json!({"name": "team"}))
        .await
        .expect_status(201);
    let ends = Timestamp::now() + SignedDuration::from_hours(1);
    let body = json!({"name": "alone", "role": "admin", "expires_at": ends});
    let made = host.post("/workspaces/team/keys", body.clone()).await;
    let made = made.expect_status(201).json();
    let path = format!("/keys/{}", made["id"].as_str().unwrap());
    let rotated = host
        .post(&format!("{path}/rotate"), json!({}))
        .key(made["key"].as_str().unwrap())
        .await
        .expect_status(200)
        .json();
    let key = rotated["key"].as_str().unwrap();
    host.delete(&path)
        .key(key)
        .await
        .expect_error(409, "resource_in_use");
    let sooner = json!({"name": "sooner", "role": "admin", "expires_at": ends - SignedDuration::from_secs(1)});
    host.post("/keys", sooner).key(key).await.expect_status(201);
    host.delete(&path)
        .key(key)
        .await
        .expect_error(409, "resource_in_use");
    // What the message says can be done.
    host.post("/keys", body).key(key).await.expect_status(201);
    host.delete(&path).key(key).await.expect_status(204);
}

#[tokio::test]
async fn a_key_that_has_ended_is_renewed_with_another_end_alone() {
    let host = Host::start().await;
    let ends = Timestamp::now() + SignedDuration::from_secs(10);
    let made = create(
        &host,
        json!({"name": "brief", "role": "user", "expires_at": ends}),
    )
    .await;
    eventually(async || Timestamp::now(), |now| *now > ends).await;
    let path = format!("/keys/{}/rotate", made["id"].as_str().unwrap());
    let refused = host.post(&path, json!({})).await;
    let error = refused.expect_error(409, "wrong_state");
    assert_eq!(error["param"], "expires_at");
    let past = host.post(&path, json!({"expires_at": ends})).await;
    past.expect_error(400, "invalid_parameter");
    let renewed = host.post(&path, json!({"expires_at": null})).await;
    let renewed = renewed.expect_status(200).json();
    host.get("/minds")
        .key(renewed["key"].as_str().unwrap())
        .await
        .expect_status(200);
}

#[tokio::test]
async fn the_last_use_shows() {
    let host = Host::start().await;
    let made = create(&host, json!({"name": "used", "role": "user"})).await;
    assert_eq!(made["last_used_at"], Value::Null);
    host.get("/minds")
        .key(made["key"].as_str().unwrap())
        .await
        .expect_status(200);
    let last_used = async || {
        let keys = host.get("/keys").await.expect_status(200).json();
        let mut keys = keys.as_array().unwrap().iter();
        let key = keys.find(|key| key["id"] == made["id"]).unwrap();
        key["last_used_at"].clone()
    };
    let used = eventually(last_used, Value::is_string).await;
    let used: Timestamp = used.as_str().unwrap().parse().unwrap();
    let made: Timestamp = made["created_at"].as_str().unwrap().parse().unwrap();
    assert!((made..=Timestamp::now()).contains(&used), "{used}");
}

#[tokio::test]
async fn the_last_use_of_the_configured_key_shows() {
    let host = Host::start().await;
    let last_used = async || {
        let keys = host.get("/keys").await.expect_status(200).json();
        let mut keys = keys.as_array().unwrap().iter();
        let key = keys.find(|key| key["name"] == "MINDHOST_ADMIN_KEY");
        key.unwrap()["last_used_at"].clone()
    };
    let used = eventually(last_used, Value::is_string).await;
    let used: Timestamp = used.as_str().unwrap().parse().unwrap();
    assert!(used <= Timestamp::now(), "{used}");
}

#[tokio::test]
async fn a_key_for_minds_sdk_gets_datasources_as_objects() {
    let host = Host::start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)").await;
    host.mind("m").tables("shop", &["item"]).create().await;
    let key = text(
        &host,
        json!({"name": "sdk", "role": "user", "compat": "minds-sdk"}),
    )
    .await;
    let mind = host
        .get("/minds/m")
        .key(&key)
        .await
        .expect_status(200)
        .json();
    assert_eq!(
        mind["datasources"],
        json!([{"name": "shop", "tables": ["main.item"]}])
    );
    let mind = host.get("/minds/m").await.json();
    assert_eq!(mind["datasources"], json!(["shop"]));
    let unknown = json!({"name": "x", "role": "user", "compat": "minds-sdk-9"});
    host.post("/keys", unknown)
        .await
        .expect_error(400, "invalid_body");
}
