//! Somebody wants more of the server than a share: instances of plugins, connections, things in a workspace.

use std::time::{Duration, Instant};

use mindhost_tests::{Gate, Host, Mind, ScriptedModel, Turn, eventually, json};

use crate::responses::SHOP;

/// Questions of a model that does not answer before the gate opens, each of which holds an instance of its plugin.
async fn crowd(host: &Host, key: &str, questions: usize) -> Vec<reqwest::Response> {
    let mut open = Vec::new();
    for _ in 0..questions {
        let body = json!({"model": "clerk", "input": "How many?", "stream": true});
        open.push(host.post("/responses", body).key(key).open().await);
    }
    open
}

async fn slow_mind(host: &Host, gate: &Gate) -> (ScriptedModel, Mind) {
    let turns = (0..20).map(|_| Turn::empty().and_wait(gate).and_text("late"));
    let model = ScriptedModel::start(turns).await;
    host.sqlite("shop", SHOP).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("clerk").datasource("shop").provider("scripted");
    let mind = mind.direct_queries().create().await;
    (model, mind)
}

async fn key(host: &Host, path: &str, role: &str) -> String {
    let body = json!({"name": format!("{role} of a test"), "role": role});
    let made = host.post(path, body).await.expect_status(201).json();
    made["key"].as_str().unwrap().to_owned()
}

/// A workspace fills the server with questions that never end. Another one is served as if there were none.
#[tokio::test]
async fn a_workspace_cannot_take_all_instances() {
    let gate = Gate::default();
    let host = Host::builder()
        // The model that both ask is on this machine, which more than one workspace may not reach by itself.
        .env("MINDHOST_EGRESS__ALLOW_LOOPBACK", "true")
        .env("MINDHOST_PLUGINS__MAX_INSTANCES", "8")
        .env("MINDHOST_PLUGINS__MAX_WORKSPACE_INSTANCES", "5");
    let host = host.start().await;
    let (model, _) = slow_mind(&host, &gate).await;
    host.post("/workspaces", json!({"name": "neighbours"}))
        .await
        .expect_status(201);
    let neighbour = key(&host, "/workspaces/neighbours/keys", "admin").await;
    let open = crowd(&host, host.key(), 12).await;
    model.wait_for_requests(5).await;

    let folder = host.data_dir().join("files/neighbours");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(host.files_dir().join("shop.db"), folder.join("shop.db")).unwrap();
    let shop = json!({"name": "shop", "engine": "sqlite", "connection_data": {"path": "shop.db"}});
    let made = host.post("/datasources", shop).key(&neighbour);
    made.patience(Duration::from_secs(60))
        .await
        .expect_status(201);
    assert_eq!(model.asked().len(), 5, "more than the share");
    (0..20).for_each(|_| gate.open());
    drop(open);
}

/// One key of a workspace does the same to the other keys in it.
#[tokio::test]
async fn a_key_cannot_take_all_instances_of_its_workspace() {
    let gate = Gate::default();
    let host = Host::builder().env("MINDHOST_PLUGINS__MAX_KEY_INSTANCES", "3");
    let host = host.start().await;
    let (model, mind) = slow_mind(&host, &gate).await;
    let greedy = key(&host, "/keys", "user").await;
    let open = crowd(&host, &greedy, 6).await;
    model.wait_for_requests(3).await;
    assert_eq!(mind.rows("SELECT count(*) FROM orders").await, [[json!(3)]]);
    assert_eq!(model.asked().len(), 3, "more than the share");
    // Who waits is served when something has ended.
    (0..20).for_each(|_| gate.open());
    eventually(async || model.asked().len(), |asked| *asked == 6).await;
    drop(open);
}

/// An editor gives a datasource more connections, and statements more time, than the operator wants any to have.
#[tokio::test]
async fn a_datasource_cannot_have_more_than_the_operator_allows() {
    let host = Host::builder()
        .env("MINDHOST_SQL__MAX_CONNECTIONS_CEILING", "20")
        .env("MINDHOST_SQL__STATEMENT_TIMEOUT_CEILING", "1s");
    let host = host.start().await;
    host.sqlite("shop", SHOP).await.load().await;
    for (field, value, setting) in [
        ("max_connections", json!(21), "sql.max_connections_ceiling"),
        (
            "statement_timeout",
            json!("2s"),
            "sql.statement_timeout_ceiling",
        ),
    ] {
        let changed = host.patch("/datasources/shop", json!({field: value})).await;
        let error = changed.expect_error(400, "invalid_parameter");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(setting), "{message}");
        assert_eq!(error["param"], field);
        let mut body =
            json!({"name": "more", "engine": "sqlite", "connection_data": {"path": "shop.db"}});
        body[field] = value;
        host.post("/datasources", body)
            .await
            .expect_error(400, "invalid_parameter");
    }
    let most = json!({"max_connections": 20, "statement_timeout": "1s"});
    host.patch("/datasources/shop", most)
        .await
        .expect_status(200);
}

