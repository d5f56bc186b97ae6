//! `/mcp`

use std::process::Stdio;

use mindhost_tests::{EventStream, Gate, Host, ScriptedModel, Turn, build, json};
use reqwest::Method;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

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
async fn an_answer_that_is_cut_or_doubtful_says_so() {
    let host = shop().await;
    let assumptions = ["All items count."];
    let sql = json!({"sql": "SELECT id FROM item", "max_rows": 1, "assumptions": assumptions});
    let model = ScriptedModel::start([
        Turn::text("There are").finish("length"),
        Turn::text("There are").finish("content_filter"),
        Turn::text("There are").finish("weird_reason"),
        Turn::call("run_sql", sql),
        Turn::text("There are 77 items.").finish("length"),
        Turn::text(ANSWER),
    ])
    .await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("clerk").datasource("shop");
    mind.provider("scripted").create().await;
    let ask = async || {
        let arguments = json!({"mind": "clerk", "question": "How many?"});
        let call = json!({"name": "ask", "arguments": arguments});
        let reply = rpc(&host, "tools/call", call).await.expect_status(200);
        let result = reply.json()["result"].clone();
        assert_ne!(result["isError"], true, "{result}");
        result["structuredContent"].clone()
    };
    for reason in ["max_output_tokens", "content_filter", "unknown_reason"] {
        let told = ask().await;
        assert_eq!(told["answer"], "There are", "{told}");
        assert_eq!(told["ending"], reason, "{told}");
        assert_eq!(told["incomplete_details"]["reason"], reason, "{told}");
    }
    let told = ask().await;
    assert_eq!(told["ending"], "max_output_tokens", "{told}");
    assert_eq!(told["row_count"], 3);
    assert_eq!(told["truncated"], true);
    assert_eq!(told["assumptions"], json!(["All items count."]));
    assert_eq!(told["unverified_numbers"], json!(["77"]));
    let told = ask().await;
    assert!(told["ending"].is_null(), "{told}");
    assert!(told["incomplete_details"].is_null(), "{told}");
    // Nothing was read that its numbers could be in.
    assert!(told["unverified_numbers"].is_null(), "{told}");
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
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    let names: Vec<_> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(
        names.contains(&"ask") && !names.contains(&"run_sql"),
        "{listed}"
    );
    let call = json!({"name": "run_sql", "arguments": {"mind": "closed", "sql": "SELECT 1"}});
    let refused = rpc(&host, "tools/call", call).await.expect_status(200);
    let result = refused.json()["result"].clone();
    assert_eq!(result["isError"], true, "{result}");
    let error = &result["structuredContent"]["error"];
    assert_eq!(
        (&error["code"], &error["param"]),
        (&json!("direct_queries_not_allowed"), &json!("mind"))
    );
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("`ask` it in words") && !message.contains("sql_query"),
        "{message}"
    );
    let call = json!({"name": "drop_tables", "arguments": {}});
    let unknown = rpc(&host, "tools/call", call).await.json();
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[tokio::test]
async fn params_that_cannot_be_read_are_named() {
    let host = Host::start().await;
    let call = |params: serde_json::Value| rpc(&host, "tools/call", params);
    for (params, field) in [
        (json!(null), "params"),
        (json!({}), "name"),
        (json!({"name": 7}), "name"),
        (json!({"name": "list_minds", "arguments": []}), "arguments"),
    ] {
        let refused = call(params.clone()).await.json();
        assert_eq!(refused["error"]["code"], -32602, "{params}: {refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(
            message.contains(&format!("`{field}`")),
            "{params}: {message}"
        );
    }
    let unknown = rpc(&host, "tools/fetch", json!({})).await.json();
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
}

