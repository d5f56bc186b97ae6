//! Making and rotating keys with policies, where something is missing or too much.

use mindhost_tests::{Host, Postgres, json};

use super::{body, crew, make, own_rows, policy};

#[tokio::test]
async fn too_many_policies_are_refused_before_one_is_looked_up() {
    let host = Host::start().await;
    let unknown = policy(&json!({"hidden": ["id"]}));
    let error = host.post("/keys", body(&vec![unknown.clone(); 101])).await;
    let error = error.expect_error(400, "invalid_parameter");
    assert_eq!(error["param"], "policies", "{error}");
    let error = host.post("/keys", body(&vec![unknown; 100])).await;
    error.expect_error(422, "unknown_datasource");
}

#[tokio::test]
async fn keys_are_listed_and_rotated_without_the_plugin_of_a_datasource() {
    let host = crew(Host::start().await).await;
    let made = make(&host, &[own_rows()]).await;
    host.shut_down().await;
    let store = rusqlite::Connection::open(host.data_dir().join("mindhost.db")).unwrap();
    let changed = store.execute("UPDATE datasources SET engine = 'abacus'", []);
    assert_eq!(changed.unwrap(), 1);
    drop(store);
    host.restart().await;
    let listed = host.get("/keys").await.expect_status(200).json();
    let mut keys = listed.as_array().unwrap().iter();
    let shown = keys.find(|key| key["id"] == made["id"]).unwrap();
    let problem = shown["policies"][0]["problem"].as_str().unwrap();
    assert!(problem.contains("engine `abacus`"), "{problem}");
    let path = format!("/keys/{}/rotate", made["id"].as_str().unwrap());
    let renewed = host.post(&path, json!({})).await.expect_status(200).json();
    assert_eq!(renewed["policies"], shown["policies"], "{renewed}");
    let own = host.get("/keys/current");
    let own = own.key(renewed["key"].as_str().unwrap()).await;
    assert_eq!(own.expect_status(200).json()["id"], made["id"]);
    let old = host.get("/keys/current");
    let old = old.key(made["key"].as_str().unwrap()).await;
    old.expect_error(401, "invalid_api_key");
    // A new key is not made with a policy that was not checked.
    let refused = host.post("/keys", body(&[own_rows()])).await;
    refused.expect_error(503, "no_plugin");
}

/// They are tried many at a time, else the last of them would not be tried before the time is over.
#[tokio::test]
async fn last_of_many_masks_is_tried_too() {
    const LAST: usize = 599;
    let columns: Vec<String> = (0..LAST).map(|at| format!("c{at} TEXT")).collect();
    let sql = format!(
        "CREATE TABLE staff ({}, c{LAST} INTEGER);",
        columns.join(", ")
    );
    let database = Postgres::shared().database(&sql).await;
    let host = Host::start().await;
    host.postgres("crew", &database).await.load().await;
    let mut masked = json!({});
    for at in 0..=LAST {
        masked[format!("c{at}")] = json!({"sql": format!("upper(c{at})")});
    }
    let made = host
        .post("/keys", body(&[policy(&json!({"masked": masked}))]))
        .await;
    let error = made.expect_error(422, "invalid_policy");
    assert_eq!(error["param"], format!("policies[0].masked.c{LAST}"));
    masked.as_object_mut().unwrap().remove(&format!("c{LAST}"));
    make(&host, &[policy(&json!({"masked": masked}))]).await;
}
