//! `/workspaces`

use mindhost_tests::{Host, Value, json};

use crate::stores;

async fn key(host: &Host, workspace: &str, role: &str) -> String {
    let path = format!("/workspaces/{workspace}/keys");
    let made = host.post(&path, json!({"name": role, "role": role})).await;
    let made = made.expect_status(201).json();
    made["key"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_workspace_is_made_used_and_deleted() {
    for host in stores::both().await {
        let made = host.post("/workspaces", json!({"name": "team"})).await;
        let made = made.expect_status(201).json();
        assert_eq!(made["name"], "team");
        assert_eq!(host.get("/workspaces/team").await.json(), made);
        let listed = host.get("/workspaces").await.expect_status(200).json();
        let names: Vec<_> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["name"])
            .collect();
        assert_eq!(names, ["default", "team"]);

        // The same names as in the other workspace, and they are other things.
        let admin = key(&host, "team", "admin").await;
        host.mind("clerk").create().await;
        let clerk = host.mind("clerk").parameter("color", json!("red")).body();
        let clerk = host.post("/minds", clerk).key(&admin).await;
        assert_eq!(clerk.expect_status(200).json()["provider"], "offline");
        assert_eq!(
            host.get("/minds/clerk").await.json()["parameters"],
            json!({})
        );
        let asked = json!({"model": "clerk", "input": "Hello"});
        host.post("/responses", asked).key(&admin).await;

        let used = host.delete("/workspaces/team").await;
        used.expect_error(409, "resource_in_use");
        host.delete("/minds/clerk")
            .key(&admin)
            .await
            .expect_status(200);
        host.delete("/workspaces/team").await.expect_status(204);
        let gone = host.get("/minds").key(&admin).await;
        gone.expect_error(401, "invalid_api_key");
        host.get("/workspaces/team")
            .await
            .expect_error(404, "workspace_not_found");
        host.get("/minds/clerk").await.expect_status(200);
    }
}

#[tokio::test]
async fn bad_workspaces_are_refused() {
    let host = Host::start().await;
    for name in ["", "a b", "../x", &"a".repeat(65)] {
        let refused = host.post("/workspaces", json!({"name": name})).await;
        refused.expect_error(400, "invalid_parameter");
    }
    let taken = host.post("/workspaces", json!({"name": "default"})).await;
    taken.expect_error(409, "name_taken");
    host.delete("/workspaces/default")
        .await
        .expect_error(409, "wrong_state");
    let missing = host.post(
        "/workspaces/nothing/keys",
        json!({"name": "a", "role": "user"}),
    );
    missing.await.expect_error(404, "workspace_not_found");
}

#[tokio::test]
async fn a_second_workspace_ends_the_way_to_this_machine() {
    let database = mindhost_tests::Postgres::shared()
        .database("CREATE TABLE x (id int)")
        .await;
    let host = Host::start().await;
    host.postgres("before", &database).await;
    host.post("/workspaces", json!({"name": "team"}))
        .await
        .expect_status(201);
    let body = json!({"name": "after", "engine": "postgres", "connection_data": database.connection_data()});
    let refused = host.post("/datasources", body.clone()).await;
    let error = refused.expect_error(400, "connection_failed");
    assert!(
        error["message"].as_str().unwrap().contains("allow"),
        "{error}"
    );
    host.delete("/workspaces/team").await.expect_status(204);
    host.post("/datasources", body).await.expect_status(201);
}

#[tokio::test]
async fn a_workspace_made_on_the_command_line_works_at_once() {
    let host = Host::start().await;
    let run = |args: &[&str]| {
        let output = host.command(args).output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    run(&["workspaces", "create", "team"]);
    assert!(run(&["workspaces", "list"]).contains("team"));
    let admin = run(&[
        "keys",
        "create",
        "first",
        "--workspace",
        "team",
        "--role",
        "admin",
    ]);
    let keys = host
        .get("/keys")
        .key(&admin)
        .await
        .expect_status(200)
        .json();
    let id = keys[0]["id"].as_str().unwrap().to_owned();
    let renewed = run(&["keys", "rotate", &id, "--workspace", "team"]);
    host.get("/keys").key(&renewed).await.expect_status(200);
    run(&["workspaces", "delete", "team"]);
    assert!(!run(&["workspaces", "list"]).contains("team"));
    let trail = host.get("/audit").await.expect_status(200).json();
    let deleted = &trail["data"][0];
    assert_eq!(deleted["action"], "mindhost workspaces delete", "{trail}");
    assert_eq!(deleted["resource"], "/workspaces/team");
    assert_eq!(deleted["key_id"], Value::Null);
}

/// A conversation with one answer from SQL: its id, its response, its message.
async fn asked(host: &Host, key: &str, mind: &str) -> [String; 3] {
    let tool = json!({"type": "sql_query", "query": "SELECT id FROM item"});
    let body = json!({"model": mind, "tools": [tool]});
    let reply = host.post("/responses", body).key(key).await;
    let reply = reply.expect_status(200).json();
    let id = |value: &Value| value.as_str().unwrap().to_owned();
    [
        id(&reply["conversation"]["id"]),
        id(&reply["id"]),
        id(&reply["output"][0]["id"]),
    ]
}

#[tokio::test]
async fn what_is_of_two_workspaces_does_not_mix() {
    let host = Host::start().await;
    host.sqlite("ours", "CREATE TABLE item (id INTEGER)")
        .await
        .load()
        .await;
    host.mind("our_mind")
        .datasource("ours")
        .direct_queries()
        .create()
        .await;
    let ours = asked(&host, host.key(), "our_mind").await;

    host.post("/workspaces", json!({"name": "team"}))
        .await
        .expect_status(201);
    let key = key(&host, "team", "admin").await;
    let folder = host.data_dir().join("files").join("team");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(host.files_dir().join("ours.db"), folder.join("theirs.db")).unwrap();
    let theirs = |path: &str| json!({"name": "theirs", "engine": "sqlite", "connection_data": {"path": path}});
    for path in ["ours.db", "../default/ours.db"] {
        let refused = host.post("/datasources", theirs(path)).key(&key).await;
        refused.expect_error(400, "connection_failed");
    }
    let made = host
        .post("/datasources", theirs("theirs.db"))
        .key(&key)
        .await;
    made.expect_status(201);
    let mind = host
        .mind("their_mind")
        .datasource("theirs")
        .direct_queries()
        .body();
    host.post("/minds", mind).key(&key).await.expect_status(200);
    let [conversation, _, message] = asked(&host, &key, "their_mind").await;

    for part in ["", "/result", "/export"] {
        let path = format!("/conversations/{conversation}/items/{}{part}", ours[2]);
        host.get(&path)
            .key(&key)
            .await
            .expect_error(404, "message_not_found");
        let path = format!("/conversations/{}/items/{message}{part}", ours[0]);
        host.get(&path)
            .key(&key)
            .await
            .expect_error(404, "conversation_not_found");
    }
    let after = format!("/conversations/{conversation}/items?after={}", ours[2]);
    host.get(&after)
        .key(&key)
        .await
        .expect_error(404, "message_not_found");
    let catalog = "/datasources/theirs/catalog?mind=our_mind";
    host.get(catalog)
        .key(&key)
        .await
        .expect_error(404, "mind_not_found");
    let ask = |field: &str, id: &str| json!({"model": "their_mind", "input": "x", field: id});
    for (path, body, status, code) in [
        (
            "/responses",
            ask("conversation", &ours[0]),
            404,
            "conversation_not_found",
        ),
        (
            "/responses",
            ask("previous_response_id", &ours[1]),
            404,
            "response_not_found",
        ),
        (
            "/minds",
            json!({"name": "x", "datasources": ["ours"]}),
            422,
            "unknown_datasource",
        ),
        (
            "/keys",
            json!({"name": "x", "role": "user", "minds": ["our_mind"]}),
            404,
            "mind_not_found",
        ),
    ] {
        host.post(path, body)
            .key(&key)
            .await
            .expect_error(status, code);
    }
}