/// What was stored when more was allowed counts as the most that is allowed now.
#[tokio::test]
async fn an_older_datasource_is_held_to_the_ceiling_too() {
    let host = Host::builder()
        .env("MINDHOST_SQL__MAX_CONNECTIONS_CEILING", "1")
        .env("MINDHOST_SQL__STATEMENT_TIMEOUT_CEILING", "10s");
    let host = host.start().await;
    host.sqlite("shop", SHOP).await.load().await;
    let mind = host.mind("clerk").datasource("shop").direct_queries();
    let mind = mind.create().await;
    assert!(host.shut_down().await);
    let store = rusqlite::Connection::open(host.data_dir().join("mindhost.db")).unwrap();
    let larger = "UPDATE datasources SET settings = json_set(settings, '$.statement_timeout_ms', 3600000, '$.max_connections', 50)";
    assert_eq!(store.execute(larger, []).unwrap(), 1);
    drop(store);
    host.restart().await;
    let endless =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    // The second statement waits for the only connection, so it cannot be over before the time of the first is.
    let began = Instant::now();
    let first = async {
        mind.sql(endless).await.expect_error(504, "timeout");
    };
    let second = async {
        // Its own ten seconds begin well after those of the first, which leaves time to end that one.
        let running = async || {
            let running = host.get("/running").await.json();
            let count = running["data"].as_array().map(Vec::len);
            (count, began.elapsed() > Duration::from_secs(5))
        };
        eventually(running, |seen| *seen == (Some(1), true)).await;
        assert_eq!(mind.rows("SELECT count(*) FROM orders").await, [[json!(3)]]);
        assert!(began.elapsed() >= Duration::from_secs(9), "two connections");
    };
    tokio::join!(first, second);
    // Another change need not lower it.
    host.patch("/datasources/shop", json!({"description": "Orders"}))
        .await
        .expect_status(200);
}

/// A script that makes one thing after the other does not fill the store.
#[tokio::test]
async fn a_workspace_has_a_bounded_number_of_things() {
    let host = Host::builder()
        .env("MINDHOST_LIMITS__DATASOURCES_PER_WORKSPACE", "1")
        .env("MINDHOST_LIMITS__MINDS_PER_WORKSPACE", "1")
        .env("MINDHOST_LIMITS__PROVIDERS_PER_WORKSPACE", "2")
        .env("MINDHOST_LIMITS__KEYS_PER_WORKSPACE", "2");
    let host = host.start().await;
    host.sqlite("shop", SHOP).await;
    host.mind("clerk").datasource("shop").create().await;
    let provider =
        |name: &str| json!({"name": name, "plugin": "model-offline", "connection_data": {}});
    host.post("/providers?check_connection=false", provider("own"))
        .await
        .expect_status(201);
    let other = host
        .post("/keys", json!({"name": "one", "role": "user"}))
        .await;
    let other = other.expect_status(201).json();
    for (path, body, setting) in [
        (
            "/datasources",
            json!({"name": "more", "engine": "sqlite", "connection_data": {"path": "shop.db"}}),
            "limits.datasources_per_workspace",
        ),
        (
            "/minds",
            json!({"name": "more", "datasources": []}),
            "limits.minds_per_workspace",
        ),
        (
            "/providers",
            provider("more"),
            "limits.providers_per_workspace",
        ),
        (
            "/keys",
            json!({"name": "more", "role": "user"}),
            "limits.keys_per_workspace",
        ),
    ] {
        let refused = host.post(path, body).await;
        let error = refused.expect_error(429, "quota_exceeded");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(setting), "{message}");
        assert_eq!(refused.header("x-should-retry"), "false");
    }
    // One that ended makes room for another.
    let id = other["id"].as_str().unwrap();
    host.delete(&format!("/keys/{id}")).await.expect_status(204);
    host.post("/keys", json!({"name": "more", "role": "user"}))
        .await
        .expect_status(201);
}

/// Many requests in the same moment, each of which finds room before any of them takes it.
#[tokio::test]
async fn requests_at_once_add_no_more_than_there_may_be() {
    const AT_ONCE: usize = 40;
    let settings = |host: mindhost_tests::Builder| {
        host.env("MINDHOST_LIMITS__DATASOURCES_PER_WORKSPACE", "3")
            .env("MINDHOST_LIMITS__MINDS_PER_WORKSPACE", "3")
            .env("MINDHOST_LIMITS__PROVIDERS_PER_WORKSPACE", "3")
            .env("MINDHOST_LIMITS__KEYS_PER_WORKSPACE", "3")
    };
    for host in crate::stores::both_with(settings).await {
        host.sqlite("shop", SHOP).await;
        let data = json!({"path": "shop.db"});
        for (path, body) in [
            (
                "/datasources?check_connection=false",
                json!({"engine": "sqlite", "connection_data": data}),
            ),
            ("/minds", json!({"datasources": []})),
            (
                "/providers?check_connection=false",
                json!({"plugin": "model-offline", "connection_data": {}}),
            ),
            ("/keys", json!({"role": "user"})),
        ] {
            let sent: Vec<_> = (0..AT_ONCE)
                .map(|number| {
                    let mut body = body.clone();
                    body["name"] = json!(format!("thing{number}"));
                    tokio::spawn(host.post(path, body).attempt())
                })
                .collect();
            let mut made = 0;
            for reply in sent {
                let reply = reply.await.unwrap().unwrap();
                match reply.status {
                    200 | 201 => made += 1,
                    _ => _ = reply.expect_error(429, "quota_exceeded"),
                }
            }
            // Some were there before.
            assert!((1..=3).contains(&made), "{path}: {made}");
        }
    }
}
