//! `/running`: what the server works on, and how it is stopped.

use mindhost_tests::{
    Host, Postgres, PostgresDatabase, ScriptedModel, Turn, Value, eventually, json,
};

use crate::stores;

/// A host with the datasource `numbers` on PostgreSQL, the Mind `clerk` over it, and the path of a result.
async fn numbers(host: &Host) -> (PostgresDatabase, String) {
    let sql = "CREATE TABLE numbers AS SELECT n, repeat('x', 2000) AS filler FROM generate_series(1, 100000) AS n";
    let database = Postgres::shared().database(sql).await;
    host.postgres("numbers", &database).await.load().await;
    let mind = host.mind("clerk").datasource("numbers").direct_queries();
    mind.create().await;
    let tool = json!({
        "type": "sql_query", "query": "SELECT n, filler FROM numbers", "max_inline_rows": 1,
    });
    let asked = host.post("/responses", json!({"model": "clerk", "tools": [tool]}));
    let answer = asked.await.expect_status(200).json();
    let (conversation, item) = (&answer["conversation"]["id"], &answer["output"][0]["id"]);
    let path = format!(
        "/conversations/{}/items/{}",
        conversation.as_str().unwrap(),
        item.as_str().unwrap()
    );
    (database, path)
}

async fn key(host: &Host, role: &str) -> (String, String) {
    let made = host.post("/keys", json!({"name": role, "role": role}));
    let made = made.await.expect_status(201).json();
    let text = |field: &str| made[field].as_str().unwrap().to_owned();
    (text("id"), text("key"))
}

async fn running(host: &Host, key: &str) -> Vec<Value> {
    let all = host.get("/running").key(key).await.expect_status(200);
    all.json()["data"].as_array().unwrap().clone()
}

/// The one piece of work, once there is one.
async fn the_one(host: &Host, key: &str) -> Value {
    let mut all = eventually(async || running(host, key).await, |all| all.len() == 1).await;
    all.remove(0)
}

async fn nothing_runs(host: &Host) {
    eventually(async || running(host, host.key()).await, Vec::is_empty).await;
}

fn stop(host: &Host, running: &Value) -> mindhost_tests::Request {
    let id = running["id"].as_str().unwrap();
    host.post(&format!("/running/{id}/cancel"), json!({}))
}

/// Statements of the database that wait for a lock.
async fn waiting(database: &PostgresDatabase) -> i64 {
    let client = Postgres::shared().admin("postgres").await;
    let sql =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'";
    let row = client.query_one(sql, &[&database.name]).await.unwrap();
    row.get(0)
}

#[tokio::test]
async fn statement_is_listed_and_stopped_down_to_the_database() {
    let host = Host::start().await;
    let (database, path) = numbers(&host).await;
    let (id, user) = key(&host, "admin").await;
    let locked = database.client().await;
    let lock = "BEGIN; LOCK TABLE numbers IN ACCESS EXCLUSIVE MODE";
    locked.batch_execute(lock).await.unwrap();
    let tool = json!({"type": "sql_query", "query": "SELECT n FROM numbers"});
    let asked = json!({"model": "clerk", "tools": [tool]});
    for (kind, request) in [
        ("page", host.get(&format!("{path}/result"))),
        ("export", host.get(&format!("{path}/export"))),
        ("sql_query", host.post("/responses", asked)),
    ] {
        let begun = tokio::spawn(request.key(&user).into_future());
        eventually(async || waiting(&database).await, |count| *count == 1).await;
        let listed = the_one(&host, host.key()).await;
        assert_eq!(listed["kind"], kind);
        assert_eq!(listed["key_id"], id);
        assert_eq!(listed["mind"], "clerk");
        assert_eq!(listed["on_this_host"], true);
        let text = listed["text"].as_str().unwrap();
        assert!(
            text.starts_with("SELECT n") && text.ends_with("FROM numbers"),
            "{text}"
        );
        let stopped = stop(&host, &listed).await.expect_status(200).json();
        assert_eq!(stopped["id"], listed["id"]);
        begun.await.unwrap().expect_error(499, "cancelled");
        eventually(async || waiting(&database).await, |count| *count == 0).await;
        nothing_runs(&host).await;
        stop(&host, &listed).await.expect_error(404, "not_running");
    }
}

