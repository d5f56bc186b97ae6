//! `/mcp`

use mindhost_tests::{Host, ScriptedModel, Turn, build, json};
use reqwest::Method;
use tokio::process::Command;

const ANSWER: &str = "There are three items.";
const SHOP: &str = "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT);
    INSERT INTO item VALUES (1, 'a'), (2, 'b'), (3, 'c');";

async fn shop() -> Host {
    let host = Host::start().await;
    host.sqlite("shop", SHOP).await.load().await;
    host
}

#[tokio::test]
async fn a_client_for_python_uses_every_tool() {
    let host = shop().await;
    let model = ScriptedModel::start([ANSWER; 2].map(Turn::text)).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("clerk").datasource("shop").direct_queries();
    let mind = mind.provider("scripted").create().await;
    let script = build::workspace_dir().join("tests/clients/mcp_python/minds.py");
    let mut python = Command::new(build::python());
    python
        .arg(script)
        .args([
            &format!("{}/mcp", host.url()),
            host.key(),
            &mind.name,
            ANSWER,
        ])
        .kill_on_drop(true);
    let output = python.output().await.unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(stdout, "ok\n", "{stderr}\n{}", host.log());
}

/// A request as clients send it.
fn rpc(host: &Host, method: &str, params: serde_json::Value) -> mindhost_tests::Request {
    host.request(Method::POST, "/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18")
        .json(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

#[tokio::test]
async fn no_key_no_tools() {
    let host = shop().await;
    for request in [
        rpc(&host, "tools/list", json!({})).without_key(),
        rpc(&host, "tools/list", json!({})).key("mh_unknown"),
    ] {
        let reply = request.await;
        reply.expect_error(401, "invalid_api_key");
        assert_eq!(reply.header("www-authenticate"), "Bearer");
    }
}

#[tokio::test]
async fn what_is_no_request_is_refused_in_the_one_body() {
    let host = Host::start().await;
    let ask = |content_type: &str, body: &'static str| {
        let request = host
            .request(Method::POST, "/mcp")
            .header("content-type", content_type);
        let accept = "application/json, text/event-stream";
        request.header("accept", accept).body(body)
    };
    for broken in ["{\"jsonrpc\"", "[]", "7"] {
        let reply = ask("application/json", broken).await;
        reply.expect_error(400, "invalid_body");
    }
    let reply = ask("text/plain", "hello").await;
    reply.expect_error(415, "unsupported_media_type");
}

#[tokio::test]
async fn sql_is_offered_only_where_a_mind_allows_it_and_refused_elsewhere() {
    let host = shop().await;
    host.mind("closed").datasource("shop").create().await;
    let listed = rpc(&host, "tools/list", json!({})).await.expect_status(200);
    let listed = listed.json();
    let mut tools = listed["result"]["tools"].as_array().unwrap().iter();
    assert!(tools.all(|tool| tool["name"] != "run_sql"), "{listed}");
    let call = json!({"name": "run_sql", "arguments": {"mind": "closed", "sql": "SELECT 1"}});
    let refused = rpc(&host, "tools/call", call).await.expect_status(200);
    let result = refused.json()["result"].clone();
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(
        result["structuredContent"]["error"]["code"],
        "direct_queries_not_allowed"
    );
    let call = json!({"name": "drop_tables", "arguments": {}});
    let unknown = rpc(&host, "tools/call", call).await.json();
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}
