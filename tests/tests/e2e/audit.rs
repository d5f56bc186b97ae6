//! `/audit`

use std::time::Duration;

use mindhost_tests::{ADMIN_KEY, Host, Postgres, ScriptedModel, Turn, Value, eventually, json};
use reqwest::Method;
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::{metrics, stores};

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

/// Waits for the newest note of an action.
async fn newest(host: &Host, action: &str) -> Value {
    let found = async || {
        let entries = entries(host, "").await;
        let mut entries = entries.into_iter();
        entries.find(|entry| entry["action"] == action)
    };
    eventually(found, Option::is_some).await.unwrap()
}

#[tokio::test]
async fn asking_is_noted_with_the_mind_and_what_it_came_to() {
    let model = ScriptedModel::start([Turn::text("One."), Turn::text("Two.")]).await;
    let host = Host::start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)").await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("clerk").datasource("shop").provider("scripted");
    let mind = mind.direct_queries().create().await;
    let line =
        |entry: &Value| ["resource", "mind", "made", "status"].map(|part| entry[part].clone());

    let asked = mind.sql("SELECT id FROM item").await.json();
    let noted = newest(&host, "POST /responses").await;
    assert_eq!(
        json!(line(&noted)),
        json!(["/responses", "clerk", asked["id"], 200])
    );

    let chat = json!({"model": "clerk", "messages": [{"role": "user", "content": "How many?"}]});
    let chat = host
        .post("/chat/completions", chat)
        .await
        .expect_status(200)
        .json();
    let noted = newest(&host, "POST /chat/completions").await;
    assert_eq!(
        json!(line(&noted)),
        json!(["/chat/completions", "clerk", chat["id"], 200])
    );

    let made = host.post("/conversations", json!({})).await.json();
    let noted = newest(&host, "POST /conversations").await;
    assert_eq!(
        json!(line(&noted)),
        json!(["/conversations", null, made["id"], 200])
    );

    let mut stream = mind.stream("And now?").await;
    let first = stream.next().await.expect("an event");
    let id = &first.data["response"]["id"];
    let is_it = |entry: &Value| entry["made"] == *id && entry["mind"] == "clerk";
    eventually(
        async || entries(&host, "").await,
        |entries| entries.iter().any(is_it),
    )
    .await;

    host.delete("/minds/clerk").await.expect_status(200);
    let noted = newest(&host, "POST /responses").await;
    assert_ne!(noted["mind"], Value::Null, "the id, once it has no name");
}

#[tokio::test]
async fn a_question_whose_client_left_is_noted_without_a_status() {
    let model = ScriptedModel::start([Turn::text("One").and_hang()]).await;
    let host = Host::start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)").await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("clerk").datasource("shop").provider("scripted");
    mind.create().await;
    let question = json!({"model": "clerk", "input": "How many?"});
    let client = tokio::spawn(host.post("/responses", question).attempt());
    model.wait_for_requests(1).await;
    client.abort();
    let noted = newest(&host, "POST /responses").await;
    assert_eq!(
        (&noted["mind"], &noted["status"]),
        (&json!("clerk"), &Value::Null)
    );
}

#[tokio::test]
async fn a_call_of_mcp_is_noted_with_its_tool_and_how_it_failed() {
    let host = Host::start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)")
        .await
        .load()
        .await;
    let mind = host.mind("clerk").datasource("shop").direct_queries();
    mind.create().await;
    let call = async |name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        host.request(Method::POST, "/mcp")
            .header("accept", "application/json, text/event-stream")
            .json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
            .await
            .expect_status(200);
    };
    call(
        "run_sql",
        json!({"mind": "clerk", "sql": "DROP TABLE item"}),
    )
    .await;
    let refused = newest(&host, "POST /mcp run_sql").await;
    assert_eq!(
        (&refused["mind"], &refused["status"]),
        (&json!("clerk"), &json!(400))
    );
    call("describe_tables", json!({"mind": "clerk"})).await;
    let described = newest(&host, "POST /mcp describe_tables").await;
    assert_eq!(
        (&described["mind"], &described["status"]),
        (&json!("clerk"), &json!(200))
    );
    call("mh_not_a_tool", json!({})).await;
    assert_eq!(newest(&host, "POST /mcp").await["status"], 404);
}

/// Sends a request that makes a key; resetting the connection is the caller's.
async fn send(host: &Host) -> TcpStream {
    let body = r#"{"name": "left", "role": "user"}"#;
    let address = host.url().replace("http://", "");
    let mut connection = TcpStream::connect(&address).await.unwrap();
    let request = format!(
        "POST /api/v1/keys HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        host.key(),
        body.len()
    );
    connection.write_all(request.as_bytes()).await.unwrap();
    connection
}

fn reset(connection: TcpStream) {
    connection.set_zero_linger().unwrap();
    drop(connection);
}

/// The ids of the keys that requests of [`send`] made. Each of them has its note.
async fn noted_keys(host: &Host) -> Vec<Value> {
    let keys = host.get("/keys").await.expect_status(200).json();
    let keys = keys.as_array().unwrap().iter();
    let made = keys.filter(|key| key["name"] == "left");
    let made: Vec<_> = made.map(|key| key["id"].clone()).collect();
    let entries = entries(host, "?limit=1000").await;
    for id in &made {
        let of_key = entries.iter().filter(|entry| entry["made"] == *id);
        let status: Vec<_> = of_key.map(|entry| &entry["status"]).collect();
        assert_eq!(status, [&json!(201)], "{id} of {}", made.len());
    }
    made
}