#[tokio::test]
async fn export_whose_client_does_not_read_is_stopped() {
    let host = Host::start().await;
    let (_database, path) = numbers(&host).await;
    let mut export = host.get(&format!("{path}/export")).open().await;
    assert_eq!(export.status(), 200);
    export.chunk().await.unwrap();
    let listed = the_one(&host, host.key()).await;
    assert_eq!(listed["kind"], "export");
    stop(&host, &listed).await.expect_status(200);
    nothing_runs(&host).await;
    let rest = async {
        while export.chunk().await?.is_some() {}
        reqwest::Result::Ok(())
    };
    assert!(rest.await.is_err(), "the file looks whole");
}

#[tokio::test]
async fn admin_sees_all_keys_and_others_their_own() {
    let host = Host::start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)")
        .await
        .load()
        .await;
    let model = ScriptedModel::start([Turn::text("Let me think").and_hang()]).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("told").datasource("shop").provider("scripted");
    mind.create().await;
    let ((_, asker), (_, other)) = (key(&host, "user").await, key(&host, "editor").await);
    let question = json!({"model": "told", "input": "How many items?", "background": true});
    let asked = host.post("/responses", question).key(&asker).await.json();
    model.wait_for_requests(1).await;

    let listed = the_one(&host, host.key()).await;
    assert_eq!(listed["kind"], "answer");
    assert_eq!(listed["text"], "How many items?");
    assert_eq!(listed["background"], true);
    assert_eq!(the_one(&host, &asker).await, listed);
    assert_eq!(running(&host, &other).await, [] as [Value; 0]);
    let refused = stop(&host, &listed).key(&other).await;
    refused.expect_error(404, "not_running");

    stop(&host, &listed).await.expect_status(200);
    model.wait_for_abandoned(1).await;
    let path = format!("/responses/{}", asked["id"].as_str().unwrap());
    let stored = host.get(&path).key(&asker).await.expect_status(200).json();
    assert_eq!(stored["status"], "cancelled");
}

#[tokio::test]
async fn answer_of_another_host_is_listed_and_stopped() {
    let [_, host] = stores::both().await;
    let beside = host.beside().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)")
        .await
        .load()
        .await;
    let model = ScriptedModel::start([Turn::text("Let me think").and_hang()]).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("told").datasource("shop").provider("scripted");
    mind.create().await;
    let question = json!({"model": "told", "input": "How many items?", "background": true});
    host.post("/responses", question).await.expect_status(200);
    model.wait_for_requests(1).await;
    let listed = the_one(&beside, beside.key()).await;
    assert_eq!(listed["on_this_host"], false);
    assert_eq!(listed["text"], Value::Null);
    stop(&beside, &listed).await.expect_status(200);
    model.wait_for_abandoned(1).await;
    nothing_runs(&host).await;
}

#[tokio::test]
async fn question_of_a_response_that_is_not_stored_is_not_shown() {
    let host = Host::start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)")
        .await
        .load()
        .await;
    let model = ScriptedModel::start([Turn::text("Let me think").and_hang()]).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("told").datasource("shop").provider("scripted");
    mind.create().await;
    let question = json!({"model": "told", "input": "How many items?", "store": false});
    let asked = tokio::spawn(host.post("/responses", question).into_future());
    model.wait_for_requests(1).await;
    let listed = the_one(&host, host.key()).await;
    assert_eq!(listed["text"], Value::Null);
    stop(&host, &listed).await.expect_status(200);
    asked.await.unwrap().expect_error(499, "cancelled");
}

#[tokio::test]
async fn wrong_ids_are_refused() {
    let host = Host::start().await;
    for id in ["x", "0190e4c7-3f2a-7b1c-8d5e-6f708192a3b4", "resp_"] {
        let refused = host.post(&format!("/running/{id}/cancel"), json!({})).await;
        refused.expect_error(404, "not_running");
    }
}