#[tokio::test]
async fn client_gets_no_counts_of_a_datasource_whose_rows_stay() {
    let host = shop().await;
    let withheld = host.patch("/datasources/shop", json!({"send_rows": false}));
    withheld.await.expect_status(200);
    host.mind("clerk").datasource("shop").create().await;
    for arguments in [
        json!({"mind": "clerk", "tables": ["item"]}),
        json!({"mind": "clerk", "search": "item"}),
    ] {
        let call = json!({"name": "describe_tables", "arguments": arguments});
        let described = rpc(&host, "tools/call", call).await.expect_status(200);
        let table = described.json()["result"]["structuredContent"]["tables"][0].clone();
        assert_eq!(table["rows_below"], 10, "{table}");
        assert!(table["row_count"].is_null(), "{table}");
    }
}

/// A client of older protocols that asks `patient` and waits so many seconds.
fn client_that_waits(host: &Host, seconds: &str) -> Child {
    let script = build::workspace_dir().join("tests/clients/mcp_python/leaves.py");
    let mut python = Command::new(build::python());
    python.arg(script);
    python.args([
        &format!("{}/mcp", host.url()),
        host.key(),
        "patient",
        seconds,
    ]);
    python.stdin(Stdio::piped()).stdout(Stdio::piped());
    python.kill_on_drop(true).spawn().unwrap()
}

async fn first_line(client: &mut Child) -> String {
    let mut line = String::new();
    let mut lines = BufReader::new(client.stdout.take().unwrap());
    lines.read_line(&mut line).await.unwrap();
    line
}

#[tokio::test]
async fn what_a_client_with_the_handshake_gives_up_ends_and_what_another_waits_for_does_not() {
    let host = shop().await;
    let gate = Gate::default();
    let waited_for = Turn::empty().and_wait(&gate).and_text(ANSWER);
    let model = ScriptedModel::start([waited_for, Turn::empty().and_hang()]).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("patient").datasource("shop");
    mind.provider("scripted").create().await;

    // Both count their requests alike and have one key.
    let mut patient = client_that_waits(&host, "300");
    model.wait_for_requests(1).await;
    let mut hasty = client_that_waits(&host, "15");
    model.wait_for_abandoned(1).await;
    assert_eq!(first_line(&mut hasty).await, "gave up\n");
    gate.open();
    assert_eq!(first_line(&mut patient).await, format!("{ANSWER}\n"));
    // Who gives up has made no mistake, and neither has the server.
    assert!(!host.log().contains("ERROR"), "{}", host.log());
}

#[tokio::test]
async fn without_a_session_a_call_is_taken_back_only_when_it_is_surely_the_one() {
    let host = shop().await;
    let gate = Gate::default();
    let waits = || Turn::empty().and_wait(&gate).and_text(ANSWER);
    let model = ScriptedModel::start([Turn::empty().and_hang(), waits(), waits()]).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("patient").datasource("shop");
    mind.provider("scripted").create().await;
    let ask = || {
        let call =
            json!({"name": "ask", "arguments": {"mind": "patient", "question": "How many?"}});
        tokio::spawn(rpc(&host, "tools/call", call).attempt())
    };
    let take_back = async || {
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
        let sent = host
            .request(Method::POST, "/mcp")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-06-18")
            .json(&notification);
        sent.await.expect_status(202);
    };

    let one = ask();
    model.wait_for_requests(1).await;
    take_back().await;
    model.wait_for_abandoned(1).await;
    let ended = one.await.unwrap().unwrap().json();
    assert_eq!(ended["error"]["message"], "cancelled", "{ended}");

    let twins = [ask(), ask()];
    model.wait_for_requests(3).await;
    take_back().await;
    // It lets one pass each time.
    gate.open();
    gate.open();
    for twin in twins {
        let answered = twin.await.unwrap().unwrap().json();
        let answer = &answered["result"]["structuredContent"]["answer"];
        assert_eq!(answer, ANSWER, "{answered}");
    }
}