#[tokio::test]
async fn act_is_noted_whenever_its_client_leaves() {
    const ROUNDS: u64 = 120;
    let host = Host::start().await;
    for round in 0..ROUNDS {
        let connection = send(&host).await;
        // Not a wait for something, but the moments at which clients leave. In the last round of each twelve the
        // answer is there, so that some keys are made however slow the machine is.
        match round % 12 {
            11 => connection.readable().await.unwrap(),
            moment => tokio::time::sleep(Duration::from_micros(moment * 500)).await,
        }
        reset(connection);
    }
    // What goes on without its client is done before the server ends.
    assert!(host.shut_down().await);
    host.restart().await;
    let made = noted_keys(&host).await.len();
    assert!((10..=120).contains(&made), "{made} of {ROUNDS}");
}

#[tokio::test]
async fn act_whose_client_left_before_it_was_done_is_noted() {
    let host = Host::builder().env("MINDHOST_STORE__ACQUIRE_TIMEOUT", "60s");
    let host = host.start().await;
    // Nobody can write, so each of them leaves before its key is there.
    let lock = rusqlite::Connection::open(host.data_dir().join("mindhost.db")).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    const CLIENTS: u64 = 5;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(send(&host).await);
    }
    // The one that asks counts too.
    let under_way = async || metrics::under_way(&host).await;
    eventually(under_way, |count| *count == CLIENTS + 1).await;
    clients.into_iter().for_each(reset);
    assert_eq!(noted_keys(&host).await, [] as [Value; 0]);
    lock.execute_batch("ROLLBACK").unwrap();
    eventually(under_way, |count| *count == 1).await;
    assert_eq!(noted_keys(&host).await.len(), 5);
    assert!(host.shut_down().await, "{}", host.log());
}

#[tokio::test]
async fn a_new_name_is_noted_with_the_old_one() {
    let host = Host::start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)").await;
    host.mind("sales").create().await;
    let provider = json!({"name": "vendor", "plugin": "model-offline"});
    host.post("/providers", provider).await.expect_status(201);
    for old in ["/minds/sales", "/datasources/shop", "/providers/vendor"] {
        host.put(old, json!({"name": "renamed"}))
            .await
            .expect_status(200);
        let newest = entries(&host, "?limit=1").await.remove(0);
        assert_eq!(
            (&newest["resource"], &newest["made"]),
            (&json!(old), &json!("renamed"))
        );
    }
    host.put("/minds/renamed", json!({"parameters": {}}))
        .await
        .expect_status(200);
    assert_eq!(entries(&host, "?limit=1").await[0]["made"], Value::Null);
}

#[tokio::test]
async fn a_key_that_an_operator_makes_elsewhere_is_noted_there_too() {
    let host = Host::start().await;
    host.post("/workspaces", json!({"name": "alpha"}))
        .await
        .expect_status(201);
    let key = json!({"name": "first", "role": "admin"});
    let key = host
        .post("/workspaces/alpha/keys", key)
        .await
        .expect_status(201)
        .json();
    let text = key["key"].as_str().unwrap();
    let there = host.get("/audit").key(text).await.expect_status(200).json();
    let here = entries(&host, "?limit=1").await;
    for entry in [&there["data"][0], &here[0]] {
        let parts = ["action", "resource", "made", "key_name"].map(|part| &entry[part]);
        let action = json!("POST /workspaces/{name}/keys");
        let (resource, by) = (json!("/workspaces/alpha/keys"), json!("MINDHOST_ADMIN_KEY"));
        assert_eq!(parts, [&action, &resource, &key["id"], &by]);
    }
    assert_eq!(there["data"].as_array().unwrap().len(), 1, "{there}");
}

#[tokio::test]
async fn a_cursor_that_is_none_is_refused() {
    let host = Host::start().await;
    host.mind("sales").create().await;
    for wrong in ["zzz", "", "/minds/sales"] {
        let refused = host.get(&format!("/audit?after={wrong}")).await;
        let refused = refused.expect_error(400, "invalid_parameter");
        assert_eq!(refused["param"], "after");
    }
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
        .header("x-request-id", text)
        .await
        .expect_status(404);
    for path in [
        format!("/keys/x{text}"),
        format!("/keys/{ADMIN_KEY}"),
        format!("/minds/{ADMIN_KEY}"),
        format!("/datasources/Bearer%20{text}"),
        format!("/datasources/shop/catalog/tables/%6d{}", &text[1..]),
        "/providers/sk-proj-0123456789abcdefghijklmnopqrstuvwxyz".to_owned(),
    ] {
        host.delete(&path).await.expect_status(404);
    }
    let trail = host.get("/audit").await.expect_status(200).text();
    let log = host.log();
    for secret in [&text[3..], ADMIN_KEY, &database.password, "0123456789"] {
        assert!(
            !trail.contains(secret) && !log.contains(secret),
            "{secret} in {trail}\n{log}"
        );
    }
    assert!(
        trail.contains("\"pg\"") && trail.contains("/keys/mh_…"),
        "{trail}"
    );
}

#[tokio::test]
async fn what_is_too_old_is_deleted() {
    let host = Host::builder()
        .env("MINDHOST_AUDIT__RETENTION", "1ms")
        .start()
        .await;
    host.mind("sales").create().await;
    // It is there until the next start, so that its end is seen below.
    assert_eq!(newest(&host, "POST /minds").await["made"], "sales");
    host.restart().await;
    eventually(async || entries(&host, "").await, Vec::is_empty).await;
}