#[tokio::test]
async fn long_call_with_a_token_tells_its_progress_and_still_ends_with_its_client() {
    let host = shop().await;
    let gate = Gate::default();
    let waits = Turn::empty().and_wait(&gate).and_text(ANSWER);
    let model = ScriptedModel::start([waits, Turn::empty().and_hang()]).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("patient").datasource("shop");
    mind.provider("scripted").create().await;
    let ask = || {
        let arguments = json!({"mind": "patient", "question": "How many?"});
        let meta = json!({"progressToken": "t1"});
        let call = json!({"name": "ask", "arguments": arguments, "_meta": meta});
        EventStream::open(rpc(&host, "tools/call", call))
    };

    let mut stream = ask().await;
    let told = stream.next().await.unwrap().data;
    assert_eq!(told["method"], "notifications/progress", "{told}");
    let progress = json!({"progressToken": "t1", "progress": 5.0});
    assert_eq!(told["params"], progress);
    gate.open();
    let last = stream.all().await.pop().unwrap().data;
    assert_eq!(last["id"], 1, "{last}");
    let answer = &last["result"]["structuredContent"]["answer"];
    assert_eq!(answer, ANSWER, "{last}");

    drop(ask().await);
    model.wait_for_abandoned(1).await;
}

#[tokio::test]
async fn pages_of_other_origins_are_refused() {
    let host = Host::builder()
        .env("MINDHOST_SERVER__CORS_ORIGINS", "https://app.example.com")
        .start()
        .await;
    let ask = |origin: &str| rpc(&host, "tools/list", json!({})).header("origin", origin);
    for origin in ["https://evil.example.com", "null", "http://127.0.0.1:1"] {
        let reply = ask(origin).await;
        reply.expect_error(403, "forbidden");
        // Even without a key: a page learns nothing.
        let reply = ask(origin).without_key().await;
        reply.expect_error(403, "forbidden");
    }
    for origin in ["https://app.example.com", &host.url()] {
        ask(origin).await.expect_status(200);
    }
}

#[tokio::test]
async fn a_tool_speaks_of_tools_and_gives_only_what_was_asked_for() {
    let host = shop().await;
    host.mind("clerk").datasource("shop").create().await;
    let call = async |tool: &str, arguments: serde_json::Value| {
        let call = json!({"name": tool, "arguments": arguments});
        let reply = rpc(&host, "tools/call", call).await.expect_status(200);
        reply.json()["result"]["structuredContent"].clone()
    };
    let nobody = "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70";
    for (tool, arguments, param, advice) in [
        (
            "ask",
            json!({"mind": "nobody", "question": "Who?"}),
            "mind",
            "`list_minds`",
        ),
        (
            "describe_tables",
            json!({"mind": "nobody"}),
            "mind",
            "`list_minds`",
        ),
        (
            "describe_tables",
            json!({"mind": "clerk", "tables": ["nothing"]}),
            "tables",
            "`describe_tables`",
        ),
        ("ask", json!({"mind": "clerk"}), "question", "is missing"),
        (
            "read_page",
            json!({"conversation": nobody, "message": nobody}),
            "conversation",
            "`run_sql`",
        ),
    ] {
        let error = call(tool, arguments).await["error"].clone();
        assert_eq!(error["param"], param, "{error}");
        assert!(
            error["message"].as_str().unwrap().contains(advice),
            "{error}"
        );
    }
    let found = call(
        "describe_tables",
        json!({"mind": "clerk", "search": "weather"}),
    )
    .await;
    assert_eq!(
        (&found["tables"], &found["total_tables"]),
        (&json!([]), &json!(1))
    );
    let found = call(
        "describe_tables",
        json!({"mind": "clerk", "search": "items"}),
    )
    .await;
    assert_eq!(found["tables"].as_array().unwrap().len(), 1, "{found}");
    // One table by two names is one.
    let twice = json!({"mind": "clerk", "tables": ["item", "main.item", "item"]});
    let described = call("describe_tables", twice).await;
    let tables = described["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 1, "{described}");
    assert_ne!(tables[0]["columns"], json!([]), "{described}");

    let weather = json!({"kind": "term", "name": "weather", "meaning": "Rain.", "table": "item"});
    let taught = host.post("/minds/clerk/knowledge", weather).await;
    taught.expect_status(201);
    let search = json!({"mind": "clerk", "search": "weather"});
    let found = call("describe_tables", search).await;
    assert_eq!(found["tables"].as_array().unwrap().len(), 1, "{found}");
}
